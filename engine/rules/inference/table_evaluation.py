"""What a level's rules come to on every row of a table: each part of a condition is judged on all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import compress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import Codes, Facts, FactTable, NumberColumn, Value, WordColumn
from whichgpu.engine.rules.inference.evaluation import Evaluation
from whichgpu.engine.rules.inference.evaluator import Evaluator
from whichgpu.engine.rules.language.columns import Rows, View


#: The truth of a part on each row: 1 where it holds, -1 where it does not, 0 where it is unknown.
TruthColumn: TypeAlias = NDArray[np.int8]


class TableEvaluation(Evaluation):
    """The rules on every row of a table.

    ``groups`` are the distinct sets of rules that match, ``codes`` the number of each row's own.
    """

    def __init__(self, evaluator: Evaluator, shared: Facts, table: FactTable) -> None:
        super().__init__(evaluator, shared)
        self.table = table
        self._view = View(shared, table)
        self._sharing = evaluator.sharing(table)
        self._holding: dict[int, Rows] = {}
        self._columns: dict[int, TruthColumn] = {}
        self._known_where: dict[str, Rows] = {}
        with np.errstate(all="ignore"):
            certain, waiting = self._standing()
            self._certain = frozenset(certain)
            self._waiting = waiting
            self._holds = self._conjunctions(waiting)
        self._groups: tuple[Codes, list[frozenset[str]]] | None = None

    @property
    def size(self) -> int:
        """The number of rows of the table."""
        return self.table.size

    @property
    def codes(self) -> Codes:
        """For each row the number of its group."""
        return self._grouped()[0]

    @property
    def groups(self) -> list[frozenset[str]]:
        """The distinct sets of rules that match."""
        return self._grouped()[1]

    @cached_property
    def matches(self) -> Sequence[frozenset[str]]:
        """For each row the ids of the rules whose conditions all hold."""
        codes, groups = self._grouped()
        return [groups[code] for code in codes.tolist()]

    def on(self, table: FactTable) -> TableEvaluation:
        """What the rules come to on another table, without a workload."""
        return TableEvaluation(self._evaluator, {}, table)

    def facts_of(self, row: int) -> Facts:
        """All facts of a row, the shared ones included."""
        return {**self.shared, **self.table.row(row)}

    def numbered(self, name: str, rows: Codes) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of rows: the number of its value in each, and the values; None for unknown."""
        column = self.table.column(name)
        if isinstance(column, WordColumn):
            return column.codes[rows].tolist(), (*column.words, None)  # Which -1 points to.
        return range(len(rows)), [None] * len(rows) if column is None else column.values_at(rows)

    def own_facts(self, rows: Codes) -> Sequence[Facts]:
        """What the conditions read of rows alone."""
        return self.table.fact_sets(rows, self._evaluator.local_reads)

    def column(self, part: int) -> TruthColumn:
        """The truth of a local part on each row."""
        if part not in self._columns:
            with np.errstate(all="ignore"):
                fails = self._evaluator.fails(part, self._view)
                self._columns[part] = self._where(part).view(np.int8) - fails.view(np.int8)
        return self._columns[part]

    def holds(self, part: int, rows: Codes) -> list[bool]:
        """On which of some rows a local part holds."""
        with np.errstate(all="ignore"):
            held: list[bool] = self._where(part)[rows].tolist()
        return held

    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The rows on which the rule is undecided, those together that lack the same facts for the same parts."""
        common, local = self.parts_of(rule)
        values = [self.common(part) for part in common]
        if False in values or self.size == 0 or not (None in values or any(map(self._may_be_unknown, local))):
            return []
        columns = [self.column(part) for part in local]
        least = np.minimum.reduce([np.full(self.size, 0 if None in values else 1, np.int8), *columns])
        rows = np.flatnonzero(least == 0)
        if not len(rows):
            return []
        reads = sorted({name for part in local for name in self.parts[part].reads})
        columns += [self._known(name).view(np.int8) for name in reads]
        if not columns:
            return [rows.tolist()]
        stacked = np.stack([column[rows] for column in columns], axis=1)
        kinds: list[bytes] = stacked.view(f"V{len(columns)}").ravel().tolist()
        alike: dict[bytes, list[int]] = {}
        for row, kind in zip(rows.tolist(), kinds, strict=True):
            alike.setdefault(kind, []).append(row)
        return alike.values()

    def _local(self, part: int, row: int) -> bool | None:
        truth = self.column(part).item(row)
        return truth > 0 if truth else None

    def _where(self, part: int) -> Rows:
        """On which rows a local part holds."""
        if part not in self._holding:
            shared = self._sharing.true_where.get(part)
            self._holding[part] = (
                self._evaluator.holds(part, self._view) if shared is None else shared[self.table.which]
            )
        return self._holding[part]

    def _conjunctions(self, numbers: list[int]) -> Rows:
        """For each of these rules the rows on which all its local parts hold."""
        sharing = self._sharing
        if sharing.whole is None:
            result = np.ones((len(numbers), self.size), np.bool_)
        else:
            result = sharing.whole[numbers][:, self.table.which]
        for place in np.flatnonzero(result.any(axis=1)).tolist():
            rows = result[place]
            for part in sharing.others[numbers[place]]:
                np.logical_and(rows, self._where(part), out=rows)
        return result

    def _grouped(self) -> tuple[Codes, list[frozenset[str]]]:
        if self._groups is None:
            holds = self._holds
            on_all: Rows = np.logical_and.reduce(holds, axis=1)
            names = [self._evaluator.local[number][0] for number in self._waiting]
            always = self._certain.union(compress(names, on_all))
            differing = np.flatnonzero(holds.any(axis=1) & ~on_all)
            holds, names = holds[differing], [names[place] for place in differing.tolist()]
            first, codes = _distinct(holds)
            columns: list[list[bool]] = holds[:, first].T.tolist()
            self._groups = (codes, [always.union(compress(names, column)) for column in columns])
        return self._groups

    def _may_be_unknown(self, part: int) -> bool:
        """Whether a local part can be unknown on some row: it computes, or lacks a fact there."""
        of = self.parts[part]
        return of.computes or not all(self._known(name).all() for name in of.reads)

    def _known(self, name: str) -> Rows:
        """Whether a fact is known, on each row."""
        if name not in self._known_where:
            column = self.table.column(name)
            if column is None:
                known = np.full(self.size, name in self.shared)
            else:
                known = ~np.isnan(column.values) if isinstance(column, NumberColumn) else column.codes >= 0
            self._known_where[name] = known
        return self._known_where[name]


def _distinct(flags: Rows) -> tuple[Codes, Codes]:
    """The distinct columns of a matrix: where each is found first, and for every column the number of its own."""
    packed = np.packbits(flags, axis=0)
    flagged = np.zeros((flags.shape[1], len(packed) or 1), np.uint8)
    flagged[:, : len(packed)] = packed.T
    keys: list[bytes] = flagged.view(f"V{flagged.shape[1]}").ravel().tolist()
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([numbers[key] for key in keys], np.intp)
    first = np.empty(len(numbers), np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first, codes
