"""The rulebook sorted into the stages of a decision, each compiled once and run on many plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set as AbstractSet
from functools import cached_property
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from whichgpu.engine.core import Calculator, Codes, Column, Facts, FactTable, Problem, RulebookError, column_of
from whichgpu.engine.rules import (
    MOMENTS,
    Default,
    Evaluation,
    FactResolver,
    MakeLevel,
    Resolution,
    Resolver,
    Rule,
    Rulebook,
    SetFact,
    Vocabulary,
    confirm,
    facts_read,
    fire,
    latest,
    levels,
)


NOTHING = Resolution(())
#: Resolutions of distinct matches that a rule set keeps.
MOST_KEPT = 1024


class Run(Struct, frozen=True):
    """What a rule set came to: a resolution for each fact set, and what became of every rule on demand."""

    resolutions: list[Resolution]
    evaluation: Evaluation | None = None


class TableRun:
    """What a rule set came to on the rows of a table.

    Rows on which the same rules match form a group. Rules that set no facts come to the same on all rows of it.

    Attributes:
        evaluation: what became of every rule, on demand; None where there are no rules or no rows.
        codes: for each row the number of its group.
        groups: for each group the rules that match.
    """

    def __init__(self, rules: RuleSet, shared: Facts, table: FactTable) -> None:
        self._rules = rules
        self._shared = shared
        self._table = table
        self._whole: dict[int, Resolution] = {}  # of groups
        self._single: dict[int, Resolution] = {}  # of rows
        level = rules.level if table.size else None
        self.evaluation = level.evaluate_table(shared, table) if level else None
        self.codes: Codes = self.evaluation.codes if self.evaluation else np.zeros(table.size, np.intp)
        self.groups: list[frozenset[str]] = (
            self.evaluation.groups if self.evaluation else [frozenset()] * bool(table.size)
        )

    @cached_property
    def group_fired(self) -> list[tuple[str, ...]]:
        """For each group the rules that fired, sorted by id: those that match and are not overridden."""
        return [self.of_group(number).fired for number in range(len(self.groups))]

    @cached_property
    def fires(self) -> NDArray[np.bool_]:
        """On which rows some rule fired: where any matches, for what overrides the others fires itself."""
        return np.array([bool(group) for group in self.groups], np.bool_)[self.codes]

    def of_group(self, number: int) -> Resolution:
        """What the matches of a group come to; what they set is of account only where no value depends on the row."""
        if number not in self._whole:
            self._whole[number] = self._rules.resolve(self.groups[number], self._shared)
        return self._whole[number]

    def resolution(self, row: int) -> Resolution:
        """What the matches of a row come to."""
        number = int(self.codes[row])
        if not self._rules.sets_by_row(self.groups[number]):
            return self.of_group(number)
        if row not in self._single:
            facts = {**self._shared, **self._table.row(row)}
            self._single[row] = self._rules.resolve(self.groups[number], facts)
        return self._single[row]

    def columns(self) -> dict[str, Column]:
        """The facts that the rules set, to be added to the table. Where rules contradict each other none is known."""
        if not any(self._rules.sets_facts(group) for group in self.groups):
            return {}
        values = [self.resolution(row).values for row in range(self._table.size)]
        return {name: column_of([each.get(name) for each in values]) for name in dict.fromkeys(chain(*values))}

    @property
    def confirmable(self) -> bool:
        """Whether durable-rules is there to fire the rules."""
        return self.evaluation is not None and self._rules.level is not None and self._rules.level.engine() is not None

    def confirm(self, rows: Sequence[int], names: Sequence[str]) -> None:
        """Let durable-rules fire the rules on some rows, as records need it. What differs is noted.

        Args:
            rows: their numbers in the table.
            names: what to call each.
        """
        level = self._rules.level
        if level is not None and self.evaluation is not None and len(rows) > 0:
            confirm(level, self.evaluation, rows, names)


class RuleSet:
    """Rules that fire together: matched by the engines, resolved by one piece of code."""

    def __init__(self, rules: Iterable[Rule], make_level: MakeLevel) -> None:
        """Prepare the rules; what an engine makes of them is made when they first fire."""
        self.rules = tuple(sorted(rules, key=lambda rule: rule.id))
        self.by_id = {rule.id: rule for rule in self.rules}
        self.level = make_level(self.rules) if self.rules else None
        self._resolver = Resolver(self.rules)
        # A resolution without any of these depends on nothing but what matched.
        self._writers = frozenset(rule.id for rule in self.rules if rule.writes)
        self._by_row = frozenset(rule.id for rule in self.rules if rule.writes and _sets_what_it_reads(rule))
        self._kept: dict[frozenset[str], Resolution] = {frozenset(): NOTHING}

    def run(self, shared: Facts, fact_sets: Sequence[Facts], names: Sequence[str]) -> Run:
        """What the rules come to on ``shared`` together with each fact set, in order."""
        if self.level is None or not fact_sets:
            return Run([NOTHING] * len(fact_sets))
        firing = fire(self.level, shared, fact_sets, names)
        resolutions = [
            self.resolve(matched, {**shared, **facts} if self.sets_by_row(matched) else shared)
            for matched, facts in zip(firing.matches, fact_sets, strict=True)
        ]
        return Run(resolutions, firing.evaluation)

    def run_table(self, shared: Facts, table: FactTable) -> TableRun:
        """What the rules come to on ``shared`` together with each row of a table.

        The generated evaluator alone fires; ``TableRun.confirm`` lets durable-rules fire the rows that are recorded.
        """
        return TableRun(self, shared, table)

    def fired(self, resolution: Resolution) -> tuple[Rule, ...]:
        """The rules that fired, sorted by id."""
        return tuple(self.by_id[name] for name in resolution.fired)

    def sets_facts(self, matched: AbstractSet[str]) -> bool:
        """Whether any of these rules sets a fact."""
        return bool(matched & self._writers)

    def sets_by_row(self, matched: AbstractSet[str]) -> bool:
        """Whether what any of these rules sets depends on facts."""
        return bool(matched & self._by_row)

    def resolve(self, matched: frozenset[str], facts: Facts) -> Resolution:
        """What matches come to. Kept where it depends on nothing else, since decisions meet the same ones again."""
        if self.sets_by_row(matched):
            return self._resolver.resolve(matched, facts)
        if matched not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[matched] = self._resolver.resolve(matched, {})
        return self._kept[matched]


def _sets_what_it_reads(rule: Rule) -> bool:
    return any(isinstance(effect, SetFact) and facts_read(effect.expr) for effect in rule.effects)


class Stages(Struct, frozen=True):
    """Every stage, ready to run."""

    intake: FactResolver
    contradictions: RuleSet  # reject rules on the workload itself
    plan_levels: tuple[RuleSet, ...]
    reject: RuleSet
    survey: FactResolver
    prefer: RuleSet
    outcome: FactResolver  # where no plan was chosen
    outcome_of_chosen: FactResolver
    candidate: RuleSet


def prepare(
    rulebook: Rulebook,
    vocabulary: Vocabulary,
    calculators: Iterable[Calculator],
    defaults: Iterable[Default],
    make_level: MakeLevel,
) -> Stages:
    """Sort the rules by stage, scope and moment, and order those that set facts.

    Raises:
        RulebookError: rules feed each other in a circle, or a rule reads what is known only after it has to fire.
    """
    derive = rulebook.of_stage("derive", "workload")
    advise = rulebook.of_stage("advise", "workload")
    by_moment = {moment: tuple(r for r in derive if moment_of(r, vocabulary) == moment) for moment in MOMENTS}
    if late := by_moment["plan"]:
        message = "a workload rule cannot read what belongs to one plan"
        raise RulebookError([Problem("late-fact", f"{rule.id}: {message}", rule.place) for rule in late])
    chosen = rulebook.of_stage("advise", "chosen")
    last = by_moment["outcome"] + advise
    return Stages(
        intake=FactResolver(calculators, by_moment["intake"], defaults, make_level),
        contradictions=RuleSet(rulebook.of_stage("reject", "workload"), make_level),
        plan_levels=tuple(RuleSet(level, make_level) for level in levels(rulebook.of_stage("derive", "plan"))),
        reject=RuleSet(rulebook.of_stage("reject", "plan"), make_level),
        survey=FactResolver((), by_moment["survey"], (), make_level),
        prefer=RuleSet(rulebook.of_stage("prefer", "plan"), make_level),
        outcome=FactResolver((), last, (), make_level),
        outcome_of_chosen=FactResolver((), last + chosen, (), make_level),
        candidate=RuleSet(rulebook.of_stage("advise", "candidate"), make_level),
    )


def moment_of(rule: Rule, vocabulary: Vocabulary) -> str:
    """The phase in which a derive rule on the workload fires: the last of what it reads and sets."""
    last = latest(vocabulary.facts[name] for name in rule.reads | rule.writes)
    return last.available if last else MOMENTS[0]
