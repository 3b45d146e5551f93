"""A plan under the keys of the output contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.wording import spoken
from whichgpu.engine.advisor.outcome import Judged, Unverified
from whichgpu.engine.advisor.rank import Award
from whichgpu.engine.catalogue import Offer
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import Commitment, Cost, Plan
from whichgpu.engine.rules import Rule, Vocabulary
from whichgpu.engine.sizing import Layout, MemoryEstimate, fit_odds


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import plan_types


def plan_dict(
    plan: Plan,
    judged: Judged | None,
    rules: Mapping[str, Rule],
    shared: Facts,
    vocabulary: Vocabulary,
    *,
    banded: bool = True,
) -> plan_types.Plan:
    """The plan with its numbers; score and points where it was ranked.

    Args:
        plan: the plan.
        judged: the same as it was judged, if it was.
        rules: all rules by id.
        shared: facts of the workload.
        vocabulary: for labels.
        banded: with the bands of its speed, and the range of its count.
    """
    ranked = judged.ranked if judged else None
    facts = {**shared, **judged.facts} if judged else shared
    value: plan_types.Plan = {
        "id": plan.id,
        "gpu": plan.gpu.id,
        "family": plan.gpu.family,
        "count": plan.count,
        "nodes": plan.nodes,
        "link": plan.link,
        "node_link": plan.node_link,
        "parallelism": parallelism_dict(plan.layout),
        "partition": _partition(plan),
        "precision": plan.precision,
        "why_count": plan.why_count,
        "offer": _offer(plan.cost.offer, plan.cost.instances),
        "memory": memory_dict(plan.memory, plan.units, plan.usable_gb) if plan.memory else None,
        "speed": speed_dict(plan, banded=banded),
        "support": support_dict(plan),
        "cost": cost_dict(plan.cost),
        "power_w": plan.power_w,
        "proven": ranked.proven if ranked else plan.memory is not None,
        "score": ranked.score if ranked else None,
        "points": [_award(award, rules, facts, vocabulary) for award in (ranked.awards if ranked else ())],
    }
    if banded and (ends := plan.competence.count_range) is not None:
        value["count_range"] = list(ends)
    if judged is not None and judged.unverified:
        value["unverified"] = [unverified_dict(gap, vocabulary) for gap in judged.unverified]
    return value


def parallelism_dict(layout: Layout) -> plan_types.Parallelism:
    """How the job is split."""
    return {"tensor": layout.tensor, "pipeline": layout.pipeline, "data": layout.data, "sharding": layout.sharding}


def unverified_dict(gap: Unverified, vocabulary: Vocabulary) -> plan_types.UnverifiedLimit:
    """A stated limit that the plan cannot be held against, in words."""
    limit, figure = (_label(name, vocabulary) for name in (gap.limit, gap.figure))
    text = f"the {limit} cannot be checked, because the {figure} is not known"
    return {"limit": gap.limit, "figure": gap.figure, "text": text}


def _label(name: str, vocabulary: Vocabulary) -> str:
    fact = vocabulary.facts.get(name)
    return (fact.label if fact else None) or name


def cost_dict(cost: Cost) -> plan_types.Cost:
    """What the plan costs, and what is known of renting it."""
    return {
        "usd_per_hour": cost.usd_per_hour,
        "usd_per_month": cost.usd_per_month,
        "usd_per_1m_tokens": cost.usd_per_1m_tokens,
        "usd_per_1k_samples": cost.usd_per_1k_samples,
        "usd_per_run": cost.usd_per_run,
        "origin": cost.origin,
        "gpus_bought": cost.gpus_bought,
        "rented_usd_per_hour": cost.rented_usd_per_hour,
        "rented_from": _offer(cost.rented_from, cost.instances),
        "lowest_usd_per_hour": cost.lowest_usd_per_hour,
        "lowest_offer": _offer(cost.lowest_offer, cost.compared[0].instances if cost.compared else None),
        "quotes": cost.quotes,
        "compared": [{"provider": each.offer.provider, "usd_per_hour": each.usd_per_hour} for each in cost.compared],
        "assumed": cost.assumed,
        "nearest_offer": _offer(cost.nearest_offer),
        "instances": cost.instances,
        "spot_usd_per_hour": cost.spot_usd_per_hour,
        "committed": [_committed(commitment) for commitment in cost.committed],
    }


def memory_dict(memory: MemoryEstimate, count: int, usable_gb: float | None) -> plan_types.Memory:
    """Memory over all GPUs and per GPU, with what each term adds per GPU."""
    breakdown: dict[str, float] = {}
    for term in memory.terms:
        breakdown[f"{term.name}_gb"] = breakdown.get(f"{term.name}_gb", 0.0) + term.value
    return {
        "needed_gb": memory.per_gpu_gb * count,
        "per_gpu_gb": memory.per_gpu_gb,
        "allocated_gb": memory.allocated_gb * count,
        "available_per_gpu_gb": usable_gb,
        "headroom_pct": 100 * (1 - memory.per_gpu_gb / usable_gb) if usable_gb else None,
        "fit_probability": None if usable_gb is None else float(fit_odds(memory, usable_gb)),
        "breakdown": breakdown,
        "low_gb": memory.low_gb * count,
        "high_gb": memory.high_gb * count,
        "band_reason": memory.band_reason,
        "method": memory.method,
    }


def speed_dict(plan: Plan, *, banded: bool = True) -> plan_types.Speed:
    """Speed figures over all GPUs as plain numbers, bands as ``x_low`` and ``x_high``."""
    if plan.speed is None:
        return {}
    speeds: plan_types.Speed = {}
    if not banded:
        for name, value in sorted(plan.speed.values.items()):
            speeds[name] = value > 0 if name == "overloaded" else value
        return speeds
    for name, figure in sorted(plan.speed.figures.items()):
        if name == "overloaded":
            speeds[name] = figure.value > 0
            continue
        speeds[name] = figure.value
        speeds[f"{name}_low"] = figure.low
        speeds[f"{name}_high"] = figure.high
    return speeds


def support_dict(plan: Plan) -> dict[str, plan_types.FigureSupport]:
    """How well each figure is founded, the withheld ones among them."""
    return {
        name: {"level": each.level, "reason": each.reason, "measure": each.measure}
        for name, each in plan.competence.support.items()
    }


class SupportReasons:
    """The reasons of an answer's levels of support, each stated once: many plans and figures share a few."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, str], str] = {}

    def referred(self, support: Mapping[str, plan_types.FigureSupport]) -> dict[str, plan_types.FigureSupport]:
        """The support of a plan with the key of each reason in its place; of a withheld figure the reason stays."""
        return {
            name: each if each["level"] == "none" else {"level": each["level"], "why": self._key(each)}
            for name, each in support.items()
        }

    def _key(self, each: plan_types.FigureSupport) -> str:
        return self._keys.setdefault((each["reason"], each["measure"]), f"s{len(self._keys) + 1}")

    def stated(self) -> dict[str, plan_types.SupportReason]:
        """The reasons that were referred to, by key."""
        return {key: {"reason": reason, "measure": measure} for (reason, measure), key in self._keys.items()}


