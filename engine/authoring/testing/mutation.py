"""Do the tests of the rules notice mistakes? Each small mistake is made, and the tests beside it are tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from whichgpu.engine.authoring.lint.formulas import both, opposite
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.authoring.testing.mutants import Mutant, mutants_of
from whichgpu.engine.authoring.testing.rule_tests import FactsFor, TestCases, chosen_rules
from whichgpu.engine.authoring.testing.suggesting import Suggestion, suggestions
from whichgpu.engine.core import Facts, Place, WhichgpuError
from whichgpu.engine.rules import Rule, Rulebook, Vocabulary, compile_expr, constants


class Survivor(Struct, frozen=True):
    """A mistake that no test notices, with a test that would, where one was found."""

    rule: str
    what: str
    place: Place | None
    suggestion: Suggestion | None = None

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
        facts_for: settles the facts of a test; asked once for equal inputs.
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
        """A test that tells the mutant from the rule."""
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
