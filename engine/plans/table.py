"""The plans of a decision as columns; a plan is made whole only where one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Codes, FactTable, NumberColumn, Numbers, OnDemand, WordColumn, among
from whichgpu.engine.plans.model import Plan


class PlanTable(OnDemand[Plan]):
    """Plans, a row for each: their ``plan.*`` facts as columns, beside those of their GPUs.

    Args:
        ids: of the plans.
        gpus: of the plans.
        facts: the facts of the plans; where the table shares those of GPUs, rules read these too.
        make: the whole plan of a row; asked once for each.
        doubtful: rows whose figures cannot be known to be possible without a closer look; all, if None.
    """

    def __init__(
        self,
        ids: Sequence[str],
        gpus: Sequence[Gpu],
        facts: FactTable,
        make: Callable[[int], Plan],
        doubtful: Codes | None = None,
    ) -> None:
        super().__init__(len(ids), make)
        self.ids = ids
        self.gpus = gpus
        self.facts = facts
        self.doubtful = np.arange(len(ids)) if doubtful is None else doubtful

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> PlanTable:
        """The table of plans that are made already."""
        if isinstance(plans, PlanTable):
            return plans
        facts = FactTable.of([{"plan.count": plan.count, "plan.nodes": plan.nodes, **plan.facts} for plan in plans])
        return cls([plan.id for plan in plans], [plan.gpu for plan in plans], facts, plans.__getitem__)

    def take(self, rows: Codes) -> PlanTable:
        """Some of the rows; their plans are still made once."""
        kept = rows.tolist()
        ids, gpus = [self.ids[row] for row in kept], [self.gpus[row] for row in kept]
        doubtful = np.flatnonzero(among(rows, self.doubtful))
        return PlanTable(ids, gpus, self.facts.take(rows), lambda row: self[kept[row]], doubtful)

    def numbers(self, name: str) -> Numbers:
        """A fact that is a number, NaN where it is not known."""
        column = self.facts.column(name)
        return column.values if isinstance(column, NumberColumn) else np.full(len(self), np.nan)

    def yes(self, name: str) -> NDArray[np.bool_]:
        """Where a fact is known to be true."""
        return self._known_to_be(name, truth=True)

    def no(self, name: str) -> NDArray[np.bool_]:
        """Where a fact is known to be false."""
        return self._known_to_be(name, truth=False)

    def _known_to_be(self, name: str, *, truth: bool) -> NDArray[np.bool_]:
        column = self.facts.column(name)
        if not isinstance(column, WordColumn):
            return np.zeros(len(self), np.bool_)
        return np.array([word is truth for word in (*column.words, None)])[column.codes]