def _partition(plan: Plan) -> plan_types.Partition | None:
    part = plan.partition
    return None if part is None else {"profile": part.profile, "slices": part.slices, "slices_per_gpu": part.per_card}


def _offer(offer: Offer | None, instances: int | None = None) -> plan_types.Offer | None:
    if offer is None:
        return None
    shown: plan_types.Offer = {
        "provider_class": offer.provider_class,
        "provider": offer.provider,
        "instance": offer.instance,
        "gpus_per_instance": offer.count,
        "usd_per_instance_hour": offer.usd_per_hour,
        "instances": instances,
        "region": offer.region,
        "as_of": offer.as_of,
        "source": offer.source,
    }
    if offer.quota_gpus is not None:
        shown["quota_gpus"] = offer.quota_gpus
    if offer.lead_time_days is not None:
        shown["lead_time_days"] = offer.lead_time_days
    return shown


def _committed(commitment: Commitment) -> plan_types.Commitment:
    return {
        "term_months": commitment.term_months,
        "usd_per_hour": commitment.usd_per_hour,
        "provider": commitment.offer.provider,
        "instance": commitment.offer.instance,
        "gpus_per_instance": commitment.offer.count,
        "instances": commitment.instances,
        "region": commitment.offer.region,
        "source": commitment.source,
    }


def _award(award: Award, rules: Mapping[str, Rule], facts: Facts, vocabulary: Vocabulary) -> plan_types.Points:
    rule = rules.get(award.rule) if award.rule else None
    if rule is None:
        text = _term_words(award, facts)
        return {"rule": None, "reason": award.reason, "points": award.points, "counted": True, "because": text}
    return {
        "rule": rule.id,
        "reason": award.reason,
        "points": award.points,
        "counted": award.counted,
        "checked": award.checked,
        "because": spoken(rule, facts, vocabulary),
        "sources": list(rule.sources),
    }


#: By term: what the best plan is, how the others stand beside it, and what points weigh that ratios leave out.
_TERMS = {
    "cost": ("cheaper", "costs {:.3g} x the cheapest plan", "with a host and what else surrounds the GPUs"),
    "speed": ("faster", "takes {:.3g} x as long as the fastest plan", "for its number of GPUs"),
}
_UNKNOWN_TERMS = {
    "cost unknown": "no price is known, so it counts as the costliest",
    "speed unknown": "no speed is known, so it counts as the slowest",
}
#: Ratios nearer to one than this, and points below this, are called none.
_CLOSE, _NO_POINTS = 0.01, 0.005


def _term_words(award: Award, facts: Facts) -> str:
    """The term of cost or speed. Points weigh what surrounds the GPUs and how many there are; the ratio does not."""
    if award.reason in _UNKNOWN_TERMS:
        return _UNKNOWN_TERMS[award.reason]
    better, beside, weighed = _TERMS[award.reason]
    ratio = facts.get("plan.cost_vs_cheapest")
    if award.reason == "speed":
        share = facts.get("plan.speed_vs_fastest")
        ratio = 1 / share if isinstance(share, int | float) and share else None
    counts = abs(award.points) >= _NO_POINTS
    if not isinstance(ratio, int | float):
        return f"{award.reason} beside the other plans that qualify"
    if ratio < 1 + _CLOSE:
        by = "" if ratio == 1 else " by 1 % or more"
        return f"no plan that qualifies is {better}{by}" + (f"; {weighed}, another is" if counts else "")
    if not counts:
        return f"{weighed}, no plan that qualifies is {better}"
    return f"{beside.format(ratio)} that qualifies"
