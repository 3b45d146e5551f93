"""``PlannedRows``: GPU, layout, memory and speed of the configurations that become plans, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from whichgpu.engine.plans.layouts import Layouts
from whichgpu.engine.sizing import Bools, Floats, Ints, MemoryColumns


class PlannedRows(NamedTuple):
    """A row for each plan: by GPU as they were asked for, and for each by count. All columns have the same length."""

    gpu: Ints  # position in the table of GPUs that the sizes are computed over
    layouts: Layouts
    why: tuple[str, ...]  # where the count comes from
    usual: Layouts  # the layout that is usual for the count
    timed: Bools  # others are made to be rejected: their speed and largest batch are not computed
    smallest: Ints  # smallest count of the GPU that fits; 0 where none does
    max_batch: Floats  # largest micro-batch, or requests per replica, that fits; NaN where it is not known
    speed: dict[str, Floats]  # figures by name; NaN where one is not known
    memory: MemoryColumns | None  # per GPU; None where neither model nor memory is known
    fits: Floats  # 1 or 0, judged on the cautious side; NaN where memory is not known

    @property
    def is_usual(self) -> Bools:
        """Where the layout is the usual one: its plan is named by GPU and count alone."""
        same: Bools = self.layouts.same(self.usual)
        return same

    def only(self, row: int) -> PlannedRows:
        """One configuration alone, without what it takes: its memory and speed are left out."""
        at = slice(row, row + 1)
        layouts, usual = (Layouts(*(column[at] for column in each)) for each in (self.layouts, self.usual))
        columns = (self.smallest[at], self.max_batch[at])
        return PlannedRows(
            self.gpu[at], layouts, self.why[at], usual, self.timed[at], *columns, {}, None, self.fits[at]
        )

    def by_gpu(self) -> Iterator[tuple[int, range]]:
        """Each GPU by its position, and its rows."""
        starts = np.flatnonzero(np.diff(self.gpu, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(self.gpu)], strict=True):
            yield int(self.gpu[start]), range(start, end)
