"""By which plan each is beaten most, if by any: one of its own tier, or an equal that a guide's word gives way to.

How two plans compare stands in ``dominance``; here they are compared in pairs. That grows with the square of the plans,
so it is done for those that are asked for: the choice asks for plans of the best tier, a record for what it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from whichgpu.engine.advisor import dominance
from whichgpu.engine.advisor.contenders import NONE, Contenders, Flags, Traits
from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core import Codes, Numbers, among, known_or


class _Side(Struct, frozen=True):
    """Plans as one side of pairs."""

    measures: MeasureColumns
    traits: Traits
    merits: Numbers
    asked_for: Flags  # not larger than anybody asked for


class Beaten:
    """Which plans are beaten, found tier by tier as they are asked for.

    Args:
        contenders: the plans.
        ranks: the tier of each.
        merits: what the objective minimises.
        larger: for each plan one beside which it is larger than anybody asked for, or NONE.
        objective: tells the margins, and whether anything was stated.
    """

    def __init__(
        self, contenders: Contenders, ranks: Codes, merits: Numbers, larger: Codes, objective: Objective
    ) -> None:
        self._c, self._ranks, self._merits, self._objective = contenders, ranks, merits, objective
        self._asked_for = larger == NONE
        self._searched = np.zeros(len(contenders), np.bool_)
        #: For each plan the one of its own tier that beats it most by the margin in both cost and speed, or NONE.
        self.in_tier = np.full(len(contenders), NONE)
        #: For each plan the one that stands in for it if it comes first: an equal, else one of its own tier; or NONE.
        self.outweighed = np.full(len(contenders), NONE)
        self._of_own_tier, self._equals = np.full((2, len(contenders)), NONE)

    def by(self, row: int) -> int:
        """The plan that beats a plan most, or NONE."""
        if not self._searched[row]:
            self.find(self._ranks == self._ranks[row])
        by = self.in_tier[row]
        return int(self.outweighed[row] if by == NONE else by)

    def find(self, which: Flags) -> None:
        """Find what beats these plans, which are whole tiers."""
        rows = np.flatnonzero(which)
        for rank in sorted(set(self._ranks[rows].tolist())):  # ``np.unique`` would load masked arrays.
            self._find_in_tier(rows[self._ranks[rows] == rank])
        if len(rows) and not self._objective.stated:
            equals, of_own_tier = self._beaten_by_equals(rows), self._of_own_tier[rows]
            self._equals[rows] = equals
            # An equal of the one that stands in takes its place in turn.
            in_turn = np.where(of_own_tier == NONE, NONE, self._equals[of_own_tier])
            self.outweighed[rows] = np.where(equals != NONE, equals, np.where(in_turn != NONE, in_turn, of_own_tier))
        self._searched[rows] = True  # Last of all: another thread may ask.

    def in_time_for_less(self, row: int) -> list[int]:
        """The plans of equal standing that are as soon as is asked and cost clearly less than a plan; cheapest first.

        A plan that is sooner than asked is not beaten by them: it is faster, and nobody asked for that.
        """
        cost, share = self._c.measures.cost, self._objective.preference_share
        columns = np.flatnonzero(self._c.in_time & (cost * (1 + share) <= cost[row]))
        if not len(columns):
            return []
        columns = columns[np.lexsort((self._c.traits.place[columns], cost[columns]))]
        rows = np.array([row])
        one, other = self._side(columns), self._side(rows, as_rows=True)
        margin = self._objective.dominance_margin
        # What a count is for is had in time, but for replicas that fail apart.
        as_many = one.traits.replicas >= other.traits.replicas
        able = self._equal(rows, columns, one, other, count_kept=as_many) & dominance.sustains_as_much(
            one.traits, other.traits, margin
        )
        found: list[int] = columns[able[0]].tolist()
        return found

    def _find_in_tier(self, rows: Codes) -> None:
        """Find what beats the plans of a tier in it.

        While no objective is stated, no one asked for the last cent: more machines and cards over PCIe put no plan out.
        Nor are they a reason to pay more for less, where evidence puts a plan first.
        """
        one, other = self._side(rows), self._side(rows, as_rows=True)
        beats = np.asarray(dominance.clearly_beats(one.measures, other.measures, self._objective.dominance_margin))
        if not beats.any():
            return
        product, may = one.measures.cost * one.measures.time, beats & self._may(one, other)
        if self._objective.stated:
            self.in_tier[rows] = _among(rows, _beaten_most(may, self._order(rows, product)))
            return
        joined = beats & dominance.joins_no_more(one.traits, other.traits)
        self.in_tier[rows] = _among(rows, _beaten_most(joined, self._order(rows, product)))
        # Of a job that is shared among twice the GPUs cost x time is half: the merit knows that this is no gain.
        self._of_own_tier[rows] = _among(rows, _beaten_most(may, self._order(rows, one.merits)))

    def _beaten_by_equals(self, rows: Codes) -> Codes:
        """For each of some plans one of equal standing that undercuts it so that a guide's word does not hold it."""
        t, measures = self._c.traits, self._c.measures
        # What a guide says of the count stands as far as it can; twice the GPUs at the same cost are no gain, but of
        # those that stand there.
        counts = self._objective.sharing(t.count, t.ordered)
        merit = self._objective.merit(known_or(measures.cost), known_or(measures.perceived_time), counts)
        over_pcie = np.where(t.owned, 0, t.pcie_gpus)  # How cards that stand there are joined is in their speed.
        order = np.lexsort((t.place, merit, over_pcie, ~self._c.in_count_band))
        found = self._beaten_first(rows, order, self._outweighs)
        # One that is far cheaper and slower stands in where no other does.
        held = found == NONE
        if held.any():
            found[held] = self._beaten_first(rows[held], order, self._far_undercuts)
        return self._beaten_in_turn(found)

    def _beaten_in_turn(self, found: Codes) -> Codes:
        """For each of these, where no guide names its card, the equal that beats it, if any does: else itself.

        A guide's word holds a card that costs less an hour. It holds none that only stands in for that card, and none
        that is far costlier than another.
        """
        named = self._c.in_card_band
        standing_in = np.zeros(len(named), np.bool_)
        standing_in[found[found != NONE]] = True
        rows = np.flatnonzero(standing_in & ~named)
        if not len(rows):
            return found
        order = np.lexsort((self._c.traits.place, self._c.measures.cost, self._c.traits.usd_per_hour))
        by = self._beaten_first(rows, order, self._beats_outright)
        held = by == NONE
        if held.any() and named.any():
            # The guide's own card would give way to one that is far cheaper; so does this one, in any form.
            by[held] = self._beaten_first(rows[held], order, partial(self._far_undercuts, same_card=True))
        instead = np.arange(len(self._c))
        instead[rows] = np.where(by == NONE, rows, by)
        return np.where(found == NONE, NONE, instead[found])

    def _beaten_first(self, rows: Codes, order: Codes, beats: Callable[[Codes, Codes], Flags]) -> Codes:
        """For each of some plans the first in an order that beats it; one that no other beats in turn, if there is one.

        ``beats``: which of some plans (columns) beat which (rows); none that counts as much costlier.
        """
        columns = self._able(rows, order)
        beaten = beats(rows, columns)
        beating: Flags = np.any(beaten, axis=0)
        columns, beaten = columns[beating], beaten[:, beating]
        if not len(columns):
            return np.full(len(rows), NONE)
        sound: Flags = ~np.any(beats(columns, self._able(columns, order)), axis=1)
        return _among(columns, _first(beaten, sound))

    def _able(self, rows: Codes, order: Codes) -> Codes:
        """The plans that stand as high as some of these do and hardly cost more than the costliest, in an order."""
        standing, measures = 2 * self._c.proven + self._c.fallback, self._c.measures
        most = np.fmax.reduce(dominance.most_cost_that_outweighs(measures, self._objective)[rows], initial=-np.inf)
        able: Flags = among(standing, standing[rows]) & (measures.cost <= most)
        found: Codes = order[able[order]]
        return found

    def _outweighs(self, rows: Codes, columns: Codes) -> Flags:
        """Which plans (columns) of equal standing outweigh what guides say for which (rows)."""
        c, (one, other) = self._c, (self._side(columns), self._side(rows, as_rows=True))
        another_named = c.in_card_band.any() & ~c.in_card_band[columns]
        found: Flags = self._equal(rows, columns, one, other)
        found &= dominance.outweighs_guide(
            one.measures, other.measures, self._objective, one.traits, other.traits, another_named=another_named
        )
        return found

    def _beats_outright(self, rows: Codes, columns: Codes) -> Flags:
        """Which plans (columns) of equal standing are cheaper and faster than which (rows), whatever guides say."""
        one, other = self._side(columns), self._side(rows, as_rows=True)
        found: Flags = np.asarray(
            dominance.clearly_beats(one.measures, other.measures, self._objective.dominance_margin)
        )
        if not self._objective.guide_hour_share:  # To whom more speed brings nothing, it may cost nothing more an hour.
            found &= ~dominance.costlier_an_hour(one.measures, other.measures, self._objective)
        return found & self._equal(rows, columns, one, other) if found.any() else found

    def _far_undercuts(self, rows: Codes, columns: Codes, *, same_card: bool = False) -> Flags:
        """Beside which plans (columns) of equal standing others (rows) ask more than a guide's word for them may.

        ``same_card``: of the same card as well, of which a guide names neither the card nor the count.
        """
        one, other = self._side(columns), self._side(rows, as_rows=True)
        figures = one.measures, other.measures, self._objective, one.traits, other.traits
        found: Flags = np.asarray(dominance.asks_too_much(*figures, stands_in=same_card))
        if not same_card:
            found &= one.traits.family != other.traits.family
        if found.any():
            found &= self._equal(rows, columns, one, other) & dominance.strikes_balance(*figures)
        return found

    def _equal(self, rows: Codes, columns: Codes, one: _Side, other: _Side, *, count_kept: Any = False) -> Flags:
        """Which plans (columns) may stand in for which (rows), as far as their standing goes.

        ``count_kept``: what guides say of the count is kept whatever it is.
        """
        c = self._c
        same_card = one.traits.family == other.traits.family
        guided = c.in_count_band[columns] | ~c.in_count_band[rows, None]
        guided |= self._fewer_than_named(one.traits, other.traits, same_card)
        # What a count is for is had from fewer GPUs that are cheaper and faster, but for replicas that fail apart.
        cheaper_and_faster = dominance.clearly_undercuts(one.measures, other.measures, self._objective.dominance_margin)
        guided |= cheaper_and_faster & (one.traits.replicas >= other.traits.replicas)
        paid_anyway = dominance.paid_for_anyway(one.measures, other.measures, one.traits, other.traits)
        found: Flags = dominance.keeps_count(one.traits, other.traits, guided=guided | count_kept)
        margin = self._objective.dominance_margin
        found &= dominance.may_stand_in(
            one.measures, other.measures, one.traits, other.traits, paid_anyway=paid_anyway, margin=margin
        )
        ahead = dominance.far_ahead(one.measures, other.measures, self._objective, one.traits, other.traits)
        found |= ahead & (c.in_card_band[columns] | ~c.in_card_band.any())
        found &= (c.proven[columns] == c.proven[rows, None]) & (c.fallback[columns] == c.fallback[rows, None])
        found &= self._may(one, other)
        return found

    def _fewer_than_named(self, one: Traits, other: Traits, same_card: Flags) -> Flags:
        """Which plans (columns) the guides are content with, though they name the count of others (rows), not theirs.

        One in a count that they name of another card, in fewer machines; and fewer of another card, where they name as
        few.
        """
        count = self._c.traits.count
        named = count[self._c.in_count_band]
        fewer = (one.count < other.count) & (one.count >= named.min(initial=count.max(initial=0) + 1)) & ~same_card
        return np.asarray((among(one.count, named) & (one.nodes < other.nodes)) | fewer)

    def _may(self, one: _Side, other: _Side) -> Flags:
        """Which plans (columns) may put out which (rows), if they are as much cheaper and faster as that takes."""
        if not self._objective.cost_exponent:
            return np.ones((1, 1), np.bool_)
        better = one.asked_for & (one.merits <= other.merits)
        return np.asarray(
            dominance.asks_for_no_more(one.measures, other.measures, one.traits, other.traits, better=better)
        )

    def _side(self, rows: Codes, *, as_rows: bool = False) -> _Side:
        """Some plans, as the columns of a matrix of pairs or as its rows."""
        at = rows[:, None] if as_rows else rows
        each = self._c.measures.take(at), self._c.traits.each(lambda column: column[at])
        return _Side(*each, self._merits[at], self._asked_for[at])

    def _order(self, rows: Codes, key: Numbers) -> Codes:
        """The places of some plans by a key of theirs, and of equal ones by their ids."""
        return np.lexsort((self._c.traits.place[rows], key))


