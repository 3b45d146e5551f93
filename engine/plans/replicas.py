"""Replicas of a model that is served: of every width, as many as memory and load need, and more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whichgpu.engine.core import among, distinct_numbers, known_or
from whichgpu.engine.plans.needs import Choices
from whichgpu.engine.plans.picks import Picks, grouped, not_beaten, picks_of, why_smallest
from whichgpu.engine.plans.replica_counts import Replicas, first_tries, most_that_help, needed_replicas, speed_of
from whichgpu.engine.plans.size_columns import capacity, mean_latency_ms, rate
from whichgpu.engine.plans.sizes import PlanSizes
from whichgpu.engine.plans.targets import missed
from whichgpu.engine.sizing import Bools, Floats, Ints


#: Numbers of machines that services are planned in beyond what they need: doublings, and half of one more.
_MACHINES = np.array(sorted({half * 2**k // 2 for half in (2, 3) for k in range(18)}))
#: So many of them.
_FURTHER = 2


class _More(NamedTuple):
    """Numbers of replicas beyond those that the goals need; 0 where no number does."""

    roomy: Ints  # that meet the goals with room
    within_tolerance: Ints  # that answer within the time that people tolerate


class _Served(NamedTuple):
    """Numbers of replicas beside what decides whether they are worth a plan, a row for each."""

    picks: Picks
    good: Ints  # 1 where it meets the stated goals, as far as they are known, 2 with room; more within tolerable waits
    time: Floats  # of a request, or of a piece of work of a batch; NaN where it is not known
    rate: Floats
    kept: Bools  # worth a plan in any case

    def take(self, which: Ints | Bools) -> _Served:
        """Some of them."""
        picks, good, time, per_s, kept = self
        return _Served(picks.take(which), good[which], time[which], per_s[which], kept[which])


def serving(sizes: PlanSizes, which: Ints, smallest: Ints) -> Picks:
    """Replicas of every width, each as often as memory and load need, without those that cannot win.

    Args:
        sizes: of the job.
        which: the GPUs, by their positions in the catalogue.
        smallest: the smallest count of each that fits.
    """
    replicas = _replicas(sizes, which, smallest)
    limits = sizes.columns.fabrics.most[sizes.columns.links.fabric[replicas.gpu]]
    wanted = (sizes.goals, sizes.goals_with_room, sizes.tolerable)
    tries = first_tries(sizes, replicas, limits, wanted)
    needed = needed_replicas(sizes, replicas, limits, sizes.goals, tries[0])
    if sizes.goals.stated and (sizes.afield or "gpu_candidates" in sizes.facts):
        unmet = np.flatnonzero(~among(replicas.place, replicas.place[needed > 0]))
        alone = replicas.take(unmet)
        limits[unmet] = _most_apart(sizes, alone)
        needed[unmet] = needed_replicas(sizes, alone, limits[unmet], sizes.goals)
        if needed[unmet].any():
            tries = first_tries(sizes, replicas, limits, wanted)
    met = np.flatnonzero(needed)
    further = replicas.take(met)._replace(least=np.maximum(replicas.least, needed)[met])
    more = [np.zeros_like(needed) for _ in range(2)]
    for number, goals, first in zip(more, wanted[1:], tries[1:], strict=True):
        if goals.stated:
            number[met] = needed_replicas(sizes, further, limits[met], goals, None if first is None else first[met])
    served = _with_load(sizes, replicas, needed, _More(*more), smallest)
    picks = _worth_planning(sizes, _in_whole_groups(sizes, served)).picks
    least = smallest[picks.place]
    unforced = (picks.layouts.gpus == least) & ((picks.layouts.data == 1) | (not sizes.goals.stated))
    return picks._replace(why=np.where(unforced, why_smallest(least), picks.why))


def _in_whole_groups(sizes: PlanSizes, served: _Served) -> _Served:
    """Where it is stated over how many GPUs experts are spread, as many replicas as share them, or a multiple.

    A GPU of which so many cannot be had shares them among as many as there are.
    """
    job = sizes.job
    if not job.expert_parallel or job.shape is None or not job.shape.moe:
        return served
    place, layouts = served.picks.place, served.picks.layouts
    whole = layouts.data % np.maximum(1, job.expert_parallel // layouts.tensor) == 0
    return served.take(whole | ~among(place, place[whole]))


def _replicas(sizes: PlanSizes, which: Ints, smallest: Ints) -> Replicas:
    columns = sizes.columns
    fabrics, fabric = columns.fabrics, columns.links.fabric[which]
    widths = fabrics.counts[fabric]
    # Further nodes in one replica only where memory needs them.
    tried = (widths > 0) & (widths <= np.maximum(smallest, fabrics.machine[fabric])[:, None])
    if sizes.job.shape is None:  # No wider than one step beyond what memory needs.
        narrower = np.concatenate([np.zeros((len(which), 1), np.int64), widths[:, :-1]], axis=1)
        tried &= narrower <= smallest[:, None]
    place, step = np.nonzero(tried)
    choices = columns.choices(which[place], widths[place, step])
    # Layers go into a pipeline where memory needs it, or once more: one sends no answer sooner.
    width, pipeline = choices.layouts.width, choices.layouts.pipeline
    deep = (pipeline > 1) & (width > 2 * smallest[place[choices.query]]) & (not sizes.split_stated)
    choices = choices.take((choices.layouts.data == 1) & ~deep)
    place = place[choices.query]
    gpu = which[place]
    usable = columns.limits_gb[gpu] * columns.usable_share(columns.links.fabric[gpu], choices.layouts.width)
    least = _least(sizes, choices, usable, fabrics.most[fabric[place]])
    found = Replicas(place, gpu, choices.layouts, least, columns.max_batch(gpu, choices.layouts))
    return found.take(least > 0)


def _least(sizes: PlanSizes, choices: Choices, limit_gb: Floats, most: Ints) -> Ints:
    """The fewest replicas of each split that hold the requests in flight; each of more holds fewer of them.

    Returns:
        0 where no number of replicas does.
    """
    held = choices.raised_gb <= limit_gb
    least = held.astype(np.int64)
    crowded = choices.layouts.take(~held)
    most = np.minimum(sizes.job.concurrency, most[~held] // crowded.width)
    if most.max(initial=1) < 2:
        return least
    first, split = distinct_numbers(crowded.tensor << 20 | crowded.pipeline)
    numbers = np.arange(2, most.max() + 1)
    each = crowded.take(np.repeat(first, len(numbers)))._replace(data=np.tile(numbers, len(first)))
    needed = sizes.columns.needs.raised_gb(each, sizes.job.concurrency).reshape(len(first), len(numbers))
    holds = (needed[split] <= limit_gb[~held, None]) & (numbers <= most[:, None])
    least[~held] = np.where(holds.any(1), numbers[holds.argmax(1)], 0)
    return least


def _most_apart(sizes: PlanSizes, replicas: Replicas) -> Ints:
    """The most GPUs of replicas that stand apart, in as many machines as it takes: they do not talk to one another.

    That is the last resort for cards that the user names, where they meet the goals in no machines that anyone joins.
    Boards stay what they are, but in the field, where each does its part of the work: its own cameras.
    """
    fabrics, fabric = sizes.columns.fabrics, sizes.columns.links.fabric[replicas.gpu]
    return np.where((fabrics.machine[fabric] > 1) | sizes.afield, sizes.most_apart, fabrics.most[fabric])


def _with_load(sizes: PlanSizes, replicas: Replicas, needed: Ints, asked_for: _More, smallest: Ints) -> _Served:
    """Replicas as often as the goals need, then doubled while that makes answers, or a batch, faster by enough."""
    fabrics, fabric = sizes.columns.fabrics, sizes.columns.links.fabric[replicas.gpu]
    width, met = replicas.layouts.width, needed > 0
    first = np.where(met, needed, replicas.least)
    # Whole machines.
    roomy, within_tolerance = (np.where(number > first, number, 0) for number in asked_for)
    asked = np.maximum(first, roomy)
    whole = fabrics.rounded_up(fabric, asked * width)
    whole = np.where(met & (whole > asked * width) & (whole % width == 0), whole // width, 0)
    # Doubled from either on: a looser target that fewer replicas meet then leaves whole machines among what is tried.
    further = _further_machines(sizes, replicas, np.where(met, asked, 0))
    starts = np.column_stack([first, whole, roomy, within_tolerance, further])
    inside = np.minimum(fabrics.node_gpus, fabrics.most)[fabric]
    doublings = max(0, int((inside // (first * width)).max(initial=0)).bit_length() - 1)
    numbers = starts[:, :, None] << np.arange(doublings + 1)
    more = numbers[:, :, 1:]
    tried = met[:, None, None] & (more * width[:, None, None] <= inside[:, None, None])
    if not sizes.batch:
        present = np.full(len(first), sizes.job.concurrency)
        if sizes.rate_stated:
            present = most_that_help(sizes, speed_of(sizes, replicas, first))
        tried &= more // 2 < present[:, None, None]
    numbers[:, :, 1:] = np.where(tried, more, 0)
    row, start, doubling = np.nonzero(numbers)
    found = replicas.take(row)
    layouts = found.times(numbers[row, start, doubling])
    speed = speed_of(sizes, found, layouts.data)
    faster = _faster(sizes, speed, starts.shape[1] * row + start, doubling)
    if sizes.goals.stated:
        why = np.array("meets the target")
    else:
        why = np.where(layouts.data == 1, "wider split for speed", "replicas that memory needs")
    whole_machines = (start == 1) & (doubling == 0)
    for_speed = (doubling > 0) | (start >= starts.shape[1] - _FURTHER)
    why = np.where(for_speed, "more replicas for speed", np.where(whole_machines, "meets the target", why))
    alone = np.where(found.least == 1, "one replica", "replicas that memory needs")
    per_s = rate(speed) if sizes.batch else capacity(speed)
    per_s = np.where(per_s > 0, per_s, known_or(speed["qps"]))
    time = np.where(per_s > 0, 1 / np.where(per_s > 0, per_s, 1.0), np.nan) if sizes.batch else mean_latency_ms(speed)
    # A model that is split anyway is often split once more, so that caches have room.
    least = smallest[found.place]
    roomier = (least > 1) & (found.layouts.width == 2 * least)
    good = np.ones(len(row), np.int64)
    if sizes.goals.stated:
        good = (~missed(sizes.goals, speed)).astype(np.int64) + ~missed(sizes.goals_with_room, speed)
    if sizes.tolerable.stated:
        good = good * 2 + ~missed(sizes.tolerable, speed)
    picks = picks_of(found.place, layouts, np.where(met[row], why, alone))
    return _Served(picks, good, time, per_s, roomier | whole_machines).take(faster)


def _further_machines(sizes: PlanSizes, replicas: Replicas, asked: Ints) -> Ints:
    """Replicas in the next machines that others are planned in too, where a stated rate takes more than one machine.

    Two GPUs are compared in the same number only where both are planned in it.

    Args:
        sizes: of the job.
        replicas: of which GPUs and splits.
        asked: how many of each meet the goals.

    Returns:
        A row for each and a column for each number; 0 where there is none.
    """
    fabrics, fabric, width = sizes.columns.fabrics, sizes.columns.links.fabric[replicas.gpu], replicas.layouts.width
    machine = fabrics.node_gpus[fabric]
    place = np.searchsorted(_MACHINES, asked * width / machine, side="right")
    gpus = machine[:, None] * _MACHINES[np.minimum(place[:, None] + np.arange(_FURTHER), len(_MACHINES) - 1)]
    count = (asked * width)[:, None]
    able = (count > machine[:, None]) & (gpus > count) & (gpus <= 2 * count) & (gpus % width[:, None] == 0)
    able &= (gpus <= fabrics.most[fabric][:, None]) & (sizes.rate_stated and not sizes.batch)
    return np.where(able, gpus // width[:, None], 0)


def _faster(sizes: PlanSizes, speed: dict[str, Floats], chain: Ints, doubling: Ints) -> Bools:
    """Which numbers of replicas stay: the first of each chain, and doublings as long as each one gains enough."""
    if sizes.batch:
        pace = known_or(rate(speed))
    else:
        latency = known_or(mean_latency_ms(speed))
        pace = np.where(latency > 0, 1e3 / np.where(latency > 0, latency, 1.0), 0.0)
    before = np.concatenate([np.zeros(1), pace[:-1]])
    slower = (doubling > 0) & ~((pace > 0) & (before > 0) & (pace >= before * sizes.least_gain))
    slower_so_far = np.cumsum(slower)
    stays: Bools = slower_so_far == slower_so_far[np.searchsorted(chain, chain)]
    return stays


def _worth_planning(sizes: PlanSizes, served: _Served) -> _Served:
    """The configurations that no leaner one makes pointless, whatever is minimised."""
    picks = served.picks
    time = np.where(served.time > 0, served.time, np.inf)
    width, gpus = picks.layouts.width, picks.layouts.gpus
    served = served.take(np.lexsort((-served.rate, time, width, gpus, picks.place)))
    picks = served.picks
    rows = grouped(picks.place)
    there = rows >= 0
    left = not_beaten(_pointless(sizes, served.take(rows)) & there[:, :, None], served.kept[rows])
    return served.take(rows[left & there])


def _pointless(sizes: PlanSizes, served: _Served) -> Bools:
    """Whether the first, of no more GPUs, costs no more and is as fast but for less than more GPUs have to bring.

    Returns:
        GPU x the one x the other.
    """

    def lean(column: Ints | Floats | Bools) -> Ints | Floats | Bools:
        return column[:, :, None]

    def other(column: Ints | Floats | Bools) -> Ints | Floats | Bools:
        return column[:, None, :]

    time, width, gpus = served.time, served.picks.layouts.width, served.picks.layouts.gpus
    few, many = lean(gpus), other(gpus)
    gain = sizes.least_gain ** np.log2(many / few)
    enough = lean(time) <= other(time) * gain
    if sizes.batch:  # More GPUs may do the same work at less cost.
        enough &= few * lean(time) <= many * other(time)
    as_many = (lean(time) <= other(time)) & (lean(served.rate) >= other(served.rate))
    no_worse = (lean(served.good) >= other(served.good)) & (lean(width) <= other(width))
    pointless: Bools = no_worse & np.where(few == many, as_many, enough)
    return pointless
