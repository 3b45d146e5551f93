"""An answer as one short line, for runs over many workloads: written from the outcome itself, without the full answer.

What a line leaves out (reasons, alternatives, trace) the same workload brings back by ``whichgpu recommend``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from whichgpu.engine.advisor.answer.owned import compact_owned
from whichgpu.engine.advisor.answer.plans import parallelism_dict
from whichgpu.engine.advisor.answer.remarks import aged_rules, said_codes
from whichgpu.engine.advisor.outcome import Judged, NoAnswer, Outcome
from whichgpu.engine.advisor.owned_use import owned_as_it_is
from whichgpu.engine.catalogue import weakest
from whichgpu.engine.core import rounded
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import Rule, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import compact_types

#: Figures of speed that answers are compared by; others follow from them.
_SPEEDS = ("tokens_per_s", "samples_per_s", "ttft_ms", "tpot_ms", "latency_ms", "qps", "max_concurrency", "hours")
#: Ways to split a job in which it is not split.
_UNSPLIT = (1, "none", None)
#: A line stays short, whatever rules a layer adds.
_MOST_RULES = 6


def compact_dict(
    outcome: Outcome, rules: Mapping[str, Rule], today: str, vocabulary: Vocabulary
) -> compact_types.CompactAnswer:
    """The answer in under a kilobyte: US dollars at six digits; decimal GB and speeds, which have bands, at four.

    Args:
        outcome: what was decided.
        rules: all rules by id.
        today: the day of the decision, as 2026-12-31.
        vocabulary: for the order of the warnings.

    Raises:
        ValueError: a figure is not finite.
    """
    chosen = outcome.chosen
    verdict: Any = outcome.final.facts.get("procurement", "undecided")
    answer: compact_types.CompactAnswer = {
        "plan": _plan(chosen.ranked.plan) if chosen else None,
        "price": _price(chosen.ranked.plan) if chosen else None,
        "memory_per_gpu_gb": _memory(chosen.ranked.plan) if chosen else None,
        "speed": _speed(chosen.ranked.plan) if chosen else None,
        "support": weakest(*(each.level for each in chosen.ranked.plan.competence.support.values()))
        if chosen
        else None,
        "no_answer": _no_answer(outcome.no_answer),
        "procurement": verdict,
        "objective": outcome.objective.name,
        "proven": chosen.ranked.proven if chosen else None,
        "unverified": [gap.limit for gap in chosen.unverified] if chosen else [],
        "warnings": list(_warnings(outcome, rules, today, vocabulary)),
        "rules": list(dict.fromkeys(_deciding(outcome)))[:_MOST_RULES],
    }
    if (owned := owned_as_it_is(outcome)) is not None:
        answer["owned"] = compact_owned(owned)
        answer["rules"] = answer["rules"][: _MOST_RULES // 2]  # The first decide, and the line stays short.
    if outcome.phases:
        answer["phases"] = {name: judged.ranked.plan.id if judged else None for name, judged in outcome.phases}
    return answer


def _plan(plan: Plan) -> compact_types.CompactPlan:
    split: Any = {way: of for way, of in parallelism_dict(plan.layout).items() if of not in _UNSPLIT}
    entry: compact_types.CompactPlan = {
        "id": plan.id,
        "gpu": plan.gpu.id,
        "count": plan.count,
        "nodes": plan.nodes,
        "link": plan.link,
        "precision": plan.precision,
        "parallelism": split,
    }
    if (ends := plan.competence.count_range) is not None and ends[0] != ends[1]:
        entry["count_range"] = list(ends)
    if plan.nodes > 1:
        entry["node_link"] = plan.node_link
    if plan.partition:
        entry["mig_profile"], entry["mig_slices"] = plan.partition.profile, plan.partition.slices
    return entry


def _price(plan: Plan) -> compact_types.CompactPrice:
    cost = plan.cost
    return {
        "usd_per_hour": _money(cost.usd_per_hour),
        "usd_per_month": _money(cost.usd_per_month),
        "usd_per_run": _money(cost.usd_per_run),
        "origin": cost.origin,
        "provider": cost.offer.provider if cost.offer else None,
        "assumed": cost.assumed,
    }


def _memory(plan: Plan) -> compact_types.CompactMemory | None:
    memory = plan.memory
    if memory is None:
        return None
    return {
        "value": _estimate(memory.per_gpu_gb),
        "low": _estimate(memory.low_gb),
        "high": _estimate(memory.high_gb),
        "usable": None if plan.usable_gb is None else _estimate(plan.usable_gb),
    }


def _speed(plan: Plan) -> dict[str, list[float]]:
    """Value, low and high of each figure that answers are compared by."""
    figures = plan.speed.figures if plan.speed else {}
    return {
        name: [_estimate(figure.value), _estimate(figure.low), _estimate(figure.high)]
        for name in _SPEEDS
        if (figure := figures.get(name)) is not None
    }


def _no_answer(no_answer: NoAnswer | None) -> compact_types.CompactNoAnswer | None:
    return None if no_answer is None else {"kind": no_answer.kind, "facts": list(no_answer.facts)}


def _warnings(outcome: Outcome, rules: Mapping[str, Rule], today: str, vocabulary: Vocabulary) -> Iterable[str]:
    if outcome.intake.contradictions():
        yield "W-GIVEN-CONTRADICTED"
    yield from said_codes(outcome.fired, "warn", vocabulary)
    if outcome.round and outcome.round.refused:
        yield "W-FIGURE-REFUSED"
    if aged_rules(outcome, rules, today):
        yield "W-RULE-PAST-ITS-DAY"


def _deciding(outcome: Outcome) -> Iterable[str]:
    """The rules behind the answer: what keeps an answer out, else what speaks for or against the plan; the verdict."""
    yield from (rule.id for rule in (outcome.no_answer.rules if outcome.no_answer else ()))
    yield from (item.rule.id for item in outcome.fired if "procurement" in item.rule.writes)
    if outcome.chosen is not None:
        yield from _evidence(outcome.chosen)


def _evidence(chosen: Judged) -> Iterable[str]:
    yield from (*chosen.fallbacks, *chosen.card_bands, *chosen.count_bands)
    counted = [award for award in chosen.ranked.awards if award.rule and award.counted]
    for award in sorted(counted, key=lambda award: -abs(award.points)):
        yield award.rule or ""


def _money(value: float | None) -> float | None:
    return None if value is None else rounded(_finite(value))


def _estimate(value: float) -> float:
    return rounded(float(f"{_finite(value):.4g}"))


def _finite(value: float) -> float:
    if not math.isfinite(value):  # The encoder would write null, which means that nothing is known.
        raise ValueError(f"a figure of the answer is {value}")
    return value
