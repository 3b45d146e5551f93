"""An answer as an outsider reads it: from the JSON and the catalogue, and from nothing else.

What a plan costs and how fast it is, which plans stand equal, and which stated limits its own figures keep.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.catalogue import Knowledge


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Facts = Mapping[str, Any]
Plan = Mapping[str, Any]

#: Segments in rising order; others (edge, systems of their own kind) stand beside this order and equal only themselves.
SEGMENTS = {"consumer": 0, "professional": 1, "workstation": 1, "datacenter": 2}
#: Architectures whose software is being dropped: CUDA 13 compiles for Turing and later only.
DROPPED = {"pascal", "volta", "maxwell", "kepler"}
#: Generations behind the vendor's newest from which current software no longer serves a card, where it is not CUDA's.
LAG_DROPPED = {"cuda": 4}
LAG_DROPPED_ELSEWHERE = 3


@dataclass
class Answers:
    """Decisions of one advisor, each asked once."""

    advisor: Advisor = field(repr=False)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    def answer(self, facts: Facts, *, full: bool = False) -> dict[str, Any]:
        """The JSON answer; ``full`` with what was rejected."""
        key = json.dumps([facts, full], sort_keys=True)
        if key not in self.asked:
            self.asked[key] = decide(self.advisor, facts, full=full)
        return self.asked[key]


def decide(advisor: Advisor, facts: Facts, *, full: bool = False) -> dict[str, Any]:
    """The JSON answer of an advisor, without the trace."""
    answer = advisor.decide(dict(facts), decided_at=MOMENT).to_dict(full=full)
    for bulky in ("trace", "rules"):
        answer.pop(bulky, None)
    return answer


def fact(answer: Mapping[str, Any], name: str) -> Any:
    """The value of a fact as the answer settled it, or None."""
    return (answer["facts"].get(name) or {}).get("value")


def shown(answer: Mapping[str, Any]) -> list[Plan]:
    """The recommendation and the alternatives, the recommendation first."""
    return [*([answer["recommendation"]] if answer["recommendation"] else []), *answer["alternatives"]]


def kind_of_work(answer: Mapping[str, Any]) -> str:
    """``service``: paid by the hour, judged by its answer time. ``job``: paid by the piece, judged by its rate.

    Trying things out is neither: paid by the hour or by the piece, judged by its rate. ``job on bought hardware`` is
    one where nothing is said of how busy the hardware would be: it is paid for all month, whatever it does. Where a
    share is said, it is said of hardware, and not how much work there is: it is paid by the month or by the piece.
    """
    task = fact(answer, "task")
    if task == "inference" and fact(answer, "serving_mode") != "batch":
        return "service"
    if task == "experimentation":
        return "try"
    wish, own_place = fact(answer, "procurement_wish"), fact(answer, "deployment_site") in _OWN_PLACES
    buys = wish == "buy" or (own_place and wish != "rent")
    if not buys:
        return "job"
    if not any(fact(answer, name) for name in _USE):
        return KEPT
    return IN_USE if fact(answer, "utilization_pct") else "job"


_OWN_PLACES = ("workstation", "edge", "datacenter")
#: Facts that say how busy hardware is.
_USE = ("utilization_pct", "always_on", "gpu_hours_per_year", "gpu_hours_total", "runs_cadence")


def rate(plan: Plan) -> float | None:
    """Tokens per second, else samples per second."""
    speed = plan["speed"] or {}
    return speed.get("tokens_per_s") or speed.get("samples_per_s") or None


def costs(one: Plan, other: Plan, work: str) -> tuple[float, float] | None:
    """What two plans cost for the same work, on the same basis; None where that is not known of both.

    Trying things out may be paid either way: of the hour and the piece the one that speaks more for ``other`` counts.
    So may work on what is bought and busy for a share of its time, of the month and the run or piece: how much of it
    there is nobody states.
    What is bought is paid for whether it works or not: beside owned hardware it costs its month for the work that this
    does in one.
    """
    if work.startswith("job") and not all(plan["cost"].get("usd_per_run") is not None for plan in (one, other)):
        owned = [plan["cost"].get("origin") == "owned" for plan in (one, other)]
        if owned[0] != owned[1] and (
            work == KEPT or "purchase" in (one["cost"].get("origin"), other["cost"].get("origin"))
        ):
            return _for_the_work_of_owned(one, other, owned_first=owned[0])
        work = "job" if owned[0] else work
    pairs = []
    for basis in _BASES[work]:
        pair = _basis(one, basis), _basis(other, basis)
        if pair[0] is not None and pair[1] is not None:
            pairs.append((pair[0], pair[1]))
    if work in {"try", IN_USE}:
        return max(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, default=None)
    return pairs[0] if pairs else None


def _for_the_work_of_owned(one: Plan, other: Plan, *, owned_first: bool) -> tuple[float, float] | None:
    """What an owned plan and a bought one cost for the work that the owned one does in a month."""
    months, paces = [_basis(plan, "usd_per_month") for plan in (one, other)], [rate(plan) for plan in (one, other)]
    if months[0] is None or months[1] is None or not paces[0] or not paces[1]:
        return None
    if owned_first:  # A slower plan has to be bought more than once.
        return months[0], months[1] * max(1.0, paces[0] / paces[1])
    return months[0] * max(1.0, paces[1] / paces[0]), months[1]


#: A job on hardware that is bought, where nothing is said of how busy it is.
KEPT = "job on bought hardware"
#: One where a share is said that the hardware is busy.
IN_USE = "job on bought hardware in use"
_BASES = {
    "service": ("usd_per_month", "usd_per_hour"),
    "try": ("usd_per_hour", "piece"),
    "job": ("usd_per_run", "piece"),
    KEPT: ("usd_per_run", "usd_per_month", "piece"),
    IN_USE: ("usd_per_run", "usd_per_month", "piece"),
}


def _basis(plan: Plan, basis: str) -> float | None:
    cost = plan["cost"]
    if basis == "piece":
        pace, hourly = rate(plan), cost.get("usd_per_hour")
        return hourly / pace if pace and hourly is not None else None
    value = cost.get(basis)
    return None if value is None else float(value)


def speed_ratio(one: Plan, other: Plan, work: str) -> float | None:
    """How many times as fast as ``other`` ``one`` is, a service by its mean time; None where that is not known."""
    if work == "service":
        for figure in ("latency_mean_ms", "latency_ms"):
            times = (one["speed"] or {}).get(figure), (other["speed"] or {}).get(figure)
            if times[0] and times[1]:
                return float(times[1] / times[0])
    rates = rate(one), rate(other)
    return rates[0] / rates[1] if rates[0] and rates[1] else None


def segment_rank(gpu: Any) -> int | None:
    return SEGMENTS.get(gpu.segment)


def supported(gpu: Any) -> bool:
    """Whether current software still serves the card, by the catalogue's generation."""
    if gpu.architecture in DROPPED:
        return False
    return (gpu.generation_lag or 0) < LAG_DROPPED.get(gpu.sw_stack, LAG_DROPPED_ELSEWHERE)


