"""Deciding variations of one workload: what a change of facts cannot touch is taken from a variation decided before.

Plans are made again only where a fact differs that making them looks at; they are judged again only where a condition
of the rules on plans comes out otherwise. Both are exact: the same inputs give the same round.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import DecisionContext, Objective, PlanRound, asked_counts, is_job, run_round
from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview import Watched
from whichgpu.engine.plans import PlanMaker, PlanTable
from whichgpu.engine.rules import Compiled, FactCandidate, ResolvedFacts, Rule, compile_expr, facts_read
from whichgpu.engine.sizing import Job, job_from_facts


Signature = tuple[Hashable, ...]


class WorkloadSide:
    """All that rules on plans make of the facts of the workload."""

    def __init__(self, rules: Iterable[Rule], *, by_value: bool = False, by_presence: bool = False) -> None:
        """Prepare.

        Args:
            rules: rules on plans.
            by_value: the rules compute with facts, so that each value counts.
            by_presence: which facts are known counts too, and not only what conditions come to.
        """
        conditions: dict[str, Compiled] = {}
        values: set[str] = set()
        present: set[str] = set()
        for rule in rules:
            for condition in rule.when:
                reads = {name for name in facts_read(condition.expr) if "." not in name}
                present |= reads
                if len(reads) < len(facts_read(condition.expr)):
                    values |= reads
                elif reads:
                    conditions.setdefault(repr(condition.expr), compile_expr(condition.expr))
            if by_value:
                values |= {name for name in rule.reads if "." not in name}
        self._conditions = tuple(conditions.values())
        self._values = tuple(sorted(values))
        self._present = tuple(sorted(present)) if by_presence else ()

    def of(self, facts: Facts) -> Signature:
        """What tells workloads apart on which these rules may judge a plan differently."""
        return (
            *(condition(facts) for condition in self._conditions),
            *(facts.get(name) for name in self._values),
            *(name in facts for name in self._present),
        )


class _Made(Struct, frozen=True):
    """Plans, and what they were made for."""

    job: Job
    asked: Mapping[int, str]
    facts: Mapping[str, Value]
    plans: PlanTable


class _Rejected(Struct, frozen=True):
    """Rounds in which the same plans were rejected, by what the prefer rules make of the workload."""

    claims: dict[str, list[FactCandidate]]  # of the survey
    rounds: dict[Signature, PlanRound]


@dataclass(slots=True)
class _Kept:
    rejecting: WorkloadSide
    deriving: WorkloadSide
    preferring: WorkloadSide
    read: set[str] = field(default_factory=set)  # facts that making plans has looked at so far
    made: list[_Made] = field(default_factory=list)
    rejected: dict[Signature, _Rejected] = field(default_factory=dict)


class ProbingContext(DecisionContext, frozen=True):
    """A context for variations of one workload."""

    kept: Any = None

    def plan_maker(self, model: ModelSpec | None, intake: ResolvedFacts) -> PlanMaker:
        """Makes plans, and remembers which facts it looks at."""
        return PlanMaker(
            job_from_facts(intake.facts, model, assumed=intake.assumed), Watched(intake.facts), self.knowledge
        )

    def plan_round(self, maker: PlanMaker, intake: ResolvedFacts, objective: Objective) -> PlanRound:
        """The plans of one settled workload, judged."""
        kept: _Kept = self.kept
        plans = self._plans(maker, intake)
        facts = intake.facts
        key = (id(plans), objective, is_job(facts), kept.deriving.of(facts), kept.rejecting.of(facts))
        known = kept.rejected.get(key)
        survey = self.stages.survey.run({}, extra=known.claims, before=intake) if known else None
        if known and survey and (same := known.rounds.get(kept.preferring.of(survey.facts))):
            return replace(same, survey=survey)
        found = run_round(plans, intake, self.stages, self.knowledge, self.unstated, objective)
        if known is None:
            known = kept.rejected[key] = _Rejected(_claims(intake, found.survey), {})
        known.rounds[kept.preferring.of(found.survey.facts)] = found
        return found

    def _plans(self, maker: PlanMaker, intake: ResolvedFacts) -> PlanTable:
        kept: _Kept = self.kept
        asked = asked_counts(intake.fired)
        for made in kept.made:
            if made.asked == asked and made.job == maker.job and _alike(made.facts, intake.facts, kept.read):
                return made.plans
        watched = maker.facts
        plans = self.make_plans(maker.job, watched, self.knowledge, asked, maker=maker)
        if isinstance(watched, Watched):
            if not kept.made:
                list(plans)  # Whatever is made only when asked for looks at its facts now.
            looked_at = set(intake.facts) if watched.copied else watched.read
            kept.read |= looked_at
        kept.made.append(_Made(maker.job, asked, intake.facts, plans))
        return plans


def _alike(one: Facts, other: Facts, names: Iterable[str]) -> bool:
    return all(one.get(name) == other.get(name) for name in names)


def _claims(before: ResolvedFacts, survey: ResolvedFacts) -> dict[str, list[FactCandidate]]:
    """What was computed of the surviving plans: rules on them derive the rest anew."""
    added = (fact for name, fact in survey.resolved.items() if name not in before.resolved)
    return {fact.name: [fact.claim] for fact in added if fact.claim.origin != "derived"}


def probing_context(context: DecisionContext, gpus: frozenset[str] | None = None) -> ProbingContext:
    """A context that keeps what it decides for the next variation.

    Args:
        context: what every decision is made with.
        gpus: plan with these alone; what rules reject of them does not hang on other GPUs.
    """
    stages = context.stages
    kept = _Kept(
        rejecting=WorkloadSide(stages.reject.rules, by_presence=True),
        deriving=WorkloadSide((rule for level in stages.plan_levels for rule in level.rules), by_value=True),
        preferring=WorkloadSide(stages.prefer.rules),
    )
    knowledge = context.knowledge
    if gpus is not None:
        knowledge = copy(knowledge)
        knowledge.__dict__["plannable"] = tuple(gpu for gpu in context.knowledge.plannable if gpu.id in gpus)
    shared = {name: getattr(context, name) for name in context.__struct_fields__}
    return ProbingContext(**{**shared, "knowledge": knowledge, "kept": kept})
