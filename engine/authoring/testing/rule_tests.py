"""Running the tests inside rules: does each fire where its author says, and what do they exercise, both ways?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.core import Facts, Place, WhichgpuError
from whichgpu.engine.rules import (
    Compiled,
    Each,
    Rule,
    Rulebook,
    RuleTest,
    Vocabulary,
    compile_expr,
    missing_facts,
    rows_above,
    words,
)


#: From `given` and `plan` of a test (see ``RuleTest``) and the scope of its rule to all facts that the rule would see.
FactsFor = Callable[[Mapping[str, object], Mapping[str, object], Each], Facts]

Outcome = Literal["fired", "not_fired", "undecided", "overridden", "error"]


class TestResult(Struct, frozen=True):
    """What came of one test."""

    __test__ = False  # pytest would take the name for a test class

    rule: str
    number: int  # position among the rule's tests, from 1
    near_miss: bool
    expected: bool
    outcome: Outcome
    why: str  # what failed, what was missing, or what held
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
    rulebook: Rulebook, facts_for: FactsFor, vocabulary: Vocabulary, *, rules: Iterable[str] | None = None
) -> list[TestResult]:
    """Run the tests of all rules, or of those named (ids of rules or tables), sorted by rule and position.

    A test looks at the rule's own conditions and, for a row of a ``first`` table, at the rows above it; overrides by
    other rules are not its matter. ``facts_for`` is asked once for equal inputs.
    """
    trial = _Trial(TestCases(rulebook, facts_for), vocabulary)
    return [
        trial.run(rule, number, test)
        for rule in chosen_rules(rulebook, rules)
        for number, test in enumerate(rule.tests, 1)
    ]


def chosen_rules(rulebook: Rulebook, names: Iterable[str] | None) -> list[Rule]:
    """The rules with these ids or in tables with these ids; all where nothing is named."""
    wanted = None if names is None else frozenset(names)
    return [rule for rule in rulebook.rules if wanted is None or rule.id in wanted or rule.table in wanted]


class TestCases:
    """The cases of the tests inside rules: facts settled once for equal inputs, conditions compiled once."""

    __test__ = False  # pytest would take the name for a test class

    def __init__(self, rulebook: Rulebook, facts_for: FactsFor) -> None:
        """Prepare the cases of a rulebook; ``facts_for`` settles the facts of one."""
        self._facts_for = facts_for
        self._cache: dict[object, Facts] = {}
        self._compiled: dict[str, tuple[Compiled, ...]] = {}
        self.rows_above = rows_above(rulebook.rules)

    def facts(self, given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
        """The facts of one case. Raises WhichgpuError where it cannot be settled."""
        key = (key_of(given), key_of(plan), each)
        if key not in self._cache:
            self._cache[key] = self._facts_for(given, plan, each)
        return self._cache[key]

    def of(self, rule: Rule) -> Iterator[Facts]:
        """The facts of each test of a rule that can be settled."""
        for test in rule.tests:
            with suppress(WhichgpuError):
                yield self.facts(test.given, test.plan, rule.each)

    def conditions(self, rule: Rule) -> tuple[Compiled, ...]:
        """The conditions of a rule, compiled."""
        if rule.id not in self._compiled:
            self._compiled[rule.id] = tuple(compile_expr(condition.expr) for condition in rule.when)
        return self._compiled[rule.id]

    def row_before(self, rule: Rule, facts: Facts) -> Rule | None:
        """The row above that takes the case, where only the first row of a table counts."""
        above = self.rows_above.get(rule.id, ())
        return next((row for row in above if all(test(facts) is True for test in self.conditions(row))), None)


class _Trial:
    def __init__(self, cases: TestCases, vocabulary: Vocabulary) -> None:
        self._cases = cases
        self._vocabulary = vocabulary

    def run(self, rule: Rule, number: int, test: RuleTest) -> TestResult:
        try:
            facts = self._cases.facts(test.given, test.plan, rule.each)
        except WhichgpuError as error:
            outcome: Outcome = "error"
            why = "; ".join(problem.message for problem in error.problems)
        else:
            outcome = self._judge(rule, facts)
            # Wording costs more than judging, and nobody reads why a test passes.
            why = "" if (outcome == "fired") == test.fires else self._explain(rule, facts, outcome)
        return TestResult(rule.id, number, test.near_miss is not None, test.fires, outcome, why, test.place)

    def _judge(self, rule: Rule, facts: Facts) -> Outcome:
        values = [test(facts) for test in self._cases.conditions(rule)]
        if any(value is not None and not value for value in values):
            return "not_fired"
        if None in values:
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


def key_of(facts: Mapping[str, object]) -> tuple[tuple[str, str, object], ...]:
    """Equal for equal facts; the type's name tells ``True`` from ``1``."""
    return tuple((name, type(value).__name__, value) for name, value in sorted(facts.items()))


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
        return f"{'always' if self.held else 'never'} {'is met' if self.what else 'fires'}"


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
