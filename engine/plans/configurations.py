"""Which counts and splits of one GPU are worth planning: all that can win, whatever the objective.

Serving: a replica is a tensor x pipeline split that fits. Each one is planned with as many replicas as the stated load
and targets need, and with more as long as doubling them shortens the answer enough. Training: every count of a node
under the fastest split that fits, and more nodes where memory, a deadline or a rule asks for them.

A configuration is left out only where another of the same GPU costs less and is at least as fast, or where it costs
twice as much and gains less than the least gain of a doubling: neither can be the cheapest, the fastest or the best
product of both (``least_gain_of_doubling`` in ``knowledge/plans.yaml``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import NamedTuple

from engine.knowledge.model import Gpu
from engine.plans.maker import PlanMaker
from engine.plans.maker import rate_of
from engine.plans.targets import Goals
from engine.plans.targets import meets
from engine.plans.targets import shortfall
from engine.plans.targets import times_kept
from engine.plans.topology import ladder
from engine.plans.topology import rounded_up
from engine.sizing.layout import Layout


#: A search for the count that meets a goal is at its end by then, or goes nowhere.
_ROUNDS = 8


class Configuration(NamedTuple):
    """A layout to plan and where its count comes from."""

    layout: Layout
    why: str


def configurations(maker: PlanMaker, gpu: Gpu, asked: Mapping[int, str]) -> list[Configuration]:
    """The configurations of a GPU that fit, by count; empty where none does.

    Args:
        maker: of the job.
        gpu: the accelerator.
        asked: counts that rules want considered, with the rule that asks.
    """
    smallest = maker.smallest_count(gpu)
    if smallest is None:
        return []
    found: dict[Layout, str] = {}
    for layout, why in _searched(maker, gpu, smallest):
        found.setdefault(layout, why)
    for count, why in _further_counts(maker, gpu, smallest, asked):
        layout, fits = maker.layout(gpu, count)
        if fits:
            found.setdefault(layout, why)
    return sorted((Configuration(layout, why) for layout, why in found.items()), key=_order)


def configurations_of_count(maker: PlanMaker, gpu: Gpu, count: int) -> list[Configuration]:
    """The ways to split a job over a stated number of GPUs; the leanest one where none fits."""
    usual, fits = maker.layout(gpu, count)
    if not fits or maker.job.training:
        return [Configuration(usual, "stated")]
    kept = _not_beaten(maker, gpu, maker.fitting(gpu, count))
    return [Configuration(layout, "stated") for layout in dict.fromkeys((usual, *kept))]


def _order(configuration: Configuration) -> tuple[int, int, int, int]:
    layout = configuration.layout
    return (layout.count, layout.tensor * layout.pipeline, layout.pipeline, layout.data)


def _further_counts(maker: PlanMaker, gpu: Gpu, smallest: int, asked: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Counts that rules ask for, and those that the user has."""
    most = maker.most_gpus(gpu)
    together = maker.job.least_gpus
    for count, by in asked.items():
        if smallest < count <= most and count % together == 0 and maker.offered(gpu, count):
            yield count, f"asked by {by}"
    owned = min(maker.owned(gpu), most)
    for count in {owned, *maker.counts(gpu)}:
        if smallest <= count <= owned:
            yield count, "owned"


def _searched(maker: PlanMaker, gpu: Gpu, smallest: int) -> Iterator[Configuration]:
    if maker.job.training:
        yield from _training(maker, gpu, smallest)
    elif maker.split_stated:
        yield from _stated_split(maker, gpu, smallest)
    else:
        yield from _serving(maker, gpu, smallest)


def _training(maker: PlanMaker, gpu: Gpu, smallest: int) -> Iterator[Configuration]:
    """Every count of a node from the smallest that fits, and the count that ends the run in time."""
    usual = maker.layout(gpu, smallest)[0]
    yield Configuration(usual, _why_smallest(smallest))
    before = rate_of(maker.speed(gpu, usual)[0])
    inside = maker.node_gpus(gpu)
    for count in (count for count in maker.counts(gpu) if smallest < count <= inside):
        layout, fits = maker.layout(gpu, count)
        rate = rate_of(maker.speed(gpu, layout)[0]) if fits else None
        if not fits or not rate or not before or rate < before * maker.least_gain:
            break
        yield Configuration(layout, "more GPUs for speed")
        before = rate
    yield from _in_time(maker, gpu, smallest)


def _in_time(maker: PlanMaker, gpu: Gpu, smallest: int) -> Iterator[Configuration]:
    """The smallest count that meets the goals of a training job, or ends pre-training in the time people wait for."""
    goals, why = maker.goals, "meets the target"
    if not goals.stated:
        if maker.job.kind != "pretraining" or not maker.job.train_tokens:
            return
        goals, why = goals._replace(hours=float(maker.patience_hours)), "ends in bearable time"
    count = smallest
    for _ in range(_ROUNDS):
        layout, fits = maker.layout(gpu, count)
        values = _values(maker, gpu, layout) if fits else {}
        if not values:
            return
        if meets(goals, values) is not False:
            yield Configuration(layout, why)
            return
        factor = shortfall(goals, values)
        if factor is None or math.isinf(factor):
            return
        larger = maker.rounded_up(gpu, max(count + 1, math.ceil(count * factor * 0.999)))
        if larger is None:
            return
        count = larger


