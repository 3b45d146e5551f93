"""Running the tests inside rules: does each fire where its author says, and what do they exercise, both ways?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.authoring.testing.cases import FactsFor, TestCases
from whichgpu.engine.authoring.testing.outcomes import DecideGiven, Outcomes
from whichgpu.engine.core import Facts, Place, WhichgpuError
from whichgpu.engine.rules import Rule, Rulebook, RuleTest, Vocabulary, missing_facts, words


#: ``otherwise``: the rule fires, and what follows is not what the test says.
Outcome = Literal["fired", "otherwise", "not_fired", "undecided", "overridden", "error"]


class TestResult(Struct, frozen=True):
    """What came of one test."""

    __test__ = False  # pytest would take the name for a test class

    rule: str
    number: int  # position among the rule's tests, from 1
    near_miss: bool
    expected: bool
    outcome: Outcome
    why: str  # what failed, what was missing, what held, or what follows instead
    place: Place | None = None

    @property
    def passed(self) -> bool:
        """Whether the rule did as the test says. A rule that could not be tried never passes."""
        return self.outcome != "error" and (self.outcome == "fired") == self.expected

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        said = ("rule", "number", "near_miss", "expected", "outcome", "passed", "why")
        where = {"path": self.place.path if self.place else None, "line": self.place.line if self.place else None}
        return {name: getattr(self, name) for name in said} | where


def run_rule_tests(
    rulebook: Rulebook,
    facts_for: FactsFor,
    vocabulary: Vocabulary,
    *,
    rules: Iterable[str] | None = None,
    decide: DecideGiven | None = None,
) -> list[TestResult]:
    """Run the tests of all rules, or of those named (ids of rules or tables), sorted by rule and position.

    Whether a rule fires depends on its own conditions and, for a row of a ``first`` table, on the rows above it. What a
    test says that follows is looked for with all that overrides the rule.

    Args:
        rulebook: the rules, with their tests.
        facts_for: resolves the facts of a test; asked once for equal inputs.
        vocabulary: the facts.
        rules: which rules; None for all.
        decide: decides what a test gives, for those that speak of the whole answer; without it that is left out.
    """
    cases = TestCases(rulebook, facts_for)
    trial = _Trial(cases, Outcomes(rulebook, cases, vocabulary, decide), vocabulary)
    return [
        trial.run(rule, number, test)
        for rule in chosen_rules(rulebook, rules)
        for number, test in enumerate(rule.tests, 1)
    ]


def chosen_rules(rulebook: Rulebook, names: Iterable[str] | None) -> list[Rule]:
    """The rules with these ids or in tables with these ids; all where nothing is named."""
    wanted = None if names is None else frozenset(names)
    return [rule for rule in rulebook.rules if wanted is None or rule.id in wanted or rule.table in wanted]


class _Trial:
    def __init__(self, cases: TestCases, outcomes: Outcomes, vocabulary: Vocabulary) -> None:
        self._cases = cases
        self._outcomes = outcomes
        self._vocabulary = vocabulary

    def run(self, rule: Rule, number: int, test: RuleTest) -> TestResult:
        try:
            facts = self._cases.facts(test.given, test.plan, rule.each)
        except WhichgpuError as error:
            outcome: Outcome = "error"
            why = "; ".join(problem.message for problem in error.problems)
        else:
            outcome = self._judge(rule, facts)
            # Wording costs more than judging, and why a test passes is not read.
            why = "" if (outcome == "fired") == test.fires else self._explain(rule, facts, outcome)
            misses = self._outcomes.misses(rule, test, facts) if outcome == "fired" else []
            if misses:
                outcome, why = "otherwise", "; ".join(misses)
        return TestResult(rule.id, number, test.near_miss is not None, test.fires, outcome, why, test.place)

    def _judge(self, rule: Rule, facts: Facts) -> Outcome:
        undecided = False
        for test in self._cases.cheapest_first(rule):
            value = test(facts)
            if value is not None and not value:
                return "not_fired"
            undecided |= value is None
        if undecided:
            return "undecided"
        return "overridden" if self._cases.row_before(rule, facts) else "fired"

    def _explain(self, rule: Rule, facts: Facts, outcome: Outcome) -> str:
        """The condition that failed, what is missing, or all that held, with the values of this case."""
        if outcome == "overridden":
            winner = self._cases.row_before(rule, facts)
            return f"the row {winner.id} matches first" if winner else ""
        wanted = {"not_fired": False, "undecided": None, "fired": True}[outcome]
        tests = zip(rule.when, self._cases.conditions(rule), strict=True)
        found = [condition for condition, test in tests if test(facts) is wanted]
        said = [words(condition.expr, self._vocabulary, facts) for condition in found]
        if outcome == "not_fired":
            return f"`{found[0].text}` fails: {said[0]}"
        if outcome == "undecided":
            missing = sorted({name for condition in found for name in missing_facts(condition.expr, facts)})
            lacks = f"unknown: {', '.join(missing)}" if missing else "it divides by zero"
            return f"`{found[0].text}` is undecided: {lacks}"
        return f"all of it holds: {'; '.join(said)}" if said else "it has no conditions"


class Covered(Struct, frozen=True):
    """How often the tests of a rule had something hold, and how often not."""

    rule: str
    what: str  # "" for the rule itself, else the condition as written
    held: int
    failed: int
    row: bool = False
    place: Place | None = None

    @property
    def both_ways(self) -> bool:
        """Whether it was seen to hold and to fail."""
        return bool(self.held and self.failed)

    @property
    def missing(self) -> str:
        """What no test shows, in words; "" where nothing is missing."""
        if self.both_ways:
            return ""
        always = "always" if self.held else "never"
        return f"is {always} met" if self.what else f"{always} fires"


class Coverage(Struct, frozen=True):
    """Coverage of rules (rows of tables among them) and of their conditions."""

    rules: tuple[Covered, ...]
    conditions: tuple[Covered, ...]

    @property
    def gaps(self) -> tuple[Covered, ...]:
        """Everything that the tests show one way only, or not at all."""
        return tuple(entry for entry in (*self.rules, *self.conditions) if not entry.both_ways)

    def to_dict(self) -> dict[str, Any]:
        """Counts and gaps as JSON values."""
        return {
            "rules": _counts(entry for entry in self.rules if not entry.row),
            "rows": _counts(entry for entry in self.rules if entry.row),
            "conditions": _counts(self.conditions),
            "gaps": [
                {
                    "rule": gap.rule,
                    "condition": gap.what or None,
                    "missing": gap.missing,
                    "path": gap.place.path if gap.place else None,
                    "line": gap.place.line if gap.place else None,
                }
                for gap in self.gaps
            ],
        }


def _counts(entries: Iterable[Covered]) -> dict[str, int]:
    found = list(entries)
    return {"total": len(found), "both_ways": sum(entry.both_ways for entry in found)}


def coverage_of_tests(rulebook: Rulebook, facts_for: FactsFor) -> Coverage:
    """What the tests exercise. A condition counts as failed where it is false or unknown.

    A rule is looked at on its own tests, a row of a ``first`` table with the rows above it.
    """
    tests = TestCases(rulebook, facts_for)
    rules: list[Covered] = []
    conditions: list[Covered] = []
    for rule in rulebook.rules:
        cases = list(tests.of(rule))
        held = [[test(facts) is True for test in tests.conditions(rule)] for facts in cases]
        fired = sum(all(each) and not tests.row_before(rule, facts) for each, facts in zip(held, cases, strict=True))
        # A rule without conditions cannot fail, and need not be shown to.
        binds = rule.when or tests.rows_above.get(rule.id)
        failed = len(cases) - fired if binds else 1
        rules.append(Covered(rule.id, "", fired, failed, rule.table is not None, rule.place))
        for at, condition in enumerate(rule.when):
            met = sum(each[at] for each in held)
            conditions.append(Covered(rule.id, condition.text, met, len(cases) - met, False, condition.place))
    return Coverage(tuple(rules), tuple(conditions))
