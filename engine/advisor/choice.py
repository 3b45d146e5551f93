"""Choosing among the plans that no rule rejects (docs/decisions/0009).

1. Tiers: verified plans first; of those the ones that no rule marks as a fallback; and, while no objective is stated,
   those whose cards and counts a guide names for the case. Only plans of the best tier can be the answer.
2. Dominance: a plan that another of its tier beats clearly in both cost and speed cannot be the answer.
3. Merit: a stated objective minimises its merit; preferences choose among the plans within its share of the best.
   While none is stated, the evidence decides, cost and speed weighed in. Where an equal outweighs the plan that comes
   first so, in every count and form of its card, it stands in for it: a guide names a card for what it costs and does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor.rank import Objective, Ranked
from whichgpu.engine.advisor.survey import Measures
from whichgpu.engine.plans import Plan


#: Room for rounding where two merits are compared, as a share: merits of small pieces of work are tiny.
_CLOSE = 1e-9

Tier = tuple[bool, bool, bool, bool]

#: Segments by what their makers promise of them: support, error correction, use around the clock.
SEGMENT_ORDER = {"other": 0, "edge": 0, "consumer": 0, "professional": 1, "datacenter": 2}


class Contender(Struct, frozen=True):
    """What choosing reads of one plan."""

    ranked: Ranked
    measures: Measures
    fallback: bool
    in_card_band: bool
    in_count_band: bool

    @property
    def id(self) -> str:
        """The id of the plan."""
        return self.ranked.plan.id

    @property
    def cost(self) -> float | None:
        """Cost in the units of the work; None where not known."""
        return self.measures.cost

    @property
    def time(self) -> float | None:
        """Time in the units of the work; None where not known."""
        return self.measures.time


#: Whether the first plan may beat the second.
Comparable = Callable[[Contender, Contender], bool]


class Standing(Struct, frozen=True):
    """Where a plan stands after the choice."""

    tier: Tier
    merit: float | None
    eligible: bool  # could be the answer: best tier, not dominated, within the share of the best merit
    dominated_by: str | None  # the plan of the same tier, or the equal, that beats it most
    stands_in_for: str | None = None  # on the answer: the plan that came first, and that this one beats as its equal


def standings(contenders: Sequence[Contender], objective: Objective) -> dict[str, Standing]:
    """The standing of each plan, by id, best plan first.

    Args:
        contenders: the plans that no rule rejects, in any order.
        objective: what is minimised, and whether it was stated.
    """
    tiers = {entry.id: _tier(entry, objective) for entry in contenders}
    merits = _merits(contenders, objective)
    dominated = _dominated_in_tier(contenders, tiers, objective)
    outweighed = {} if objective.stated else beaten_by_equals(contenders, objective)
    pool = _pool(contenders, tiers, dominated, outweighed)
    limit = math.inf
    if objective.stated:
        best = min((_at_least(merits[entry.id]) for entry in pool), default=math.inf)
        limit = best * (1 + objective.preference_share) * (1 + _CLOSE)
    eligible = {entry.id for entry in pool if _at_least(merits[entry.id]) <= limit}

    def evidence(entry: Contender) -> tuple[object, ...]:
        plan = entry.ranked.plan
        score, merit = -round(entry.ranked.score, 6), _at_least(merits[entry.id])
        return (score, merit, plan.count, plan.gpu.vram_gb or math.inf, entry.id)

    first = min((entry for entry in pool if entry.id in eligible), key=evidence, default=None)
    answer, stands_in_for = first, None
    if first is not None and first.id in outweighed:
        answer = next(entry for entry in contenders if entry.id == outweighed[first.id])
        stands_in_for = first.id
        # It takes the place of the plan that it stands in for, and what a guide says of that one.
        tiers[answer.id] = tiers[first.id]
        eligible.add(answer.id)
    dominated = {**outweighed, **dominated}
    if answer is not None:
        dominated.pop(answer.id, None)

    def order(entry: Contender) -> tuple[object, ...]:
        tier = tiers[entry.id]
        if entry is answer:
            return (tier[:2], 0)
        if objective.stated and entry.id not in eligible:
            return (tier[:2], 2, tier[2:], _at_least(merits[entry.id]), *evidence(entry))
        return (tier[:2], 1, tier[2:], *evidence(entry))

    return {
        entry.id: Standing(
            tiers[entry.id],
            merits[entry.id],
            entry.id in eligible and entry.id not in dominated,
            dominated.get(entry.id),
            stands_in_for if entry is answer else None,
        )
        for entry in sorted(contenders, key=order)
    }


def _dominated_in_tier(
    contenders: Sequence[Contender], tiers: Mapping[str, Tier], objective: Objective
) -> dict[str, str]:
    """The plans that one of their own tier beats, each with the one that beats it most."""
    # Without a stated objective nobody asked for the last cent: more cards over PCIe or more machines beat no plan.
    comparable = None if objective.stated else _joined_as_simply
    found: dict[str, str] = {}
    for tier in sorted(set(tiers.values())):
        group = [entry for entry in contenders if tiers[entry.id] == tier]
        found |= dominated_plans(group, objective.dominance_margin, comparable)
    return found


def _pool(
    contenders: Sequence[Contender],
    tiers: Mapping[str, Tier],
    dominated: Mapping[str, str],
    outweighed: Mapping[str, str],
) -> list[Contender]:
    """The plans among which merit or evidence chooses: those of the best tier that none beats."""
    best = min(tiers[entry.id] for entry in contenders if entry.id not in dominated) if contenders else None
    pool = [entry for entry in contenders if tiers[entry.id] == best and entry.id not in dominated]
    # A guide's word for a card goes to that card in a count and form that no equal outweighs, where there is one.
    sound = {entry.ranked.plan.gpu.family for entry in pool if entry.id not in outweighed}
    return [entry for entry in pool if entry.id not in outweighed or entry.ranked.plan.gpu.family not in sound]


def _joined_as_simply(one: Contender, other: Contender) -> bool:
    return joins_no_more(one.ranked.plan, other.ranked.plan)


def joins_no_more(one: Plan, other: Plan) -> bool:
    """Whether the first plan has no more machines and no more cards over PCIe than the second."""
    pcie, its = one.facts.get("plan.pcie_gpus", 0), other.facts.get("plan.pcie_gpus", 0)
    return one.nodes <= other.nodes and pcie <= its  # type: ignore[operator]


def stands_as_well(one: Plan, other: Plan) -> bool:
    """Whether nothing but cost and speed sets the first plan below the second."""
    return (
        one.gpu.vendor == other.gpu.vendor
        and SEGMENT_ORDER.get(one.gpu.segment or "", 0) >= SEGMENT_ORDER.get(other.gpu.segment or "", 0)
        and joins_no_more(one, other)
    )


def _tier(entry: Contender, objective: Objective) -> Tier:
    guided = not objective.stated
    return (
        not entry.ranked.proven,
        entry.fallback,
        guided and not entry.in_count_band,
        guided and not entry.in_card_band,
    )


def _at_least(merit: float | None) -> float:
    return math.inf if merit is None else merit


def _merits(contenders: Sequence[Contender], objective: Objective) -> dict[str, float | None]:
    """Merit by plan; an unknown time counts as the slowest known, an unknown cost has no merit beside known ones."""
    times = [entry.time for entry in contenders if entry.time is not None]
    slowest = max(times, default=1.0)
    costs_known = any(entry.cost is not None for entry in contenders)
    found: dict[str, float | None] = {}
    for entry in contenders:
        cost = entry.cost if entry.cost is not None else None if costs_known and objective.cost_exponent else 1.0
        time = entry.time if entry.time is not None else slowest
        found[entry.id] = None if cost is None else objective.merit(cost, time, entry.ranked.plan.count)
    return found


def dominated_plans(
    contenders: Sequence[Contender], margin: float, comparable: Comparable | None = None
) -> dict[str, str]:
    """The plans that another beats by the margin in both cost and speed, each with the one that beats it most.

    Args:
        contenders: the plans; only those whose cost and time are both known take part.
        margin: how much cheaper and faster the other must be, as a share.
        comparable: which plans may beat which; any, if None.
    """
    return _beaten(contenders, 1 - margin, 1 + margin, comparable)


def beaten_by_equals(contenders: Sequence[Contender], objective: Objective) -> dict[str, str]:
    """The plans that one of equal standing undercuts so that a guide's word does not hold them, each with one."""

    def equal(one: Contender, other: Contender) -> bool:
        return (
            (one.ranked.proven, one.fallback) == (other.ranked.proven, other.fallback)
            and keeps_count(one.ranked.plan, other.ranked.plan, guided=one.in_count_band >= other.in_count_band)
            and stands_as_well(one.ranked.plan, other.ranked.plan)
            and outweighs_guide(one.measures, other.measures, objective)
        )

    def preferred(entry: Contender) -> tuple[bool, float]:
        """What a guide says of the count stands as far as it can; twice the GPUs at the same cost are no gain."""
        merit = objective.merit(entry.cost or 0.0, entry.time or 0.0, entry.ranked.plan.count)
        return (not entry.in_count_band, merit)

    return _beaten(contenders, 1 - objective.dominance_margin, 1 + objective.dominance_margin, equal, preferred)


