"""Whether one plan beats another so clearly, in cost and speed, that nothing holds it: of single plans and columns.

Which plans are beaten, and by which each, stands in ``beaten``.
"""

from __future__ import annotations

from typing import Any

from whichgpu.engine.advisor.contenders import Traits
from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.rank import Objective


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
    return (one.perceived_cost <= other.perceived_cost) & (one.time <= other.time) & (costlier_an_hour ^ True)


def keeps_count(one: Traits, other: Traits, *, guided: Any) -> Any:
    """Whether the first plan stands in for a guide's count: as that count, of any card, or as more for less money.

    Where a guide wants more cards it wants them for something else, such as replicas that fail apart.
    """
    return guided | (one.count >= other.count)


def joins_no_more(one: Traits, other: Traits) -> Any:
    """Whether the first plan joins no more machines and no more cards over PCIe than the second.

    Machines that a fast link joins are one to their network and several to whoever runs them: fewer of either do.
    """
    return ((one.nodes <= other.nodes) | (one.machines <= other.machines)) & (one.pcie_gpus <= other.pcie_gpus)


def stands_as_well(one: Traits, other: Traits, *, paid_anyway: Any) -> Any:
    """Whether nothing but cost and speed sets the first plan below the second.

    ``paid_anyway``: more cards of the machine that is paid for in any case, as ``paid_for_anyway`` has it.
    """
    joins = joins_no_more(one, other) | paid_anyway
    return (one.vendor == other.vendor) & (one.segment >= other.segment) & joins


def may_stand_in(
    one: MeasureColumns, other: MeasureColumns, mine: Traits, its: Traits, *, paid_anyway: Any, margin: float
) -> Any:
    """Whether the first plan may take the place of one that guides name, as far as their standing goes.

    It does where it stands as well; and in any segment where it is clearly cheaper or faster and no worse in the other,
    of the same vendor, and joined no further or no larger. What a segment stands for (error correction, support, a
    place in a rack) somebody has to ask for: rules make a last choice of cards that lack what is stated. What a link
    is for is speed.
    """
    no_larger = (mine.count <= its.count) & (mine.nodes <= its.nodes)
    outright = (
        beats_at_no_loss(one, other, margin) & (mine.vendor == its.vendor) & (joins_no_more(mine, its) | no_larger)
    )
    return stands_as_well(mine, its, paid_anyway=paid_anyway) | outright


