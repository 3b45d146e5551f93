"""How two plans compare over all joint answers: which comes before the other, and how far scores and merits move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

from msgspec import Struct

from whichgpu.engine.advisor import (
    Judged,
    MeasureColumns,
    Objective,
    Traits,
    asks_for_no_more,
    asks_too_much,
    far_better,
    joins_no_more,
    keeps_count,
    most_cost_that_outweighs,
    no_worse,
    outweighs_guide,
    paid_for_anyway,
    stands_as_well,
    strikes_balance,
    traits_of_plan,
)
from whichgpu.engine.interview.entrants import MARKS, Comparer, Entrant, Pairs
from whichgpu.engine.interview.rule_index import Mark


class TierPair(Struct, frozen=True):
    """How two plans may stand beside each other in their tiers, over all joint answers."""

    places: tuple[Pairs, ...]  # place by place, what the two can be at once; True is the lower standing
    better: bool  # the second may stand in a better tier than the first
    same: bool  # the two may be of one tier
    level: bool  # they are, whatever is answered
    causes: frozenset[str]  # the askable facts that could change which of the two stands in the better tier


@dataclass(slots=True)
class Precedence:
    """What the steps of the choice say of pairs of plans, each as whether it may and whether it surely does."""

    entrants: Sequence[Entrant]
    leaving: Mapping[str, frozenset[str]]  # plans that may drop out or never come in, with the askable facts behind it
    comparer: Comparer
    objective: Objective
    load_qps: float | None = None  # the requests a second that come, where that is stated
    _by_cost: list[tuple[float, float, Entrant]] = field(init=False)
    _traits: dict[str, Traits] = field(init=False)
    _figures: dict[str, MeasureColumns] = field(init=False)
    _standings: dict[str, int] = field(init=False)  # plans that stand alike beside any other have one number
    _pairs: dict[tuple[int, int], TierPair] = field(default_factory=dict)
    _in_turn: set[tuple[str, str]] = field(default_factory=set)  # who may take the place of what stands in for whom

    def __post_init__(self) -> None:
        """Sort the plans by cost, and number how they stand."""
        known = [(entry.judged.measures.cost, entry.judged.measures.time, entry) for entry in self.entrants]
        priced = [(cost, time, entry) for cost, time, entry in known if cost is not None and time is not None]
        self._by_cost = sorted(priced, key=lambda each: (each[0], each[1], each[2].id))
        self._traits = {entry.id: traits_of_plan(entry.judged.ranked.plan, self.load_qps) for entry in self.entrants}
        self._figures = {entry.id: entry.judged.measures.figures for entry in self.entrants}
        numbers: dict[tuple[object, ...], int] = {}
        self._standings = {
            entry.id: numbers.setdefault(
                (
                    entry.possible.unproven,
                    entry.possible.unproven_behind,
                    *(self.comparer.seen_as(mark, entry) for mark in MARKS),
                ),
                len(numbers),
            )
            for entry in self.entrants
        }

    def tiers(self, one: Entrant, other: Entrant) -> TierPair:
        """How two plans may stand beside each other."""
        key = self._standings[one.id], self._standings[other.id]
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = self._compared(one, other)
        return found

    def _compared(self, one: Entrant, other: Entrant) -> TierPair:
        marked = {mark: self.comparer.pairs(mark, one, other) for mark in MARKS}
        places = [
            frozenset((a, b) for a in one.possible.unproven for b in other.possible.unproven),
            marked["fallback"],
        ]
        if not self.objective.stated:
            places += [frozenset((not a, not b) for a, b in marked[mark]) for mark in MARKS[1:]]
        same = [any(a == b for a, b in pairs) for pairs in places]
        # A place tells as long as the two may be alike in all before it.
        reached = places[: same.index(False) + 1 if False in same else None]
        return TierPair(
            tuple(places),
            better=any((True, False) in pairs for pairs in reached),
            same=all(same),
            level=all(a == b for pairs in places for a, b in pairs),
            causes=self._tier_causes(one, other, marked),
        )

    def _tier_causes(self, one: Entrant, other: Entrant, marked: Mapping[Mark, Pairs]) -> frozenset[str]:
        open_marks = [group for mark, group in self.comparer.groups.marks.items() if len(marked[mark]) > 1]
        behind = [e.possible.unproven_behind for e in (one, other) if len(e.possible.unproven) > 1]
        return frozenset().union(*behind, *(self.comparer.causes(group, one, other) for group in open_marks))

    def against(self, one: Entrant, other: Entrant) -> tuple[bool, bool]:
        """Whether the second plan may stand in a better tier than the first, and whether in the same."""
        found = self.tiers(one, other)
        return found.better, found.same

    def always_level(self, one: Entrant, other: Entrant) -> bool:
        """Whether two plans are of one tier, whatever is answered."""
        return self.tiers(one, other).level

    def tier_causes(self, one: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts that could change which of two plans stands in the better tier."""
        return self.tiers(one, other).causes

    def between(self, entry: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts that could change the tiers of two plans, or put out the second."""
        return self.tier_causes(entry, other) | self.leaving.get(other.id, frozenset())

    def faster_for_less(self, entry: Entrant) -> Iterator[Entrant]:
        """The plans whose figures beat a plan's by the margin."""
        return (other for other in self._for_no_more(entry) if self._clearly(other, entry))

    def _clearly(self, other: Entrant, entry: Entrant) -> bool:
        """Whether a plan is cheaper and faster than another, each by the margin."""
        mine, its, margin = entry.judged.measures, other.judged.measures, self.objective.dominance_margin
        if mine.cost is None or its.cost is None or mine.time is None or its.time is None:
            return False
        return its.cost <= mine.cost * (1 - margin) and its.time * (1 + margin) <= mine.time

    def _for_no_more(self, entry: Entrant, most: float | None = None) -> Iterator[Entrant]:
        """The plans that cost no more than a plan, or than so much."""
        cost = entry.judged.measures.cost
        if cost is None:
            return
        for other_cost, _, other in self._by_cost:
            if other_cost > (cost if most is None else most):
                break
            if other is not entry:
                yield other

    def beating(self, entry: Entrant) -> Iterator[Entrant]:
        """The plans that rule a plan out where both are of one tier."""
        mine = self._traits[entry.id]
        for other in self.faster_for_less(entry):
            if self.objective.stated:
                if self._may_put_out(other, entry)[0]:
                    yield other
            elif joins_no_more(self._traits[other.id], mine):
                yield other

    def _may_put_out(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan may put another out without anybody having asked for more, and whether it surely may."""
        if not self.objective.cost_exponent:
            return True, True
        figures = self._figures[other.id], self._figures[entry.id]
        traits = self._traits[other.id], self._traits[entry.id]
        may = asks_for_no_more(*figures, *traits, better=other.merits[0] <= entry.merits[1])
        # Whether it is larger than anybody asked for hangs on smaller plans, which may come or go.
        better = not self.objective.stated and other.merits[1] <= entry.merits[0]
        return bool(may), bool(asks_for_no_more(*figures, *traits, better=better))

    def beats(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan whose figures beat another's may rule it out, and whether it does whatever is answered."""
        surely = not self.objective.stated or self._may_put_out(other, entry)[1]
        return self.against(entry, other)[1], self.always_level(entry, other) and surely

    def surely_beaten(self, entry: Entrant) -> bool:
        """Whether some plan that is sure to stay rules this one out, whatever is answered."""
        return any(other.id not in self.leaving and self.beats(other, entry)[1] for other in self.beating(entry))

    def outweighing(self, entry: Entrant) -> list[Entrant]:
        """The plans that stand in for a plan where they are its equals, the one that comes first at the front."""
        if self.objective.stated:
            return []
        able = list(self._for_no_more(entry, most_cost_that_outweighs(self._figures[entry.id], self.objective)))
        equal = {other.id: self._is_equal(other, entry) for other in able}
        found = [other for other in able if equal[other.id] or self._clearly(other, entry)]
        found = [other for other in found if self._may_put_out(other, entry)[0]]
        bus = {other.id: self._traits[other.id].pcie_gpus for other in found}
        slower = {other.id: equal[other.id] and not self._is_equal(other, entry, slower=False) for other in found}
        place = {other.id: 2 - 2 * equal[other.id] + slower[other.id] for other in found}
        found = sorted(found, key=lambda other: (place[other.id], bus[other.id], *_product(other)))
        # An equal that beats what stands in for a guide's card takes its place in turn, where no guide names that one.
        known = {entry.id, *(other.id for other in found)}
        in_turn = {by.id: by for other in found if equal[other.id] for by in self._equals_beating(other)}
        later = [other for other in in_turn.values() if other.id not in known]
        self._in_turn |= {(other.id, entry.id) for other in later}
        return found + later

    def _equals_beating(self, entry: Entrant) -> Iterator[Entrant]:
        """The plans of equal standing that are clearly cheaper and faster than a plan, or far better in any form."""
        mine = self._traits[entry.id]
        for other in self._for_no_more(entry, most_cost_that_outweighs(self._figures[entry.id], self.objective)):
            its = self._traits[other.id]
            figures = (self._figures[other.id], self._figures[entry.id], self.objective, its, mine)
            better = self._clearly(other, entry) or (asks_too_much(*figures) and strikes_balance(*figures))
            if better and stands_as_well(its, mine, paid_anyway=False):
                yield other

    def _is_equal(self, other: Entrant, entry: Entrant, *, another_named: bool = False, slower: bool = True) -> bool:
        """Whether a plan, where it stands no lower, undercuts another so that a guide's word does not hold that one.

        Args:
            other: the plan.
            entry: the other one.
            another_named: guides name cards for the case, and not the plan's own.
            slower: it may be slower, if it is so much cheaper.
        """
        mine, its = self._traits[entry.id], self._traits[other.id]
        figures = self._figures[other.id], self._figures[entry.id]
        undercuts = outweighs_guide(*figures, self.objective, its, mine, another_named=another_named)
        undercuts |= slower and far_better(*figures, self.objective, its, mine)
        paid_anyway = paid_for_anyway(*figures, its, mine)
        return bool(undercuts and stands_as_well(its, mine, paid_anyway=paid_anyway))

    def outweighs(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan whose figures outweigh another's may stand in for it, and whether it surely does."""
        may, sure = self._outweighs(other, entry)
        asked, surely_asked = self._may_put_out(other, entry)
        return may and asked, sure and surely_asked

    def _outweighs(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        of_one_tier = self.beats(other, entry) if self._clearly(other, entry) else (False, False)
        if not self._is_equal(other, entry):
            may = of_one_tier[0] or (other.id, entry.id) in self._in_turn
            return may, of_one_tier[1] and other.id not in self.leaving
        places = self.tiers(entry, other).places
        may = all(any(a == b for a, b in pairs) for pairs in places[:2])
        sure = all(a == b for pairs in places[:2] for a, b in pairs) and other.id not in self.leaving
        its, mine = plans = self._traits[other.id], self._traits[entry.id]
        # The third place and the fourth: whether a guide names its count, and its card; False where it does.
        kept = [keeps_count(*plans, guided=a or not b) for a, b in places[2]]
        equal = [self._is_equal(other, entry, another_named=b) for _, b in places[3]]
        fewer = its.family != mine.family and its.count < mine.count
        may, sure = may and (any(kept) or fewer), sure and all(kept) and all(equal)
        return may or of_one_tier[0], sure or (of_one_tier[1] and other.id not in self.leaving)

    def mates(self, entry: Entrant) -> Iterator[Entrant]:
        """The other plans of its card."""
        family = entry.judged.ranked.plan.gpu.family
        for other in self.entrants:
            if other is not entry and other.judged.ranked.plan.gpu.family == family:
                yield other

    def surely_passed_over(self, entry: Entrant) -> bool:
        """Whether equals outweigh a plan, and its card has another plan in the pool that none outweighs."""
        if not any(self.outweighs(other, entry)[1] for other in self.outweighing(entry)):
            return False
        return any(
            mate.id not in self.leaving
            and self.always_level(entry, mate)
            and not any(self.outweighs(other, mate)[0] for other in self.outweighing(mate))
            and not any(self.beats(other, mate)[0] for other in self.beating(mate))
            and self._surely_fit(mate, entry)
            for mate in self.mates(entry)
        )

    def _surely_fit(self, mate: Entrant, entry: Entrant) -> bool:
        """Whether a guide's word for a card goes to this plan of it before an equal of others, whatever is answered."""
        own = [each for each in (entry, *self.mates(entry)) if each is not mate]
        costs = [cost for each in own if (cost := each.judged.measures.cost) is not None]
        cost, share = mate.judged.measures.cost, 1 + self.objective.preference_share
        if cost is None or not costs or cost > min(costs) * share:
            return False
        equals = {equal.id: equal for each in own for equal in self.outweighing(each)}
        return all(self._most_lead(equal, mate) <= 0 for equal in equals.values() if equal is not mate)

    def _most_lead(self, one: Entrant, other: Entrant) -> float:
        """The most points by which a plan may be ahead of another, whatever is answered."""
        lead = one.judged.ranked.score - other.judged.ranked.score
        lead += one.best_terms - one.terms + other.terms - other.worst_terms
        for group in self.comparer.groups.scores:
            least, most = self.comparer.lead(group, other, one)
            lead += most - least
        return lead

    def beating_causes(self, entry: Entrant) -> frozenset[str]:
        """The askable facts on which it hangs whether a plan that is beaten now stays so: the fewest that would do."""
        if entry.judged.standing.dominated_by is None:
            return frozenset()
        found = [self.between(entry, other) for other in self.beating(entry) if self.beats(other, entry)[0]]
        if found:
            return min(found, key=lambda causes: (len(causes), sorted(causes)))
        # It was passed over for another plan of its card: that hangs on all that outweigh or beat the two.
        causes: frozenset[str] = frozenset()
        for plan in (entry, *self.mates(entry)):
            causes |= self.between(entry, plan)
            for other in (*self.outweighing(plan), *self.beating(plan)):
                causes |= self.between(plan, other)
        return causes


def _product(entry: Entrant) -> tuple[float, str]:
    """The order in which plans that beat another come: cost times time."""
    cost, time = entry.judged.measures.cost, entry.judged.measures.time
    return (cost or 0.0) * (time or 0.0), entry.id


@dataclass(slots=True)
class Scales:
    """The ends of cost and speed among the plans of a round of which some may drop out."""

    judged: Sequence[Judged]
    leaving: AbstractSet[str]  # plans that may drop out, or never come in
    objective: Objective
    _sure: list[Judged] = field(init=False)
    _costs: tuple[float, float] = field(init=False)  # what an unknown cost counts as, least and most
    _times: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        """Find the plans that stay, and what counts for figures that are not known."""
        self.judged = list(self.judged)
        self._sure = [entry for entry in self.judged if entry.ranked.plan.id not in self.leaving]
        self._costs, self._times = self._unknown_costs(), self._unknown_times()

    def terms(self, judged: Judged) -> tuple[float, float]:
        """By how much the points for cost and speed of a plan may fall and rise, beside those of other plans.

        Where the cheapest or fastest changes, the points of all plans move alike. What is left is a speed that is not
        known, which counts as the slowest of those that are left, and points that are given as long as somebody's
        figures are known.
        """
        low = high = 0.0
        for award in judged.ranked.awards:
            if award.rule is not None or not self.leaving:
                continue
            if not self._some_known(of_speed=award.reason.startswith("speed")):
                low, high = low + min(0.0, -award.points), high + max(0.0, -award.points)
            elif award.reason == "speed unknown":
                high += self.objective.speed_points * math.log2(self._slowest(self._sure) / self._slowest(self.judged))
        return low, high

    def _some_known(self, *, of_speed: bool) -> bool:
        """Whether the cost or speed of some plan that stays is known."""
        if of_speed:
            return any(entry.measures.weighed_speed for entry in self._sure)
        return any(entry.measures.weighed_cost and entry.measures.cost is not None for entry in self._sure)

    @staticmethod
    def _slowest(judged: Sequence[Judged]) -> float:
        return min(speed for entry in judged if (speed := entry.measures.weighed_speed))

    def merits(self, judged: Judged) -> tuple[float, float]:
        """The least and the most that the merit of a plan may be.

        An unknown time counts as the slowest known of those that are left, an unknown cost as beyond all known ones.
        """
        least, most = self._own_merits(judged)
        if self.objective.gain_of_doubling == 1:
            return least, most
        figures = judged.measures.figures
        for other in self.judged:  # It is no worse than a plan that it beats by the hour as well.
            if no_worse(figures, other.measures.figures):
                its = self._own_merits(other)
                least = min(least, its[0])
                most = min(most, its[1]) if other.ranked.plan.id not in self.leaving else most
        return least, most

    def _own_merits(self, judged: Judged) -> tuple[float, float]:
        cost, time = judged.measures.felt_cost, judged.measures.felt_time
        costs = (cost, cost) if cost is not None else self._costs
        times = (time, time) if time is not None else self._times
        count = judged.ranked.plan.count
        least, most = (
            math.inf if math.isinf(c) else float(self.objective.merit(c, t, count))
            for c, t in zip(costs, times, strict=True)
        )
        return least, most

    def _unknown_costs(self) -> tuple[float, float]:
        """What an unknown cost counts as."""
        if not self.objective.cost_exponent or all(entry.measures.cost is None for entry in self.judged):
            return 1.0, 1.0
        if any(entry.measures.cost is not None for entry in self._sure):
            return math.inf, math.inf
        return 1.0, math.inf

    def _unknown_times(self) -> tuple[float, float]:
        """What an unknown time counts as."""
        known = [entry.measures.felt_time for entry in self.judged if entry.measures.felt_time is not None]
        sure = [entry.measures.felt_time for entry in self._sure if entry.measures.felt_time is not None]
        if not known:
            return 1.0, 1.0
        return (max(sure), max(known)) if sure else (min(1.0, *known), max(1.0, *known))
