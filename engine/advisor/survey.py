"""The survey: what the surviving plans look like side by side, as facts that later rules may read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import Facts, Value, number
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import FactCandidate


SOURCE = "whichgpu-survey"


class Measures(Struct, frozen=True):
    """Cost and time of one plan, in units that all plans of a decision share; None where not known.

    A job is measured by the run, or by the piece of work where its length is not known; a service by what it costs a
    month at its hours and by the time of one answer at the stated load. ``weighed_cost`` adds what surrounds rented
    GPUs, for the weighing of evidence; where no price is known it is that of the highest rate of the whole price list
    (docs/decisions/0006), which does not depend on the other plans.
    """

    cost: float | None
    time: float | None
    weighed_cost: float | None = None
    weighed_time: float | None = None  # raised by what twice as many GPUs have to bring
    usd_per_hour: float | None = None  # of a job whose length is not known: its cost is then that of a piece of work

    @property
    def speed(self) -> float | None:
        """Work, or answers, per unit of time."""
        return 1.0 / self.time if self.time else None

    @property
    def weighed_speed(self) -> float | None:
        """Speed as evidence weighs it."""
        return 1.0 / self.weighed_time if self.weighed_time else None


#: What was stated behind figures of the survey.
_INPUTS = {"owned_plan_qualifies": ("gpus_owned",), "renting_undercuts_owned": ("gpus_owned",)}
#: A plan of which neither cost nor time was asked.
UNMEASURED = Measures(None, None)


class Spread(Struct, frozen=True):
    """The ends of cost and speed among surviving plans; None where no plan has the figure."""

    cheapest: float | None
    fastest: float | None
    weighed_fastest: float | None
    weighed_slowest: float | None
    least_cost: float | None = None  # without what surrounds the GPUs


def is_job(workload: Facts) -> bool:
    """Whether the work is done piece by piece, and not a service that is there to be asked."""
    task = workload.get("task")
    serves = isinstance(task, str) and profile_of(task).serves
    return not serves or workload.get("serving_mode") == "batch"


def length_known(plans: Sequence[Plan]) -> bool:
    """Whether the length of the run is known on every plan whose rate is."""
    timed = [plan.facts for plan in plans if "plan.tokens_per_s" in plan.facts or "plan.samples_per_s" in plan.facts]
    return bool(timed) and all("plan.hours" in facts for facts in timed)


def measure(plan: Plan, *, job: bool, by_run: bool, objective: Objective, highest_usd_per_gpu_hour: float) -> Measures:
    """Cost and time of a plan as choosing compares them.

    Args:
        plan: a surviving plan.
        job: compare by the piece of work, not by the month.
        by_run: the length of the run is known on all plans, and the piece of work is the run.
        objective: tells what surrounds rented GPUs, without which two prices of a few cents would lie as far apart as
            two of a hundred dollars, and what twice as many GPUs have to bring.
        highest_usd_per_gpu_hour: the highest rate of the price list, for a plan whose price is not known.
    """
    facts, hourly = plan.facts, plan.cost.usd_per_hour
    rate = number(facts, "plan.tokens_per_s") or number(facts, "plan.samples_per_s")
    weighed = (hourly if hourly is not None else highest_usd_per_gpu_hour * plan.count) + objective.around_usd_per_hour
    latency = None if job else number(facts, "plan.latency_ms")
    time = latency if latency else 1.0 / rate if rate else None
    weighed_time = time * objective.gain_of_doubling ** math.log2(plan.count) if time else None
    if job:
        if time is None:
            return Measures(hourly, None, weighed)
        # A run of stated steps may do more work on more GPUs: it costs its hours, and is as fast as its rate.
        length = (number(facts, "plan.hours") if by_run else None) or time
        cost = None if hourly is None else hourly * length
        return Measures(cost, time, weighed * length, weighed_time, None if by_run else hourly)
    monthly = plan.cost.usd_per_month
    return Measures(monthly if monthly is not None else hourly, time, weighed, weighed_time)


def spread(measures: Sequence[Measures]) -> Spread:
    """The ends of what the plans measure."""
    costs = [m.weighed_cost for m in measures if m.weighed_cost and m.cost is not None]
    plain = [m.cost for m in measures if m.cost]
    speeds = [m.speed for m in measures if m.speed]
    weighed = [m.weighed_speed for m in measures if m.weighed_speed]
    return Spread(
        min(costs, default=None),
        max(speeds, default=None),
        max(weighed, default=None),
        min(weighed, default=None),
        min(plain, default=None),
    )


def beside_others(measures: Measures, ends: Spread) -> dict[str, Value]:
    """The plan-scope facts of the survey: cost as a multiple of the cheapest, speed as a share of the fastest."""
    facts: dict[str, Value] = {}
    if measures.cost and ends.least_cost:
        facts["plan.cost_vs_cheapest"] = measures.cost / ends.least_cost
    if measures.speed and ends.fastest:
        facts["plan.speed_vs_fastest"] = measures.speed / ends.fastest
    return facts


def objective_claims(objective: Objective) -> dict[str, list[FactCandidate]]:
    """Whether the user said what matters most, as a fact that rules on plans may read."""
    formula = "whether the user said what matters most"
    return {
        "objective_stated": [
            FactCandidate("computed", "survey.objective_stated", objective.stated, (), formula, (SOURCE,))
        ]
    }


def survey_claims(plans: Sequence[Plan], measures: Sequence[Measures]) -> dict[str, list[FactCandidate]]:
    """Workload-scope facts over the surviving plans and what each measures, sized ones only where fitting is meant."""
    sized = [plan for plan in plans if plan.memory is not None]
    hourly = [plan.cost.usd_per_hour for plan in plans if plan.cost.usd_per_hour is not None]
    values: dict[str, tuple[Value, str]] = {"surviving_plans": (len(plans), "plans that no rule rejects")}
    if sized:
        single = [plan for plan in sized if fewest_of(plan) == 1]
        consumer = any(plan.gpu.segment == "consumer" for plan in single)
        values["fits_one_gpu"] = (bool(single), "whether one GPU of a surviving plan's kind holds the job")
        values["fits_consumer_gpu"] = (consumer, "whether one consumer card of a surviving plan's kind holds the job")
        values["min_gpu_count"] = (
            min(map(fewest_of, sized)),
            "the fewest GPUs of a surviving plan's kind that hold it",
        )
    if any(plan.cost.origin == "owned" for plan in plans):
        values["owned_plan_qualifies"] = (True, "whether a plan on hardware that is owned survives")
        owned, rented = (
            [m.cost for plan, m in zip(plans, measures, strict=True) if plan.cost.origin in origins and m.cost]
            for origins in (("owned",), ("offer", "quote"))
        )
        values["renting_undercuts_owned"] = (
            bool(owned and rented) and min(rented) < min(owned),
            "whether the cheapest rented plan costs less than the cheapest on hardware that is owned",
        )
    if hourly:
        values["cheapest_usd_per_hour"] = (min(hourly), "lowest price among surviving plans")
    return {
        name: [FactCandidate("computed", f"survey.{name}", value, _INPUTS.get(name, ()), formula, (SOURCE,))]
        for name, (value, formula) in values.items()
    }


def fewest_of(plan: Plan) -> int:
    """How few GPUs of the plan's kind hold the job, whatever count a target or a wish asks for."""
    fewest = plan.facts.get("plan.smallest_count")
    return fewest if isinstance(fewest, int) and not isinstance(fewest, bool) else plan.count
