"""A plan under the keys of the output contract."""

from __future__ import annotations

from typing import Any

from engine.decide.model import Judged
from engine.decide.rank import Award
from engine.economics.model import Commitment
from engine.economics.model import Cost
from engine.knowledge.model import Offer
from engine.plans.model import Plan
from engine.present.wording import because
from engine.present.wording import say
from engine.rulebook.model import Rule
from engine.sizing.model import MemoryEstimate
from engine.values import Facts
from engine.vocabulary import Vocabulary


def plan_dict(
    plan: Plan, *, judged: Judged | None, rules: dict[str, Rule], shared: Facts, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The plan with its numbers; score and points where it was ranked."""
    ranked = judged.ranked if judged else None
    facts = {**shared, **judged.facts} if judged else shared
    return {
        "id": plan.id,
        "gpu": plan.gpu.id,
        "family": plan.gpu.family,
        "count": plan.count,
        "nodes": plan.nodes,
        "link": plan.link,
        "node_link": plan.node_link,
        "parallelism": {
            "tensor": plan.layout.tensor,
            "pipeline": plan.layout.pipeline,
            "data": plan.layout.data,
            "sharding": plan.layout.sharding,
        },
        "partition": _partition(plan),
        "precision": plan.precision,
        "why_count": plan.why_count,
        "offer": _offer(plan.cost.offer, plan.cost.instances),
        "memory": memory_dict(plan.memory, plan.units, plan.usable_gb),
        "speed": speed_dict(plan),
        "cost": cost_dict(plan.cost),
        "power_w": plan.power_w,
        "proven": ranked.proven if ranked else plan.memory is not None,
        "score": ranked.score if ranked else None,
        "points": [_award(award, rules, facts, vocabulary) for award in (ranked.awards if ranked else ())],
    }


def cost_dict(cost: Cost) -> dict[str, Any]:
    """What the plan costs, and what is known of renting it."""
    return {
        "usd_per_hour": cost.usd_per_hour,
        "usd_per_month": cost.usd_per_month,
        "usd_per_1m_tokens": cost.usd_per_1m_tokens,
        "usd_per_1k_samples": cost.usd_per_1k_samples,
        "usd_per_run": cost.usd_per_run,
        "origin": cost.origin,
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


def memory_dict(memory: MemoryEstimate | None, count: int, usable_gb: float | None) -> dict[str, Any] | None:
    """Memory over all GPUs and per GPU, with what each term adds per GPU."""
    if memory is None:
        return None
    breakdown: dict[str, float] = {}
    for term in memory.terms:
        breakdown[f"{term.name}_gb"] = breakdown.get(f"{term.name}_gb", 0.0) + term.value
    return {
        "needed_gb": memory.per_gpu_gb * count,
        "per_gpu_gb": memory.per_gpu_gb,
        "allocated_gb": memory.allocated_gb * count,
        "available_per_gpu_gb": usable_gb,
        "headroom_pct": 100 * (1 - memory.per_gpu_gb / usable_gb) if usable_gb else None,
        "breakdown": breakdown,
        "low_gb": memory.low_gb * count,
        "high_gb": memory.high_gb * count,
        "band_reason": memory.band_reason,
        "method": memory.method,
    }


def speed_dict(plan: Plan) -> dict[str, float]:
    """Speed figures over all GPUs as plain numbers, bands as ``x_low`` and ``x_high``."""
    if plan.speed is None:
        return {}
    speeds: dict[str, float] = {}
    for name, figure in sorted(plan.speed.figures.items()):
        speeds[name] = figure.value
        speeds[f"{name}_low"] = figure.low
        speeds[f"{name}_high"] = figure.high
    return speeds


def _partition(plan: Plan) -> dict[str, Any] | None:
    part = plan.partition
    return None if part is None else {"profile": part.profile, "slices": part.slices, "slices_per_gpu": part.per_card}


def _offer(offer: Offer | None, instances: int | None = None) -> dict[str, Any] | None:
    if offer is None:
        return None
    return {
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


def _committed(commitment: Commitment) -> dict[str, Any]:
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


def _award(award: Award, rules: dict[str, Rule], facts: Facts, vocabulary: Vocabulary) -> dict[str, Any]:
    rule = rules.get(award.rule) if award.rule else None
    if rule is None:
        text = _TERM_WORDS[award.reason]
        return {"rule": None, "reason": award.reason, "points": award.points, "counted": True, "because": text}
    text = say(rule.text, facts, vocabulary) if rule.text else because(rule, facts, vocabulary)
    return {
        "rule": rule.id,
        "reason": award.reason,
        "points": award.points,
        "counted": award.counted,
        "checked": award.checked,
        "because": text,
        "sources": list(rule.sources),
    }


_TERM_WORDS = {
    "cost": "price beside the cheapest plan",
    "cost unknown": "no price is known, so it counts as the dearest",
    "speed": "speed beside the fastest plan",
    "speed unknown": "no speed is known, so it counts as the slowest",
}
