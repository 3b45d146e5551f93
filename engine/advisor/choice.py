"""Choosing among the plans that no rule rejects (docs/decisions/0009), on columns: a row for each plan.

1. Tiers: verified plans first; of those the ones that no rule marks as a fallback; and, while no objective is stated,
   those whose cards and counts a guide names for the case. Only plans of the best tier can be the answer.
2. Dominance: a plan that another of its tier beats clearly in both cost and speed cannot be the answer.
3. Merit: a stated objective minimises its merit; preferences choose among the plans within its share of the best.
   While none is stated, the evidence decides, cost and speed weighed in. Where an equal, or a plan of the same tier,
   outweighs the plan that comes first so, in every count and form of its card, it stands in for it: a guide names a
   card for what it costs and does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.survey import MeasureColumns, known
from whichgpu.engine.core import Codes, Numbers
from whichgpu.engine.plans import Plan, PlanTable


Flags = NDArray[np.bool_]

#: Room for rounding where two merits are compared, as a share: merits of small pieces of work are tiny.
_CLOSE = 1e-9
#: No plan.
NONE = -1

Tier = tuple[bool, bool, bool, bool]

#: Segments by what their makers promise of them: support, error correction, use around the clock.
SEGMENT_ORDER = {"other": 0, "edge": 0, "consumer": 0, "professional": 1, "datacenter": 2}


class Traits(Struct, frozen=True):
    """What choosing reads of plans beside figures and evidence: columns, or what one plan has."""

    count: Any  # of GPUs
    nodes: Any
    pcie_gpus: Any  # that are joined over PCIe
    vendor: Any  # in columns numbers that stand for vendors, and for families of cards
    family: Any
    segment: Any  # by SEGMENT_ORDER
    vram_gb: Any  # of a card; infinite where it is not known
    place: Any  # of the plan's id among all of them, sorted

    def each(self, change: Callable[[Any], Any]) -> Traits:
        """The traits with every column changed alike."""
        return Traits(*map(change, astuple(self)))


def traits_of_plan(plan: Plan) -> Traits:
    """What choosing reads of one plan."""
    gpu, pcie = plan.gpu, plan.facts.get("plan.pcie_gpus", 0)
    segment = SEGMENT_ORDER.get(gpu.segment or "", 0)
    return Traits(plan.count, plan.nodes, pcie, gpu.vendor, gpu.family, segment, gpu.vram_gb or math.inf, plan.id)


def traits_of(plans: Sequence[Plan]) -> Traits:
    """What choosing reads of these plans."""
    table = PlanTable.of(plans)
    vendors: dict[str, int] = {}
    families: dict[str, int] = {}
    place = np.empty(len(table), np.intp)
    place[sorted(range(len(table)), key=table.ids.__getitem__)] = np.arange(len(table))
    gpus = table.gpus
    return Traits(
        table.numbers("plan.count").astype(np.intp),
        table.numbers("plan.nodes").astype(np.intp),
        np.nan_to_num(table.numbers("plan.pcie_gpus")).astype(np.intp),
        np.array([vendors.setdefault(gpu.vendor, len(vendors)) for gpu in gpus], np.intp),
        np.array([families.setdefault(gpu.family, len(families)) for gpu in gpus], np.intp),
        np.array([SEGMENT_ORDER.get(gpu.segment or "", 0) for gpu in gpus], np.intp),
        np.array([gpu.vram_gb or np.inf for gpu in gpus], np.float64),
        place,
    )


class Contenders(Struct, frozen=True):
    """The plans that no rule rejects, in any order: a row each."""

    traits: Traits
    measures: MeasureColumns
    score: Numbers
    proven: Flags
    fallback: Flags
    in_card_band: Flags
    in_count_band: Flags

    def __len__(self) -> int:
        """The number of plans."""
        return len(self.score)

    def take(self, rows: Codes) -> Contenders:
        """Some of the plans."""
        traits = self.traits.each(lambda column: column[rows])
        flags = (self.proven, self.fallback, self.in_card_band, self.in_count_band)
        return Contenders(traits, self.measures.take(rows), self.score[rows], *(each[rows] for each in flags))


class Standing(Struct, frozen=True):
    """Where a plan stands after the choice."""

    tier: Tier
    merit: float | None
    eligible: bool  # could be the answer: best tier, not dominated, within the share of the best merit
    dominated_by: str | None  # the plan of the same tier, or the equal, that beats it most
    stands_in_for: str | None = None  # on the answer: the plan that came first, and that this one beats


class Standings(Struct, frozen=True):
    """What the choice comes to."""

    order: Codes  # rows, the best plan first
    tiers: NDArray[np.bool_]  # a row of four places for each plan
    merits: Numbers  # infinite where there is none
    eligible: Flags
    dominated_by: Codes  # row of the plan that beats it, or NONE
    stands_in_for: int = NONE  # the row that came first, and that the answer beats

    @property
    def first_by_evidence(self) -> int:
        """The place of the plan that evidence puts first: the answer, or the plan that it stands in for."""
        return 0 if self.stands_in_for == NONE else int(np.flatnonzero(self.order == self.stands_in_for)[0])

    def standing(self, row: int, ids: Sequence[str]) -> Standing:
        """The standing of one plan."""
        by = int(self.dominated_by[row])
        replaced = self.stands_in_for if row == self.order[0] else NONE
        places: list[bool] = self.tiers[row].tolist()
        return Standing(
            (places[0], places[1], places[2], places[3]),
            None if np.isinf(self.merits[row]) else known(self.merits[row]),
            bool(self.eligible[row]) and by == NONE,
            None if by == NONE else ids[by],
            None if replaced == NONE else ids[replaced],
        )


def choose(contenders: Contenders, objective: Objective) -> Standings:
    """Put the plans in order.

    Args:
        contenders: the plans that no rule rejects.
        objective: what is minimised, and whether it was stated.
    """
    c, size = contenders, len(contenders)
    tiers, merits = _tiers(c, objective), _merits(c, objective)
    ranks = tiers @ np.array([8, 4, 2, 1])
    dominated = _dominated_in_tier(c, ranks, objective)
    outweighed = np.full(size, NONE) if objective.stated else _outweighed(c, ranks, objective)
    pool = _pool(c, ranks, dominated, outweighed, objective.preference_share)
    limit = np.inf
    if objective.stated and pool.any():
        limit = merits[pool].min() * (1 + objective.preference_share) * (1 + _CLOSE)
    eligible = pool & (merits <= limit)
    evidence = (c.traits.place, c.traits.vram_gb, c.traits.count, merits, -np.round(c.score, 6))
    by_evidence = np.lexsort(evidence)
    first = next((row for row in by_evidence.tolist() if eligible[row]), NONE)
    answer, replaced = first, NONE
    if first != NONE and outweighed[first] != NONE:
        answer, replaced = int(outweighed[first]), first
        # It takes the place of the plan that it stands in for, and what a guide says of that one.
        tiers[answer] = tiers[first]
        eligible[answer] = True
    dominated = np.where(dominated == NONE, outweighed, dominated)
    if answer != NONE:
        dominated[answer] = NONE
    group = np.where(np.arange(size) == answer, 0, 1)
    # Of what is not eligible under a stated objective merit decides, else the evidence: one constant for all of them.
    after = objective.stated & ~eligible & (group == 1)
    behind = np.where(after, merits, 0.0)
    group = np.where(after, 2, group)
    upper = np.where(group == 0, 0, tiers[:, 2] * 2 + tiers[:, 3])
    order = np.lexsort((*evidence, behind, upper, group, tiers[:, 0] * 2 + tiers[:, 1]))
    return Standings(order, tiers, merits, eligible, dominated, replaced)


def _tiers(c: Contenders, objective: Objective) -> NDArray[np.bool_]:
    """The places of each plan's tier, in the order of ``losses.PLACES``; True is the lower."""
    guided = not objective.stated
    return np.stack([~c.proven, c.fallback, guided & ~c.in_count_band, guided & ~c.in_card_band], axis=1)


