"""Which counts and splits of GPUs are worth planning: all that can win, whatever the objective.

Serving: a replica is a tensor x pipeline split that fits. Each one is planned with as many replicas as the stated load
and targets need, and with more as long as doubling them shortens the answer enough. Training: every count of a node
under the fastest split that fits, and more nodes where memory, a deadline or a rule asks for them.

A configuration is left out only where another of the same GPU costs less and is at least as fast, or where it costs
twice as much and gains less than the least gain of a doubling: neither can be the cheapest, the fastest or the best
product of both (``least_gain_of_doubling`` in ``knowledge/plans.yaml``).

All GPUs are searched at once: what is tried of each of them is a row of the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import known_or
from whichgpu.engine.plans.in_time import counts_in_time, counts_of_usual_steps
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.picks import Picks, grouped, not_beaten, picks_of, put_together, why_smallest
from whichgpu.engine.plans.replicas import serving
from whichgpu.engine.plans.size_columns import capacity, mean_latency_ms, rate
from whichgpu.engine.sizing import Ints


def configurations(maker: PlanMaker, which: Ints, asked: Mapping[int, str]) -> Picks:
    """The configurations of GPUs that fit, by GPU and count; none of a GPU where none does.

    Args:
        maker: of the job, whose memory must be known.
        which: the GPUs, by their positions in the catalogue.
        asked: counts that rules want considered, with the rule that asks.
    """
    smallest = maker.columns.smallest[which]
    places = np.flatnonzero(smallest)
    which, smallest = which[places], smallest[places]
    first = _smallest_as_stated(maker, which, smallest) if maker.split_stated else smallest
    if maker.job.training:
        in_time = counts_in_time(maker, which, first)
        found = [_training(maker, which, first), *in_time, counts_of_usual_steps(maker, which, first)]
    elif maker.split_stated:
        found = [_smallest(maker, which, first), *counts_in_time(maker, which, first)]
    else:
        found = [serving(maker, which, smallest)]
    picks = put_together([*found, *_further(maker, which, smallest, asked)], maker.stated_degrees)
    return picks._replace(place=places[picks.place])


def configurations_of_count(maker: PlanMaker, which: Ints, count: int) -> Picks:
    """The ways to split a job over a stated number of GPUs; the leanest one of a GPU where none fits."""
    counts = np.full(len(which), count)
    usual = maker.columns.usual(which, counts)
    stated = picks_of(np.arange(len(which)), usual.layouts, "stated")
    if maker.job.training:
        return stated
    choices = maker.columns.fitting(which, counts)
    speed = maker.speed_columns(which[choices.query], choices.layouts)
    latency = -known_or(mean_latency_ms(speed), np.inf)
    merits = np.stack([latency, known_or(capacity(speed)), known_or(speed["qps"])])
    rows = grouped(choices.query)
    each = merits[:, rows]
    # Those that none before equals in the time of a request and in throughput.
    beats = (each[:, :, :, None] >= each[:, :, None, :]).all(0) & (rows >= 0)[:, :, None]
    kept = choices.take(rows[not_beaten(beats, np.zeros(rows.shape, np.bool_)) & (rows >= 0)])
    return put_together([stated, picks_of(kept.query, kept.layouts, "stated")])


def _smallest_as_stated(maker: PlanMaker, which: Ints, smallest: Ints) -> Ints:
    """The smallest count that fits under the stated degrees; the smallest of all where they bind nowhere."""
    ladders = maker.columns.fabrics.ladders[maker.columns.links.fabric[which]]
    place, step = np.nonzero(ladders >= smallest[:, None])
    counts = ladders[place, step]
    usual = maker.columns.usual(which[place], counts)
    bound = np.flatnonzero(usual.fits & usual.layouts.have(maker.stated_degrees))
    bound_place, first = np.unique(place[bound], return_index=True)
    found = smallest.copy()
    found[bound_place] = counts[bound[first]]
    return found


def _smallest(maker: PlanMaker, which: Ints, smallest: Ints) -> Picks:
    """The smallest count of each GPU."""
    return picks_of(np.arange(len(which)), maker.columns.usual(which, smallest).layouts, _why(maker, which, smallest))


def _training(maker: PlanMaker, which: Ints, smallest: Ints) -> Picks:
    """Every count of a node from the smallest that fits, as long as more GPUs make it faster by enough."""
    fabrics, fabric = maker.columns.fabrics, maker.columns.links.fabric[which]
    counts, inside = fabrics.counts[fabric], np.minimum(fabrics.node_gpus, fabrics.most)[fabric]
    more = np.where((counts > smallest[:, None]) & (counts <= inside[:, None]), counts, 0)
    steps = np.concatenate([smallest[:, None], more], axis=1)
    place, step = np.nonzero(steps)
    usual = maker.columns.usual(which[place], steps[place, step])
    pace = np.where(usual.fits, known_or(rate(usual.speed)), 0.0)
    before = np.concatenate([np.zeros(1), pace[:-1]])
    faster = (step == 0) | ((pace > 0) & (before > 0) & (pace >= before * maker.least_gain))
    slower_so_far = np.cumsum(~faster)
    kept = slower_so_far == slower_so_far[np.searchsorted(place, place)]
    why = np.where(step == 0, _why(maker, which, smallest)[place], "more GPUs for speed")
    return picks_of(place, usual.layouts, why).take(kept)


def _why(maker: PlanMaker, which: Ints, smallest: Ints) -> NDArray[np.str_]:
    """Why the smallest counts are what they are; degrees that are stated are counted as what fits."""
    least = maker.columns.smallest[which]
    return why_smallest(smallest, np.where(smallest > least, smallest, maker.columns.held[which]))


def _further(maker: PlanMaker, which: Ints, smallest: Ints, asked: Mapping[int, str]) -> Iterator[Picks]:
    """Counts that rules ask for, and those that the user has, where they fit."""
    fabrics, fabric = maker.columns.fabrics, maker.columns.links.fabric[which]
    most = fabrics.most[fabric]
    gpus = [maker.columns.gpus.gpus[place] for place in which.tolist()]
    for count, by in asked.items():
        if count % maker.job.least_gpus == 0:
            open_ = np.flatnonzero((smallest < count) & (count <= most)).tolist()
            place = np.array([place for place in open_ if maker.offered(gpus[place], count)], np.int64)
            yield _where_they_fit(maker, which, place, np.full(len(place), count), f"asked by {by}")
    if not maker.owns:
        return
    owned = np.minimum([maker.owned(gpu) for gpu in gpus], most)
    if not owned.any():
        return
    # Of cards that are there no one has to take a number that is rented out.
    most_inside = min(int(owned.max()), int(fabrics.node_gpus[fabric].max()))
    each = np.broadcast_to(np.arange(1, most_inside + 1), (len(which), most_inside))
    each = np.where(each <= fabrics.node_gpus[fabric][:, None], each, 0)
    counts = np.concatenate([fabrics.counts[fabric], owned[:, None], each], axis=1)
    held = maker.columns.held[which]  # How much system memory stands beside them their owner knows.
    place, step = np.nonzero((counts >= held[:, None]) & (counts <= owned[:, None]) & (counts > 0))
    yield _where_they_fit(maker, which, place, counts[place, step], "owned")


def _where_they_fit(maker: PlanMaker, which: Ints, place: Ints, counts: Ints, why: str) -> Picks:
    usual = maker.columns.usual(which[place], counts)
    return picks_of(place, usual.layouts, why).take(usual.fits)
