"""Evidence as points: of the strongest rule per reason, and what a doubling of cost or speed weighs beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Numbers
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import Fallback, Points, Rule


class Objective(Struct, frozen=True):
    """How plans are compared. From ``knowledge/objectives.yaml``.

    Merit is cost^cost_exponent x time^time_exponent x gain_of_doubling^log2(GPUs), lower is better. A stated objective
    lets preferences choose among plans whose merit is at most ``preference_share`` worse than the best.
    """

    name: str
    cost_exponent: float
    time_exponent: float
    gain_of_doubling: float  # what twice as many GPUs have to bring
    preference_share: float
    half_cost_share: float  # the same of a plan for half the money of the best, where time alone was asked for
    room_share: float  # how much worse a plan may be that meets stated targets with room than one that just meets them
    patience: float  # how many times as long as people tolerate an answer may take before it counts as costlier
    service_cost_points: float  # the points of half the cost for a service
    usual_cost_points: float  # the points of half the cost where cost is not what was asked for
    cost_points: float  # points that half the cost is worth as evidence
    speed_points: float  # points that twice the speed is worth as evidence
    around_usd_per_hour: float  # what surrounds rented GPUs, where evidence is weighed
    at_once_ms: float  # an answer sooner than this is no better, where cost counts beside speed; 0 where it does not
    guide_cost_ratio: float  # what the cards that a guide names may cost beside a faster plan of equal standing
    guide_price_ratio: float  # what those cards may cost beside an equal of no worse a balance that sustains as much
    guide_time_ratio: float  # how much later their answers may come than those of an equal that hardly costs more
    guide_least_saving: float  # by how many dollars an hour that equal costs less
    guide_hour_share: float  # share by which an hour of that plan may cost more without such a multiple
    dominance_margin: float  # share by which a plan must be cheaper and faster than another to rule it out
    meaning: str
    aim: str  # what an answer is decided for
    best_plan: str  # when the plan that it puts first would be the answer
    sources: tuple[str, ...]
    stated: bool = False
    spares_machines: bool = False  # work of unknown length is done on fewer, where a piece of it costs hardly more

    @property
    def one_sided(self) -> bool:
        """Whether it minimises cost alone, or time alone."""
        return not (self.cost_exponent and self.time_exponent)

    @property
    def widest_share(self) -> float:
        """What preferences may cost at the most: of time alone, for half the money."""
        return self.preference_share if self.cost_exponent else max(self.preference_share, self.half_cost_share)

    def of_work(self, *, job: bool, long: bool = False) -> Objective:
        """The objective for a job, which may be long by its nature, or for a service.

        A job that is shared among twice the GPUs costs the same and ends sooner: that alone is no gain. A service costs
        as many times more by the month as it has GPUs, which is enough where cost counts. What half its cost is worth
        as evidence is distinguished: that of a job holds what surrounds the GPUs for as long as the job takes.
        """
        if job or not self.cost_exponent:
            return replace(self, spares_machines=job and not long)
        return replace(self, gain_of_doubling=1.0, cost_points=self.service_cost_points)

    def sharing(self, count: Any, ordered: Any) -> Any:
        """Among how many GPUs work is shared that would cost as much on fewer: those that are ordered for it.

        Of time alone each that is used has to bring something.
        """
        return ordered if self.cost_exponent else count

    def merit(self, cost: Any, time: Any, count: Any) -> Any:
        """What the objective minimises, of one plan or of columns of them.

        ``cost`` and ``time`` are in any unit that all compared plans share; ``count`` is as ``sharing`` has it.
        """
        # Most exponents are zero or one: powers are slow.
        value = cost if self.cost_exponent == 1 else cost**self.cost_exponent
        if self.time_exponent:
            value = value * (time if self.time_exponent == 1 else time**self.time_exponent)
        if self.gain_of_doubling != 1:
            value = value * self.gain_of_doubling ** np.log2(count)
        return value


class Award(Struct, frozen=True):
    """Points that one rule, or the cost or speed term (rule None), gives a plan."""

    rule: str | None
    reason: str
    points: float
    counted: bool = True  # False where a stronger rule of the same reason, or a computed figure, stands in for it
    checked: bool = False  # a claim whose figures are computed: it counts through cost and speed alone


class Ranked(Struct, frozen=True):
    """A plan with its score and how the score came about."""

    plan: Plan
    score: float
    awards: tuple[Award, ...]
    proven: bool


class Preferences:
    """What rules say of the plans on which they fire, prepared once.

    One award a rule; within a reason only the strongest for and the strongest against count, so that repeating a
    heuristic in other words adds no weight. Ties go to the lower rule id. A claim about cost or speed counts only where
    the figures are not computed: else they speak for themselves.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Read the effects of the rules."""
        ordered = sorted(rules, key=lambda rule: rule.id)
        points = {rule.id: [effect for effect in rule.effects if isinstance(effect, Points)] for rule in ordered}
        #: By whether figures are known: the awards of each rule, where they do not count and where they do.
        self._awards = {
            known: {
                name: [_either_way(name, effect, checked=known and effect.claim is not None) for effect in effects]
                for name, effects in points.items()
            }
            for known in (False, True)
        }
        self._bands = {
            band: frozenset(
                name
                for name, effects in points.items()
                if any(effect.band == band and effect.points > 0 for effect in effects)
            )
            for band in ("cards", "counts")
        }
        self._fallbacks = frozenset(
            rule.id for rule in ordered if any(isinstance(effect, Fallback) for effect in rule.effects)
        )

    def awards(self, fired: Sequence[str], *, figures_known: bool) -> list[Award]:
        """The awards of these rules, sorted by id, to a plan whose cost and speed are computed or not."""
        of_rules = self._awards[figures_known]
        awards: list[Award] = []
        best: dict[tuple[str, bool], tuple[float, int, Award]] = {}  # size, place among the awards, as it counts
        for name in fired:
            for award, counted in of_rules[name]:
                if counted is not None:
                    points = award.points
                    key, size = (award.reason, points > 0), abs(points)
                    other = best.get(key)
                    if other is None or size > other[0]:
                        best[key] = size, len(awards), counted
                awards.append(award)
        for _, place, counted in best.values():
            awards[place] = counted
        return awards

    def band(self, fired: Iterable[str], band: str) -> tuple[str, ...]:
        """The rules by which a guide names a plan's cards, or its count, for the case."""
        return tuple(filter(self._bands[band].__contains__, fired))

    def fallbacks(self, fired: Iterable[str]) -> tuple[str, ...]:
        """The rules that let a plan be chosen only where nothing else can be."""
        return tuple(filter(self._fallbacks.__contains__, fired))


def _either_way(rule: str, effect: Points, *, checked: bool) -> tuple[Award, Award | None]:
    """An award where it does not count, and where it does; None where computed figures stand in for it."""
    award = Award(rule, effect.reason, effect.points, False, checked)
    return award, None if checked else replace(award, counted=True)


def cost_points(cost: Numbers, cheapest: float | None, weight: float) -> Numbers:
    """``weight x log2(cheapest / cost)``; NaN where it is not known. An unknown cost is given as what is feared."""
    if not cheapest or cheapest < 0:
        return np.full(len(cost), np.nan)
    return -weight * np.log2(np.where(cost > 0, cost, np.nan) / cheapest)


def speed_points(speed: Numbers, fastest: float | None, slowest: float | None, weight: float) -> Numbers:
    """``weight x log2(speed / fastest)``; an unknown speed counts as the slowest known. NaN where none is known."""
    if not fastest or not slowest or weight == 0:
        return np.full(len(speed), np.nan)
    return weight * np.log2(np.where(np.isnan(speed), slowest, speed) / fastest)