def _merits(c: Contenders, objective: Objective) -> Numbers:
    """Merit; an unknown time counts as the slowest known, an unknown cost has no merit beside known ones."""
    cost, time = c.measures.cost, c.measures.time
    priced, timed = ~np.isnan(cost), ~np.isnan(time)
    slowest = time[timed].max() if timed.any() else 1.0
    stand_in = np.inf if priced.any() and objective.cost_exponent else 1.0
    merits = objective.merit(np.where(priced, cost, stand_in), np.where(timed, time, slowest), c.traits.count)
    return np.where(priced | (stand_in == 1.0), merits, np.inf)


def _dominated_in_tier(c: Contenders, ranks: Codes, objective: Objective) -> Codes:
    """For each plan the one of its own tier that beats it most, or NONE."""
    if objective.stated:
        return _beaten_most_of(c, ranks, objective.dominance_margin)
    # Without a stated objective nobody asked for the last cent: more cards over PCIe or more machines put no plan out.
    beats = _beats(c, objective.dominance_margin) & (ranks[:, None] == ranks)
    return _beaten_most(c, beats & joins_no_more(c.traits, c.traits.each(_as_rows)), (_product(c),))


def _outweighed(c: Contenders, ranks: Codes, objective: Objective) -> Codes:
    """For each plan the one that stands in for it if it comes first: an equal, else one of its own tier; or NONE.

    More cards over PCIe or more machines are no reason to pay more for less, where evidence puts a plan first.
    """
    equals = beaten_by_equals(c, objective)
    return np.where(equals == NONE, _beaten_most_of(c, ranks, objective.dominance_margin), equals)


