"""Which plans are beaten so clearly, in cost and speed, that nothing holds them: by one of their tier, or an equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.advisor.contenders import NONE, Contenders, Flags, Traits
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.survey import MeasureColumns
from whichgpu.engine.core import Codes, Numbers


def may_put_out(c: Contenders, merits: Numbers, larger: Codes) -> Flags:
    """For each plan (row) which plans (column) may put it out, if they are as much cheaper and faster as that takes.

    Args:
        c: the plans.
        merits: what the objective minimises.
        larger: for each plan one beside which it is larger than anybody asked for, or NONE.
    """
    figures, traits = (c.measures, c.measures.each(_as_rows)), (c.traits, c.traits.each(_as_rows))
    better = (larger == NONE) & (merits <= _as_rows(merits))
    return np.asarray(asks_for_no_more(*figures, *traits, better=better))


def asks_for_no_more(one: MeasureColumns, other: MeasureColumns, mine: Traits, its: Traits, *, better: Any) -> Any:
    """Whether the first plan may put out the second without anybody having asked for more.

    Where a job's length is known, or a service is there all month, any may. By the piece of work only one that costs no
    more an hour, that stands as well in as few machines, or that could be the answer in its stead (``better``): not
    one that is larger than anybody asked for, nor one that the objective puts behind the second, since it shares the
    work among so many more GPUs.
    """
    costs_no_more = (one.usd_per_hour > other.usd_per_hour) ^ True  # So it is where a rate is not known.
    equal = stands_as_well(mine, its, paid_anyway=False) & (mine.machines <= its.machines)
    return costs_no_more | equal | better


def no_worse(one: MeasureColumns, other: MeasureColumns) -> Any:
    """Whether the first plan costs no more than the second, by the work and by the hour, and is no slower."""
    costlier_an_hour = one.usd_per_hour > other.usd_per_hour  # Not so where a rate is not known.
    return (one.felt_cost <= other.felt_cost) & (one.time <= other.time) & (costlier_an_hour ^ True)


def beaten_in_tier(c: Contenders, ranks: Codes, margin: float, may: Any = True, by: Numbers | None = None) -> Codes:
    """For each plan the one of its own tier that beats it most by the margin in both cost and speed, or NONE.

    Args:
        c: the plans.
        ranks: the tier of each.
        margin: how much cheaper and faster the other must be, as a share.
        may: for each plan (row) which plans (column) may put it out.
        by: of several others the one where this is least; cost x time, if None.
    """
    beats = _beats(c, margin) & (ranks[:, None] == ranks) & may
    return _beaten_most(c, beats, (_product(c) if by is None else by,))


def beaten_without_more(c: Contenders, ranks: Codes, objective: Objective) -> Codes:
    """The same while no objective is stated, by a plan of no more machines and cards over PCIe.

    Nobody asked for the last cent: more of those put no plan out.
    """
    beats = _beats(c, objective.dominance_margin) & (ranks[:, None] == ranks)
    return _beaten_most(c, beats & joins_no_more(c.traits, c.traits.each(_as_rows)), (_product(c),))


def outweighed(c: Contenders, ranks: Codes, merits: Numbers, may: Any, objective: Objective) -> Codes:
    """For each plan the one that stands in for it if it comes first: an equal, else one of its own tier; or NONE.

    More cards over PCIe or more machines are no reason to pay more for less, where evidence puts a plan first; an
    equal of the one that stands in so takes its place in turn.
    """
    equals = beaten_by_equals(c, objective, may)
    # Of a job that is shared among twice the GPUs cost x time is half: the merit knows that this is no gain.
    mates = beaten_in_tier(c, ranks, objective.dominance_margin, may, merits)
    beaten_too = (mates != NONE) & (equals[mates] != NONE)
    return np.where(equals == NONE, np.where(beaten_too, equals[mates], mates), equals)


def larger_than(c: Contenders, among: Flags, objective: Objective) -> Codes:
    """For each plan the smallest of those beside which it is larger than anybody asked for, or NONE.

    Fewer of the same card do a piece of work for as much money, but for the margin of dominance, and meet what is
    stated with as much room. Only of jobs whose length is not known: nobody said that there is enough work for more. Of
    what is bought a smaller purchase of any card will do for what preferences may cost, for it is paid at once,
    whatever work there will be. What is owned would else stand idle, so that it is never more than was asked for.

    Args:
        c: the plans.
        among: those that are worth having in the place of a larger one.
        objective: tells the margins.
    """
    cost, hourly, t = c.measures.cost, c.measures.usd_per_hour, c.traits
    fewer = (t.family == _as_rows(t.family)) & (t.count < _as_rows(t.count)) & (hourly < _as_rows(hourly))
    found = fewer & (cost * (1 - objective.dominance_margin) < _as_rows(cost))
    if t.bought.any():
        share = 1 + objective.preference_share
        smaller = t.bought & _as_rows(t.bought) & (hourly * share <= _as_rows(hourly))
        found |= smaller & (cost <= _as_rows(cost) * share)
    found &= among & (c.roomy | ~_as_rows(c.roomy)) & ~_as_rows(t.owned)
    order = np.lexsort((t.place, hourly))
    smallest: Codes = np.where(found.any(axis=1), order[found[:, order].argmax(axis=1)], NONE)
    return smallest


def beaten_by_equals(contenders: Contenders, objective: Objective, may: Any = True) -> Codes:
    """For each plan one of equal standing that undercuts it so that a guide's word does not hold it, or NONE."""
    c, t = contenders, contenders.traits
    beats = (c.proven[:, None] == c.proven) & (c.fallback[:, None] == c.fallback) & may
    rows, columns = t.each(_as_rows), t
    same_card, measures = columns.family == rows.family, (c.measures, c.measures.each(_as_rows))
    guided = c.in_count_band | ~c.in_count_band[:, None] | _fewer_than_named(c, rows, same_card)
    paid_anyway = paid_for_anyway(*measures, columns, rows)
    beats &= keeps_count(columns, rows, guided=guided) & stands_as_well(columns, rows, paid_anyway=paid_anyway)
    another_named = c.in_card_band.any() & ~c.in_card_band
    outweighing = beats & outweighs_guide(*measures, objective, columns, rows, another_named=another_named)
    # What a guide says of the count stands as far as it can; twice the GPUs at the same cost are no gain, but of those
    # that stand there.
    counts = np.where(t.owned, 1, t.count)
    merit = objective.merit(np.nan_to_num(c.measures.cost), np.nan_to_num(c.measures.felt_time), counts)
    keys = merit, t.pcie_gpus, ~c.in_count_band
    found = _beaten_most(c, outweighing, keys)
    # One that is far cheaper and slower stands in where no other does.
    beats &= _costs_too_much(*measures, objective, columns, rows)
    if not beats[found == NONE].any():
        return found
    beats &= _balanced(*measures, objective, columns, rows)
    return np.where(found == NONE, _beaten_most(c, beats, keys), found)


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


