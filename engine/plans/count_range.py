"""How many GPUs a plan may come to need: its count at the low and at the high end of what was estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import distinct_numbers
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.size_columns import SizeColumns
from whichgpu.engine.plans.targets import Goals, judged
from whichgpu.engine.sizing import Floats, Ints, ceiling


class CountEnds(NamedTuple):
    """Fewest and most GPUs of each plan: by the band of its memory, and by that of its speed where a load is stated."""

    by_memory: tuple[Ints, Ints]
    by_speed: tuple[Ints, Ints]

    def of(self, row: int, *, memory: bool, speed: bool) -> tuple[int, int]:
        """The range of one plan, by those of the two bands that are worth no more."""
        taken = [ends for ends, counts in ((self.by_memory, memory), (self.by_speed, speed)) if counts]
        return min(int(low[row]) for low, _ in taken), max(int(high[row]) for _, high in taken)


def count_ends(
    columns: SizeColumns, goals: Goals, found: PlannedRows, speeds: Sequence[Mapping[str, Floats]]
) -> CountEnds:
    """The ends of all plans.

    Args:
        columns: of the GPUs that the plans point to.
        goals: that are stated.
        found: the plans.
        speeds: of the plans at the slow and at the fast end of the constants.
    """
    count = found.layouts.gpus
    forced = (found.smallest == 0) | (count <= found.smallest)  # By memory; else by the load, or chosen for speed.
    fewest, most = (_smallest(columns, found.gpu, end) for end in ("low_gb", "high_gb"))
    # A plan that memory does not force keeps its count where less would do.
    least = np.where(forced & (fewest > 0), np.minimum(fewest, count), count)
    limit = columns.fabrics.most[columns.links.fabric[found.gpu]]
    by_memory = least, np.maximum(count, np.where(most > 0, most, limit))
    slow, fast = (_needed(goals, speed, found) for speed in speeds)
    enough = np.where(forced, count, np.maximum(1, np.minimum(fast, count)))
    return CountEnds(by_memory, (enough, np.maximum(slow, count)))


def _smallest(columns: SizeColumns, gpu: Ints, end: str) -> Ints:
    """The smallest count of each plan's GPU that holds this end of the band; 0 where none does."""
    first, which = distinct_numbers(gpu)
    each = gpu[first]
    counts = columns.fabrics.counts[columns.links.fabric[each]]
    place, step = np.nonzero(counts)
    choices = columns.choices(each[place], counts[place, step])
    memory = columns.memory(each[place][choices.query], choices.layouts)
    if memory is None:
        return np.zeros(len(gpu), np.int64)
    holds = getattr(memory, end) <= columns.gpus.usable_gb()[each[place][choices.query]]
    least = np.full(len(each), np.inf)
    np.minimum.at(least, place[choices.query[holds]], choices.layouts.gpus[holds])
    return np.where(np.isinf(least), 0, least).astype(np.int64)[which]


def _needed(goals: Goals, speed: Mapping[str, Any], found: PlannedRows) -> Ints:
    """GPUs that the stated load takes at these speeds, in whole replicas; the plan's own where no load is stated."""
    count, width = found.layouts.gpus, found.layouts.width
    factor = np.zeros(len(count))
    for goal, name in ((goals.tokens_per_s, "tokens_per_s"), (goals.qps, "qps")):
        if goal is not None:
            rate = judged(goals, speed, name)
            factor = np.fmax(factor, goal / np.where(rate > 0, rate, np.nan))
    if goals.hours and "hours" in speed:
        factor = np.fmax(factor, speed["hours"] / goals.hours)
    replicas = ceiling(np.ceil(count * factor - 1e-9).astype(np.int64), width)
    needed: Ints = np.where(factor > 0, np.maximum(replicas, 1) * width, count)
    return needed
