"""Choosing among the plans that no rule rejects (docs/decisions/0009), on columns: a row for each plan.

1. Tiers: verified plans first; of those the ones that no rule marks as a fallback; and, while no objective is stated,
   those whose cards and counts a guide names for the case. Only plans of the best tier can be the answer.
2. Dominance: a plan that another of its tier beats clearly in both cost and speed cannot be the answer. Of a job whose
   length is not known a plan that is larger than anybody asked for neither is the answer nor puts another out.
3. Room: a plan that only just meets a stated target is not, where one that meets it with room costs little more.
4. Merit: a stated objective minimises its merit; preferences choose among the plans within its share of the best.
   While none is stated, the evidence decides, cost and speed weighed in. Where an equal, or a plan of the same tier,
   outweighs the plan that comes first so, in every count and form of its card, it stands in for it: a guide names a
   card for what it costs and does. So does an equal that costs clearly less and is as soon as is stated: what is
   sooner still nobody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from whichgpu.engine.advisor.beaten import Beaten, larger_than
from whichgpu.engine.advisor.contenders import NONE, Contenders, Flags
from whichgpu.engine.advisor.dominance import no_worse
from whichgpu.engine.advisor.for_nothing import costlier_for_nothing, slow_for_nothing
from whichgpu.engine.advisor.measures import known
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core import Codes, Numbers, among


#: Room for rounding where two merits are compared, as a share: merits of small pieces of work are tiny.
_CLOSE = 1e-9
#: Bands of speed are computed plan by plan: so many are looked at.
_MOST_LOOKED_AT = 12

Tier = tuple[bool, bool, bool, bool]


class Standing(Struct, frozen=True):
    """Where a plan stands after the choice."""

    tier: Tier
    merit: float | None
    eligible: bool  # could be the answer: best tier, not dominated, within the share of the best merit
    dominated_by: str | None  # the plan of the same tier, or the equal, that beats it most
    just_met: bool = False  # meets stated targets without room, where one that has room costs little more
    larger_than: str | None = None  # a smaller plan that does the piece of work for as much, where no length is known
    stands_in_for: str | None = None  # on the answer: the plan that came first, and in whose place this one is taken
    in_time_for_less: bool = False  # on the answer: it is as soon as is asked, for clearly less than what is sooner


class Standings(Struct, frozen=True):
    """What the choice comes to."""

    order: Codes  # rows, the best plan first
    tiers: NDArray[np.bool_]  # a row of four places for each plan
    merits: Numbers  # infinite where there is none
    eligible: Flags
    beaten: Beaten
    just_met: Flags  # meets stated targets without room, where one that has room costs little more
    larger_than: Codes  # row of a smaller plan that does the piece of work for as much, or NONE
    answer: int = NONE  # the row of the plan that is chosen
    stands_in_for: int = NONE  # the row that came first, and in whose place the answer is taken
    in_time_for_less: bool = False  # the answer is as soon as is asked, for clearly less than what is sooner

    @property
    def first_by_evidence(self) -> int:
        """The place of the plan that evidence puts first: the answer, or the plan that it stands in for."""
        return 0 if self.stands_in_for == NONE else int(np.flatnonzero(self.order == self.stands_in_for)[0])

    @property
    def last_resorts(self) -> Flags:
        """Which plans are not proven, or are meant for want of anything else."""
        return self.tiers[:, 0] | self.tiers[:, 1]

    def is_beaten(self, row: int) -> bool:
        """Whether a plan beats this one; none beats the answer."""
        return row != self.answer and self.beaten.by(row) != NONE

    def standing(self, row: int, ids: Sequence[str]) -> Standing:
        """The standing of one plan."""
        chosen, smaller = row == self.answer, int(self.larger_than[row])
        by, replaced = (NONE, self.stands_in_for) if chosen else (self.beaten.by(row), NONE)
        places: list[bool] = self.tiers[row].tolist()
        return Standing(
            (places[0], places[1], places[2], places[3]),
            None if np.isinf(self.merits[row]) else known(self.merits[row]),
            bool(self.eligible[row]) and by == NONE,
            None if by == NONE else ids[by],
            bool(self.just_met[row]),
            None if smaller == NONE else ids[smaller],
            None if replaced == NONE else ids[replaced],
            chosen and self.in_time_for_less,
        )


def choose(
    contenders: Contenders, objective: Objective, *, surely_in_time: Callable[[int], bool] = lambda _: True
) -> Standings:
    """Put the plans in order.

    Args:
        contenders: the plans that no rule rejects.
        objective: what is minimised, and whether it was stated.
        surely_in_time: whether the plan of a row is as soon as is asked at the slow end of its speeds too.
    """
    c, size = contenders, len(contenders)
    tiers, own_merits = _tiers(c, objective), _own_merits(c, objective)
    merits = _merits(c, own_merits, objective)
    ranks = tiers @ np.array([8, 4, 2, 1])
    piecework = objective.stated and objective.cost_exponent
    larger = _larger(c, ranks, merits, objective) if piecework else np.full(size, NONE)
    best = ranks == ranks.min(initial=16)
    beaten = Beaten(c, ranks, merits, larger, objective)
    beaten.find(best)
    dominated, outweighing = beaten.in_tier, beaten.outweighed
    compared, asked_for = best & (dominated == NONE), larger == NONE
    compared &= _worth_a_guides_word(c, compared, outweighing, objective.preference_share)
    by_time = objective.stated and not objective.cost_exponent
    shares = np.full(size, objective.preference_share)
    if by_time:
        shares = _shares_of_time(c, compared, own_merits, objective)
        compared &= ~_slow_for_its_count(c, compared & asked_for, shares)
    by_evidence = np.lexsort(_evidence(c, merits))
    just_met = _just_met(c, compared & asked_for, merits, objective, by_evidence, outweighing)
    compared &= ~just_met
    eligible = _eligible(compared, asked_for, merits, shares) if objective.stated else compared
    if by_time and eligible.any():
        # What preferences may cost is a share of the time itself, not of the time that fewer GPUs are forgiven; and of
        # the best that needs no costlier plan to be no worse than.
        best = np.argmin(np.where(eligible, own_merits, np.inf))
        eligible &= ~(c.measures.time > c.measures.time[best] * (1 + shares) * (1 + _CLOSE))
        eligible &= ~costlier_for_nothing(c, eligible, objective)
    elif piecework and not objective.time_exponent:
        eligible &= ~slow_for_nothing(c, eligible, objective)
    first = next((row for row in by_evidence.tolist() if eligible[row]), NONE)
    answer, replaced, for_less = first, NONE, False
    if first != NONE and not objective.stated:
        sooner = first if outweighing[first] == NONE else int(outweighing[first])
        answer = _in_time_for_less(sooner, c, beaten, surely_in_time)
        for_less = answer != sooner
    if answer != first:
        replaced = first
        # It takes the place of the plan that it stands in for, and what a guide says of that one.
        tiers[answer] = tiers[first]
        eligible[answer] = True
    unbeaten = outweighing == NONE
    if answer != NONE:
        larger[answer], unbeaten[answer] = NONE, True
    others = np.arange(size) != answer
    # Of what is not eligible under a stated objective merit decides, else the evidence: one constant for all of them.
    after = objective.stated & ~eligible & others
    behind, group = np.where(after, merits, 0.0), np.where(after, 2, others)
    upper = np.where(group == 0, 0, tiers[:, 2] * 2 + tiers[:, 3])
    order = np.lexsort((*_evidence(c, merits), behind, upper, group, tiers[:, 0] * 2 + tiers[:, 1]))
    return Standings(order, tiers, merits, eligible, beaten, just_met & unbeaten, larger, answer, replaced, for_less)


def _in_time_for_less(sooner: int, c: Contenders, beaten: Beaten, surely_in_time: Callable[[int], bool]) -> int:
    """The cheapest equal that is as soon as is asked and costs clearly less, or what beats that one; else the plan."""
    cheaper = islice(beaten.in_time_for_less(sooner), _MOST_LOOKED_AT)
    found = next((row for row in cheaper if surely_in_time(row)), sooner)
    by = beaten.by(found) if found != sooner else NONE
    return by if by != NONE and c.in_time[by] and surely_in_time(by) else found


def _evidence(c: Contenders, merits: Numbers) -> tuple[NDArray[Any], ...]:
    """The keys by which evidence puts plans in order, the last one first."""
    return c.traits.place, c.traits.vram_gb, c.traits.count, merits, -np.round(c.score, 6)


def _just_met(
    c: Contenders, compared: Flags, merits: Numbers, objective: Objective, by_evidence: Codes, outweighing: Codes
) -> Flags:
    """The plans that meet stated targets without room, where the one with room that would be taken costs little more.

    By a stated objective that is the best with room, else the first by evidence that has room or what stands in for it.
    """
    roomy, without = compared & c.roomy, compared & ~c.roomy
    if not without.any() or not roomy.any():
        return np.zeros(len(c), np.bool_)
    share = (1 + objective.room_share) * (1 + _CLOSE)
    if objective.stated and not objective.cost_exponent:
        # Room costs hardly more where it costs hardly more money as well.
        cost, rows = c.measures.cost, np.flatnonzero(roomy)
        costlier = cost[rows] > cost[:, None] * (1 + objective.guide_hour_share)  # Not so where a price is not known.
        near: Flags = np.any((merits[rows] <= merits[:, None] * share) & ~costlier, axis=1)
        return without & near
    first = by_evidence[np.argmax(roomy[by_evidence])]
    taken = first if outweighing[first] == NONE else outweighing[first]
    merit = merits[roomy].min() if objective.stated else merits[taken]
    found: Flags = without & (merit <= merits * share)
    return found


def _eligible(compared: Flags, asked_for: Flags, merits: Numbers, shares: Numbers) -> Flags:
    """The plans that could be the answer by a stated objective: those that are worse by what preferences may cost.

    Worse than the best of all, even of what no one asked for; where nothing that was asked for is so near to that one,
    than the best that was.
    """
    wanted = compared & asked_for
    for which in (compared, wanted):
        if which.any():
            found: Flags = wanted & (merits <= merits[which].min() * (1 + shares) * (1 + _CLOSE))
            if found.any():
                return found
    return compared


def _shares_of_time(c: Contenders, compared: Flags, own_merits: Numbers, objective: Objective) -> Numbers:
    """What preferences may cost of the time, for each plan: as much again for half the money of the best compared.

    In proportion for less of the money, and no more than that for less than half. Of those that are as good as the best
    the cheapest tells what that is: who is a hair faster at many times the cost is no measure of it.
    """
    usual = objective.preference_share
    if not compared.any():
        return np.full(len(c), usual)
    cost = c.measures.cost
    as_good = compared & (own_merits <= own_merits[compared].min() * (1 + usual)) & ~np.isnan(cost)
    if not as_good.any():
        return np.full(len(c), usual)
    least = cost[as_good].min()
    halves = np.clip(2 * (1 - cost / least), 0.0, 1.0) if least > 0 else np.zeros(len(c))
    found: Numbers = usual + (objective.widest_share - usual) * np.where(np.isnan(cost), 0.0, halves)
    return found


def _slow_for_its_count(c: Contenders, compared: Flags, shares: Numbers) -> Flags:
    """Which plans no more cards beat by more than preferences may cost in time, which alone was asked for."""
    time = np.where(compared & ~np.isnan(c.measures.time), c.measures.time, np.inf)
    by_count = np.lexsort((time, c.traits.count))
    # The fastest of as many cards or fewer: the count before it ends at the last plan of its own.
    least = np.minimum.accumulate(time[by_count])
    last = np.searchsorted(c.traits.count[by_count], c.traits.count, side="right") - 1
    found: Flags = c.measures.time > least[last] * (1 + shares) * (1 + _CLOSE)
    return found


def _larger(c: Contenders, ranks: Codes, merits: Numbers, objective: Objective) -> Codes:
    """For each plan a smaller one that is large enough and within the objective's reach; or NONE.

    What is within reach is decided by merit alone: a plan that is put out by a better one is no reason to buy more.
    """
    if np.isnan(c.measures.usd_per_hour).all():  # There is none by the piece of work, or none at all.
        return np.full(len(c), NONE)
    best = ranks == ranks.min()
    reach = merits[best].min(initial=np.inf) * (1 + objective.preference_share) * (1 + _CLOSE)
    return larger_than(c, best & (merits <= reach), objective)


def _tiers(c: Contenders, objective: Objective) -> NDArray[np.bool_]:
    """The places of each plan's tier, in the order of ``losses.PLACES``; True is the lower."""
    guided = not objective.stated
    return np.stack([~c.proven, c.fallback, guided & ~c.in_count_band, guided & ~c.in_card_band], axis=1)