def far_ahead(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the first plan is so far ahead in cost and in speed that neither segment nor links set it below.

    A guide's count calls for fewer links so that work costs less and ends sooner. An hour of it costs hardly more:
    no one asks for a larger machine than he would pay for anyway.
    """
    no_larger = mine.usd_per_hour <= its.usd_per_hour * (1 + objective.dominance_margin)
    cheaper = one.perceived_cost * objective.guide_price_ratio <= other.perceived_cost
    sooner = one.perceived_time * objective.guide_time_ratio <= other.perceived_time
    sustains = sustains_as_much(mine, its, objective.dominance_margin)
    return cheaper & sooner & no_larger & sustains & (mine.vendor == its.vendor)


def paid_for_anyway(one: MeasureColumns, other: MeasureColumns, mine: Traits, its: Traits) -> Any:
    """Whether further cards of the same kind would else stand idle: an hour costs no more, or both plans are owned.

    So it is where fewer of them are later than people tolerate: whoever would wait for years joins more machines.
    """
    waited_for = (other.lateness > 1) & (one.lateness < other.lateness)
    found = (one.usd_per_hour <= other.usd_per_hour) | (mine.owned & its.owned) | waited_for
    return (mine.family == its.family) & found


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

    It does where it is cheaper and faster by the margin of dominance, or, of another card than guides name, by that
    margin in one of them and no worse in the other where both are rented; or where it saves more than preferences may
    cost:
    as fast but for that margin and sustaining as much, or with fewer cards over PCIe at no worse a balance. So it does
    where another card, or more of what is owned, is sooner by that share, serves as much, and costs no more but for the
    margin of dominance. A service, and a run of known length, costs what it costs: there that is
    enough. A job whose length is not stated is compared by the piece of work, which may cost less on a machine that
    costs several times more an hour: where guides name cards for it, they and their equals stand up to a multiple of
    the cost. Not so where the other costs hardly more an hour, nor where it is the same card in another count.

    Args:
        one: cost and time of the first plan.
        other: the same of the second.
        objective: tells the margins.
        mine: what else is known of the first plan.
        its: the same of the second.
        another_named: whether guides name cards for the case, and not that of the first.
    """
    same_card = mine.family == its.family
    costlier = costlier_an_hour(one, other, objective) & (same_card ^ True)
    by_many_times = one.cost * objective.guide_cost_ratio <= other.cost
    sustains = sustains_as_much(mine, its, objective.dominance_margin)
    as_fast = (one.time <= other.time * (1 + objective.dominance_margin)) & sustains
    simpler = (mine.pcie_gpus < its.pcie_gpus) & (one.cost * one.time <= other.cost * other.time)
    saves = one.cost * (1 + objective.preference_share) <= other.cost
    # Whoever pays hardly more for an answer sooner by that share asks for no reason beside it.
    sooner = one.time * (1 + objective.preference_share) <= other.time
    owned = mine.owned & its.owned
    most = other.cost * (1 + objective.dominance_margin)
    for_no_more = sooner & (one.cost <= most) & sustains & ((same_card ^ True) | owned)
    margin = objective.dominance_margin
    beats = clearly_undercuts(one, other, margin)
    rented = (mine.bought | its.bought) ^ True  # What a share of a purchase comes to rests on how busy it will be.
    at_no_loss = beats_at_no_loss(one, other, margin) & sustains & another_named & (same_card ^ True) & rented
    undercuts = (
        beats
        | at_no_loss
        | (saves & (as_fast | simpler))
        | for_no_more
        | fewer_machines(one, other, objective, mine, its)
    )
    # ``^ True`` negates single truth values and columns of them alike.
    return (undercuts & ((costlier ^ True) | by_many_times)) | (beats & (another_named ^ True))


def fewer_machines(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the first plan does work of unknown length on fewer machines, at a better balance for each GPU.

    Nobody said that there is work for more of them: an hour costs clearly less, a piece of work hardly more.
    """
    smaller = (mine.nodes < its.nodes) & (one.usd_per_hour * objective.guide_price_ratio <= other.usd_per_hour)
    hardly_more = one.cost <= other.cost * (1 + objective.guide_hour_share)
    counts = objective.sharing(mine.count, mine.ordered), objective.sharing(its.count, its.ordered)
    balance = objective.merit(one.cost, one.time, counts[0]) <= objective.merit(other.cost, other.time, counts[1])
    return smaller & hardly_more & balance & objective.spares_machines


def costlier_an_hour(one: MeasureColumns, other: MeasureColumns, objective: Objective) -> Any:
    """Whether an hour of the first plan costs more than a guide's word gives way to, where both rates are known."""
    return one.usd_per_hour > other.usd_per_hour * (1 + objective.guide_hour_share)


def most_cost_that_outweighs(other: MeasureColumns, objective: Objective) -> Any:
    """What a plan that outweighs another may cost at the most: hardly more than that one, as lateness counts."""
    return other.perceived_cost * (1 + max(objective.dominance_margin, objective.guide_hour_share))


def far_better(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the second plan costs or waits more than a guide's word for it may, beside the first one of another card.

    It costs far more by the work and by an amount an hour that is worth looking at another card for, or answers far
    later than the first one, which costs hardly more. The first sustains as much, at no worse a balance of both.
    """
    found = asks_too_much(one, other, objective, mine, its) & strikes_balance(one, other, objective, mine, its)
    return found & (mine.family != its.family)


def asks_too_much(
    one: MeasureColumns,
    other: MeasureColumns,
    objective: Objective,
    mine: Traits,
    its: Traits,
    *,
    stands_in: bool = False,
) -> Any:
    """Whether the second plan costs or waits more than a guide's word for it may, beside the first one.

    An answer that comes later than people tolerate counts as many times as costly, of no card any less.

    Args:
        one: cost and time of the first plan.
        other: the same of the second.
        objective: tells the margins.
        mine: what else is known of the first plan.
        its: the same of the second.
        stands_in: the second is no guide's card: it may not cost less in dollars alone, being late.
    """
    perceived, its_perceived = mine.usd_per_hour * one.lateness, its.usd_per_hour * other.lateness
    enough = perceived + objective.guide_least_saving <= its_perceived
    cheaper = (one.perceived_cost * objective.guide_price_ratio <= other.perceived_cost) & enough
    # What a service can sustain is known, and of nothing else.
    costs, its_costs = (one.perceived_cost, other.perceived_cost) if stands_in else (one.cost, other.cost)
    for_hardly_more = (costs <= its_costs * (1 + objective.guide_hour_share)) & (mine.capacity > 0)
    sooner = (one.perceived_time * objective.guide_time_ratio <= other.perceived_time) & for_hardly_more
    return cheaper | sooner


def strikes_balance(one: MeasureColumns, other: MeasureColumns, objective: Objective, mine: Traits, its: Traits) -> Any:
    """Whether the first plan sustains as much as the second and strikes no worse a balance of cost and time."""
    balanced = one.perceived_cost * one.perceived_time <= other.perceived_cost * other.perceived_time
    return balanced & sustains_as_much(mine, its, objective.dominance_margin)


def sustains_as_much(one: Traits, other: Traits, margin: float) -> Any:
    """Whether the first plan can sustain as many requests as the second, but for the margin.

    A replica that is split more widely is as fast at little load as two, and sustains less. Where it is not known
    what the plans can sustain, as many replicas sustain as much.
    """
    enough, short = one.capacity * (1 + margin) >= other.capacity, one.capacity < other.capacity
    # Comparing with NaN gives neither.
    return enough | ((short ^ True) & (one.replicas >= other.replicas))


def clearly_beats(one: MeasureColumns, other: MeasureColumns, margin: float) -> Any:
    """Whether the first plan costs less and is faster, each by the margin; never where a figure is not known."""
    return (one.cost <= other.cost * (1 - margin)) & (one.time * (1 + margin) <= other.time)


def beats_at_no_loss(one: MeasureColumns, other: MeasureColumns, margin: float) -> Any:
    """Whether the first plan costs less by the margin and is no slower, or is faster by it and costs no more."""
    cheaper = (one.cost <= other.cost * (1 - margin)) & (one.time <= other.time)
    return cheaper | ((one.cost <= other.cost) & (one.time * (1 + margin) <= other.time))


def clearly_undercuts(one: MeasureColumns, other: MeasureColumns, margin: float) -> Any:
    """Whether the first plan clearly beats the second where lateness costs as many times more, as guides' words do."""
    return (one.perceived_cost <= other.perceived_cost * (1 - margin)) & (one.time * (1 + margin) <= other.time)
