"""The rulebook sorted into the stages of a decision, each compiled once and run on many plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from whichgpu.engine.core import Calculator, Codes, Column, Facts, FactTable, Problem, RulebookError, column_of
from whichgpu.engine.rules import (
    Default,
    Evaluation,
    FactResolver,
    MakeLevel,
    Resolution,
    Resolver,
    Rule,
    Rulebook,
    Vocabulary,
    fire,
    levels,
)


#: The moments of a decision, in order. A fact can be read from its moment on.
MOMENTS = ("intake", "plan", "survey", "outcome")
NOTHING = Resolution(())


class Run(Struct, frozen=True):
    """What a rule set came to: a resolution for each fact set, and the reference's view for verdicts."""

    resolutions: list[Resolution]
    evaluation: Evaluation | None = None


class TableRun(Struct, frozen=True):
    """What a rule set came to on a table of facts: rows that match the same rules are one group."""

    groups: Codes  # of each row
    resolutions: list[Resolution]  # of each group
    values: dict[str, Column]  # facts that the rules set
    evaluation: Evaluation | None = None


class RuleSet:
    """Rules that fire together. Both engines fire them; one piece of code resolves what they match."""

    def __init__(self, rules: Iterable[Rule], make_level: MakeLevel) -> None:
        """Compile the rules."""
        self.rules = tuple(sorted(rules, key=lambda rule: rule.id))
        self.by_id = {rule.id: rule for rule in self.rules}
        self._level = make_level(self.rules) if self.rules else None
        self._resolver = Resolver(self.rules)
        # A resolution without any of these depends on nothing but what matched.
        self._writers = frozenset(rule.id for rule in self.rules if rule.writes)

    def run(self, shared: Facts, fact_sets: Sequence[Facts], names: Sequence[str]) -> Run:
        """What the rules come to on ``shared`` together with each fact set, in order."""
        if self._level is None or not fact_sets:
            return Run([NOTHING] * len(fact_sets))
        firing = fire(self._level, shared, fact_sets, names)
        kept: dict[frozenset[str], Resolution] = {frozenset(): NOTHING}
        resolutions = []
        for matched, facts in zip(firing.matches, fact_sets, strict=True):
            if matched & self._writers:
                resolutions.append(self._resolver.resolve(matched, {**shared, **facts}))
                continue
            if matched not in kept:
                kept[matched] = self._resolver.resolve(matched, {})
            resolutions.append(kept[matched])
        return Run(resolutions, firing.evaluation)

    def run_table(self, shared: Facts, table: FactTable) -> TableRun:
        """What the rules come to on ``shared`` together with each row of a table."""
        run = self.run(shared, list(table.rows()), [str(row) for row in range(table.size)])
        kept: dict[int, int] = {}
        groups = np.array([kept.setdefault(id(each), len(kept)) for each in run.resolutions], np.intp)
        distinct = {id(each): each for each in run.resolutions}
        names = dict.fromkeys(name for each in run.resolutions for name in each.values)
        values = {name: column_of([each.values.get(name) for each in run.resolutions]) for name in names}
        return TableRun(groups, [distinct[key] for key in kept], values, run.evaluation)

    def fired(self, resolution: Resolution) -> tuple[Rule, ...]:
        """The rules that fired, sorted by id."""
        return tuple(self.by_id[name] for name in resolution.fired)


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
    moments = fact_moments(derive + advise, vocabulary)
    by_moment = {moment: tuple(r for r in derive if _moment(r, moments) == moment) for moment in MOMENTS}
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


def fact_moments(rules: Iterable[Rule], vocabulary: Vocabulary) -> dict[str, str]:
    """The moment from which each fact is settled: as declared, or later where its rules read later facts."""
    rules = tuple(rules)
    rank = {name: MOMENTS.index(fact.available) for name, fact in vocabulary.facts.items()}
    changed = True
    while changed:
        changed = False
        for rule in rules:
            reads = max((rank.get(name, 0) for name in rule.reads), default=0)
            needed = MOMENTS.index("outcome") if rule.stage == "advise" else reads
            for fact in rule.writes:
                if rank.get(fact, 0) < needed:
                    rank[fact] = needed
                    changed = True
    return {name: MOMENTS[index] for name, index in rank.items()}


def _moment(rule: Rule, moments: Mapping[str, str]) -> str:
    touched = rule.reads | rule.writes
    return MOMENTS[max((MOMENTS.index(moments.get(name, "intake")) for name in touched), default=0)]
