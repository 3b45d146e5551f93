"""Deciding variations of one workload: what a change of facts cannot touch is taken from a variation decided before.

Plans are made again only where a fact differs that making them looks at; they are judged again only where a condition
of the rules on plans comes out otherwise. Both are exact: the same inputs give the same round.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import (
    DecisionContext,
    Judged,
    Objective,
    PlanRound,
    Probed,
    Procurement,
    Rejection,
    asked_counts,
    compared_by,
    run_round,
)
from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import Facts, NumberColumn, OnDemand, Value
from whichgpu.engine.explain.watched_job import Read, WatchedJob, are_alike
from whichgpu.engine.explain.workload_side import Signature, WorkloadSide, facts_behind
from whichgpu.engine.interview import Watched
from whichgpu.engine.plans import Plan, PlanMaker, PlanTable, band_problems
from whichgpu.engine.rules import FactCandidate, ResolvedFacts
from whichgpu.engine.sizing import Job, job_from_facts


class _Made(Struct, frozen=True):
    """Plans, and what they were made for."""

    job: Job
    looked_at: frozenset[Read] | None  # what making them looks at of the job; None where it was not watched
    plans: PlanTable

    def are_for(self, job: Job) -> bool:
        """Whether the plans of a job are these."""
        if self.looked_at is None:
            return self.job == job
        return are_alike(self.job, job, self.looked_at)


class _Rejected(Struct, frozen=True):
    """Rounds in which the same plans were rejected, by what the prefer rules make of the workload."""

    candidates: dict[str, list[FactCandidate]]  # of the survey
    rounds: dict[Signature, PlanRound]


class _Compared(Struct, frozen=True):
    """Renting and owning compared, and the facts that this looked at."""

    plan: Hashable
    today: date | None
    facts: Facts  # None where one is not known
    procurement: Procurement


class _Planned(NamedTuple):
    """Plans, and those made before that equal them in all that rules and the choice look at."""

    own: PlanTable
    alike: PlanTable
    exactly: bool  # in what is said of them, too: the bands of their figures are those of this job


@dataclass(slots=True)
class _Kept:
    rejecting: WorkloadSide
    deriving: WorkloadSide
    preferring: WorkloadSide
    advising: tuple[str, ...]  # facts that the verdict on renting and owning hangs on
    watched: WatchedJob | None = None  # the first job
    read: set[str] = field(default_factory=set)  # facts that making plans has looked at so far
    made: dict[Signature, list[_Made]] = field(default_factory=dict)  # by the counts that rules ask for, and facts read
    every: list[tuple[Mapping[int, str], Facts, _Made]] = field(default_factory=list)
    tables: dict[Hashable, PlanTable] = field(default_factory=dict)  # by all that is in them
    rejected: dict[Signature, _Rejected] = field(default_factory=dict)
    refuses: bool = False  # whether a plan was refused for figures that cannot be true
    compared: list[_Compared] = field(default_factory=list)
    verdicts: dict[Hashable, Value] = field(default_factory=dict)

    def key(self, asked: Mapping[int, str], facts: Facts) -> Signature:
        """What distinguishes plans, beside the job."""
        return tuple(asked.items()), *(facts.get(name) for name in self.read)

    def keep(self, asked: Mapping[int, str], facts: Facts, made: _Made, read: set[str]) -> None:
        """Remember plans, and which facts making them looked at."""
        self.every.append((asked, facts, made))
        if not read <= self.read:
            self.read |= read
            self.made.clear()
            for before, known, other in self.every[:-1]:
                self.made.setdefault(self.key(before, known), []).append(other)
        self.made.setdefault(self.key(asked, facts), []).append(made)


class ProbingContext(DecisionContext, frozen=True):
    """A context for variations of one workload."""

    kept: Any = None

    def plan_maker(self, model: ModelSpec | None, intake: ResolvedFacts) -> PlanMaker:
        """Makes plans, and remembers which facts it looks at, and the first of all what of the job."""
        kept: _Kept = self.kept
        job = job_from_facts(intake.facts, model, assumed=intake.assumed)
        if kept.watched is None:
            kept.watched = WatchedJob(job)
        if job == kept.watched.job:
            job = kept.watched.watching
        return PlanMaker(job, Watched(intake.facts), self.knowledge)

    def plan_round(
        self, maker: PlanMaker, intake: ResolvedFacts, objective: Objective, *, banded: bool = True
    ) -> PlanRound:
        """The plans of one resolved workload, judged; once a plan was refused for its bands, always with them."""
        kept: _Kept = self.kept
        banded = banded or kept.refuses
        planned = self._planned(maker, intake)
        facts = intake.facts
        workload = compared_by(facts), kept.deriving.of(facts), kept.rejecting.of(facts)
        key = (id(planned.alike), objective, banded, *workload)
        known = kept.rejected.get(key)
        survey = self.stages.survey.run({}, extra=known.candidates, before=intake) if known else None
        if known and survey and (same := known.rounds.get(kept.preferring.of(survey.facts))):
            found = replace(same, survey=survey)
            if planned.own is not planned.alike:
                found = _with_plans(found, planned.own)
        else:
            found = run_round(planned.own, intake, self.stages, self.knowledge, self.unstated, objective, banded=banded)
            kept.refuses |= bool(found.refused)
            if planned.own is not planned.alike:
                return found
            if known is None:
                known = kept.rejected[key] = _Rejected(_candidates(intake, found.survey), {})
            known.rounds[kept.preferring.of(found.survey.facts)] = found
        if not banded or planned.exactly or _bands_hold(found, planned, maker):
            return found
        plans = self.make_plans(maker.job, maker.facts, self.knowledge, asked_counts(intake.fired), maker=maker)
        return run_round(plans, intake, self.stages, self.knowledge, self.unstated, objective)

    def procurement(self, facts: Facts, plan: Plan | None, today: date | None) -> Procurement:
        """Renting and owning compared; once where the facts are alike that this looks at."""
        kept: _Kept = self.kept
        offer = _offer(plan)
        for before in kept.compared:
            if (before.plan, before.today) == (offer, today) and _alike(before.facts, facts, before.facts):
                return before.procurement
        watched = Watched(facts)
        found = super().procurement(watched, plan, today)
        read = {*facts, *watched.read} if watched.copied else watched.read
        kept.compared.append(_Compared(offer, today, {name: facts.get(name) for name in read}, found))  # type: ignore[misc]
        return found

    def rent_or_buy(self, probed: Probed, today: date) -> Value:
        """What the advise rules make of renting and owning after a choice."""
        kept: _Kept = self.kept
        chosen, before = probed.chosen, probed.round.survey if probed.round else probed.intake
        compared = self.procurement(probed.intake.facts, chosen.ranked.plan if chosen else None, today)
        compares = {name: found[0].value for name, found in compared.candidates.items()}
        facts = {**compares, **before.facts, **(chosen.facts if chosen else {})}
        key = (chosen is None, tuple([facts.get(name) for name in kept.advising]))
        if key not in kept.verdicts:
            kept.verdicts[key] = self.final(before, chosen, compared).facts.get("procurement", "undecided")
        return kept.verdicts[key]

    def _planned(self, maker: PlanMaker, intake: ResolvedFacts) -> _Planned:
        kept: _Kept = self.kept
        first, asked = kept.watched, asked_counts(intake.fired)
        if first is None:  # A maker comes from ``plan_maker``, which watches the first; this is for the type checker.
            raise RuntimeError("no job was watched")
        watching = maker.job is first.watching
        job = first.job if watching else maker.job
        for made in kept.made.get(kept.key(asked, intake.facts), ()):
            if made.are_for(job):
                return _Planned(made.plans, made.plans, exactly=made.job == job or first.agrees_with(job))
        facts = maker.facts
        plans = self.make_plans(maker.job, facts, self.knowledge, asked, maker=maker)
        if not kept.every:
            list(plans)  # Whatever is made only when asked for looks at its facts now.
        read = set[str]()
        if isinstance(facts, Watched):
            read = set(intake.facts) if facts.copied else facts.read
        looked_at = frozenset(first.read) if watching else None
        kept.keep(asked, intake.facts, _Made(job, looked_at, plans), read)
        alike = kept.tables.setdefault(_digest(plans), plans)
        return _Planned(plans, alike, exactly=alike is plans)


def _bands_hold(found: PlanRound, planned: _Planned, maker: PlanMaker) -> bool:
    """Whether what is planned for a job much like another's is not refused for the bands of its figures."""
    if found.refused:
        return False
    if not found.judged:
        return True
    plan = found.judged[0].ranked.plan
    if planned.own is planned.alike:
        plan = maker.plan(plan.gpu, plan.count, plan.why_count, layout=plan.layout)
    return not band_problems(plan)