def _serving(maker: PlanMaker, gpu: Gpu, smallest: int) -> Iterator[Configuration]:
    """Replicas of every width that is worth it, each as often as the load needs."""
    # A model that is split anyway is often split once more, so that caches have room.
    splits = {smallest, 2 * smallest} if smallest > 1 else {smallest}
    best: float | None = None  # of the narrower replicas that meet the goals, milliseconds of a request
    for width in ladder(maker.fabric(gpu).node_gpus, maker.most_gpus(gpu)):
        if width < smallest:
            continue
        if width > smallest and width > maker.fabric(gpu).machine:
            return  # Further nodes in one replica only where memory needs them.
        times = []
        for replica in _replicas(maker, gpu, width):
            for layout, why in _with_load(maker, gpu, replica):
                time = _values(maker, gpu, layout).get("latency_ms")
                needed = width in splits or time is None or best is None or time * maker.least_gain <= best
                if needed:
                    yield Configuration(layout, why if width > smallest or layout.data > 1 else _why_smallest(width))
                if time is not None and meets(maker.goals, _values(maker, gpu, layout)) is not False:
                    times.append(time)
        if times:
            best = min([*times, *([best] if best is not None else [])])
        if width > smallest and maker.job.shape is None:
            return


def _replicas(maker: PlanMaker, gpu: Gpu, width: int) -> list[Layout]:
    """The splits of one replica over so many GPUs that no other split of them beats."""
    return _not_beaten(maker, gpu, [layout for layout in maker.fitting(gpu, width) if layout.data == 1])


def _with_load(maker: PlanMaker, gpu: Gpu, replica: Layout) -> Iterator[Configuration]:
    """A replica as often as the goals need, then doubled while that makes answers, or a batch, faster by enough."""
    needed = _replicas_needed(maker, gpu, replica)
    if needed is None:
        yield Configuration(replica, "one replica")
        return
    layout = Layout(replica.tensor, replica.pipeline, needed)
    yield Configuration(layout, "meets the target" if needed > 1 or maker.goals.stated else "wider split for speed")
    whole = rounded_up(layout.count, maker.fabric(gpu).node_gpus, maker.most_gpus(gpu))
    if whole and whole > layout.count and whole % replica.count == 0:
        # Machines are sold in these counts.
        yield Configuration(Layout(replica.tensor, replica.pipeline, whole // replica.count), "meets the target")
    before = _pace(maker, gpu, layout)
    room = maker.node_gpus(gpu)
    while before and layout.count * 2 <= room and (maker.batch or layout.data < maker.job.concurrency):
        layout = Layout(replica.tensor, replica.pipeline, layout.data * 2)
        pace = _pace(maker, gpu, layout)
        if not pace or pace < before * maker.least_gain:
            return
        yield Configuration(layout, "more replicas for speed")
        before = pace


def _replicas_needed(maker: PlanMaker, gpu: Gpu, replica: Layout) -> int | None:
    """How many replicas meet the goals; None where no number of them does."""
    goals, most = maker.goals, maker.most_gpus(gpu)
    number = 1
    for _ in range(_ROUNDS):
        values = _values(maker, gpu, Layout(replica.tensor, replica.pipeline, number))
        if not values or meets(goals, values) is not False:
            return number
        number = _more_replicas(goals, values, number, maker.job.concurrency)
        if not number or number * replica.count > most:
            return None
    return None


def _more_replicas(goals: Goals, values: Mapping[str, float], number: int, concurrency: int) -> int:
    """The next number to try; 0 where more of them do not help."""
    if not times_kept(goals, values):
        # Each of more replicas has fewer requests in flight, and answers them sooner.
        return min(number * 2, concurrency) if number < concurrency else 0
    factor = shortfall(goals, values)
    if factor is None or math.isinf(factor):
        return 0
    return max(number + 1, math.ceil(number * factor * 0.999))


def _stated_split(maker: PlanMaker, gpu: Gpu, smallest: int) -> Iterator[Configuration]:
    """The smallest count under the stated degrees, and the one that meets the goals."""
    usual = maker.layout(gpu, smallest)[0]
    yield Configuration(usual, _why_smallest(smallest))
    yield from _in_time(maker, gpu, smallest)


def _not_beaten(maker: PlanMaker, gpu: Gpu, layouts: Iterable[Layout]) -> list[Layout]:
    """Of layouts of one count, those that no other equals in the time of a request and in throughput."""
    kept: list[tuple[Layout, tuple[float, ...]]] = []
    for layout in layouts:
        values = _values(maker, gpu, layout)
        figures = (-values.get("latency_ms", math.inf), values.get("tokens_per_s", 0.0), values.get("qps", 0.0))
        if not any(all(a >= b for a, b in zip(other, figures, strict=True)) for _, other in kept):
            kept.append((layout, figures))
    return [layout for layout, _ in kept]


def _pace(maker: PlanMaker, gpu: Gpu, layout: Layout) -> float | None:
    """Work per second of a batch, answers per second of one requester else."""
    values = _values(maker, gpu, layout)
    if maker.batch:
        return values.get("tokens_per_s") or values.get("samples_per_s")
    return 1e3 / values["latency_ms"] if values.get("latency_ms") else None


def _why_smallest(count: int) -> str:
    return "one card" if count == 1 else "smallest count that fits"


def _values(maker: PlanMaker, gpu: Gpu, layout: Layout) -> Mapping[str, float]:
    speed = maker.speed(gpu, layout)[0]
    return speed.values if speed is not None else {}
