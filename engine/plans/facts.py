"""The ``plan.*`` facts of plans, as rules read them: a column for each fact. What is not known is absent."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import Column, NumberColumn, WordColumn, column_of, distinct_numbers, yes_no
from whichgpu.engine.plans.costs.cost import NONE, OFFER, OWNED, PURCHASE, CostColumns
from whichgpu.engine.plans.links import LinkTable
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.size_columns import mean_latency_ms
from whichgpu.engine.plans.targets import Goals, judged, lateness
from whichgpu.engine.sizing import SHARDINGS, Bools, Floats, GpuTable, Ints, ceiling, fit_odds


#: Links over which several GPUs wait for each other: the bus of the machine, or none at all.
_SLOW_LINKS = ("none", "pcie")
_SPEEDS = (
    "tokens_per_s",
    "samples_per_s",
    "capacity_tokens_per_s",
    "ttft_ms",
    "tpot_ms",
    "latency_ms",
    "in_flight",
    "utilization",
    "qps",
    "hours",
    "step_s",
)
#: Figures by which targets are judged, and those that rules read of them.
_JUDGED = {
    "ttft_ms": "plan.ttft_judged_ms",
    "tpot_ms": "plan.tpot_judged_ms",
    "latency_ms": "plan.latency_judged_ms",
}


def fact_columns(
    found: PlannedRows,
    gpus: GpuTable,
    links: LinkTable,
    costs: CostColumns,
    machines: Ints,
    *,
    joined: Ints,
    training: bool,
    precision: WordColumn,
    named: Bools,
    meets_target: Column | None,
    meets_with_room: Column | None,
    goals: Goals,
    offloaded_gb: float,
) -> dict[str, Column]:
    """All ``plan.*`` facts up to the survey; names and units as in the architecture page.

    Args:
        found: the plans' GPUs, layouts, memory and speed.
        gpus: the table that they point to.
        links: how several of these GPUs are joined.
        costs: of the plans.
        machines: servers that hold each plan; replicas may stand in smaller ones than the fabric allows.
        joined: GPUs of each that work as one.
        training: whether weights change; replicas are those that serve.
        precision: of the weights, or of the arithmetic in training.
        named: of each GPU of the table, whether the user named it; one False where none is named.
        meets_target: None where no target is stated.
        meets_with_room: the same with room beside every target.
        goals: that plans are judged by.
        offloaded_gb: what waits in system memory, of all machines together.
    """
    which, layouts = found.gpu, found.layouts
    facts: dict[str, Column] = {
        "plan.gpu": WordColumn(which, gpus.ids),
        "plan.family": WordColumn(which, gpus.families),
        **_joins(found, links, machines, joined),
        "plan.offered": yes_no(costs.origin != NONE),
        "plan.owned": yes_no(costs.origin == OWNED),
        "plan.bought": yes_no(costs.origin == PURCHASE),
        "plan.named": yes_no(named[which] if named.ndim else np.zeros(len(which), np.bool_)),
    }
    if not training:
        facts["plan.replicas"] = _whole(layouts.data)
    facts["plan.precision"] = precision
    facts |= _memory(found, gpus, layouts.gpus)
    if offloaded_gb > 0:
        facts["plan.host_memory_gb"] = NumberColumn(offloaded_gb / machines)
    facts |= _speed(found, goals)
    if meets_target is not None:
        facts["plan.meets_target"] = meets_target
    if meets_with_room is not None:
        facts["plan.meets_with_room"] = meets_with_room
    facts |= _cost(costs)
    facts["plan.power_w"] = NumberColumn(costs.power_w)
    return facts


def _whole(column: Ints | Floats) -> NumberColumn:
    return NumberColumn(column.astype(np.float64), whole=True)


def _joins(found: PlannedRows, links: LinkTable, machines: Ints, joined: Ints) -> dict[str, Column]:
    """How many GPUs stand in how many machines, how they are linked, and how the job is split over them."""
    which, layouts = found.gpu, found.layouts
    count = layouts.gpus
    inside = ceiling(count, machines)
    link = links.link_of(which, inside)
    slow = np.array([word in _SLOW_LINKS for word in link.words], np.bool_)[link.codes]
    return {
        "plan.count": _whole(count),
        "plan.nodes": _whole(machines),
        "plan.joined_nodes": _whole(links.nodes(which, joined)),
        "plan.gpus_per_node": _whole(inside),
        "plan.link": link,
        "plan.pcie_gpus": _whole(np.where((inside > 1) & slow, count, 0)),
        "plan.node_link": links.node_link_of(which, joined),
        "plan.tensor_parallel": _whole(layouts.tensor),
        "plan.pipeline_parallel": _whole(layouts.pipeline),
        "plan.data_parallel": _whole(layouts.data),
        "plan.sharding": WordColumn(layouts.sharding, SHARDINGS),
    }


def _memory(found: PlannedRows, gpus: GpuTable, count: Ints) -> dict[str, Column]:
    vram, usable = gpus.vram_gb()[found.gpu], gpus.usable_gb()[found.gpu]
    facts: dict[str, Column] = {
        "plan.vram_gb": NumberColumn(vram * count),
        "plan.available_gb": NumberColumn(usable * count),
        "plan.available_per_gpu_gb": NumberColumn(usable),
    }
    if found.memory is not None:
        memory = found.memory
        facts |= {
            "plan.needed_gb": NumberColumn(memory.per_gpu_gb * count),
            "plan.per_gpu_gb": NumberColumn(memory.per_gpu_gb),
            "plan.allocated_gb": NumberColumn(memory.allocated_gb * count),
            "plan.low_gb": NumberColumn(memory.low_gb * count),
            "plan.high_gb": NumberColumn(memory.high_gb * count),
            "plan.high_per_gpu_gb": NumberColumn(memory.high_gb),
            "plan.fit_probability": NumberColumn(fit_odds(memory, usable)),
            "plan.headroom_pct": NumberColumn(100.0 * (1.0 - memory.per_gpu_gb / np.where(usable > 0, usable, np.nan))),
        }
    known = ~np.isnan(found.fits)
    none_smaller = (found.smallest == 0) | (count <= found.smallest)
    return facts | {
        "plan.smallest_count": _whole(np.where(found.smallest > 0, found.smallest, np.nan)),
        "plan.fits": yes_no(found.fits > 0, known),
        "plan.is_smallest_fit": yes_no((found.fits > 0) & none_smaller, known),
    }


def _speed(found: PlannedRows, goals: Goals) -> dict[str, Column]:
    facts: dict[str, Column] = {"plan.max_micro_batch": _whole(np.where(found.timed, found.max_batch, np.nan))}
    for name in _SPEEDS:
        if name in found.speed:
            facts[f"plan.{name}"] = NumberColumn(found.speed[name])
    if goals.tokens_per_s is not None and "input_tokens_per_s" in found.speed:
        facts["plan.tokens_per_s"] = NumberColumn(judged(goals, found.speed, "tokens_per_s"))
    promised: dict[str, Any] = {}
    for name, fact in _JUDGED.items():
        if name in found.speed:
            promised[name] = _promised(found, goals, name)
            facts[fact] = NumberColumn(promised[name])
    late = lateness(goals, map(promised.get, _JUDGED), found.speed.get("hours"))
    if late is not None:
        facts["plan.lateness"] = NumberColumn(late)
    if "latency_ms" in found.speed:
        facts["plan.latency_mean_ms"] = NumberColumn(mean_latency_ms(found.speed))
    if "overloaded" in found.speed:
        facts["plan.overloaded"] = yes_no(found.speed["overloaded"] > 0, ~np.isnan(found.speed["overloaded"]))
    if "max_concurrency" in found.speed:
        facts["plan.max_concurrency"] = _whole(np.floor(found.speed["max_concurrency"]))
    return facts


def _promised(found: PlannedRows, goals: Goals, name: str) -> Any:
    """A time as targets judge it; of an overloaded plan that of a request alone, since its own grow without end."""
    time, over = judged(goals, found.speed, name), found.speed.get("overloaded")
    alone = found.speed.get(f"_{name.replace('_ms', '_alone_ms')}")
    return time if over is None or alone is None else np.where(over > 0, alone, time)


#: Figures of a cost that are facts of a plan.
_COSTS = (
    "usd_per_hour",
    "usd_per_month",
    "usd_per_run",
    "usd_per_1m_tokens",
    "usd_per_1k_samples",
    "rented_usd_per_hour",
)


def _cost(costs: CostColumns) -> dict[str, Column]:
    facts: dict[str, Column] = {f"plan.{name}": NumberColumn(getattr(costs, name)) for name in _COSTS}
    offered = costs.origin == OFFER
    # Few offers stand behind many plans.
    numbers = np.where(offered, costs.rental, 0)
    first, which = distinct_numbers(numbers)
    rentals = (costs.rentals.rentals[number] for number in numbers[first].tolist())
    offers = [rental.offer if rental else None for rental in rentals]

    def of_offer(name: str) -> Column:
        return column_of([getattr(offer, name) or None if offer else None for offer in offers]).take(which)

    if (costs.origin == PURCHASE).any():
        facts["plan.gpus_usd"] = NumberColumn(costs.gpus_usd)
        facts["plan.gpus_bought"] = _whole(costs.gpus_bought)
    if not np.isnan(costs.budget_hours).all():
        facts["plan.budget_hours"] = _whole(costs.budget_hours)
    return facts | {
        "plan.assumed_price": yes_no(costs.assumed, offered),
        "plan.price_quotes": _whole(np.where(offered, costs.quotes, np.nan)),
        "plan.provider_class": of_offer("provider_class"),
        "plan.provider": of_offer("provider"),
        "plan.region": of_offer("region"),
    }
