"""Speeds of the plans of one job, each computed once: a search comes back to plans that it tried before."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from whichgpu.engine.core import distinct_numbers
from whichgpu.engine.plans.layouts import Layouts
from whichgpu.engine.sizing import Bools, Floats, Ints


#: Bits of a GPU's position in its table.
_GPU_BITS = 20
#: Plans that are kept: those of a dozen searches.
_MOST_KEPT = 20_000


class SpeedRows(NamedTuple):
    """The speed of plans, a row for each."""

    max_batch: Floats  # the largest batch that fits; NaN where it is not known, or speed does not depend on it
    figures: dict[str, Floats]  # NaN where one is not known

    def take(self, rows: Ints) -> SpeedRows:
        """The rows of some plans, by their positions or a mask."""
        return SpeedRows(self.max_batch[rows], {name: column[rows] for name, column in self.figures.items()})

    def followed_by(self, more: SpeedRows) -> SpeedRows:
        """These rows, followed by the rows of other plans of the same job."""
        names = dict.fromkeys((*self.figures, *more.figures))
        unknown = [np.full(len(each.max_batch), np.nan) for each in (self, more)]
        figures = {
            name: np.concatenate([self.figures.get(name, unknown[0]), more.figures.get(name, unknown[1])])
            for name in names
        }
        return SpeedRows(np.concatenate([self.max_batch, more.max_batch]), figures)


#: Computes the speed of plans: the GPU of each, its layout, and the largest batch where it is known.
Compute: TypeAlias = Callable[[Ints, Layouts, Floats | None], SpeedRows]


def _keys(which: Ints, layouts: Layouts) -> Ints:
    """A number for each plan, the same for equal ones alone."""
    keys: Ints = layouts.codes << _GPU_BITS | which
    return keys


class SpeedCache:
    """What ``compute`` gives for plans, which may not depend on the plans beside them."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._keys: Ints = np.zeros(0, np.int64)  # in ascending order
        self._rows: Ints = np.zeros(0, np.int64)  # of each key
        self._sped: SpeedRows | None = None

    def of(self, which: Ints, layouts: Layouts, max_batch: Floats | None = None) -> SpeedRows:
        """The speed of plans.

        Args:
            which: the GPU of each, by its position.
            layouts: of the plans.
            max_batch: the largest batch that fits each, where the caller knows it.
        """
        if not len(which):
            return self._compute(which, layouts, max_batch)
        keys = _keys(which, layouts)
        rows, new = self._found(keys)
        if self._sped is None or new.any():
            if len(self._keys) > _MOST_KEPT:
                self._keys, self._rows, self._sped = self._keys[:0], self._rows[:0], None
                new = np.ones(len(keys), np.bool_)
            chosen = np.flatnonzero(new)
            chosen = chosen[distinct_numbers(keys[chosen])[0]]
            more = self._compute(which[chosen], layouts.take(chosen), None if max_batch is None else max_batch[chosen])
            self._sped = more if self._sped is None else self._sped.followed_by(more)
            self._add(keys[chosen])
            rows, _ = self._found(keys)
        return self._sped.take(rows)

    def has(self, which: Ints, layouts: Layouts) -> Bools:
        """Of which plans, given as to ``of``, the speed is kept."""
        return ~self._found(_keys(which, layouts))[1]

    def _found(self, keys: Ints) -> tuple[Ints, Bools]:
        """The row of each key, and whether it has none."""
        if not len(self._keys):
            return keys, np.ones(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return self._rows[place], self._keys[place] != keys

    def _add(self, keys: Ints) -> None:
        every = np.concatenate([self._keys, keys])
        order = np.argsort(every)
        rows = np.concatenate([self._rows, len(self._rows) + np.arange(len(keys))])
        self._keys, self._rows = every[order], rows[order]
