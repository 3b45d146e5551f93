"""Configurations as a search finds them, before they become plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import among, distinct_numbers
from whichgpu.engine.plans.layouts import LAYOUT_BITS, Layouts, joined
from whichgpu.engine.sizing import Bools, Ints


class Picks(NamedTuple):
    """Configurations as columns."""

    place: Ints  # of the GPU among those that are searched
    layouts: Layouts
    why: NDArray[np.str_]  # where the count comes from
    timed: Bools  # others are made to be rejected: no one asks how fast they are

    def take(self, which: Any) -> Picks:
        """Some of them, by their positions or a mask."""
        return Picks(self.place[which], self.layouts.take(which), self.why[which], self.timed[which])


def picks_of(place: Ints, layouts: Layouts, why: Any, *, timed: bool = True) -> Picks:
    """Configurations with their reason, which may be the same for all."""
    return Picks(place, layouts, np.full(len(place), why) if isinstance(why, str) else why, np.full(len(place), timed))


def why_smallest(count: Ints, held: Ints | None = None) -> NDArray[np.str_]:
    """The reason of the smallest counts that fit.

    Args:
        count: the smallest.
        held: the smallest whose GPUs hold the job, where system memory asks for more.
    """
    alone = np.where(count == 1, "one card", "smallest count that fits")
    return (
        alone if held is None else np.where(count > held, "smallest count whose machines hold what is offloaded", alone)
    )


def put_together(found: Sequence[Picks], degrees: tuple[int | None, ...] = ()) -> Picks:
    """All configurations by GPU and count, each layout once, with the first reason that was found for it.

    Args:
        found: one after the other.
        degrees: of tensor, pipeline and data, as the user states them: where a GPU has configurations with these
            degrees, it has no others.
    """
    places, tables, whys, timed = zip(*found, strict=True)
    place, layouts = np.concatenate(places), joined(tables)
    picks = Picks(place, layouts, np.concatenate(whys), np.concatenate(timed))
    first, _ = distinct_numbers(place << LAYOUT_BITS | layouts.codes)
    picks = picks.take(np.sort(first))
    if any(degrees):
        stated = picks.layouts.have(degrees)
        bound = among(picks.place, picks.place[stated])
        picks = picks.take(stated | ~bound)
    layouts = picks.layouts
    return picks.take(np.lexsort((layouts.data, layouts.pipeline, layouts.width, layouts.gpus, picks.place)))


def grouped(place: Ints) -> Ints:
    """The rows of each GPU beside each other: a row for each GPU, with -1 behind the last.

    Args:
        place: the GPU of each row; those of one GPU follow each other.
    """
    first = np.flatnonzero(np.diff(place, prepend=-1))
    group = np.cumsum(np.diff(place, prepend=-1) != 0) - 1
    rank = np.arange(len(place)) - first[group]
    table = np.full((len(first), int(rank.max(initial=-1)) + 1), -1)
    table[group, rank] = np.arange(len(place))
    return table


def not_beaten(beats: Bools, spared: Bools) -> Bools:
    """Which rows of each group remain: in order, a row is dropped if an earlier row that remains beats it.

    Args:
        beats: group x one x other: whether the first one beats the other.
        spared: group x one: what is never struck out.
    """
    left = np.ones_like(spared)
    for other in range(1, spared.shape[1]):
        left[:, other] = spared[:, other] | ~(left[:, :other] & beats[:, :other, other]).any(1)
    return left
