"""One round over the plans: derive, reject, survey, prefer, rank."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple

from engine.decide.model import Judged
from engine.decide.model import PlanRound
from engine.decide.model import Rejection
from engine.decide.model import Unverified
from engine.decide.proof import missing_for_proof
from engine.decide.rank import Award
from engine.decide.rank import Objective
from engine.decide.rank import Ranked
from engine.decide.rank import cost_term
from engine.decide.rank import rank
from engine.decide.rank import speed_term
from engine.decide.rank import strongest_per_reason
from engine.decide.stages import Stages
from engine.decide.survey import Measures
from engine.decide.survey import Spread
from engine.decide.survey import beside_others
from engine.decide.survey import cost_is_per_work
from engine.decide.survey import measure
from engine.decide.survey import spread
from engine.decide.survey import survey_claims
from engine.knowledge import Knowledge
from engine.plans.gate import Refusal
from engine.plans.gate import band_problems
from engine.plans.gate import through_gate
from engine.plans.model import Plan
from engine.settle.model import Settlement
from engine.values import Facts
from engine.values import Value


def run_round(
    plans: Sequence[Plan],
    intake: Settlement,
    stages: Stages,
    knowledge: Knowledge,
    unstated: AbstractSet[str],
    objective: Objective,
) -> PlanRound:
    """Judge the plans of one workload: who is out and why, and who is best among the rest.

    ``unstated`` are the facts whose absence keeps no plan from being proven.
    """
    plans, refused = through_gate(plans)
    names = [plan.id for plan in plans]
    fact_sets: list[dict[str, Value]] = [{**knowledge.gpu_facts[plan.gpu.id], **plan.facts} for plan in plans]
    derived = _derive(stages, intake.facts, fact_sets, names)
    rejecting = stages.reject.run(intake.facts, fact_sets, names)
    rejections, alive = [], []
    for index, resolution in enumerate(rejecting.resolutions):
        if resolution.fired:
            rejections.append(Rejection(plans[index], stages.reject.fired(resolution), fact_sets[index]))
        else:
            alive.append(index)
    survivors = [plans[index] for index in alive]
    survey = stages.survey.run({}, extra=survey_claims(survivors), before=intake)
    per_work = cost_is_per_work(survey.facts)
    measures = [
        measure(
            plan,
            per_work=per_work,
            around_usd_per_hour=objective.around_usd_per_hour,
            dearest_usd_per_gpu_hour=knowledge.dearest_usd_per_gpu_hour,
        )
        for plan in survivors
    ]
    ends = spread(measures)
    sets: list[Facts] = [
        fact_sets[index] | beside_others(measured, ends) for index, measured in zip(alive, measures, strict=True)
    ]
    preferring = stages.prefer.run(survey.facts, sets, [plan.id for plan in survivors])
    lacking = missing_for_proof(rejecting.evaluation, unstated)
    judged: dict[str, Judged] = {}
    pointed: dict[tuple[str, ...], list[Award]] = {}  # Many plans get their points from the same rules.
    for position, index in enumerate(alive):
        gaps = lacking.get(index, ())
        missing = tuple(sorted({gap.figure for gap in gaps}))
        fired = preferring.resolutions[position].fired
        if fired not in pointed:
            pointed[fired] = strongest_per_reason(stages.prefer.fired(preferring.resolutions[position]))
        awards = (*pointed[fired], *_terms(measures[position], ends, objective))
        score = sum(award.points for award in awards if award.counted)
        ranked = Ranked(plans[index], score, awards, proven=not missing)
        unverified = tuple(sorted({Unverified(gap.limit, gap.figure) for gap in gaps if gap.limit}, key=astuple))
        judged[plans[index].id] = Judged(ranked, sets[position], preferring.resolutions[position], missing, unverified)
    order = [judged[entry.plan.id] for entry in rank([entry.ranked for entry in judged.values()])]
    order, without_band = _with_bands(order)
    return PlanRound(tuple(plans), tuple(rejections), tuple(order), survey, derived, (*refused, *without_band))


def _with_bands(order: list[Judged]) -> tuple[list[Judged], tuple[Refusal, ...]]:
    """The plans from the first on whose bands of speed can be true; those before it are refused."""
    refused: list[Refusal] = []
    for entry in order:
        problems = band_problems(entry.ranked.plan)
        if not problems:
            break
        refused.append(Refusal(entry.ranked.plan, problems))
    return order[len(refused) :], tuple(refused)


def _derive(
    stages: Stages, shared: Facts, fact_sets: list[dict[str, Value]], names: list[str]
) -> dict[str, tuple[str, ...]]:
    """Run the plan-scope derive rules level by level; a given plan fact stays. Returns the rules fired by plan."""
    fired: dict[str, tuple[str, ...]] = {}
    for level in stages.plan_levels:
        run = level.run(shared, fact_sets, names)
        for name, facts, resolution in zip(names, fact_sets, run.resolutions, strict=True):
            for fact, value in resolution.values.items():
                facts.setdefault(fact, value)
            if resolution.fired:
                fired[name] = (*fired.get(name, ()), *resolution.fired)
    return fired


def _terms(measured: Measures, ends: Spread, objective: Objective) -> list[Award]:
    terms = (
        cost_term(measured.cost, ends.cheapest, measured.feared or ends.dearest, objective.cost_weight),
        speed_term(measured.speed, ends.fastest, ends.slowest, objective.speed_weight),
    )
    return [term for term in terms if term is not None]