def _with_plans(found: PlanRound, plans: PlanTable) -> PlanRound:
    """A round with plans in place of equal ones."""
    rows = {name: row for row, name in enumerate(plans.ids)}
    rejected, surviving = ([rows[name] for name in table.ids] for table in (found.rejected, found.surviving))

    def rejection(place: int) -> Rejection:
        return replace(found.rejections[place], plan=plans[rejected[place]])

    def judged(place: int) -> Judged:
        entry = found.judged[place]
        return replace(entry, ranked=replace(entry.ranked, plan=plans[surviving[place]]))

    return replace(
        found,
        plans=plans,
        rejected=plans.take(np.array(rejected, np.intp)),
        rejections=OnDemand(len(rejected), rejection),
        surviving=plans.take(np.array(surviving, np.intp)),
        judged=OnDemand(len(surviving), judged),
    )


def _digest(plans: PlanTable) -> Hashable:
    """What plans are to rules and to the choice."""
    found = blake2b()
    for name in sorted(plans.facts.names):
        column = plans.facts.own(name)
        if isinstance(column, NumberColumn):
            found.update(f"{name} {column.whole}".encode())
            found.update(column.values.tobytes())
        elif column is not None:
            found.update(f"{name} {column.words}".encode())
            found.update(column.codes.tobytes())
    return tuple(plans.ids), plans.doubtful.tobytes(), found.digest()


