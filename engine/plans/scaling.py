"""How many GPUs of a kind it takes to meet the stated targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from engine.knowledge.model import Gpu
from engine.plans.maker import PlanMaker
from engine.plans.targets import Goals
from engine.plans.targets import meets
from engine.plans.targets import shortfall
from engine.plans.targets import times_kept
from engine.plans.topology import rounded_up
from engine.sizing.layout import Layout


#: A search that is not at its end by then goes nowhere.
_ROUNDS = 6


class Target(NamedTuple):
    """A count that meets the goals, and over how many GPUs each layer is then split at least."""

    gpus: int
    tensor: int
    why: str


def count_for_target(maker: PlanMaker, gpu: Gpu, smallest: int, most: int) -> Target | None:
    """The smallest count found that meets the goals; None when the smallest that fits does, or none can.

    Without a goal, a pre-training run of stated length gets the count that ends it in the time people wait for.
    """
    goals, why = maker.goals, "meets the target"
    if not goals.stated:
        if maker.job.kind != "pretraining" or not maker.job.train_tokens:
            return None
        goals, why = goals._replace(hours=float(maker.patience_hours)), "ends in bearable time"
    layout, _ = maker.layout(gpu, smallest)
    values = _values(maker, gpu, layout)
    if not values or meets(goals, values) is not False:
        return None
    starts = [(layout.tensor, smallest, values)] if maker.job.training else _replicas(maker, gpu, goals, layout)
    found = [
        Target(count, tensor, why)
        for tensor, start, start_values in starts
        if (count := _grown(maker, gpu, goals, (start, tensor, start_values), most)) is not None
    ]
    best = min(found, default=None)
    return best if best is not None and best.gpus >= smallest else None


def _replicas(maker: PlanMaker, gpu: Gpu, goals: Goals, layout: Layout) -> Iterator[tuple[int, int, dict[str, float]]]:
    """Single replicas that keep the times of one request: the smallest, and those that share each layer more widely."""
    fabric, tensor, pipeline = maker.fabric(gpu), layout.tensor, layout.pipeline
    while tensor <= fabric.tensor_most(fabric.machine):
        values = _values(maker, gpu, Layout(tensor, pipeline))
        if values and times_kept(goals, values) and (goals.qps is None or values.get("qps")):
            yield tensor, tensor * pipeline, values
        if not any(goals.times):
            return  # Sharing layers more widely buys time per request only.
        tensor, pipeline = tensor * 2, 1


def _grown(maker: PlanMaker, gpu: Gpu, goals: Goals, start: tuple[int, int, dict[str, float]], most: int) -> int | None:
    """The count that meets the goals, by raising it as far as the rate falls short."""
    count, tensor, values = start
    machine = maker.fabric(gpu).node_gpus
    for _ in range(_ROUNDS):
        if values and meets(goals, values) is not False:
            return count
        factor = shortfall(goals, values) if values else None
        if factor is None or math.isinf(factor):
            return None
        larger = rounded_up(max(count + 1, math.ceil(count * factor * 0.999)), machine, most)
        if larger is None:
            return None
        layout, fits = maker.layout(gpu, larger, least_tensor=tensor)
        count, values = larger, _values(maker, gpu, layout) if fits else {}
    return None


def _values(maker: PlanMaker, gpu: Gpu, layout: Layout) -> dict[str, float]:
    speed = maker.speed(gpu, layout)[0]
    return speed.values if speed is not None else {}