def keeps_count(one: Plan, other: Plan, *, guided: bool) -> bool:
    """Whether the first plan stands in for a guide's count: as that count, or as more cards for less money.

    Where a guide wants more cards it wants them for something else, such as replicas that fail apart.
    """
    return guided or one.count > other.count


def outweighs_guide(one: Measures, other: Measures, objective: Objective) -> bool:
    """Whether the first plan beats the second so clearly that a guide's word for the second does not stand.

    A service, and a run of known length, costs what it costs: there the margin of dominance is enough. A job whose
    length is not stated is compared by the piece of work, which may cost less on a machine that costs several times
    more an hour: there the guide's card stands up to a multiple of the cost, unless the other costs no more an hour.
    """
    if one.cost is None or other.cost is None or one.time is None or other.time is None:
        return False
    margin = objective.dominance_margin
    if one.cost > other.cost * (1 - margin) or one.time * (1 + margin) > other.time:
        return False
    if one.usd_per_hour is None or other.usd_per_hour is None or one.usd_per_hour <= other.usd_per_hour:
        return True
    return one.cost * objective.guide_cost_ratio <= other.cost


def _beaten(
    contenders: Sequence[Contender],
    cost_share: float,
    speed_ratio: float,
    comparable: Comparable | None,
    preferred: Callable[[Contender], tuple[object, ...]] | None = None,
) -> dict[str, str]:
    """The plans of which another has at most that share of the cost and at least that ratio of the speed.

    Of several others the preferred one is named that none beats in turn; the one that beats it most if None.
    """
    known = [(e.cost, e.time, e) for e in contenders if e.cost is not None and e.time is not None]
    known.sort(key=lambda entry: (entry[0], entry[1], entry[2].id))
    rivals = known
    if comparable is None:  # Whoever is beaten at all is beaten by a plan on the front of cost and time.
        rivals = []
        for entry in known:
            if not rivals or entry[1] < rivals[-1][1]:
                rivals.append(entry)

    def preference(entry: tuple[float, float, Contender]) -> tuple[Any, ...]:
        cost, time, plan = entry
        return (*(preferred(plan) if preferred else (cost * time,)), plan.id)

    rivals = sorted(rivals, key=preference)
    found: dict[str, str] = {}
    for cost, time, plan in known:  # Whoever beats a plan costs less: what beats it in turn is found by then.
        by = None
        for other_cost, other_time, other in rivals:
            beats = other_cost <= cost * cost_share and other_time * speed_ratio <= time
            if beats and (comparable is None or comparable(other, plan)):
                if other.id not in found:
                    by = other.id
                    break
                by = by or other.id
        if by is not None:
            found[plan.id] = by
    return found