def _offer(plan: Plan | None) -> Hashable:
    """What is looked at of a plan in comparing renting with owning: not its work, nor what a piece of that costs."""
    if plan is None:
        return None
    cost = replace(plan.cost, usd_per_month=None, usd_per_run=None, usd_per_1m_tokens=None, usd_per_1k_samples=None)
    return plan.gpu.id, plan.count, cost


def _alike(one: Facts, other: Facts, names: Iterable[str]) -> bool:
    return all(one.get(name) == other.get(name) for name in names)


def _candidates(before: ResolvedFacts, survey: ResolvedFacts) -> dict[str, list[FactCandidate]]:
    """What was computed of the surviving plans: rules on them derive the rest anew."""
    added = (fact for name, fact in survey.resolved.items() if name not in before.resolved)
    return {fact.name: [fact.candidate] for fact in added if fact.candidate.origin != "derived"}


def probing_context(context: DecisionContext, gpus: frozenset[str] | None = None) -> ProbingContext:
    """A context that keeps what it decides for the next variation.

    Args:
        context: what every decision is made with.
        gpus: plan with these alone; what rules reject of them does not depend on other GPUs.
    """
    stages = context.stages
    last = [rule for resolver in (stages.outcome, stages.outcome_of_chosen) for rule in resolver.rules]
    kept = _Kept(
        rejecting=WorkloadSide(stages.reject.rules, by_presence=True),
        deriving=WorkloadSide((rule for level in stages.plan_levels for rule in level.rules), by_value=True),
        preferring=WorkloadSide(stages.prefer.rules),
        advising=facts_behind("procurement", last),
    )
    knowledge = context.knowledge
    if gpus is not None:
        knowledge = copy(knowledge)
        knowledge.__dict__["plannable"] = tuple(gpu for gpu in context.knowledge.plannable if gpu.id in gpus)
        knowledge.__dict__["priced_ids"] = gpus
    shared = {name: getattr(context, name) for name in context.__struct_fields__}
    return ProbingContext(**{**shared, "knowledge": knowledge, "calculated": {}, "kept": kept})
