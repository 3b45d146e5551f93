"""What the rules that prefer plans come to, as columns: points, fallbacks and the bands of the guides."""

from __future__ import annotations

from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.rank import (
    Award,
    Objective,
    Preferences,
    cost_points,
    speed_points,
)
from whichgpu.engine.advisor.stages import RuleSet, TableRun
from whichgpu.engine.advisor.survey import Spread
from whichgpu.engine.core import Numbers, distinct_numbers, known_or


Mark = Literal["fallbacks", "card_bands", "count_bands"]


class RuleEvidence(Struct, frozen=True):
    """What the prefer rules that fired on a plan give it: points, fallback marks and guide bands."""

    awards: tuple[Award, ...]
    fallbacks: tuple[str, ...]
    card_bands: tuple[str, ...]
    count_bands: tuple[str, ...]


class Evidence:
    """The evidence on plans, a row each. Many plans meet the same rules: these are weighed once.

    Args:
        prefer: the rules.
        run: what they came to on the plans.
        measures: cost and time of the plans.
        ends: of cost and speed among all plans.
        objective: what a doubling of cost and speed weighs.
    """

    def __init__(
        self, prefer: RuleSet, run: TableRun, measures: MeasureColumns, ends: Spread, objective: Objective
    ) -> None:
        figures_known = ~np.isnan(measures.cost) & ~np.isnan(measures.time)
        pairs = run.codes * 2 + figures_known
        first, self._which = distinct_numbers(pairs)
        spoken = _spoken.get(prefer) or _spoken.setdefault(prefer, _Spoken(prefer))
        each = pairs[first].tolist()
        self._said = [spoken.said(run.group_fired[pair // 2], figures_known=pair % 2 == 1) for pair in each]
        self._priced = ~np.isnan(measures.cost)
        self._timed = ~np.isnan(measures.time)
        self._cost = cost_points(measures.weighed_cost, ends.cheapest, objective.cost_points)
        self._speed = speed_points(
            1 / measures.weighed_time, ends.weighed_fastest, ends.weighed_slowest, objective.speed_points
        )
        counted = [sum(award.points for award in said.awards if award.counted) for said in self._said]
        self.scores: Numbers = np.array(counted, np.float64)[self._which] + known_or(self._cost) + known_or(self._speed)
        #: The same with cost as it usually weighs, which tells what is worth showing beside the answer.
        self.usual_scores = self.scores - known_or(self._cost) * (
            1 - objective.usual_cost_points / objective.cost_points
        )

    def said(self, row: int) -> RuleEvidence:
        """What the rules say of a plan."""
        return self._said[int(self._which[row])]

    def marked(self, by: Mark) -> NDArray[np.bool_]:
        """The plans of which some rule says this."""
        return np.array([bool(getattr(said, by)) for said in self._said], np.bool_)[self._which]

    def awards(self, row: int) -> tuple[Award, ...]:
        """The points of a plan: of rules, then of its cost and speed."""
        terms = (
            (self._cost, self._priced, "cost", "cost unknown"),
            (self._speed, self._timed, "speed", "speed unknown"),
        )
        found = [
            Award(None, word if known[row] else otherwise, float(points[row]))
            for points, known, word, otherwise in terms
            if not np.isnan(points[row])
        ]
        return (*self.said(row).awards, *found)


class _Spoken:
    """What rules said before, by which of them fired and whether figures were known."""

    _MOST_KEPT = 1024

    def __init__(self, rules: RuleSet) -> None:
        self._preferences = Preferences(rules.rules)
        self._kept: dict[tuple[tuple[str, ...], bool], RuleEvidence] = {}

    def said(self, fired: tuple[str, ...], *, figures_known: bool) -> RuleEvidence:
        """What these rules say of a plan, whose cost and time are known or not."""
        key = fired, figures_known
        if key not in self._kept:
            if len(self._kept) == self._MOST_KEPT:
                self._kept.clear()
            of = self._preferences
            self._kept[key] = RuleEvidence(
                tuple(of.awards(fired, figures_known=figures_known)),
                of.fallbacks(fired),
                of.band(fired, "cards"),
                of.band(fired, "counts"),
            )
        return self._kept[key]


_spoken: WeakKeyDictionary[RuleSet, _Spoken] = WeakKeyDictionary()
