"""Which plans are beaten so clearly, in cost and speed, that nothing holds them: by one of their tier, or an equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.advisor.contenders import NONE, Contenders, Flags, Traits
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.survey import MeasureColumns
from whichgpu.engine.core import Codes, Numbers


def dominated_in_tier(c: Contenders, ranks: Codes, objective: Objective) -> Codes:
    """For each plan the one of its own tier that beats it most, or NONE."""
    if objective.stated:
        return _beaten_most_of(c, ranks, objective.dominance_margin)
    # Without a stated objective nobody asked for the last cent: more cards over PCIe or more machines put no plan out.
    beats = _beats(c, objective.dominance_margin) & (ranks[:, None] == ranks)
    return _beaten_most(c, beats & joins_no_more(c.traits, c.traits.each(_as_rows)), (_product(c),))


def outweighed(c: Contenders, ranks: Codes, objective: Objective) -> Codes:
    """For each plan the one that stands in for it if it comes first: an equal, else one of its own tier; or NONE.

    More cards over PCIe or more machines are no reason to pay more for less, where evidence puts a plan first; an
    equal of the one that stands in so takes its place in turn.
    """
    equals = beaten_by_equals(c, objective)
    mates = _beaten_most_of(c, ranks, objective.dominance_margin)
    beaten_too = (mates != NONE) & (equals[mates] != NONE)
    return np.where(equals == NONE, np.where(beaten_too, equals[mates], mates), equals)


def _beaten_most_of(c: Contenders, ranks: Codes, margin: float) -> Codes:
    """For each plan the one of the same rank that beats it most by the margin in both cost and speed, or NONE."""
    return _beaten_most(c, _beats(c, margin) & (ranks[:, None] == ranks), (_product(c),), _fronts(c, ranks))


def larger_for_nothing(c: Contenders, among: Flags, objective: Objective) -> Flags:
    """The plans of which fewer of the same card do a piece of work for as much money, but for the margin.

    Only of jobs whose length is not known: nobody said that there is enough work for more. Of what is bought a smaller
    purchase of any card will do for what preferences may cost, for it is paid at once, whatever work there will be.
    """
    cost, hourly, t = c.measures.cost, c.measures.usd_per_hour, c.traits
    fewer = (t.family == _as_rows(t.family)) & (t.count < _as_rows(t.count)) & (hourly < _as_rows(hourly))
    found = fewer & (cost * (1 - objective.dominance_margin) < _as_rows(cost))
    if t.bought.any():
        share = 1 + objective.preference_share
        smaller = t.bought & _as_rows(t.bought) & (hourly * share <= _as_rows(hourly))
        found |= smaller & (cost <= _as_rows(cost) * share)
    larger: Flags = (found & among).any(axis=1)
    return larger


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
    beats = (c.proven[:, None] == c.proven) & (c.fallback[:, None] == c.fallback)
    rows, columns = t.each(_as_rows), t
    same_card, measures = columns.family == rows.family, (c.measures, c.measures.each(_as_rows))
    guided = c.in_count_band | ~c.in_count_band[:, None] | _fewer_than_named(c, rows, same_card)
    paid_anyway = paid_for_anyway(*measures, same_card=same_card)
    beats &= keeps_count(columns, rows, guided=guided) & stands_as_well(columns, rows, paid_anyway=paid_anyway)
    another_named = c.in_card_band.any() & ~c.in_card_band
    beats &= outweighs_guide(*measures, objective, columns, rows, another_named=another_named)
    # What a guide says of the count stands as far as it can; twice the GPUs at the same cost are no gain.
    merit = objective.merit(np.nan_to_num(c.measures.cost), np.nan_to_num(c.measures.felt_time), t.count)
    return _beaten_most(c, beats, (merit, t.pcie_gpus, ~c.in_count_band))


def _fewer_than_named(c: Contenders, rows: Traits, same_card: Flags) -> Flags:
    """For each plan (row) which plans (column) the guides are content with, though they name its count and not theirs.

    One in a count that they name of another card, in fewer machines; and fewer of another card, where they name as few.
    """
    named, t = c.traits.count[c.in_count_band], c.traits
    fewer = (t.count < rows.count) & (t.count >= named.min(initial=t.count.max(initial=0) + 1)) & ~same_card
    return np.asarray((np.isin(t.count, named) & (t.nodes < rows.nodes)) | fewer)


def keeps_count(one: Traits, other: Traits, *, guided: Any) -> Any:
    """Whether the first plan stands in for a guide's count: as that count, of any card, or as more for less money.

    Where a guide wants more cards it wants them for something else, such as replicas that fail apart.
    """
    return guided | (one.count >= other.count)


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


def outweighs_guide(
    one: MeasureColumns,
    other: MeasureColumns,
    objective: Objective,
    mine: Traits,
    its: Traits,
    *,
    another_named: Any,
) -> Any:
    """Whether the first plan beats the second so clearly that a guide's word for the second does not stand.

    It does where it is cheaper and faster by the margin of dominance, or where it saves more than preferences may cost:
    as fast but for that margin and bearing as much, or with fewer cards over PCIe at no worse a balance. So it does
    where another card is sooner by that share, bears as much, and costs no more. A service, and a run of known
    length, costs what it costs: there that is enough. A job whose length is not stated is compared by the piece of
    work, which may cost less on a machine that costs several times more an hour: where guides name cards for it, they
    and their equals stand up to a multiple of the cost. Not so where the other costs hardly more an hour, nor where it
    is the same card in another count.

    Args:
        one: cost and time of the first plan.
        other: the same of the second.
        objective: tells the margins.
        mine: what else is known of the first plan.
        its: the same of the second.
        another_named: whether guides name cards for the case, and not that of the first.
    """
    most_an_hour = other.usd_per_hour * (1 + objective.guide_hour_share)
    same_card = mine.family == its.family
    costlier_an_hour = (one.usd_per_hour > most_an_hour) & (same_card ^ True)  # Not so where a rate is not known.
    far_cheaper = one.cost * objective.guide_cost_ratio <= other.cost
    bears = bears_as_much(mine, its, objective.dominance_margin)
    as_fast = (one.time <= other.time * (1 + objective.dominance_margin)) & bears
    simpler = (mine.pcie_gpus < its.pcie_gpus) & (one.cost * one.time <= other.cost * other.time)
    saves = one.cost * (1 + objective.preference_share) <= other.cost
    # Whoever pays no more for an answer sooner by that share asks for no reason beside it.
    sooner = one.time * (1 + objective.preference_share) <= other.time
    for_no_more = sooner & (one.cost <= other.cost) & bears & (same_card ^ True)
    beats = _clearly(one, other, objective.dominance_margin)
    undercuts = beats | (saves & (as_fast | simpler)) | for_no_more
    # ``^ True`` negates single truth values and columns of them alike.
    return (undercuts & ((costlier_an_hour ^ True) | far_cheaper)) | (beats & (another_named ^ True))


def bears_as_much(one: Traits, other: Traits, margin: float) -> Any:
    """Whether the first plan can bear as many requests as the second, but for the margin.

    A copy that is split more widely is as fast at little load as two copies, and bears less. Where it is not known
    what the plans can bear, as many copies bear as much.
    """
    enough, short = one.capacity_qps * (1 + margin) >= other.capacity_qps, one.capacity_qps < other.capacity_qps
    # Comparing with NaN gives neither.
    return enough | ((short ^ True) & (one.copies >= other.copies))


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
    cost, time = c.measures.cost, c.measures.time
    known = np.flatnonzero(~np.isnan(cost) & ~np.isnan(time))
    order = known[np.lexsort((c.traits.place[known], time[known], cost[known], ranks[known]))]
    front = np.ones(len(c), np.bool_)
    for tier in np.split(order, np.flatnonzero(np.diff(ranks[order])) + 1):
        # Of one tier, the cheapest first: the fastest of those before.
        fastest = np.minimum.accumulate(time[tier])[:-1]
        front[tier[1:]] = time[tier[1:]] < fastest
    return front


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