def _beaten_most_of(c: Contenders, ranks: Codes, margin: float) -> Codes:
    """For each plan the one of the same rank that beats it most by the margin in both cost and speed, or NONE."""
    return _beaten_most(c, _beats(c, margin) & (ranks[:, None] == ranks), (_product(c),), _fronts(c, ranks))


def dominated_plans(contenders: Contenders, margin: float) -> Codes:
    """For each plan the one that beats it most by the margin in both cost and speed, or NONE.

    Args:
        contenders: the plans; only those whose cost and time are both known take part.
        margin: how much cheaper and faster the other must be, as a share.
    """
    return _beaten_most_of(contenders, np.zeros(len(contenders), np.intp), margin)


def beaten_by_equals(contenders: Contenders, objective: Objective) -> Codes:
    """For each plan one of equal standing that undercuts it so that a guide's word does not hold it, or NONE."""
    c, t = contenders, contenders.traits
    beats = _beats(c, objective.dominance_margin)
    beats &= (c.proven[:, None] == c.proven) & (c.fallback[:, None] == c.fallback)
    guided = c.in_count_band >= c.in_count_band[:, None]
    rows, columns = t.each(_as_rows), t
    same_card, measures = columns.family == rows.family, (c.measures, c.measures.each(_as_rows))
    paid_anyway = paid_for_anyway(*measures, same_card=same_card)
    beats &= keeps_count(columns, rows, guided=guided) & stands_as_well(columns, rows, paid_anyway=paid_anyway)
    beats &= outweighs_guide(*measures, objective, same_card=same_card)
    # What a guide says of the count stands as far as it can; twice the GPUs at the same cost are no gain.
    merit = objective.merit(np.nan_to_num(c.measures.cost), np.nan_to_num(c.measures.time), t.count)
    return _beaten_most(c, beats, (merit, ~c.in_count_band))


def keeps_count(one: Traits, other: Traits, *, guided: Any) -> Any:
    """Whether the first plan stands in for a guide's count: as that count, or as more cards for less money.

    Where a guide wants more cards it wants them for something else, such as replicas that fail apart.
    """
    return guided | (one.count > other.count)


def joins_no_more(one: Traits, other: Traits) -> Any:
    """Whether the first plan has no more machines and no more cards over PCIe than the second."""
    return (one.nodes <= other.nodes) & (one.pcie_gpus <= other.pcie_gpus)


def stands_as_well(one: Traits, other: Traits, *, paid_anyway: Any) -> Any:
    """Whether nothing but cost and speed sets the first plan below the second.

    ``paid_anyway``: more cards of the machine that is paid for in any case, as ``paid_for_anyway`` has it.
    """
    joins = joins_no_more(one, other) | paid_anyway
    return (one.vendor == other.vendor) & (one.segment >= other.segment) & joins


def paid_for_anyway(one: MeasureColumns, other: MeasureColumns, *, same_card: Any) -> Any:
    """Whether an hour of the first plan costs no more, of the same card: its further cards would else stand idle."""
    return same_card & (one.usd_per_hour <= other.usd_per_hour)


