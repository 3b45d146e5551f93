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
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.sizes import rate_of
from whichgpu.engine.plans.targets import Goals, meets, shortfall, times_kept
from whichgpu.engine.plans.topology import ladder, rounded_up
from whichgpu.engine.sizing import Layout


#: A search for the count that meets a goal is at its end by then, or goes nowhere.
_ROUNDS = 8


class Configuration(NamedTuple):
    """A layout to plan and where its count comes from."""

    layout: Layout
    why: str


_Result = TypeVar("_Result")
#: A search over one GPU. It hands out the layouts whose speed it is about to read, so that those of all GPUs are
#: computed in one go.
_Search = Generator[Iterable[Layout], None, _Result]


def configurations(maker: PlanMaker, gpus: Sequence[Gpu], asked: Mapping[int, str]) -> list[list[Configuration]]:
    """The configurations of each GPU that fit, by count; empty where none does.

    Args:
        maker: of the job.
        gpus: the accelerators; the searches over them go side by side.
        asked: counts that rules want considered, with the rule that asks.
    """
    maker.prepare(gpus)
    searches = {place: (gpu, _search(maker, gpu, asked)) for place, gpu in enumerate(gpus)}
    found: list[list[Configuration]] = [[] for _ in gpus]
    while searches:
        wanted: list[tuple[Gpu, Layout]] = []
        for place, (gpu, search) in list(searches.items()):
            try:
                wanted += ((gpu, layout) for layout in next(search))
            except StopIteration as end:
                found[place] = end.value
                del searches[place]
        maker.evaluate(wanted)
    return found


def _search(maker: PlanMaker, gpu: Gpu, asked: Mapping[int, str]) -> _Search[list[Configuration]]:
    smallest = maker.smallest_count(gpu)
    if smallest is None:
        return []
    found: dict[Layout, str] = {}
    for layout, why in (yield from _searched(maker, gpu, _smallest_as_stated(maker, gpu, smallest))):
        found.setdefault(layout, why)
    further = list(_further_counts(maker, gpu, smallest, asked))
    if maker.job.training:
        yield [layout for count, _ in further for layout in maker.fitting(gpu, count)]
    for count, why in further:
        layout, fits = maker.layout(gpu, count)
        if fits:
            found.setdefault(layout, why)
    if maker.split_stated and any(maker.as_stated(layout) for layout in found):
        found = {layout: why for layout, why in found.items() if maker.as_stated(layout)}
    return sorted((Configuration(layout, why) for layout, why in found.items()), key=_order)


def _smallest_as_stated(maker: PlanMaker, gpu: Gpu, smallest: int) -> int:
    """The smallest count that fits under the stated degrees; the smallest of all where they bind nowhere."""
    counts = ladder(maker.fabric(gpu).node_gpus, maker.most_gpus(gpu)) if maker.split_stated else ()
    for count in counts:
        layout, fits = maker.layout(gpu, count)
        if count >= smallest and fits and maker.as_stated(layout):
            return count
    return smallest


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


def _searched(maker: PlanMaker, gpu: Gpu, smallest: int) -> _Search[list[Configuration]]:
    if maker.job.training:
        return (yield from _training(maker, gpu, smallest))
    if maker.split_stated:
        return (yield from _stated_split(maker, gpu, smallest))
    return (yield from _serving(maker, gpu, smallest))


def _training(maker: PlanMaker, gpu: Gpu, smallest: int) -> _Search[list[Configuration]]:
    """Every count of a node from the smallest that fits, and the count that ends the run in time."""
    inside = maker.node_gpus(gpu)
    more = [count for count in maker.counts(gpu) if smallest < count <= inside]
    yield [layout for count in (smallest, *more) for layout in maker.fitting(gpu, count)]
    usual = maker.layout(gpu, smallest)[0]
    found = [Configuration(usual, _why_smallest(smallest))]
    before = rate_of(maker.speed(gpu, usual)[0])
    for count in more:
        layout, fits = maker.layout(gpu, count)
        rate = rate_of(maker.speed(gpu, layout)[0]) if fits else None
        if not fits or not rate or not before or rate < before * maker.least_gain:
            break
        found.append(Configuration(layout, "more GPUs for speed"))
        before = rate
    return found + (yield from _in_time(maker, gpu, smallest))


