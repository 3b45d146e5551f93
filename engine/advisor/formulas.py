"""How the figures of a decision were made: the formulas run once more over numbers that remember their arithmetic."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from whichgpu.engine.advisor.measures import compared_by, length_known, measures_of
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.paid_length import work_comes_every
from whichgpu.engine.advisor.rank import cost_points, speed_points
from whichgpu.engine.advisor.survey import beside_others, spread
from whichgpu.engine.core import (
    Column,
    FactTable,
    NumberColumn,
    Traced,
    column_of,
    marked,
    registered,
    traced_facts,
    tracing,
    use_knowledge,
)
from whichgpu.engine.plans import (
    Plan,
    PlanTable,
    plan_formulas,
    procurement_formulas,
)


if TYPE_CHECKING:
    from whichgpu.engine.advisor.decision import Decision


class DecisionFormulas(Struct, frozen=True):
    """The figures of the plans that a decision shows, by their ids, and those of the workload."""

    plans: Mapping[str, Mapping[str, Traced]]
    workload: Mapping[str, Traced]


def formulas_of(decision: Decision, wanted: Collection[str]) -> DecisionFormulas:
    """How the figures of a decision were made. Slices of cards are left out.

    Args:
        decision: what was decided.
        wanted: the ids of the plans that are asked for.
    """
    context, outcome = decision.advisor.context, decision.outcome
    use_knowledge(context.in_use)
    maker = context.plan_maker(outcome.model, outcome.intake)
    shown = [plan for plan in _plans(decision) if plan.partition is None and plan.id in wanted]
    chosen_by = _Choosing(outcome) if outcome.round and len(outcome.round.surviving) else None
    made = plan_formulas(maker, shown) if shown else {}
    plans = {plan.id: {**made[plan.id], **(chosen_by.figures(plan) if chosen_by else {})} for plan in shown}
    return DecisionFormulas(plans, dict(_of_workload(decision)))


class _Choosing:
    """What choosing makes of a plan's figures: how it stands beside the others, and its points."""

    def __init__(self, outcome: Outcome) -> None:
        assert outcome.round is not None  # noqa: S101 - its caller looked.
        workload, plans = outcome.intake.facts, outcome.round.surviving
        how = compared_by(workload)
        objective = outcome.objective.of_work(job=how.job)
        self._how: dict[str, Any] = {**how._asdict(), "by_run": how.job and length_known(plans)}
        measures = measures_of(plans, objective=objective, highest_usd_per_gpu_hour=math.nan, **self._how)
        by_run, share = self._how["by_run"], objective.preference_share
        every = work_comes_every(plans, by_run=by_run, stands_idle=how.stands_idle, busy=how.busy, share=share)
        if every is not None:  # One plan alone does not tell it.
            self._how["comes_every"] = marked(every, "survey.work_comes_every", "the work that bought hardware is for")
        self._ends = marked(spread(measures), "survey", "the ends among the plans that no rule rejects")
        self._objective = marked(objective, "objective", ", ".join(objective.sources))

    def figures(self, plan: Plan) -> dict[str, Traced]:
        """How the figures of one plan were made, by name."""
        row: dict[str, Column] = {}
        for name, value in traced_facts({"plan.count": plan.count, **plan.facts}).items():
            column: Any = value.reshape(1) if isinstance(value, Traced) else None
            row[name] = column_of([value]) if column is None else NumberColumn(column)
        table = PlanTable([plan.id], [plan.gpu], FactTable(1, row), lambda _: plan)
        ends, objective = self._ends, self._objective
        with tracing():
            measures = measures_of(table, objective=objective, highest_usd_per_gpu_hour=math.nan, **self._how)
            found: dict[str, Any] = {name: column.values for name, column in beside_others(measures, ends).items()}
            found["points for cost"] = cost_points(measures.weighed_cost, ends.cheapest, objective.cost_points)
            pace = 1 / measures.weighed_time
            found["points for speed"] = speed_points(
                pace, ends.weighed_fastest, ends.weighed_slowest, objective.speed_points
            )
        return {name: column[0] for name, column in found.items() if isinstance(column, Traced)}


def _plans(decision: Decision) -> list[Plan]:
    """The plans that a trace may hold, whole or in part."""
    outcome = decision.outcome
    found = [candidate.plan for candidate in outcome.candidates if candidate.plan is not None]
    if outcome.round is not None:
        found += [rejection.plan for rejection in outcome.round.rejections]
        found += [outcome.judged[place].ranked.plan for place in outcome.round.alternatives]
    if outcome.chosen is not None:
        found.append(outcome.chosen.ranked.plan)
    return list({plan.id: plan for plan in found}.values())


def _of_workload(decision: Decision) -> Iterator[tuple[str, Traced]]:
    outcome = decision.outcome
    with tracing():
        facts = traced_facts(outcome.intake.facts)
        for name, fact in outcome.intake.resolved.items():
            known = registered().get(name)
            if fact.candidate.origin == "computed" and known is not None and known.name == fact.candidate.by:
                inputs: dict[str, Any] = {each: facts.get(each) for each in (*known.needs, *known.uses)}
                value = known.function(**inputs)
                if isinstance(value, Traced):
                    yield name, value
    plan = outcome.chosen.ranked.plan if outcome.chosen else None
    sold = outcome.procurement.owned_as
    owned_as = decision.advisor.knowledge.gpus[sold] if sold else None
    yield from procurement_formulas(outcome.intake.facts, plan, owned_as).items()
