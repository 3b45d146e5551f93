"""What a level's rules come to, on one case or on every row of a table: matches, outcomes in three values, verdicts.

Each part of a condition is judged once. Parts that read only the workload's facts are judged first, and a rule that
they dismiss is not looked at again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import Codes, Facts, FactTable, NumberColumn, Value, WordColumn
from whichgpu.engine.rules.inference.evaluator import Branch, Evaluator
from whichgpu.engine.rules.inference.parts import Part
from whichgpu.engine.rules.language.columns import Rows, View
from whichgpu.engine.rules.rulebook.model import Rule, Verdict


#: The truth of a part on each row: 1 where it holds, -1 where it does not, 0 where it is unknown.
Truths: TypeAlias = NDArray[np.int8]


class Evaluation(ABC):
    """What the rules come to, a row for each plan or case; values are worked out when first asked for, and kept."""

    def __init__(self, evaluator: Evaluator, shared: Facts) -> None:
        self.rules: Mapping[str, Rule] = evaluator.rules
        self.shared = shared
        self._evaluator = evaluator
        self._common: dict[int, bool | None] = {}

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def matches(self) -> Sequence[frozenset[str]]:
        """For each row the ids of the rules whose conditions all hold."""

    @abstractmethod
    def facts_of(self, row: int) -> Facts:
        """All facts of a row, the shared ones included."""

    @abstractmethod
    def numbered(self, name: str, rows: Sequence[int]) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of rows: the number of its value in each, and the values; None for unknown."""

    @abstractmethod
    def own_facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        """What the conditions read of rows alone."""

    @abstractmethod
    def _local(self, part: int, row: int) -> bool | None:
        """The truth of a part that reads a row's own facts."""

    @abstractmethod
    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The rows on which the rule is undecided, those together that lack the same facts for the same parts."""

    @property
    def parts(self) -> Sequence[Part]:
        """The distinct parts of all conditions."""
        return self._evaluator.parts.parts

    def parts_of(self, rule: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which parts a rule consists of: those that read shared facts only, and the others."""
        return self._evaluator.parts.split[rule]

    def common(self, part: int) -> bool | None:
        """The truth of a part that reads shared facts only."""
        if part not in self._common:
            value = self._evaluator.scalar(part)(self.shared)
            self._common[part] = value if value is True or value is False else None
        return self._common[part]

    def value(self, part: int, row: int) -> bool | None:
        """The truth of a part on a row."""
        return self._local(part, row) if self.parts[part].local else self.common(part)

    def holds(self, part: int, rows: Sequence[int]) -> list[bool]:
        """On which of some rows a local part holds."""
        return [self._local(part, row) is True for row in rows]

    def outcome(self, rule: str, row: int = 0) -> bool | None:
        """True: all conditions hold. False: one does not. None: undecided for want of a fact."""
        result: bool | None = True
        for part in self._evaluator.parts.of_rule[rule]:
            value = self.value(part, row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    def outcomes(self, row: int = 0) -> Mapping[str, bool | None]:
        """The outcome of every rule on a row."""
        return {rule: self.outcome(rule, row) for rule in self.rules}

    def verdict(self, rule: str, row: int = 0) -> Verdict:
        """What became of a rule on a row: fired, undecided for which facts, or dismissed by which condition."""
        if rule in self.matches[row]:
            return Verdict(rule, "fired")
        facts = self.facts_of(row)
        missing: dict[str, None] = {}
        for condition, parts in zip(self.rules[rule].when, self._evaluator.parts.of_condition[rule], strict=True):
            values = [self.value(part, row) for part in parts]
            if None not in values and False not in values:
                continue
            reads = sorted(frozenset[str]().union(*(self.parts[part].reads for part in parts)))
            if False in values:
                value = facts.get(reads[0]) if len(reads) == 1 else None
                return Verdict(rule, "not_fired", failed=condition.text, value=value)
            missing.update(dict.fromkeys(name for name in reads if name not in facts))
        return Verdict(rule, "undecided", missing=tuple(missing))

    def verdicts(self, row: int = 0) -> list[Verdict]:
        """The verdict on every rule on a row, sorted by rule."""
        return [self.verdict(rule, row) for rule in self.rules]

    def not_dismissed(self) -> list[str]:
        """The rules of which the shared facts dismiss no condition, sorted by id."""
        local = self._evaluator.local
        branches = self._branches(undecided=True)
        return sorted(
            rule for each in branches for rule in (*each.certain, *(local[number][0] for number in each.waiting))
        )

    def _standing(self) -> tuple[list[str], list[int]]:
        """What holds by the shared facts: rules that have no further parts, and numbers of those that have."""
        certain: list[str] = []
        waiting: list[int] = []
        for branch in self._branches(undecided=False):
            certain += branch.certain
            waiting += branch.waiting
        return certain, waiting

    def _branches(self, *, undecided: bool) -> list[Branch]:
        """The branches of the tree of rules whose common parts all hold; ``undecided``: or are unknown."""
        found = [self._evaluator.tree]
        known, scalar, shared = self._common, self._evaluator.scalar, self.shared
        for branch in found:  # It grows meanwhile.
            for part, further in branch.branches.items():
                if part not in known:
                    value = scalar(part)(shared)
                    known[part] = value if value is True or value is False else None
                if known[part] is True or (undecided and known[part] is None):
                    found.append(further)
        return found


class CaseEvaluation(Evaluation):
    """The rules on the facts of one case."""

    def __init__(self, evaluator: Evaluator, shared: Facts, facts: Facts) -> None:
        self._facts: Facts = {**shared, **facts}
        super().__init__(evaluator, self._facts)
        self._own: dict[int, bool | None] = {}

    @property
    def size(self) -> int:
        """One."""
        return 1

    @cached_property
    def matches(self) -> Sequence[frozenset[str]]:
        """The ids of the rules whose conditions all hold."""
        matched, waiting = self._standing()
        for number in waiting:
            rule, parts = self._evaluator.local[number]
            if all(self._local(part, 0) is True for part in parts):
                matched.append(rule)
        return [frozenset(matched)]

    def facts_of(self, row: int) -> Facts:  # noqa: ARG002  # There is but one.
        """The facts of the case."""
        return self._facts

    def numbered(self, name: str, rows: Sequence[int]) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of the case."""
        return [0] * len(rows), [self._facts.get(name)]

    def own_facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        """The facts of the case."""
        return [self._facts for _ in rows]

    def _local(self, part: int, row: int) -> bool | None:  # noqa: ARG002
        if part not in self._own:
            value = self._evaluator.scalar(part)(self._facts)
            self._own[part] = value if value is True or value is False else None
        return self._own[part]

    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The case, if the rule is undecided on it."""
        return [[0]] if self.outcome(rule) is None else []


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
        self._columns: dict[int, Truths] = {}
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

    def matching(self, rule: str) -> Rows:
        """On which rows a rule matches."""
        if rule in self._certain:
            return np.ones(self.size, np.bool_)
        names = [self._evaluator.local[number][0] for number in self._waiting]
        return self._holds[names.index(rule)] if rule in names else np.zeros(self.size, np.bool_)

    def facts_of(self, row: int) -> Facts:
        """All facts of a row, the shared ones included."""
        return {**self.shared, **self.table.row(row)}

    def numbered(self, name: str, rows: Sequence[int]) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of rows: the number of its value in each, and the values; None for unknown."""
        column = self.table.column(name)
        if isinstance(column, WordColumn):
            return column.codes[rows].tolist(), (*column.words, None)  # Which -1 points to.
        return range(len(rows)), [None] * len(rows) if column is None else column.values_at(np.array(rows, np.intp))

    def own_facts(self, rows: Sequence[int]) -> Sequence[Facts]:
        """What the conditions read of rows alone."""
        return self.table.fact_sets(np.array(rows, np.intp), self._evaluator.local_reads)

    def column(self, part: int) -> Truths:
        """The truth of a local part on each row."""
        if part not in self._columns:
            with np.errstate(all="ignore"):
                fails = self._evaluator.fails(part, self._view)
                self._columns[part] = self._where(part).view(np.int8) - fails.view(np.int8)
        return self._columns[part]

    def holds(self, part: int, rows: Sequence[int]) -> list[bool]:
        """On which of some rows a local part holds."""
        with np.errstate(all="ignore"):
            held: list[bool] = self._where(part)[rows].tolist()
        return held

    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The rows on which the rule is undecided, those together that lack the same facts for the same parts."""
        common, local = self.parts_of(rule)
        values = [self.common(part) for part in common]
        if False in values or self.size == 0:
            return []
        columns = [self.column(part) for part in local]
        least = np.minimum.reduce([np.full(self.size, 0 if None in values else 1, np.int8), *columns])
        rows = np.flatnonzero(least == 0)
        if not len(rows):
            return []
        reads = sorted({name for part in local for name in self.parts[part].reads})
        columns += [self._known(name) for name in reads]
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
            settled = self._sharing.truths.get(part)
            self._holding[part] = (
                self._evaluator.holds(part, self._view) if settled is None else settled[self.table.which]
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

    def _known(self, name: str) -> Truths:
        """Whether a fact is known, on each row, as 1 or 0."""
        column = self.table.column(name)
        if column is None:
            return np.full(self.size, name in self.shared, np.int8)
        known = ~np.isnan(column.values) if isinstance(column, NumberColumn) else column.codes >= 0
        return known.astype(np.int8)


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
