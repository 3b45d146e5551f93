"""The generated evaluator: a level's conditions made into functions, each when first called, once for all decisions.

Every part of a condition has two forms from one walk over its tree (``language.compiling``): one that takes the facts
of a case, and one that takes a table with a row for each plan. Parts whose facts all stand in the table that rows
share, that of the GPUs, are judged there, once for all decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct

from whichgpu.engine.core import FactTable
from whichgpu.engine.rules.inference.parts import Parts, dismissing_first, parts_of
from whichgpu.engine.rules.language import Compiled, compile_expr
from whichgpu.engine.rules.language.columns import Rows, Unsuited, View, Where, where_fails, where_holds
from whichgpu.engine.rules.language.tree import is_local
from whichgpu.engine.rules.rulebook.model import Rule


class Branch(Struct, frozen=True):
    """A common part, behind those on the way to it, and the rules that have these and no further common part.

    Rules share the beginning of the way, where those parts come first that dismiss most: one that does not hold
    dismisses all rules behind it at once.
    """

    part: int
    branches: dict[int, Branch]  # by their part
    certain: list[str]  # rules without a further part
    waiting: list[int]  # numbers of rules with local parts


class Sharing(Struct, frozen=True):
    """What a table of shared facts decides, by row of that table, and what it leaves."""

    true_where: dict[int, Rows]  # part -> where it holds
    whole: Rows | None  # for each of ``Evaluator.local`` where all its parts hold that are decided here
    others: list[tuple[int, ...]]  # for each of ``Evaluator.local`` the parts that are not


class Evaluator:
    """Rules, by id and in the order of ids, made into functions that serve any number of decisions."""

    def __init__(self, rules: Mapping[str, Rule], taken_apart: Parts | None = None) -> None:
        self.rules = rules
        self.parts: Parts = parts_of(rules) if taken_apart is None else taken_apart
        parts = self.parts.parts
        #: A part as a function of the facts of a case.
        self.scalar: Callable[[int], Compiled] = cache(lambda part: compile_expr(parts[part].expr))
        #: Rules with local parts, and those parts.
        self.local: list[tuple[str, tuple[int, ...]]] = []
        #: The rules by their common parts. The root stands for no part.
        self.tree = Branch(-1, {}, [], [])
        uses = Counter(part for common in {common for common, _ in self.parts.split.values()} for part in common)
        first = dismissing_first(parts, uses)
        for rule, (common, local) in self.parts.split.items():
            branch = self.tree
            for part in sorted(common, key=first):
                branch = branch.branches.setdefault(part, Branch(part, {}, [], []))
            if local:
                branch.waiting.append(len(self.local))
                self.local.append((rule, local))
            else:
                branch.certain.append(rule)
        #: Facts of a plan or GPU that some condition reads.
        self.local_reads: tuple[str, ...] = tuple(
            sorted({fact for part in parts if part.local for fact in part.reads if is_local(fact)})
        )
        self._holds: Callable[[int], Where] = cache(lambda part: where_holds(parts[part].expr))
        self._fails: Callable[[int], Where] = cache(lambda part: where_fails(parts[part].expr))
        self._sharings: WeakKeyDictionary[FactTable, dict[frozenset[str], Sharing]] = WeakKeyDictionary()
        self._nothing_shared = Sharing({}, None, [local for _, local in self.local])

    def holds(self, part: int, view: View) -> Rows:
        """On which rows of a table a local part holds."""
        return self._rows(self._holds(part), part, view, certain=True)

    def fails(self, part: int, view: View) -> Rows:
        """On which rows of a table a local part does not hold, for certain; on the others it holds or is unknown."""
        return self._rows(self._fails(part), part, view, certain=False)

    def _rows(self, where: Where, part: int, view: View, *, certain: bool) -> Rows:
        try:
            rows = where(view)
        except Unsuited:
            judge, every = self.scalar(part), np.arange(view.table.size)
            own = view.table.fact_sets(every, self.parts.parts[part].reads)
            return np.array([judge({**view.shared, **facts}) is certain for facts in own], np.bool_)
        return np.full(view.table.size, rows) if isinstance(rows, bool) else rows

    def sharing(self, table: FactTable) -> Sharing:
        """What the table of shared facts behind a table decides; computed once as long as that table lives."""
        if table.shared is None:
            return self._nothing_shared
        known = self._sharings.setdefault(table.shared, {})
        covered = frozenset(table.shared.names & table.names)
        if covered not in known:
            known[covered] = self._judged(table.shared, covered)
        return known[covered]

    def _judged(self, shared: FactTable, covered: frozenset[str]) -> Sharing:
        """Judge on a table of shared facts what reads these only; ``covered`` are facts that rows have of their own."""
        names = shared.names - covered
        view = View({}, shared)
        with np.errstate(all="ignore"):
            true_where = {
                number: self.holds(number, view)
                for number, part in enumerate(self.parts.parts)
                if part.local and part.reads <= names
            }
        whole = np.ones((len(self.local), shared.size), np.bool_)
        others: list[tuple[int, ...]] = []
        for place, (_, numbers) in enumerate(self.local):
            for number in numbers:
                if number in true_where:
                    whole[place] &= true_where[number]
            others.append(tuple(number for number in numbers if number not in true_where))
        return Sharing(true_where, whole, others)
