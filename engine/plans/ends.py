"""Plans at the slow and at the fast end of the constants: their speeds, and the counts that they come to.

Whoever asks for one plan gets that plan's ends alone: an answer in a line shows no other. With the next plan those of
all are computed at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from whichgpu.engine.plans.count_range import CountEnds, count_ends
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.size_columns import SizeColumns
from whichgpu.engine.plans.targets import Goals
from whichgpu.engine.sizing import Floats


class _Block:
    """The ends of some configurations."""

    def __init__(self, columns: SizeColumns, goals: Goals, found: PlannedRows) -> None:
        self._found, self._goals, self._columns = found, goals, columns
        self.speeds = columns.ends(found.gpu, found.layouts, found.max_batch)
        self._counts: CountEnds | None = None

    @property
    def counts(self) -> CountEnds:
        """The ends of their counts."""
        if self._counts is None:
            self._counts = count_ends(self._columns, self._goals, self._found, self.speeds)
        return self._counts


class BandEnds:
    """The ends of configurations, a row for each."""

    def __init__(self, columns: SizeColumns, goals: Goals, found: PlannedRows) -> None:
        """Prepare.

        Args:
            columns: of the GPUs.
            goals: that are stated.
            found: the configurations.
        """
        self._of = columns, goals
        self._found = found
        self._alone: tuple[int, _Block] | None = None
        self._every: _Block | None = None

    def speeds(self, row: int) -> list[dict[str, float]]:
        """The known figures of a row at the slow and at the fast end."""
        block, place = self._block(row)
        return [known_at(end, place) for end in block.speeds]

    def counts(self, row: int, *, memory: bool, speed: bool) -> tuple[int, int]:
        """The range of a row's count by those of the two bands that are worth no more; see ``CountEnds.of``."""
        block, place = self._block(row)
        return block.counts.of(place, memory=memory, speed=speed)

    def _block(self, row: int) -> tuple[_Block, int]:
        if self._every is None and (self._alone is None or self._alone[0] == row):
            if self._alone is None:
                self._alone = row, _Block(*self._of, self._found.only(row))
            return self._alone[1], 0
        if self._every is None:
            self._every = _Block(*self._of, self._found)
        return self._every, row


def known_at(figures: Mapping[str, Floats], row: int) -> dict[str, float]:
    """The figures of one row that are known, without those for judging alone (``_name``)."""
    shown = (name for name in figures if not name.startswith("_"))
    return {name: value for name in shown if not math.isnan(value := np.asarray(figures[name]).item(row))}
