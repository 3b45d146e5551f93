"""Plans that no rule rejects and that the answer does not show whole, and counts that were not worth planning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.choice import below_answer
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.plans.costs.usage import number
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.topology import fabric_of
from whichgpu.engine.plans.topology import ladder


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types
    from whichgpu.engine.advisor.answer import plan_types


#: Counts up to this one are accounted for.
_MOST = 64

_BELOW = {
    "unverified": "a stated limit could not be checked",
    "fallback": "it is chosen only where nothing else qualifies",
    "guide_cards": "the guides name other cards for the case",
    "guide_counts": "the guides name another count for the case",
}


def outranked(outcome: Outcome, shown: Sequence[Judged]) -> list[plan_types.Outranked]:
    """One line for every plan that no rule rejects and that is not shown whole."""
    return [
        {
            "id": entry.ranked.plan.id,
            "gpu": entry.ranked.plan.gpu.id,
            "count": entry.ranked.plan.count,
            "usd_per_hour": entry.ranked.plan.cost.usd_per_hour,
            "tokens_per_s": number(entry.facts, "plan.tokens_per_s"),
            "samples_per_s": number(entry.facts, "plan.samples_per_s"),
            "latency_ms": number(entry.facts, "plan.latency_ms"),
            "score": entry.ranked.score,
            "proven": entry.ranked.proven,
            **below_answer(entry, outcome),
        }
        for entry in _rest(outcome, shown)
    ]


def passed_over(outcome: Outcome, shown: Sequence[Judged]) -> list[answer_types.Rejection]:
    """Those plans, and the counts that were not planned, as rejections: without a rule, each with its reason."""
    found: dict[tuple[str, str], answer_types.Rejection] = {}
    for entry in _rest(outcome, shown):
        _add(found, entry.ranked.plan, [entry.ranked.plan.count], _reason(entry, outcome))
    if outcome.round is not None and outcome.no_answer is None:
        by_gpu: dict[str, list[Plan]] = {}
        for plan in outcome.round.plans:
            by_gpu.setdefault(plan.gpu.id, []).append(plan)
        for plans in by_gpu.values():
            _add_unplanned(found, plans)
    return [found[key] for key in sorted(found)]


def _rest(outcome: Outcome, shown: Sequence[Judged]) -> list[Judged]:
    if outcome.round is None:
        return []
    ids = {entry.ranked.plan.id for entry in shown}
    return [entry for entry in outcome.round.judged if entry.ranked.plan.id not in ids]


def _reason(entry: Judged, outcome: Outcome) -> str:
    below = below_answer(entry, outcome)
    if entry.facts.get("plan.assumed_price") is True:
        return "no offer in the price list has this shape, and its price is a guess"
    if below["dominated_by"]:
        return f"{below['dominated_by']} is both cheaper and faster"
    if below["below_for"] in _BELOW:
        return _BELOW[below["below_for"]]
    return "others come before it by what the objective and the evidence say"


def _add_unplanned(found: dict[tuple[str, str], answer_types.Rejection], plans: Sequence[Plan]) -> None:
    """The usual counts of a GPU that were not planned: too few for the job, or more than it gains from."""
    first = plans[0]
    if first.memory is None:
        return
    planned = {plan.count for plan in plans}
    fitting = [plan.count for plan in plans if plan.facts.get("plan.fits")]
    fabric = fabric_of(first.gpu)
    usual = [count for count in ladder(fabric.node_gpus, min(fabric.most, _MOST)) if count not in planned]
    if not fitting:
        return
    fewer = [count for count in usual if count < min(fitting)]
    more = [count for count in usual if count > min(fitting)]
    _add(found, first, fewer, "fewer do not hold the job, or do not meet its targets")
    _add(found, first, more, "more than memory, targets and load call for, or too little faster for twice the GPUs")


def _add(found: dict[tuple[str, str], answer_types.Rejection], plan: Plan, counts: Sequence[int], reason: str) -> None:
    if not counts:
        return
    entry = found.setdefault(
        (plan.gpu.id, reason),
        {
            "gpu": plan.gpu.id,
            "family": plan.gpu.family,
            "rule": None,
            "reason": reason,
            "counts": [],
            "sources": [],
        },
    )
    entry["counts"] = sorted({*entry["counts"], *counts})
