"""Why a plan that no rule rejects is not the answer: the first place of the choice at which it lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from whichgpu.engine.advisor.outcome import Judged


LossKind = Literal[
    "unverified",
    "fallback",
    "guide_cards",
    "guide_counts",
    "dominated",
    "outweighed",
    "larger",
    "room",
    "late",
    "sooner",
    "merit",
    "score",
]

#: Places of a tier, in its order, as the reasons for which a plan stands below another.
PLACES: tuple[LossKind, ...] = ("unverified", "fallback", "guide_counts", "guide_cards")


class Loss(Struct, frozen=True):
    """Where a plan lost, beside the plan that it lost to. Ratios are the plan's own figures by those of the other."""

    kind: LossKind
    to: Judged
    rules: tuple[str, ...] = ()  # of a tier: those behind it
    cost_ratio: float | None = None
    time_ratio: float | None = None
    merit_ratio: float | None = None
    behind: float = 0.0  # points of evidence behind the answer


def loss_of(entry: Judged, answer: Judged | None, judged: Sequence[Judged]) -> Loss | None:
    """Where a plan lost; None where it is the answer, or where there is none.

    Args:
        entry: a plan that no rule rejects.
        answer: the recommended plan.
        judged: all plans of the round, among them the one that beats this one.
    """
    if answer is None or answer is entry:
        return None
    first = first_by_evidence(answer, judged)
    behind = first.ranked.score - entry.ranked.score
    kind = _lower_place(entry, answer)
    if kind is not None:
        to = first if kind in {"guide_cards", "guide_counts"} else answer  # The guide names the first by evidence.
        return Loss(kind, to, rules_behind(kind, entry, first), *_ratios(entry, answer), behind=behind)
    by_name: tuple[tuple[LossKind, str | None], ...] = (
        ("outweighed", entry.standing.dominated_by),
        ("larger", entry.standing.larger_than),
    )
    for kind, name in by_name:
        if name is not None:
            by = next(other for other in judged if other.ranked.plan.id == name)
            ratios = cost, time, _ = _ratios(entry, by)
            both = kind == "outweighed" and cost is not None and time is not None and min(cost, time) > 1
            return Loss("dominated" if both else kind, by, (), *ratios, behind=behind)
    if entry.standing.just_met or too_late(entry, answer):
        kind = "room" if entry.standing.just_met else "late"
        return Loss(kind, answer, (), *_ratios(entry, answer), behind=behind)
    if not entry.standing.eligible:
        eligible = [other for other in judged if other.standing.eligible]
        best = min(eligible, key=lambda other: other.standing.merit or 0.0, default=answer)
        return Loss("merit", best, (), *_ratios(entry, best), behind=behind)
    return Loss("score", first, (), *_ratios(entry, first), behind=behind)


def _lower_place(entry: Judged, answer: Judged) -> LossKind | None:
    """By what a plan stands below the answer before the two are compared in merit; None where by nothing."""
    if sooner_than_asked(entry, answer):
        return "sooner"
    mine, its = entry.standing.tier, answer.standing.tier
    if mine <= its:
        return None
    return next(name for name, low, high in zip(PLACES, mine, its, strict=True) if low and not high)


def too_late(entry: Judged, answer: Judged) -> bool:
    """Whether a plan that costs less than the answer counts as costlier, since it is later than people tolerate."""
    mine, its = entry.measures, answer.measures
    if not mine.cost or not its.cost or not mine.perceived_cost or not its.perceived_cost:
        return False
    return mine.cost < its.cost and mine.perceived_cost >= its.perceived_cost


def sooner_than_asked(entry: Judged, answer: Judged) -> bool:
    """Whether a plan that could be the answer is faster and costs more, where the answer is as soon as is asked."""
    mine, its = entry.measures, answer.measures
    if not answer.standing.in_time_for_less or entry.standing.tier[:2] != answer.standing.tier[:2]:
        return False
    if mine.cost is None or its.cost is None or mine.time is None or its.time is None:
        return False
    return entry.standing.dominated_by is None and mine.cost > its.cost and mine.time < its.time


def larger_than_asked_for(entry: Judged, answer: Judged) -> bool:
    """Whether a plan pays more an hour than the answer for speed by the piece of work that no one asked for."""
    if entry.standing.larger_than is not None:
        return True
    hourly, own_hourly = entry.measures.usd_per_hour, answer.measures.usd_per_hour
    mine, its = entry.standing.merit, answer.standing.merit
    if hourly is None or own_hourly is None or mine is None or its is None:
        return False
    return hourly > own_hourly and mine > its


def first_by_evidence(answer: Judged, judged: Sequence[Judged]) -> Judged:
    """The plan for which rules and evidence speak: the answer, or the one that it stands in for."""
    if answer.standing.stands_in_for is None:
        return answer
    return next(entry for entry in judged if entry.ranked.plan.id == answer.standing.stands_in_for)


def rules_behind(kind: LossKind, entry: Judged, first: Judged) -> tuple[str, ...]:
    """The rules behind a lower tier: those that speak against the plan, or for the one that comes first."""
    match kind:
        case "fallback":
            return entry.fallbacks
        case "guide_cards":
            return first.card_bands
        case "guide_counts":
            return first.count_bands
    return ()


def _ratios(entry: Judged, other: Judged) -> tuple[float | None, float | None, float | None]:
    mine, its = entry.measures, other.measures
    merits = _ratio(entry.standing.merit, other.standing.merit)
    return _ratio(mine.cost, its.cost), _ratio(mine.time, its.time), merits


def _ratio(mine: float | None, its: float | None) -> float | None:
    return mine / its if mine is not None and its else None
