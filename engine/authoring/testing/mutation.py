"""Do the tests of the rules notice mistakes? Each small mistake is made, and the tests beside it are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from whichgpu.engine.authoring.lint.formulas import both, opposite
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.authoring.testing.cases import FactsFor, TestCases
from whichgpu.engine.authoring.testing.effect_mutants import EffectMutant, EffectMutants
from whichgpu.engine.authoring.testing.following import Following, FollowingMaker
from whichgpu.engine.authoring.testing.mutants import Mutant, mutants_of
from whichgpu.engine.authoring.testing.outcomes import Outcomes
from whichgpu.engine.authoring.testing.rule_tests import chosen_rules
from whichgpu.engine.authoring.testing.suggesting import Suggestion, suggestions
from whichgpu.engine.core import Facts, Place, WhichgpuError
from whichgpu.engine.rules import Rule, Rulebook, RuleTest, Vocabulary, compile_expr, constants


class Survivor(Struct, frozen=True):
    """A mistake that no test notices, with a test that would, where one was found."""

    rule: str
    what: str
    place: Place | None
    suggestion: Suggestion | Following | None = None

    def to_dict(self) -> dict[str, Any]:
        """The survivor as JSON values."""
        return {
            "rule": self.rule,
            "what": self.what,
            "path": self.place.path if self.place else None,
            "line": self.place.line if self.place else None,
            "suggestion": self.suggestion.to_dict() if self.suggestion else None,
        }


class MutationReport(Struct, frozen=True):
    """How many mistakes the tests notice. Mistakes that change nothing (``equivalent``) do not count."""

    killed: int
    survivors: tuple[Survivor, ...]
    equivalent: int

    @property
    def score(self) -> float:
        """The share of mistakes that a test notices, 1 where there are none."""
        total = self.killed + len(self.survivors)
        return self.killed / total if total else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "score": round(self.score, 4),
            "killed": self.killed,
            "survived": len(self.survivors),
            "equivalent": self.equivalent,
            "survivors": [survivor.to_dict() for survivor in self.survivors],
        }


def mutate(
    rulebook: Rulebook,
    facts_for: FactsFor,
    vocabulary: Vocabulary,
    *,
    computed: Iterable[str] = (),
    rules: Iterable[str] | None = None,
) -> MutationReport:
    """Try every mutant of all rules, or of those named (ids of rules or tables), on the tests of its rule or table.

    Args:
        rulebook: the rules, whose tests should pass.
        facts_for: resolves the facts of a test; asked once for equal inputs.
        vocabulary: the facts.
        computed: facts that calculators and the pipeline give.
        rules: which rules; None for all.
    """
    chosen = chosen_rules(rulebook, rules)
    mutants = {rule.id: list(mutants_of(rule, vocabulary)) for rule in chosen}
    every = (mutant.expr for found in mutants.values() for mutant in found if mutant.expr is not None)
    extra = (named for expr in every for named in constants(expr))
    field = _Field(rulebook, TestCases(rulebook, facts_for), Regions(rulebook, vocabulary, computed, extra), vocabulary)
    killed = equivalent = 0
    survivors: list[Survivor] = []
    for rule in chosen:
        for mutant in mutants[rule.id]:
            if field.noticed(rule, mutant):
                killed += 1
            elif field.same(rule, mutant):
                equivalent += 1
            else:
                found = field.suggestion(rule, mutant)
                survivors.append(Survivor(rule.id, mutant.what, rule.when[mutant.condition].place, found))
    return MutationReport(killed, tuple(survivors), equivalent)


def mutate_effects(
    rulebook: Rulebook,
    facts_for: FactsFor,
    vocabulary: Vocabulary,
    *,
    computed: Iterable[str] = (),
    rules: Iterable[str] | None = None,
) -> MutationReport:
    """As ``mutate``, for what rules do: each effect, text and override of a rule, on the rule's own tests.

    Whole answers that tests speak of are not tried. The override of a rule that can never match at the same time
    changes nothing.
    """
    chosen = chosen_rules(rulebook, rules)
    cases = TestCases(rulebook, facts_for)
    outcomes = Outcomes(rulebook, cases, vocabulary)
    making, maker = EffectMutants(rulebook, vocabulary), FollowingMaker(cases, outcomes, vocabulary)
    killed, survivors = 0, list[Survivor]()
    for rule in chosen:
        tried = list(_tried(rule, cases))
        mutants = list(making.of(rule))
        left = [each for each in mutants if not _noticed(each, tried, outcomes)]
        killed += len(mutants) - len(left)
        found, noticed = maker.suggestion(rule, left) if left else (None, [])
        survivors += [Survivor(rule.id, each.what, rule.place, found if each in noticed else None) for each in left]
    overrides = dict[tuple[str, str], list[EffectMutant]]()  # of a table the rows together: it is written once
    for rule in chosen:
        for mutant in making.overrides_of(rule):
            overrides.setdefault((rule.table or rule.id, mutant.what), []).append(mutant)
    by_id, equivalent = {rule.id: rule for rule in rulebook.rules}, 0
    regions = Regions(rulebook, vocabulary, computed) if overrides else None
    for (_, what), rows in overrides.items():
        gone = {row.rule.id: set(by_id[row.rule.id].overrides) - set(row.rule.overrides) for row in rows}
        if any(_noticed(row, list(_tried(by_id[row.rule.id], cases)), outcomes) for row in rows):
            killed += 1
        elif regions and all(_never_met(by_id[name], [by_id[each] for each in gone[name]], regions) for name in gone):
            equivalent += 1
        else:
            made = ((name, maker.override_suggestion(by_id[name], sorted(gone[name]), by_id)) for name in gone)
            name, test = next((found for found in made if found[1] is not None), (next(iter(gone)), None))
            survivors.append(Survivor(name, what, by_id[name].place, test))
    return MutationReport(killed, tuple(survivors), equivalent)


def _tried(rule: Rule, cases: TestCases) -> Iterator[tuple[RuleTest, Facts]]:
    """The tests of a rule that say what follows, with their facts."""
    return ((test, facts) for test, facts in cases.with_facts(rule) if test.expected and cases.fires(rule, facts))


def _noticed(mutant: EffectMutant, tried: list[tuple[RuleTest, Facts]], outcomes: Outcomes) -> bool:
    return any(outcomes.misses(mutant.rule, test, facts, mutant.rule) for test, facts in tried)


def _never_met(rule: Rule, others: Iterable[Rule], regions: Regions) -> bool:
    """Whether none of the others can match where the rule does."""
    return all(regions.never(regions.where(rule), regions.where(other)) for other in others)


class _Field:
    """The rules with their tests' facts, on which mutants are tried."""

    def __init__(self, rulebook: Rulebook, cases: TestCases, regions: Regions, vocabulary: Vocabulary) -> None:
        self._cases = cases
        self._below: dict[str, list[Rule]] = {}
        for rule in rulebook.rules:
            for row in cases.rows_above.get(rule.id, ()):
                self._below.setdefault(row.id, []).append(rule)
        self._regions = regions
        self._vocabulary = vocabulary

    def noticed(self, rule: Rule, mutant: Mutant) -> bool:
        """Whether some test of the rule, or of a row below it, comes out otherwise."""
        return any(
            self._fires(rule, facts) != self._fires(rule, facts, mutant)
            for owner in (rule, *self._below.get(rule.id, ()))
            for facts in self._cases.of(owner)
        )

    def same(self, rule: Rule, mutant: Mutant) -> bool:
        """Whether the mutant provably fires exactly where the rule does."""
        regions = self._regions
        kept = [condition.expr for at, condition in enumerate(rule.when) if at != mutant.condition]
        exprs = kept if mutant.expr is None else [*kept, mutant.expr]
        taken = (opposite(regions.where(row)) for row in regions.earlier(rule))
        before = both(*taken)
        old, new = both(regions.where(rule), before), both(regions.true(*exprs), before)
        return regions.never(old, opposite(new)) and regions.never(new, opposite(old))

    def suggestion(self, rule: Rule, mutant: Mutant) -> Suggestion | None:
        """A test that distinguishes the mutant from the rule."""
        for candidate in suggestions(rule, mutant, self._vocabulary):
            try:
                facts = self._cases.facts(candidate.given, candidate.plan, rule.each)
            except WhichgpuError:
                continue
            fires = self._fires(rule, facts)
            if fires != self._fires(rule, facts, mutant) and fires == candidate.fires:
                return candidate
        return None

    def _fires(self, rule: Rule, facts: Facts, mutant: Mutant | None = None) -> bool:
        skipped = mutant.condition if mutant else -1
        for at, test in enumerate(self._cases.conditions(rule)):
            if at != skipped and test(facts) is not True:
                return False
        if mutant is not None and mutant.expr is not None and compile_expr(mutant.expr)(facts) is not True:
            return False
        return self._cases.row_before(rule, facts) is None