def _in_time(maker: PlanMaker, gpu: Gpu, smallest: int) -> _Search[list[Configuration]]:
    """The smallest count that meets the goals of a training job, or ends pre-training in the time people wait for."""
    goals, why = maker.goals, "meets the target"
    if not goals.stated:
        if maker.job.kind != "pretraining" or not maker.job.train_tokens:
            return []
        goals, why = goals._replace(hours=float(maker.patience_hours)), "ends in bearable time"
    count = smallest
    for _ in range(_ROUNDS):
        yield maker.fitting(gpu, count)
        layout, fits = maker.layout(gpu, count)
        values = _values(maker, gpu, layout) if fits else {}
        if not values:
            return []
        if meets(goals, values) is not False:
            return [Configuration(layout, why)]
        factor = shortfall(goals, values)
        if factor is None or math.isinf(factor):
            return []
        larger = maker.rounded_up(gpu, max(count + 1, math.ceil(count * factor * 0.999)))
        if larger is None:
            return []
        count = larger
    return []


class _Served(NamedTuple):
    """A configuration of a service beside what decides whether it is worth a plan."""

    configuration: Configuration
    width: int  # GPUs that work as one: wider machines never cost less
    good: bool  # meets the stated goals, as far as they are known
    time: float | None  # of a request, or of a piece of work of a batch
    rate: float
    kept: bool  # machines are sold in this count


def _serving(maker: PlanMaker, gpu: Gpu, smallest: int) -> _Search[list[Configuration]]:
    """Replicas of every width, each as often as memory and load need, without those that cannot win."""
    fabric = maker.fabric(gpu)
    replicas: list[tuple[Layout, int]] = []
    for width in ladder(fabric.node_gpus, maker.most_gpus(gpu)):
        if width > max(smallest, fabric.machine):
            break  # Further nodes in one replica only where memory needs them.
        for replica in maker.splits(gpu, width):
            least = _replicas_that_fit(maker, gpu, replica, smallest)
            if least is not None:
                replicas.append((replica, least))
        if width > smallest and maker.job.shape is None:
            break
    room = maker.node_gpus(gpu)
    yield [layout for replica, least in replicas for layout in _doubled(replica, least, room)]
    found: list[_Served] = []
    for replica, least in replicas:
        # A model that is split anyway is often split once more, so that caches have room.
        roomier = smallest > 1 and replica.count == 2 * smallest
        served = yield from _with_load(maker, gpu, replica, least)
        found += [entry._replace(kept=entry.kept or roomier) for entry in served]
    configured = []
    for entry in _worth_planning(maker, found):
        layout, why = entry.configuration
        unforced = layout.count == smallest and (layout.data == 1 or not maker.goals.stated)
        configured.append(Configuration(layout, _why_smallest(smallest) if unforced else why))
    return configured


def _doubled(replica: Layout, least: int, room: int) -> Iterator[Layout]:
    """A number of replicas, and its doublings as far as they stand in one machine."""
    yield _times(replica, least)
    while replica.count * least * 2 <= room:
        least *= 2
        yield _times(replica, least)


