"""One round over the plans: derive, reject, survey, prefer, choose."""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from functools import partial

from msgspec import Struct
from msgspec.structs import astuple

from whichgpu.engine.advisor.choice import Contender, Standing, standings
from whichgpu.engine.advisor.outcome import Judged, PlanRound, Rejection, Unverified
from whichgpu.engine.advisor.proof import Gap, missing_for_proof
from whichgpu.engine.advisor.rank import (
    Award,
    Objective,
    Ranked,
    awards_of,
    band_rules,
    cost_term,
    fallback_rules,
    speed_term,
)
from whichgpu.engine.advisor.stages import Stages
from whichgpu.engine.advisor.survey import (
    Measures,
    Spread,
    beside_others,
    is_job,
    length_known,
    measure,
    objective_claims,
    spread,
    survey_claims,
)
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans import Plan, Refusal, band_problems, through_gate
from whichgpu.engine.rules import Resolution, ResolvedFacts, Rule


def run_round(
    plans: Sequence[Plan],
    intake: ResolvedFacts,
    stages: Stages,
    knowledge: Knowledge,
    unstated: AbstractSet[str],
    objective: Objective,
) -> PlanRound:
    """Judge the plans of one workload: who is out and why, and who is best among the rest.

    ``unstated`` are the facts whose absence keeps no plan from being proven.
    """
    plans, at_gate = through_gate(plans)
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
    job = is_job(intake.facts)
    by_run = job and length_known(survivors)
    measures = [
        measure(
            plan,
            job=job,
            by_run=by_run,
            objective=objective,
            highest_usd_per_gpu_hour=knowledge.dearest_usd_per_gpu_hour,
        )
        for plan in survivors
    ]
    claims = {**survey_claims(survivors, measures), **objective_claims(objective)}
    survey = stages.survey.run({}, extra=claims, before=intake)
    ends = spread(measures)
    sets: list[Facts] = [
        fact_sets[index] | beside_others(measured, ends) for index, measured in zip(alive, measures, strict=True)
    ]
    preferring = stages.prefer.run(survey.facts, sets, [plan.id for plan in survivors])
    lacking = missing_for_proof(rejecting.evaluation, unstated)
    contenders: list[Contender] = []
    judged: dict[str, partial[Judged]] = {}  # All but the standing, which the choice gives.
    weighed: dict[tuple[tuple[str, ...], bool], _Evidence] = {}  # Many plans meet the same rules.
    for position, index in enumerate(alive):
        measured, resolution = measures[position], preferring.resolutions[position]
        key = (resolution.fired, measured.cost is not None and measured.time is not None)
        if key not in weighed:
            weighed[key] = _weigh(stages.prefer.fired(resolution), figures_known=key[1])
        awards = (*weighed[key].awards, *_terms(measured, ends, objective))
        gaps = lacking.get(index, set())
        ranked = Ranked(plans[index], sum(award.points for award in awards if award.counted), awards, proven=not gaps)
        contenders.append(_contender(ranked, measured, weighed[key]))
        judged[ranked.plan.id] = _judged(ranked, sets[position], resolution, gaps, measured, weighed[key])
    order, implausible = _order(contenders, objective)
    best_first = tuple(judged[name](standing=standing) for name, standing in order.items())
    return PlanRound(tuple(plans), tuple(rejections), best_first, survey, derived, (*at_gate, *implausible))


def _order(contenders: Sequence[Contender], objective: Objective) -> tuple[dict[str, Standing], list[Refusal]]:
    """The plans, best first, and those that came first with figures beyond their bands, which are left out."""
    refused: list[Refusal] = []
    while True:
        order = standings(contenders, objective)
        first = next((entry for entry in contenders if entry.id == next(iter(order), None)), None)
        problems = band_problems(first.ranked.plan) if first else ()
        if first is None or not problems:
            return order, refused
        refused.append(Refusal(first.ranked.plan, problems))
        contenders = [entry for entry in contenders if entry is not first]


def _contender(ranked: Ranked, measured: Measures, evidence: _Evidence) -> Contender:
    return Contender(
        ranked,
        measured,
        bool(evidence.fallbacks),
        bool(evidence.card_bands),
        bool(evidence.count_bands),
    )


def _judged(
    ranked: Ranked,
    facts: Facts,
    resolution: Resolution,
    gaps: AbstractSet[Gap],
    measured: Measures,
    evidence: _Evidence,
) -> partial[Judged]:
    return partial(
        Judged,
        ranked,
        facts,
        resolution,
        tuple(sorted({gap.figure for gap in gaps})),
        tuple(sorted({Unverified(gap.limit, gap.figure) for gap in gaps if gap.limit}, key=astuple)),
        measured,
        evidence.fallbacks,
        evidence.card_bands,
        evidence.count_bands,
    )


class _Evidence(Struct, frozen=True):
    """What the prefer rules that fired on a plan come to."""

    awards: tuple[Award, ...]
    fallbacks: tuple[str, ...]
    card_bands: tuple[str, ...]
    count_bands: tuple[str, ...]


def _weigh(rules: Sequence[Rule], *, figures_known: bool) -> _Evidence:
    return _Evidence(
        tuple(awards_of(rules, figures_known=figures_known)),
        tuple(fallback_rules(rules)),
        band_rules(rules, "cards"),
        band_rules(rules, "counts"),
    )


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
    known = measured.cost is not None
    terms = (
        cost_term(
            measured.weighed_cost if known else None, ends.cheapest, measured.weighed_cost, objective.cost_points
        ),
        speed_term(measured.weighed_speed, ends.weighed_fastest, ends.weighed_slowest, objective.speed_points),
    )
    return [term for term in terms if term is not None]
