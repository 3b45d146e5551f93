"""Facts of many plans as columns: one row for each plan, so that a condition is judged on all of them at once.

Numbers lie in an array, NaN where a fact is not known. All other values (words, lists, yes or no) are numbered: a
column holds the numbers, -1 where a fact is not known, and the list of values that they stand for. Facts that many rows
share, such as those of a GPU, stand in a table of their own, which rows point to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core.values import Facts, Value


Numbers: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]


class NumberColumn(NamedTuple):
    """A fact that is a number."""

    values: Numbers  # NaN: not known
    whole: bool = False  # its values are integers

    def take(self, rows: Codes) -> NumberColumn:
        """Some of the rows."""
        return NumberColumn(self.values[rows], self.whole)

    def at(self, row: int) -> Value | None:
        """The value in one row; None where it is not known."""
        value = self.values[row].item()
        return None if math.isnan(value) else int(value) if self.whole else value

    def values_at(self, rows: Codes) -> list[Value | None]:
        """The values in some rows."""
        values: list[float] = self.values[rows].tolist()
        if self.whole:
            return [None if math.isnan(value) else int(value) for value in values]
        return [None if math.isnan(value) else value for value in values]


class WordColumn(NamedTuple):
    """A fact that is a word, a list, or yes or no."""

    codes: Codes  # positions in ``words``; -1: not known
    words: tuple[Value, ...]

    def take(self, rows: Codes) -> WordColumn:
        """Some of the rows."""
        return WordColumn(self.codes[rows], self.words)

    def at(self, row: int) -> Value | None:
        """The value in one row; None where it is not known."""
        code = self.codes[row]
        return None if code < 0 else self.words[code]

    def values_at(self, rows: Codes) -> list[Value | None]:
        """The values in some rows."""
        words = (*self.words, None)  # Which -1 points to.
        return [words[code] for code in self.codes[rows].tolist()]


Column: TypeAlias = NumberColumn | WordColumn

#: Up to here every whole number is a double.
_WHOLE = 2**53

#: So many rows are read one by one; who asks for more is likely to ask for all, which are read column by column.
_ONE_BY_ONE = 3

NO, YES = 0, 1
#: The values of a column of yes or no.
NO_YES: tuple[Value, ...] = (False, True)


def yes_no(yes: NDArray[np.bool_], known: NDArray[np.bool_] | None = None) -> WordColumn:
    """A column of yes or no; not known where ``known`` is false."""
    codes = yes.astype(np.intp)
    return WordColumn(codes if known is None else np.where(known, codes, -1), NO_YES)


def column_of(values: Sequence[Value | None]) -> Column:
    """The column of a fact's values, None where it is not known: of numbers, if all that are known are doubles."""
    known = [value for value in values if value is not None]
    if all(value.__class__ is float or (value.__class__ is int and -_WHOLE <= value <= _WHOLE) for value in known):
        numbers = [np.nan if value is None else value for value in values]
        return NumberColumn(np.array(numbers, np.float64), whole=all(value.__class__ is int for value in known))
    places: dict[tuple[type, Value], int] = {}  # By class too: True equals 1.
    codes = [-1 if value is None else places.setdefault((value.__class__, value), len(places)) for value in values]
    return WordColumn(np.array(codes, np.intp), tuple(value for _, value in places))


class FactTable:
    """The facts of many plans, a column for each fact.

    Args:
        size: the number of rows.
        columns: the facts by name; a fact without a column is known in no row.
        shared: facts that rows have in common, such as those of their GPUs.
        which: for each row its row in ``shared``.
    """

    def __init__(
        self, size: int, columns: Mapping[str, Column], shared: FactTable | None = None, which: Codes | None = None
    ) -> None:
        self.size = size
        self.shared = shared
        self.which = np.zeros(size, np.intp) if which is None else which
        self._columns: dict[str, Column] = dict(columns)
        #: Columns of a longer table of which this one holds some rows; they are taken when they are looked at.
        self._longer: Mapping[str, Column] = {}
        self._rows = self.which
        self._taken: dict[str, Column | None] = {}
        self._asked = 0  # rows that were asked for
        self._whole: list[dict[str, Value]] | None = None

    @classmethod
    def of(cls, fact_sets: Sequence[Facts]) -> FactTable:
        """The table of fact sets, a row for each."""
        names = dict.fromkeys(name for facts in fact_sets for name in facts)
        return cls(len(fact_sets), {name: column_of([facts.get(name) for facts in fact_sets]) for name in names})

    @property
    def names(self) -> Set[str]:
        """The facts that rows have of their own."""
        return dict.fromkeys((*self._longer, *self._columns)).keys()

    def own(self, name: str) -> Column | None:
        """The column of a fact that rows have of their own; None where none has it."""
        if name not in self._columns and name in self._longer:
            self._columns[name] = self._longer[name].take(self._rows)
        return self._columns.get(name)

    def column(self, name: str) -> Column | None:
        """The column of a fact; None where no row has it."""
        if self.shared is None or name in self._columns or name in self._longer:
            return self.own(name)
        if name not in self._taken:
            shared = self.shared.column(name)
            self._taken[name] = None if shared is None else shared.take(self.which)
        return self._taken[name]

    def sharing(self, shared: FactTable, which: Codes) -> FactTable:
        """These facts laid over those that all rows share."""
        found = FactTable(self.size, self._columns, shared, which)
        found._longer, found._rows = self._longer, self._rows
        return found

    def add(self, columns: Mapping[str, Column]) -> None:
        """Further facts. A fact that has a column already keeps it in the rows where it is known."""
        for name, column in columns.items():
            have = self.column(name)
            self._columns[name] = column if have is None else _where_unknown(have, column)
        self._whole = None

    def take(self, rows: Codes) -> FactTable:
        """Some of the rows."""
        found = FactTable(len(rows), {}, self.shared, self.which[rows])
        if self._longer:
            found._columns = {name: column.take(rows) for name, column in self._columns.items()}
            found._longer, found._rows = self._longer, self._rows[rows]
        else:
            found._longer, found._rows = dict(self._columns), rows
        return found

    def row(self, row: int) -> dict[str, Value]:
        """All that is known in one row: what rows share first."""
        facts = self.shared.row(int(self.which[row])) if self.shared is not None else {}
        self._asked += 1
        if self._asked > _ONE_BY_ONE:
            if self._whole is None:
                self._whole = self.fact_sets(np.arange(self.size), self.names)
            return facts | self._whole[row]
        for name in self.names:
            column = self.own(name)
            if column is not None and (value := column.at(row)) is not None:
                facts[name] = value
        return facts

    def fact_sets(self, rows: Codes, names: Iterable[str]) -> list[dict[str, Value]]:
        """Some facts of some rows, as far as they are known."""
        found: list[dict[str, Value]] = [{} for _ in range(len(rows))]
        for name in names:
            column = self.column(name)
            if column is not None:
                for facts, value in zip(found, column.values_at(rows), strict=True):
                    if value is not None:
                        facts[name] = value
        return found

    def rows(self) -> Iterator[dict[str, Value]]:
        """The facts of each row."""
        return map(self.row, range(self.size))


def _where_unknown(have: Column, more: Column) -> Column:
    values = [more.at(row) if have.at(row) is None else have.at(row) for row in range(_length(have))]
    return column_of(values)


def _length(column: Column) -> int:
    return len(column.values if isinstance(column, NumberColumn) else column.codes)