def _replicas_that_fit(maker: PlanMaker, gpu: Gpu, replica: Layout, smallest: int) -> int | None:
    """The fewest replicas of a split that hold the requests in flight; each of more holds fewer of them."""
    if maker.holds(gpu, replica):
        return 1
    most = min(maker.job.concurrency, maker.most_gpus(gpu) // replica.count)
    below, above = 1, min(most, max(2, smallest // replica.count))
    while not maker.holds(gpu, _times(replica, above)):
        if above >= most:
            return None
        below, above = above, min(most, above * 2)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if maker.holds(gpu, _times(replica, middle)) else (middle, above)
    return above


def _times(replica: Layout, number: int) -> Layout:
    return Layout(replica.tensor, replica.pipeline, number)


def _worth_planning(maker: PlanMaker, found: list[_Served]) -> list[_Served]:
    """The configurations that no leaner one makes pointless, whatever is minimised."""
    kept: list[_Served] = []
    for entry in sorted(found, key=lambda e: (e.configuration.layout.count, e.width, e.time or math.inf, -e.rate)):
        if entry.kept or not any(_makes_pointless(maker, other, entry) for other in kept):
            kept.append(entry)
    return kept


def _makes_pointless(maker: PlanMaker, lean: _Served, other: _Served) -> bool:
    """Whether the first, of no more GPUs, costs no more and is as fast but for less than more GPUs have to bring."""
    if lean.time is None or other.time is None or lean.good < other.good or lean.width > other.width:
        return False
    few, many = lean.configuration.layout.count, other.configuration.layout.count
    if few == many:
        return lean.time <= other.time and lean.rate >= other.rate
    if maker.batch and few * lean.time > many * other.time:
        return False  # More GPUs do the same work at less cost.
    return lean.time <= other.time * float(maker.least_gain ** math.log2(many / few))


def _with_load(maker: PlanMaker, gpu: Gpu, replica: Layout, least: int) -> _Search[list[_Served]]:
    """A replica as often as the goals need, then doubled while that makes answers, or a batch, faster by enough."""
    needed = yield from _replicas_needed(maker, gpu, replica, least)
    if needed is None:
        why = "one replica" if least == 1 else "replicas that memory needs"
        return [_served(maker, gpu, _times(replica, least), why)]
    layout = _times(replica, needed)
    whole = rounded_up(layout.count, maker.fabric(gpu).node_gpus, maker.most_gpus(gpu))
    wholes = whole is not None and whole > layout.count and whole % replica.count == 0
    room = maker.node_gpus(gpu)
    whole_machines = [_times(replica, whole // replica.count)] if whole is not None and wholes else []
    yield [*whole_machines, *_doubled(replica, needed, room)]
    found = [_served(maker, gpu, layout, "meets the target" if maker.goals.stated else _why_wider(layout))]
    found += [_served(maker, gpu, wider, "meets the target", kept=True) for wider in whole_machines]
    before = _pace(maker, gpu, layout)
    while before and layout.count * 2 <= room and (maker.batch or layout.data < maker.job.concurrency):
        layout = _times(replica, layout.data * 2)
        pace = _pace(maker, gpu, layout)
        if not pace or pace < before * maker.least_gain:
            break
        found.append(_served(maker, gpu, layout, "more replicas for speed"))
        before = pace
    return found


def _why_wider(layout: Layout) -> str:
    return "wider split for speed" if layout.data == 1 else "replicas that memory needs"


def _served(maker: PlanMaker, gpu: Gpu, layout: Layout, why: str, *, kept: bool = False) -> _Served:
    values = _values(maker, gpu, layout)
    rate = values.get("tokens_per_s") or values.get("samples_per_s") or values.get("qps") or 0.0
    time = (1 / rate if rate else None) if maker.batch else values.get("latency_ms")
    good = meets(maker.goals, values) is not False
    return _Served(Configuration(layout, why), layout.tensor * layout.pipeline, good, time, rate, kept)


def _replicas_needed(maker: PlanMaker, gpu: Gpu, replica: Layout, least: int) -> _Search[int | None]:
    """How many replicas meet the goals; None where no number of them does."""
    goals, most = maker.goals, maker.most_gpus(gpu)
    number, too_slow = least, least
    for _ in range(_ROUNDS):
        yield [_times(replica, number)]
        values = _values(maker, gpu, _times(replica, number))
        if not values or meets(goals, values) is not False:
            return (yield from _fewest_between(maker, gpu, replica, too_slow, number))
        if not times_kept(goals, values):
            too_slow = number
        number = _more_replicas(goals, values, number, maker.job.concurrency)
        if not number or number * replica.count > most:
            return None
    return None


def _fewest_between(maker: PlanMaker, gpu: Gpu, replica: Layout, too_few: int, enough: int) -> _Search[int]:
    """The fewest replicas that meet the goals, above a number that is too few, as far as that is not enough itself."""
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        yield [_times(replica, middle)]
        values = _values(maker, gpu, _times(replica, middle))
        too_few, enough = (middle, enough) if meets(maker.goals, values) is False else (too_few, middle)
    return enough


def _more_replicas(goals: Goals, values: Mapping[str, float], number: int, concurrency: int) -> int:
    """The next number to try; 0 where more of them do not help."""
    if not times_kept(goals, values):
        # Each of more replicas has fewer requests in flight, and answers them sooner.
        return min(number * 2, concurrency) if number < concurrency else 0
    factor = shortfall(goals, values)
    if factor is None or math.isinf(factor):
        return 0
    return max(number + 1, math.ceil(number * factor * 0.999))


def _stated_split(maker: PlanMaker, gpu: Gpu, smallest: int) -> _Search[list[Configuration]]:
    """The smallest count under the stated degrees, and the one that meets the goals."""
    usual = maker.layout(gpu, smallest)[0]
    return [Configuration(usual, _why_smallest(smallest)), *(yield from _in_time(maker, gpu, smallest))]


def _not_beaten(maker: PlanMaker, gpu: Gpu, layouts: Sequence[Layout]) -> list[Layout]:
    """Of layouts of one count, those that no other equals in the time of a request and in throughput."""
    kept: list[tuple[Layout, tuple[float, ...]]] = []
    maker.evaluate((gpu, layout) for layout in layouts)
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