def _own_merits(c: Contenders, objective: Objective) -> Numbers:
    """Merit; an unknown time counts as the slowest known, an unknown cost has no merit beside known ones."""
    cost, time = c.measures.perceived_cost, c.measures.perceived_time
    priced, timed = ~np.isnan(cost), ~np.isnan(time)
    slowest = time[timed].max() if timed.any() else 1.0
    stand_in = np.inf if priced.any() and objective.cost_exponent else 1.0
    shared = objective.sharing(c.traits.count, c.traits.ordered)
    merits = objective.merit(np.where(priced, cost, stand_in), np.where(timed, time, slowest), shared)
    found: Numbers = np.where(priced | (stand_in == 1.0), merits, np.inf)
    return found


def _merits(c: Contenders, own: Numbers, objective: Objective) -> Numbers:
    """The same where more GPUs that cost no more than another plan, and are no slower, are no worse than that one."""
    if objective.gain_of_doubling == 1:
        return own
    rising = np.argsort(own, kind="stable")
    beside = no_worse(c.measures.each(lambda column: column[:, None]), c.measures.take(rising))
    least = beside.argmax(axis=1) if len(c) else rising
    found: Numbers = np.where(beside[np.arange(len(c)), least], np.minimum(own, own[rising[least]]), own)
    return found


def _worth_a_guides_word(c: Contenders, compared: Flags, outweighed: Codes, share: float) -> Flags:
    """The plans in whose count and form their card may be chosen, of those of the best tier that none beats.

    A guide's word for a card goes to that card in a count and form that no equal outweighs, where there is one; not to
    one that costs so much more than those which are outweighed that one would rather order the equal, nor to one for
    which less speaks than for the equal of the first of those.
    """
    sound, family, cost = outweighed == NONE, c.traits.family, c.measures.cost
    most, least = np.full((2, family.max(initial=-1) + 1), np.inf) * [[1], [-1]]
    worse = compared & ~sound
    np.minimum.at(most, family[worse], cost[worse] * (1 + share))
    rising = np.flatnonzero(worse)[np.argsort(c.score[worse], kind="stable")]
    least[family[rising]] = c.score[outweighed[rising]]  # The last one that is written is of the first by evidence.
    fit = sound & (cost <= most[family]) & (c.score >= least[family])
    found: Flags = sound | ~among(family, family[compared & fit])
    return found
