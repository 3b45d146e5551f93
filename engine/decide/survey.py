"""The survey: what the surviving plans look like side by side, as facts that later rules may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.plans.model import Plan
from engine.settle.model import Claim
from engine.values import Facts
from engine.values import Value


SOURCE = "whichgpu-survey"
_TRAINING = ("pretraining", "full_finetuning", "peft_finetuning")
_BUSY = ("high", "massive")
#: Up to so long a training job is brief: minutes to a couple of hours (runpod/key-factors-for-training-gpus).
_BRIEF_HOURS = 2.0


@dataclass(frozen=True, slots=True)
class Measures:
    """What ranking compares of one plan: USD and speed, None where not known.

    ``feared`` is what an unknown cost is taken for: every GPU at the dearest rate of the whole price list. It does not
    depend on which other plans there are, so that leaving one out changes nothing between the rest.
    """

    cost: float | None
    speed: float | None
    feared: float | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """The ends of cost and speed among surviving plans; None where no plan has the figure."""

    cheapest: float | None
    dearest: float | None
    fastest: float | None
    slowest: float | None


def cost_is_per_work(workload: Facts) -> bool:
    """Whether plans are compared by the price of the same work, and not by the price of an hour.

    In training and in batch or busy serving a dearer card that ends sooner can be the cheaper one, and so it is with a
    service that is at work around the clock (runpod/cost-considerations-on-runpod). A quiet service, or a batch of
    little, pays for the hour, whatever its card could do in it, and so does a training job of an hour or two, of which
    setting up is a good part (runpod/key-factors-for-training-gpus).
    """
    hours = _number(workload.get("run_hours"))
    brief = hours is not None and hours <= _BRIEF_HOURS
    return (
        (workload.get("task") in _TRAINING and not brief)
        or (workload.get("serving_mode") == "batch" and workload.get("traffic_level") != "low")
        or workload.get("traffic_level") in _BUSY
        or (workload.get("traffic_level") == "moderate" and workload.get("always_on") is True)
    )


def measure(plan: Plan, *, per_work: bool, around_usd_per_hour: float, dearest_usd_per_gpu_hour: float) -> Measures:
    """Cost and speed of a plan as ranking sees them: USD per hour, or per million tokens or samples.

    Args:
        plan: a surviving plan.
        per_work: compare the price of the same work and not of an hour.
        around_usd_per_hour: what surrounds rented GPUs and comes on top of every plan. Without it two prices of a few
            cents would lie as far apart as two of a hundred dollars.
        dearest_usd_per_gpu_hour: the dearest rate of the price list, for a plan whose price is not known.
    """
    facts = plan.facts
    speed = _number(facts.get("plan.tokens_per_s")) or _number(facts.get("plan.samples_per_s"))
    known = plan.cost.usd_per_hour is not None
    per_hour = plan.cost.usd_per_hour if known else dearest_usd_per_gpu_hour * plan.count
    cost: float | None = (per_hour or 0.0) + around_usd_per_hour
    if per_work:
        cost = cost / (speed * 3600) * 1e6 if cost is not None and speed else None
    return Measures(cost, speed) if known else Measures(None, speed, cost)


def spread(measures: Sequence[Measures]) -> Spread:
    """The ends of what the plans measure."""
    costs = [m.cost for m in measures if m.cost]
    speeds = [m.speed for m in measures if m.speed]
    return Spread(
        min(costs, default=None), max(costs, default=None), max(speeds, default=None), min(speeds, default=None)
    )


def beside_others(measures: Measures, ends: Spread) -> dict[str, Value]:
    """The plan-scope facts of the survey: cost as a multiple of the cheapest, speed as a share of the fastest."""
    facts: dict[str, Value] = {}
    if measures.cost and ends.cheapest:
        facts["plan.cost_vs_cheapest"] = measures.cost / ends.cheapest
    if measures.speed and ends.fastest:
        facts["plan.speed_vs_fastest"] = measures.speed / ends.fastest
    return facts


def survey_claims(plans: Sequence[Plan]) -> dict[str, list[Claim]]:
    """Workload-scope facts over the surviving plans, sized ones only where fitting is meant."""
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
    if hourly:
        values["cheapest_usd_per_hour"] = (min(hourly), "lowest price among surviving plans")
    return {
        name: [Claim("computed", f"survey.{name}", value, (), formula, (SOURCE,))]
        for name, (value, formula) in values.items()
    }


def fewest_of(plan: Plan) -> int:
    """How few GPUs of the plan's kind hold the job, whatever count a target or a wish asks for."""
    fewest = plan.facts.get("plan.smallest_count")
    return fewest if isinstance(fewest, int) and not isinstance(fewest, bool) else plan.count


def _number(value: Value | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