def pcie_cards(plan: Plan) -> int:
    """Cards that lie on PCIe together."""
    return plan["count"] if plan["link"] == "pcie" and plan["count"] > 1 else 0


def pcie_joined(plan: Plan) -> int:
    """Cards that hold one model over PCIe: replicas do not talk to one another."""
    split = plan["parallelism"]["tensor"] * plan["parallelism"]["pipeline"]
    return split if plan["link"] == "pcie" and split > 1 else 0


def same_vendor(one: Plan, other: Plan, knowledge: Knowledge) -> bool:
    return bool(knowledge.gpus[one["gpu"]].vendor == knowledge.gpus[other["gpu"]].vendor)


def stands_equal(one: Plan, other: Plan, knowledge: Knowledge, *, apart: bool = False) -> bool:
    """Whether ``one`` stands no lower than ``other`` in all but cost and speed.

    ``apart``: replicas on PCIe that do not talk to one another do not count as cards on PCIe.
    """
    mine, its = knowledge.gpus[one["gpu"]], knowledge.gpus[other["gpu"]]
    ranks = segment_rank(mine), segment_rank(its)
    segment = mine.segment == its.segment if None in ranks else ranks[0] >= ranks[1]  # type: ignore[operator]
    joined = pcie_cards(one) <= pcie_cards(other) or (apart and pcie_joined(one) <= pcie_joined(other))
    lasting = supported(mine) or not supported(its)
    return bool(
        same_vendor(one, other, knowledge)
        and segment
        and one["nodes"] <= other["nodes"]
        and joined
        and lasting
        and one["proven"]
    )


