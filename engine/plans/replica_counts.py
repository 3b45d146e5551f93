"""How many replicas of each split meet goals: from the load that one sustains, and halved down to the fewest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from whichgpu.engine.core import known_or
from whichgpu.engine.plans.in_time import ROUNDS
from whichgpu.engine.plans.layouts import Layouts
from whichgpu.engine.plans.room import rounded_up
from whichgpu.engine.plans.sizes import PlanSizes
from whichgpu.engine.plans.targets import Goals, missed, shortfall, times_missed
from whichgpu.engine.sizing import Bools, Floats, Ints


#: Halvings of which all numbers are computed at once: seven of each row.
_HALVINGS_AHEAD = 3


class Replicas(NamedTuple):
    """Splits of one replica, a row for each GPU and split."""

    place: Ints  # of the GPU among those that are searched
    gpu: Ints  # its position in the catalogue
    layouts: Layouts  # with one replica
    least: Ints  # the fewest replicas that hold the requests in flight
    max_batch: Floats  # requests that fit one replica

    def take(self, which: Ints | Bools) -> Replicas:
        """Some of them."""
        place, gpu, layouts, least, max_batch = self
        return Replicas(place[which], gpu[which], layouts.take(which), least[which], max_batch[which])

    def times(self, number: Ints) -> Layouts:
        """So many of each."""
        return self.layouts._replace(data=number)


def first_tries(sizes: PlanSizes, replicas: Replicas, most: Ints, wanted: Sequence[Goals]) -> Sequence[Ints | None]:
    """For each of some goals how many replicas to try first: 0 where none meets it; -1, or None, where it is not known.

    It is known by what a replica sustains in time of a stated rate, or of the requests in flight. The speed of that
    number and of one less, by which it is seen to be the fewest, is computed for all goals in one go, as far as so many
    GPUs may be had.

    Args:
        sizes: of the job.
        replicas: of which GPUs and splits.
        most: GPUs of each.
        wanted: the goals; from what the first of them takes one goes on to the others, where something meets it.
    """
    least, top = replicas.least, most // replicas.layouts.width
    load = sizes.rate if sizes.rate is not None else float(sizes.job.concurrency)
    if not any(goals.stated for goals in wanted) or (sizes.rate is None and sizes.goals.tokens_per_s is not None):
        return [None for _ in wanted]
    # Several are linked as more are: some cards only in pairs.
    several = replicas.times(np.minimum(np.maximum(least, 2), top))
    limits = [goals.times for goals in wanted]
    sustained = sizes.columns.load_of_a_replica(replicas.gpu, several, replicas.max_batch, limits)
    if sustained is None:
        return [None for _ in wanted]
    tries, starts, known = list[Ints](), list[Ints](), list[Bools]()
    for goals, in_time in zip(wanted, sustained.in_time, strict=True):
        needed = np.ones(len(least))
        for asked, each in (
            (load, in_time),
            (goals.qps, sustained.promised_per_s),
            (goals.tokens_per_s, sustained.full_per_s * max(1, sizes.job.output_tokens)),
        ):
            if asked is not None:  # A figure that is not known asks for nothing.
                needed = np.fmax(needed, np.divide(asked, each, out=np.full(len(least), np.inf), where=each != 0))
        number = np.where(np.isfinite(needed), np.ceil(needed), 0.0).astype(np.int64)
        # What is a little more than may be had is known no better than that.
        number = np.where(number <= top + np.maximum(1, top // 8), np.minimum(number, top), 0)
        known.append((number > 0) & known[0] if known else number > 0)
        tries.append(np.maximum(least, number))
        starts.append(least)
        least = np.maximum(least, np.where(known[0], _ordered(sizes, replicas, tries[0], top), 0))
    every = np.stack([*tries, *(number - 1 for number in tries), *starts])
    computed = np.tile(known, (3, 1)) | (every == replicas.least)  # Those that nothing is known of stand at the least.
    which, row = np.nonzero(computed & (every >= replicas.least) & (every <= top))
    speed_of(sizes, replicas.take(row), every[which, row])
    unmet = [np.zeros_like(least), *(np.where(known[0], 0, -1) for _ in wanted[1:])]
    return [np.where(reachable, number, none) for reachable, number, none in zip(known, tries, unmet, strict=True)]


def _from_least(sizes: PlanSizes, replicas: Replicas, goals: Goals, first: Ints) -> Ints:
    """The numbers of replicas to try first; the smallest where it meets the goals, since it may have better links."""
    start = np.where(first > 0, np.maximum(first, replicas.least), 0)
    row = np.flatnonzero(start != replicas.least)
    speed = speed_of(sizes, replicas.take(row), replicas.least[row])
    start[row] = np.where(missed(goals, speed), start[row], replicas.least[row])
    return start


def _ordered(sizes: PlanSizes, replicas: Replicas, needed: Ints, top: Ints) -> Ints:
    """The numbers as one orders them, of at most so many where fewer do."""
    width, machine = replicas.layouts.width, sizes.columns.links.node_gpus[replicas.gpu]
    found: Ints = np.minimum(rounded_up(needed, width, machine), np.maximum(needed, top))
    return found


def needed_replicas(sizes: PlanSizes, replicas: Replicas, most: Ints, goals: Goals, first: Ints | None = None) -> Ints:
    """How many replicas meet the goals, from the least on, with at most so many GPUs; 0 where no number does.

    Args:
        sizes: of the job.
        replicas: of which GPUs and splits.
        most: GPUs of each.
        goals: what is to be met.
        first: the numbers to try first, 0 where no number does; by default the least.
    """
    least, top = replicas.least, most // replicas.layouts.width
    if not goals.stated:
        return least
    # To the most at once for what people tolerate, as that often does not do either and ends the search.
    unguided = partial(_fewest, sizes, goals=goals, leaps=goals is sizes.tolerable, aims=sizes.rate_stated)
    if first is None:
        return _ordered(sizes, replicas, unguided(replicas, top, start=least), top)
    start = _from_least(sizes, replicas, goals, np.where(first <= top, np.maximum(first, 0), 0))
    needed = _fewest(sizes, replicas, top, goals=goals, start=start, leaps=False, aims=True)
    # Aimed too low, so that of more some would be idle.
    lost = np.flatnonzero((needed == 0) & ((first < 0) | ((start > least) & (start < top))))
    if len(lost):
        needed[lost] = unguided(replicas.take(lost), top[lost], start=least[lost])
    return _ordered(sizes, replicas, needed, top)


def _fewest(
    sizes: PlanSizes, replicas: Replicas, top: Ints, *, goals: Goals, start: Ints, leaps: bool, aims: bool
) -> Ints:
    """The fewest replicas that meet the goals, of at most so many; 0 where no number does.

    From a number that is too small it is gone to one that may do.

    Args:
        sizes: of the job.
        replicas: of which GPUs and splits.
        top: the most of each.
        goals: what is to be met.
        start: the numbers to try first.
        leaps: go to the most at once.
        aims: a number that is enough is most often the fewest.
    """
    least = replicas.least
    needed, too_few, tried = np.zeros_like(least), least - 1, start.copy()
    row, rounds = np.flatnonzero(tried), 0
    while len(row):
        rounds += 1
        here, number = replicas.take(row), tried[row]
        searching = needed[row] == 0
        speed = _speed_and_ahead(sizes, here, number, too_few[row], needed[row], leaps=leaps)
        enough = ~missed(goals, speed)
        # Each of more replicas has fewer requests in flight, and answers them sooner.
        slow = np.broadcast_to(times_missed(goals, speed), number.shape)
        needed[row] = np.where(enough, number, needed[row])
        too_few[row] = np.where(~enough & (slow | ~searching), number, too_few[row])
        more = np.zeros_like(number)
        if rounds < ROUNDS and (searching & ~enough).any():
            more = _more(sizes, speed, number, start[row], top[row], slow, goals, leaps=leaps)
        # Between a number that is enough and one that is too few lies the fewest that is enough: most often the one
        # that was gone to, as the load of a replica tells how many it takes.
        aimed = searching & (aims and not leaps)
        middle = np.where(aimed, needed[row] - 1, (too_few[row] + needed[row]) // 2)
        between = np.where(needed[row] - too_few[row] > 1, middle, 0)
        tried[row] = np.where(searching & ~enough, more, between)
        row = row[tried[row] > 0]
    return needed


def speed_of(sizes: PlanSizes, replicas: Replicas, number: Ints) -> dict[str, Floats]:
    """The speed of so many of each."""
    return sizes.columns.speed_cache.of(replicas.gpu, replicas.times(number), replicas.max_batch).figures


def _speed_and_ahead(
    sizes: PlanSizes, replicas: Replicas, number: Ints, too_few: Ints, needed: Ints, *, leaps: bool
) -> dict[str, Floats]:
    """The speed of so many of each; and, to be kept, of the numbers that the next rounds may come to.

    A round costs as much for a few rows as for many.
    """
    new = ~sizes.columns.speed_cache.has(replicas.gpu, replicas.times(number))
    halved = np.flatnonzero(new & (needed > 0))
    place, ahead = _halvings(too_few[halved], needed[halved])
    # Of a number that was gone to the one before is looked at next.
    gone_to = np.flatnonzero(new & (needed == 0) & (number - too_few > 1) & (sizes.rate_stated and not leaps))
    rows = np.concatenate([np.arange(len(number)), halved[place], gone_to])
    ahead = np.concatenate([ahead, number[gone_to] - 1])
    if not len(ahead):
        return speed_of(sizes, replicas, number)
    speed = speed_of(sizes, replicas.take(rows), np.concatenate([number, ahead]))
    return {name: column[: len(number)] for name, column in speed.items()}


def _halvings(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The numbers that some halvings between two others may come to, each with the place of the two."""
    ends, numbers = [(low, high)], []
    for _ in range(_HALVINGS_AHEAD):
        middles = [(one, (one + other) // 2, other) for one, other in ends]
        numbers += [np.where(other - one > 1, middle, 0) for one, middle, other in middles]
        ends = [pair for one, middle, other in middles for pair in ((one, middle), (middle, other))]
    tree = np.stack(numbers, axis=1)
    place, at = np.nonzero(tree)
    return place, tree[place, at]


def _more(
    sizes: PlanSizes,
    speed: dict[str, Floats],
    number: Ints,
    least: Ints,
    most: Ints,
    slow: Bools,
    goals: Goals,
    *,
    leaps: bool,
) -> Ints:
    """The next number of replicas to try, of ``least`` to ``most``; 0 where more of them do not help."""
    present = most_that_help(sizes, speed)
    factor = np.broadcast_to(shortfall(goals, speed), number.shape)
    helps = np.isfinite(factor)
    longer = np.maximum(number + 1, np.ceil(number * np.where(helps, factor, 0.0) * 0.999).astype(np.int64))
    further = np.where(leaps, most, np.minimum(number * 2, most))
    if sizes.rate is not None and not leaps:
        # What each may be promised to answer in time tells how many replicas it takes.
        known = speed["qps"] > 0
        enough = number * sizes.rate / np.where(known, speed["qps"], np.inf)
        enough = np.ceil(enough * 0.999).astype(np.int64)
        if sizes.job.shape is None:  # Replicas that share a queue sustain more each by being more.
            enough = np.minimum(enough, most)
        # A margin beside the targets asks for a little more than that.
        a_little = number + np.maximum(1, np.maximum(number - least, least // 8))
        further = np.where(enough > number, enough, np.minimum(a_little, most))
        if not sizes.job.expert_parallel:  # Else replicas get faster by being more.
            present = np.where(known, present, 0)
    faster = np.where(number < present, np.minimum(further, present), 0)
    more = np.where(slow, faster, np.where(helps, longer, 0))
    return np.where((more > number) & (more <= most), more, 0)


def most_that_help(sizes: PlanSizes, speed: dict[str, Floats]) -> Ints:
    """The most replicas of each row that help: one for each request in flight; of more, some are idle.

    At a stated rate requests come by chance, and one finds its replica at work in ``in flight / replicas`` of all
    cases: more replicas help until that is rarer than the requests that may miss a target.
    """
    in_flight: Floats = known_or(speed.get("in_flight", np.zeros(len(speed["qps"]))), 1.0)
    if sizes.rate_stated:
        in_flight = in_flight / (1 - sizes.goals.percentile / 100)
    return np.maximum(sizes.job.concurrency, np.ceil(in_flight)).astype(np.int64)
