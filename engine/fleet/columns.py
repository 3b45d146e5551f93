"""Columns of a batch as codes into their distinct values: work is done once for each value and not for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Coded(NamedTuple):
    """A column: ``values[codes[row]]`` is what stands in a row."""

    codes: Codes
    values: list[Any]

    @classmethod
    def of(cls, items: Iterable[Any]) -> Coded:
        """The column of these items, one a row."""
        places: dict[Any, int] = {}
        values: list[Any] = []
        codes: list[int] = []
        for item in items:
            # 1, 1.0 and True are equal, and not the same value of a column.
            key = item if item.__class__ is str else (item.__class__, repr(item))
            place = places.get(key)
            if place is None:
                place = places[key] = len(values)
                values.append(item)
            codes.append(place)
        return cls(np.array(codes, np.int64), values)

    @classmethod
    def constant(cls, value: Any, rows: int) -> Coded:
        """A column that holds the same in every row."""
        return cls(np.zeros(rows, np.int64), [value])

    def mapped(self, change: Callable[[Any], Any]) -> Coded:
        """The column with ``change`` made to each distinct value."""
        made = Coded.of([change(value) for value in self.values])
        return Coded(made.codes[self.codes], made.values)

    def items(self) -> list[Any]:
        """What stands in each row."""
        return [self.values[code] for code in self.codes.tolist()]

    def numbers(self) -> Numbers:
        """The rows as numbers; NaN where there is none."""
        found = [float(value) if isinstance(value, int | float) else np.nan for value in self.values]
        return np.array(found or [np.nan], np.float64)[self.codes]


def groups_of(columns: Sequence[Coded], rows: int) -> tuple[Codes, Codes]:
    """Rows that are alike in all columns.

    Returns:
        The number of its group for each row, and the first row of each group.
    """
    codes, first = np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    for column in columns:
        joined = codes * max(1, len(column.values)) + column.codes
        _, first, codes = np.unique(joined, return_index=True, return_inverse=True)
    return codes, first


def column_of_numbers(numbers: Numbers) -> Coded:
    """A column of figures, None where there is none."""
    values, codes = np.unique(numbers, return_inverse=True)
    return Coded(codes.astype(np.int64), [None if isnan(value) else value for value in values.tolist()])