def limits_kept(plan: Plan, facts: Facts) -> dict[str, bool | None]:
    """For each stated target and budget whether the plan's own figures keep it; None where the figure is missing.

    A time is kept where the share of requests that is stated, 95 percent if none is, keeps it.
    """
    kept: dict[str, bool | None] = {}
    percentile = facts.get("slo_percentile", 95)
    for name, (part, figure, most) in _LIMITS.items():
        if facts.get(name) is None:
            continue
        figures = plan[part] or {}
        value = figures.get(figure.replace("_ms", f"_p{percentile:g}_ms"), figures.get(figure))
        kept[name] = None if value is None else (value <= facts[name] if most else value >= facts[name])
    return kept


_LIMITS = {
    "ttft_slo_ms": ("speed", "ttft_ms", True),
    "tpot_slo_ms": ("speed", "tpot_ms", True),
    "latency_slo_ms": ("speed", "latency_ms", True),
    "min_tokens_per_s": ("speed", "tokens_per_s", False),
    "peak_qps": ("speed", "qps", False),
    "deadline_hours": ("speed", "hours", True),
    "budget_usd_per_hour": ("cost", "usd_per_hour", True),
    "budget_usd_per_month": ("cost", "usd_per_month", True),
    "budget_usd_total": ("cost", "usd_per_run", True),
}
LIMITS = tuple(_LIMITS)


def describe(plan: Plan, work: str) -> str:
    """One line on a plan: count and card, cost and speed on the basis that counts for its work."""
    speed, cost = plan["speed"] or {}, plan["cost"]
    split = plan["parallelism"]
    parts = [f"{plan['count']} x {plan['gpu']}"]
    if plan["count"] > 1:
        parts.append(f"tp{split['tensor']} pp{split['pipeline']} dp{split['data']} over {plan['link']}")
    if cost.get("usd_per_hour") is not None:
        run = cost.get("usd_per_run")
        parts.append(f"${cost['usd_per_hour']:.3g}/h" + (f", ${run:,.4g} a run" if run is not None else ""))
    pace = rate(plan)
    if work == "service" and speed.get("latency_ms"):
        parts.append(f"{speed['latency_ms']:,.4g} ms")
    elif pace:
        parts.append(f"{pace:,.4g}/s")
    return " ".join((parts[0], f"({', '.join(parts[1:])})")) if len(parts) > 1 else parts[0]


def in_short(facts: Facts) -> str:
    """A workload on one line, as JSON that can be pasted."""
    return json.dumps(facts)


def best(plans: Iterable[Plan], against: Plan, work: str) -> tuple[Plan, float] | None:
    """The plan that costs least beside ``against``, and the share of its cost."""
    ratios = [
        (pair[0] / pair[1], plan)
        for plan in plans
        if (pair := costs(plan, against, work)) and pair[1] and plan is not against
    ]
    if not ratios:
        return None
    ratio, plan = min(ratios, key=lambda item: item[0])
    return plan, ratio
