"""The survey: what the surviving plans look like side by side, as facts that later rules may read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core import NumberColumn, Numbers, Value
from whichgpu.engine.plans import Plan, PlanTable
from whichgpu.engine.rules import FactCandidate


SOURCE = "whichgpu-survey"


#: What was stated behind figures of the survey.
_INPUTS = {"owned_plan_qualifies": ("gpus_owned",), "renting_undercuts_owned": ("gpus_owned",)}


class Spread(Struct, frozen=True):
    """The ends of cost and speed among surviving plans; None where no plan has the figure."""

    cheapest: float | None
    fastest: float | None
    weighed_fastest: float | None
    weighed_slowest: float | None
    least_cost: float | None = None  # without what surrounds the GPUs


def spread(measures: MeasureColumns) -> Spread:
    """The ends of what the plans measure."""
    priced = ~np.isnan(measures.cost)
    return Spread(
        _least(measures.weighed_cost[priced]),
        _most(1 / measures.time),
        _most(1 / measures.weighed_time),
        _least(1 / measures.weighed_time),
        _least(measures.cost),
    )


def _least(column: Numbers) -> float | None:
    """The least of what is known and above zero."""
    above = column[column > 0]
    return float(above.min()) if above.size else None


def _most(column: Numbers) -> float | None:
    above = column[column > 0]
    return float(above.max()) if above.size else None


def beside_others(measures: MeasureColumns, ends: Spread) -> dict[str, NumberColumn]:
    """The plan-scope facts of the survey: cost as a multiple of the cheapest, speed as a share of the fastest."""
    facts: dict[str, NumberColumn] = {}
    if ends.least_cost:
        facts["plan.cost_vs_cheapest"] = _above_zero(measures.cost / ends.least_cost)
    if ends.fastest:
        facts["plan.speed_vs_fastest"] = _above_zero(1 / measures.time / ends.fastest)
    return facts


def _above_zero(column: Numbers) -> NumberColumn:
    return NumberColumn(np.where(column > 0, column, np.nan))


def objective_candidates(objective: Objective) -> dict[str, list[FactCandidate]]:
    """Whether the user said what matters most, as a fact that rules on plans may read."""
    formula = "whether the user said what matters most"
    return {
        "objective_stated": [
            FactCandidate("computed", "survey.objective_stated", objective.stated, (), formula, (SOURCE,))
        ]
    }


def survey_candidates(plans: Sequence[Plan], measures: MeasureColumns) -> dict[str, list[FactCandidate]]:
    """Workload-scope facts over the surviving plans and what each measures, sized ones only where fitting is meant."""
    table = PlanTable.of(plans)
    values: dict[str, tuple[Value, str]] = {"surviving_plans": (len(table), "plans that no rule rejects")}
    sized = ~np.isnan(table.numbers("plan.per_gpu_gb"))
    if sized.any():
        fewest = fewest_of(table)
        single = sized & (fewest == 1)
        consumer = [table.gpus[row].segment == "consumer" for row in np.flatnonzero(single).tolist()]
        values["fits_one_gpu"] = (bool(single.any()), "whether one GPU of a surviving plan's kind holds the job")
        values["fits_consumer_gpu"] = (
            any(consumer),
            "whether one consumer card of a surviving plan's kind holds the job",
        )
        values["min_gpu_count"] = (
            int(fewest[sized].min()),
            "the fewest GPUs of a surviving plan's kind that hold it",
        )
    owned = table.yes("plan.owned")
    if owned.any():
        values["owned_plan_qualifies"] = (True, "whether a plan on hardware that is owned survives")
        # Who waits longer than people tolerate pays for it, on hardware that is there as on any other.
        least_owned = _least(measures.perceived_cost[owned])
        rented = table.yes("plan.offered") & ~owned & ~table.yes("plan.bought")
        # What no provider offers in that shape cannot undercut anything.
        least_rented = _least(measures.perceived_cost[rented & ~table.yes("plan.assumed_price")])
        values["renting_undercuts_owned"] = (
            least_owned is not None and least_rented is not None and least_rented < least_owned,
            "whether the cheapest rented plan costs less than the cheapest on hardware that is owned, lateness counted",
        )
    hourly = table.numbers("plan.usd_per_hour")
    if not np.isnan(hourly).all():
        values["cheapest_usd_per_hour"] = (float(np.nanmin(hourly)), "lowest price among surviving plans")
    return {
        name: [FactCandidate("computed", f"survey.{name}", value, _INPUTS.get(name, ()), formula, (SOURCE,))]
        for name, (value, formula) in values.items()
    }


def fewest_of(plans: PlanTable) -> Numbers:
    """How few GPUs of each plan's kind hold the job, whatever count a target or a wish asks for."""
    fewest = plans.numbers("plan.smallest_count")
    return np.where(np.isnan(fewest), plans.numbers("plan.count"), fewest)