def paid_for_anyway(one: MeasureColumns, other: MeasureColumns, mine: Traits, its: Traits) -> Any:
    """Whether further cards of the same kind would else stand idle: an hour costs no more, or both plans are owned."""
    return (mine.family == its.family) & ((one.usd_per_hour <= other.usd_per_hour) | (mine.owned & its.owned))


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
    where another card, or more of what is owned, is sooner by that share, bears as much, and costs no more, of what is
    owned but for the margin of dominance. A service, and a run of known
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
    by_many_times = one.cost * objective.guide_cost_ratio <= other.cost
    bears = bears_as_much(mine, its, objective.dominance_margin)
    as_fast = (one.time <= other.time * (1 + objective.dominance_margin)) & bears
    simpler = (mine.pcie_gpus < its.pcie_gpus) & (one.cost * one.time <= other.cost * other.time)
    saves = one.cost * (1 + objective.preference_share) <= other.cost
    # Whoever pays no more for an answer sooner by that share asks for no reason beside it.
    sooner = one.time * (1 + objective.preference_share) <= other.time
    owned = mine.owned & its.owned  # Cards that stand there cost their power, as long as they run.
    most = other.cost * (1 + objective.dominance_margin * owned)
    for_no_more = sooner & (one.cost <= most) & bears & ((same_card ^ True) | owned)
    beats = _clearly(one, other, objective.dominance_margin)
    undercuts = beats | (saves & (as_fast | simpler)) | for_no_more
    # ``^ True`` negates single truth values and columns of them alike.
    return (undercuts & ((costlier_an_hour ^ True) | by_many_times)) | (beats & (another_named ^ True))


def far_cheaper(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the second plan costs more than a guide's word for it may, beside the first one of another card.

    By the work and by an amount an hour that is worth looking at another card for; the first may be slower, but bears
    as much, and strikes no worse a balance of cost and time.
    """
    return _costs_too_much(one, other, objective, mine, its) & _balanced(one, other, objective, mine, its)


def _costs_too_much(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the second plan costs more than a guide's word for it may, beside the first one of another card.

    An answer that comes later than people bear counts as many times as costly, of no card any less.
    """
    felt, its_felt = mine.usd_per_hour * one.lateness, its.usd_per_hour * other.lateness
    enough = felt + objective.guide_least_saving <= its_felt
    return (one.felt_cost * objective.guide_price_ratio <= other.felt_cost) & enough & (mine.family != its.family)


def _balanced(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the first plan bears as much as the second and strikes no worse a balance of cost and time."""
    balanced = one.felt_cost * one.felt_time <= other.felt_cost * other.felt_time
    return balanced & bears_as_much(mine, its, objective.dominance_margin)


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


def _beaten_most(c: Contenders, beats: Flags, keys: tuple[NDArray[Any], ...]) -> Codes:
    """For each plan the one that beats it and comes first by the keys, the last key first; or NONE.

    Of several others it is one that no other beats in turn, if there is one.

    Args:
        c: the plans.
        beats: for each plan (row) which plans (column) beat it.
        keys: columns by which the others are preferred, the lower the better.
    """
    if not len(c):
        return np.empty(0, np.intp)
    order, beating = np.lexsort((c.traits.place, *keys)), np.asarray(beats.any(axis=0))
    order = order[beating[order]]  # Most beat nobody.
    if not len(order):
        return np.full(len(c), NONE)
    by_preference: Flags = beats[:, order]
    beaten = np.asarray(by_preference.any(axis=1))
    sound = by_preference & ~beaten[order]
    chosen = np.where(sound.any(axis=1), sound.argmax(axis=1), by_preference.argmax(axis=1))
    found: Codes = np.where(beaten, order[chosen], NONE)
    return found
