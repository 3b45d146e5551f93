"""How far the points and the merit of a plan may move, as other plans of the round may drop out."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from whichgpu.engine.advisor import Judged, Objective, no_worse, traits_of_plan


@dataclass(slots=True)
class Scales:
    """The ends of cost and speed among the plans of a round of which some may drop out."""

    judged: Sequence[Judged]
    leaving: AbstractSet[str]  # plans that may drop out, or never come in
    objective: Objective
    _sure: list[Judged] = field(init=False)
    _costs: tuple[float, float] = field(init=False)  # what an unknown cost counts as, least and most
    _times: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        """Find the plans that stay, and what counts for figures that are not known."""
        self.judged = list(self.judged)
        self._sure = [entry for entry in self.judged if entry.ranked.plan.id not in self.leaving]
        self._costs, self._times = self._unknown_costs(), self._unknown_times()

    def terms(self, judged: Judged) -> tuple[float, float]:
        """By how much the points for cost and speed of a plan may fall and rise, beside those of other plans.

        Where the cheapest or fastest changes, the points of all plans move alike. What is left is a speed that is not
        known, which counts as the slowest of those that are left, and points that are given as long as somebody's
        figures are known.
        """
        low = high = 0.0
        for award in judged.ranked.awards:
            if award.rule is not None or not self.leaving:
                continue
            if not self._some_known(of_speed=award.reason.startswith("speed")):
                low, high = low + min(0.0, -award.points), high + max(0.0, -award.points)
            elif award.reason == "speed unknown":
                high += self.objective.speed_points * math.log2(self._slowest(self._sure) / self._slowest(self.judged))
        return low, high

    def _some_known(self, *, of_speed: bool) -> bool:
        """Whether the cost or speed of some plan that stays is known."""
        if of_speed:
            return any(entry.measures.weighed_speed for entry in self._sure)
        return any(entry.measures.weighed_cost and entry.measures.cost is not None for entry in self._sure)

    @staticmethod
    def _slowest(judged: Sequence[Judged]) -> float:
        return min(speed for entry in judged if (speed := entry.measures.weighed_speed))

    def merits(self, judged: Judged) -> tuple[float, float]:
        """The least and the most that the merit of a plan may be.

        An unknown time counts as the slowest known of those that are left, an unknown cost as beyond all known ones.
        """
        least, most = self._own_merits(judged)
        if self.objective.gain_of_doubling == 1:
            return least, most
        figures = judged.measures.figures
        for other in self.judged:  # It is no worse than a plan that it beats by the hour as well.
            if no_worse(figures, other.measures.figures):
                its = self._own_merits(other)
                least = min(least, its[0])
                most = min(most, its[1]) if other.ranked.plan.id not in self.leaving else most
        return least, most

    def _own_merits(self, judged: Judged) -> tuple[float, float]:
        cost, time = judged.measures.perceived_cost, judged.measures.perceived_time
        costs = (cost, cost) if cost is not None else self._costs
        times = (time, time) if time is not None else self._times
        traits = traits_of_plan(judged.ranked.plan)
        count = self.objective.sharing(traits.count, traits.ordered)
        least, most = (
            math.inf if math.isinf(c) else float(self.objective.merit(c, t, count))
            for c, t in zip(costs, times, strict=True)
        )
        return least, most

    def _unknown_costs(self) -> tuple[float, float]:
        """What an unknown cost counts as."""
        if not self.objective.cost_exponent or all(entry.measures.cost is None for entry in self.judged):
            return 1.0, 1.0
        if any(entry.measures.cost is not None for entry in self._sure):
            return math.inf, math.inf
        return 1.0, math.inf

    def _unknown_times(self) -> tuple[float, float]:
        """What an unknown time counts as."""
        known = [entry.measures.perceived_time for entry in self.judged if entry.measures.perceived_time is not None]
        sure = [entry.measures.perceived_time for entry in self._sure if entry.measures.perceived_time is not None]
        if not known:
            return 1.0, 1.0
        return (max(sure), max(known)) if sure else (min(1.0, *known), max(1.0, *known))