def outweighs_guide(one: MeasureColumns, other: MeasureColumns, objective: Objective, *, same_card: Any) -> Any:
    """Whether the first plan beats the second so clearly that a guide's word for the second does not stand.

    A service, and a run of known length, costs what it costs: there the margin of dominance is enough. A job whose
    length is not stated is compared by the piece of work, which may cost less on a machine that costs several times
    more an hour: there the guide's card stands up to a multiple of the cost. Not so where the other costs hardly more
    an hour, nor where it is the same card in another count.

    Args:
        one: cost and time of the first plan.
        other: the same of the second.
        objective: tells the margins.
        same_card: whether both are of one family of cards.
    """
    most_an_hour = other.usd_per_hour * (1 + objective.guide_hour_share)
    costlier_an_hour = (one.usd_per_hour > most_an_hour) & (same_card ^ True)  # Not so where a rate is not known.
    far_cheaper = one.cost * objective.guide_cost_ratio <= other.cost
    # ``^ True`` negates single truth values and columns of them alike.
    return _clearly(one, other, objective.dominance_margin) & ((costlier_an_hour ^ True) | far_cheaper)


def _clearly(one: MeasureColumns, other: MeasureColumns, margin: float) -> Any:
    """Whether the first plan costs less and is faster, each by the margin; never where a figure is not known."""
    return (one.cost <= other.cost * (1 - margin)) & (one.time * (1 + margin) <= other.time)


def _beats(c: Contenders, margin: float) -> Flags:
    """For each plan (row) which plans (column) are clearly cheaper and faster."""
    found: Flags = _clearly(c.measures, c.measures.each(_as_rows), margin)
    return found


def _as_rows(column: Any) -> Any:
    """A column whose entries are the rows of a matrix."""
    return column[:, None]


def _product(c: Contenders) -> Numbers:
    product: Numbers = c.measures.cost * c.measures.time
    return product


def _fronts(c: Contenders, ranks: Codes) -> Flags:
    """The plans of each tier that none is both cheaper and faster than: whoever is beaten is beaten by one of them."""
    cost, time, place = c.measures.cost, c.measures.time, c.traits.place
    same_cost, same_time = cost == cost[:, None], time == time[:, None]
    before = (
        (cost < cost[:, None])
        | (same_cost & (time < time[:, None]))
        | (same_cost & same_time & (place < place[:, None]))
    )
    behind: Flags = (before & (time <= time[:, None]) & (ranks == ranks[:, None])).any(axis=1)
    return ~behind


def _beaten_most(c: Contenders, beats: Flags, keys: tuple[NDArray[Any], ...], among: Flags | None = None) -> Codes:
    """For each plan the one that beats it and comes first by the keys, the last key first; or NONE.

    Of several others it is one that no other beats in turn, if there is one.

    Args:
        c: the plans.
        beats: for each plan (row) which plans (column) beat it.
        keys: columns by which the others are preferred, the lower the better.
        among: the plans that count as others; all, if None.
    """
    if not len(c):
        return np.empty(0, np.intp)
    order = np.lexsort((c.traits.place, *keys))
    by_preference: Flags = (beats if among is None else beats & among)[:, order]
    beaten = np.asarray(by_preference.any(axis=1))
    sound = by_preference & ~beaten[order]
    chosen = np.where(sound.any(axis=1), sound.argmax(axis=1), by_preference.argmax(axis=1))
    found: Codes = np.where(beaten, order[chosen], NONE)
    return found


def _pool(c: Contenders, ranks: Codes, dominated: Codes, outweighed: Codes, share: float) -> Flags:
    """The plans among which merit or evidence chooses: those of the best tier that none beats."""
    free = dominated == NONE
    if not free.any():
        return np.zeros(len(c), np.bool_)
    pool = free & (ranks == ranks[free].min())
    # A guide's word for a card goes to that card in a count and form that no equal outweighs, where there is one;
    # not to one that costs so much more than those which are outweighed that one would rather order the equal.
    sound, family, cost = outweighed == NONE, c.traits.family, c.measures.cost
    most = np.full(family.max(initial=-1) + 1, np.inf)
    worse = pool & ~sound
    np.minimum.at(most, family[worse], cost[worse] * (1 + share))
    found: Flags = pool & (sound | ~np.isin(family, family[pool & sound & (cost <= most[family])]))
    return found