def larger_than(c: Contenders, among: Flags, objective: Objective) -> Codes:
    """For each plan the smallest of those beside which it is larger than anybody asked for, or NONE.

    Fewer of the same card do a piece of work for as much money, but for the margin of dominance, and meet what is
    stated with as much room. Only of jobs whose length is not known: no one said that there is enough work for more. Of
    what is bought a smaller purchase of any card will do for what preferences may cost, for it is paid at once,
    whatever work there will be. What is owned would else stand idle, so that it is never more than was asked for.

    Args:
        c: the plans.
        among: those that are worth having in the place of a larger one.
        objective: tells the margins.
    """
    order = np.lexsort((c.traits.place, c.measures.usd_per_hour))
    order = order[among[order]]
    cost, hourly, t, small = c.measures.cost, c.measures.usd_per_hour, c.traits, c.take(order)
    its_cost, its_hourly, its = small.measures.cost, small.measures.usd_per_hour, small.traits
    cost, hourly, t = cost[:, None], hourly[:, None], t.each(lambda column: column[:, None])
    fewer = (t.family == its.family) & (its.count < t.count) & (its_hourly < hourly)
    found = fewer & (its_cost * (1 - objective.dominance_margin) < cost)
    if t.bought.any():
        share = 1 + objective.preference_share
        found |= t.bought & its.bought & (its_hourly * share <= hourly) & (its_cost <= cost * share)
    found &= (small.roomy | ~c.roomy[:, None]) & ~t.owned
    return _among(order, _first(found, np.ones(len(order), np.bool_)))


def _beaten_most(beats: Flags, order: Codes) -> Codes:
    """For each of some plans (row) the first in an order that beats it (column), or NONE.

    Of several others it is one that no other beats in turn, if there is one.
    """
    beating, sound = np.asarray(beats.any(axis=0)), ~np.asarray(beats.any(axis=1))
    order = order[beating[order]]  # Most beat no other.
    return _among(order, _first(beats[:, order], sound[order]))


def _first(beaten: Flags, sound: Flags) -> Codes:
    """For each row the first column where it is beaten, a sound one if there is one; or NONE."""
    if not beaten.size:
        return np.full(len(beaten), NONE)
    soundly = beaten & sound
    first, soundly_first = beaten.argmax(axis=1), soundly.argmax(axis=1)
    rows = np.arange(len(beaten))
    found: Codes = np.where(soundly[rows, soundly_first], soundly_first, first)
    return np.where(beaten[rows, found], found, NONE)


def _among(rows: Codes, places: Codes) -> Codes:
    """The plans at places of some; NONE stays."""
    if not len(rows):
        return places
    found: Codes = np.where(places == NONE, NONE, rows[places])
    return found
