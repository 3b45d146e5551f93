"""Ranking: points of the strongest rule per reason, plus what cost and speed weigh under the objective."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from engine.plans.model import Plan
from engine.rulebook.model import Points
from engine.rulebook.model import Rule


#: A plan further behind the first, in points, is no alternative to it: one as good would cost thirty times as much.
FARTHEST_ALTERNATIVE = 10.0


@dataclass(frozen=True, slots=True)
class Objective:
    """How much a doubling of cost or speed weighs, in points. From ``knowledge/objectives.yaml``."""

    name: str
    cost_weight: float
    speed_weight: float
    around_usd_per_hour: float
    meaning: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Award:
    """Points that one rule, or the cost or speed term (rule None), gives a plan."""

    rule: str | None
    reason: str
    points: float
    counted: bool = True  # False where a stronger rule of the same reason stands in for it


@dataclass(frozen=True, slots=True)
class Ranked:
    """A plan with its score and how the score came about."""

    plan: Plan
    score: float
    awards: tuple[Award, ...]
    proven: bool


def strongest_per_reason(rules: Iterable[Rule]) -> list[Award]:
    """One award a rule; within a reason only the strongest for and the strongest against count.

    Repeating a heuristic in other words thus adds no weight. Ties go to the lower rule id.
    """
    awards = [
        Award(rule.id, effect.reason, effect.points)
        for rule in sorted(rules, key=lambda rule: rule.id)
        for effect in rule.effects
        if isinstance(effect, Points)
    ]
    best: dict[tuple[str, bool], Award] = {}
    for award in awards:
        key = (award.reason, award.points > 0)
        if key not in best or abs(award.points) > abs(best[key].points):
            best[key] = award
    counted = set(map(id, best.values()))
    return [a if id(a) in counted else Award(a.rule, a.reason, a.points, counted=False) for a in awards]


def cost_term(cost: float | None, cheapest: float | None, feared: float | None, weight: float) -> Award | None:
    """``weight x log2(cheapest / cost)``; an unknown cost counts as what is feared of it."""
    known = cost if cost is not None else feared
    if cheapest is None or cheapest <= 0 or known is None:
        return None
    return Award(None, "cost" if cost is not None else "cost unknown", -weight * math.log2(known / cheapest))


def speed_term(speed: float | None, fastest: float | None, slowest: float | None, weight: float) -> Award | None:
    """``weight x log2(speed / fastest)``; an unknown speed counts as the slowest known."""
    if fastest is None or slowest is None or slowest <= 0 or weight == 0:
        return None
    known = speed if speed is not None else slowest
    return Award(None, "speed" if speed is not None else "speed unknown", weight * math.log2(known / fastest))


def rank(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first. Proven plans come before unproven ones; ties go to fewer GPUs, then less memory, then the id."""
    return sorted(
        ranked,
        key=lambda entry: (
            not entry.proven,
            -round(entry.score, 6),
            entry.plan.count,
            entry.plan.gpu.vram_gb or math.inf,
            entry.plan.id,
        ),
    )
