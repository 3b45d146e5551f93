"""Which of two plans comes before the other over all joint answers: what beats it, and what stands in for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whichgpu.engine.advisor import (
    UNSTATED,
    AskedLoad,
    MeasureColumns,
    Objective,
    Traits,
    asks_for_no_more,
    asks_too_much,
    far_better,
    joins_no_more,
    keeps_count,
    may_stand_in,
    most_cost_that_outweighs,
    outweighs_guide,
    paid_for_anyway,
    strikes_balance,
    traits_of_plan,
)
from whichgpu.engine.interview.entrants import Comparer, Entrant
from whichgpu.engine.interview.tiers import Tiers


@dataclass(slots=True)
class Precedence:
    """What the steps of the choice say of pairs of plans, each as whether it may and whether it surely does."""

    entrants: Sequence[Entrant]
    leaving: Mapping[str, frozenset[str]]  # plans that may drop out or never come in, with the askable facts behind it
    comparer: Comparer
    objective: Objective
    load: AskedLoad = UNSTATED
    tiers: Tiers = field(init=False)
    _by_cost: list[tuple[float, float, Entrant]] = field(init=False)
    _traits: dict[str, Traits] = field(init=False)
    _figures: dict[str, MeasureColumns] = field(init=False)
    _in_turn: set[tuple[str, str]] = field(default_factory=set)  # who may take the place of what stands in for whom

    def __post_init__(self) -> None:
        """Sort the plans by cost."""
        known = [(entry.judged.measures.cost, entry.judged.measures.time, entry) for entry in self.entrants]
        priced = [(cost, time, entry) for cost, time, entry in known if cost is not None and time is not None]
        self._by_cost = sorted(priced, key=lambda each: (each[0], each[1], each[2].id))
        self._traits = {entry.id: traits_of_plan(entry.judged.ranked.plan, self.load) for entry in self.entrants}
        self._figures = {entry.id: entry.judged.measures.figures for entry in self.entrants}
        self.tiers = Tiers(self.entrants, self.comparer, self.objective.stated)

    def between(self, entry: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts that could change the tiers of two plans, or eliminate the second."""
        return self.tiers.causes(entry, other) | self.leaving.get(other.id, frozenset())

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
        """The plans that rule out a plan where both are of one tier."""
        mine = self._traits[entry.id]
        for other in self.faster_for_less(entry):
            if self.objective.stated:
                if self._may_eliminate(other, entry)[0]:
                    yield other
            elif joins_no_more(self._traits[other.id], mine):
                yield other

    def _may_eliminate(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan may eliminate another without being larger than was asked for, and whether it surely may."""
        if not self.objective.cost_exponent:
            return True, True
        figures = self._figures[other.id], self._figures[entry.id]
        traits = self._traits[other.id], self._traits[entry.id]
        may = asks_for_no_more(*figures, *traits, better=other.merits[0] <= entry.merits[1])
        # Whether it is larger than was asked for depends on smaller plans, which may come or go.
        better = not self.objective.stated and other.merits[1] <= entry.merits[0]
        return bool(may), bool(asks_for_no_more(*figures, *traits, better=better))

    def beats(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan whose figures beat another's may rule it out, and whether it does whatever is answered."""
        surely = not self.objective.stated or self._may_eliminate(other, entry)[1]
        return self.tiers.against(entry, other)[1], self.tiers.always_same(entry, other) and surely

    def surely_beaten(self, entry: Entrant) -> bool:
        """Whether some plan that is sure to stay rules this one out, whatever is answered."""
        return any(other.id not in self.leaving and self.beats(other, entry)[1] for other in self.beating(entry))

    def outweighing(self, entry: Entrant) -> list[Entrant]:
        """The plans that stand in for a plan where they are its equals, in the order in which they do."""
        if self.objective.stated:
            return []
        able = list(self._for_no_more(entry, most_cost_that_outweighs(self._figures[entry.id], self.objective)))
        equal = {other.id: self._is_equal(other, entry) for other in able}
        found = [other for other in able if equal[other.id] or self._clearly(other, entry)]
        found = [other for other in found if self._may_eliminate(other, entry)[0]]
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
            if better and may_stand_in(
                *figures[:2], its, mine, paid_anyway=False, margin=self.objective.dominance_margin
            ):
                yield other

    def _is_equal(self, other: Entrant, entry: Entrant, *, another_named: bool = False, slower: bool = True) -> bool:
        """Whether a plan, where it stands no lower, is so much cheaper that a guide's line does not keep the other.

        Args:
            other: the plan.
            entry: the other one.
            another_named: guides name cards for the case, and not the plan's own.
            slower: it may be slower, if it is so much cheaper.
        """
        mine, its = self._traits[entry.id], self._traits[other.id]
        figures = self._figures[other.id], self._figures[entry.id]
        cheaper = outweighs_guide(*figures, self.objective, its, mine, another_named=another_named)
        cheaper |= slower and far_better(*figures, self.objective, its, mine)
        paid_anyway = paid_for_anyway(*figures, its, mine)
        margin = self.objective.dominance_margin
        return bool(cheaper and may_stand_in(*figures, its, mine, paid_anyway=paid_anyway, margin=margin))

    def outweighs(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        """Whether a plan whose figures outweigh another's may stand in for it, and whether it surely does."""
        may, sure = self._outweighs(other, entry)
        asked, surely_asked = self._may_eliminate(other, entry)
        return may and asked, sure and surely_asked

    def _outweighs(self, other: Entrant, entry: Entrant) -> tuple[bool, bool]:
        of_one_tier = self.beats(other, entry) if self._clearly(other, entry) else (False, False)
        if not self._is_equal(other, entry):
            may = of_one_tier[0] or (other.id, entry.id) in self._in_turn
            return may, of_one_tier[1] and other.id not in self.leaving
        places = self.tiers.pair(entry, other).places
        may = all(any(a == b for a, b in pairs) for pairs in places[:2])
        sure = all(a == b for pairs in places[:2] for a, b in pairs) and other.id not in self.leaving
        its, mine = plans = self._traits[other.id], self._traits[entry.id]
        # The third place and the fourth: whether a guide names its count, and its card; False where it does.
        kept = [keeps_count(*plans, guided=a or not b) for a, b in places[2]]
        equal = [self._is_equal(other, entry, another_named=b) for _, b in places[3]]
        fewer = its.family != mine.family and its.count < mine.count
        may, sure = may and (any(kept) or fewer), sure and all(kept) and all(equal)
        return may or of_one_tier[0], sure or (of_one_tier[1] and other.id not in self.leaving)

    def in_time_for_less(self, entry: Entrant) -> Iterator[Entrant]:
        """The plans that could be taken in the place of a plan for being as soon as is asked, the cheapest first."""
        cost, share = entry.judged.measures.cost, 1 + self.objective.preference_share
        for other in self._for_no_more(entry):
            its = other.judged.measures.cost
            if other.meets_all and cost is not None and its is not None and its * share <= cost:
                yield other

    def same_card(self, entry: Entrant) -> Iterator[Entrant]:
        """The other plans with the same card."""
        family = entry.judged.ranked.plan.gpu.family
        for other in self.entrants:
            if other is not entry and other.judged.ranked.plan.gpu.family == family:
                yield other

    def surely_passed_over(self, entry: Entrant) -> bool:
        """Whether equals outweigh a plan, and its card has another plan that none outweighs."""
        if not any(self.outweighs(other, entry)[1] for other in self.outweighing(entry)):
            return False
        return any(
            sibling.id not in self.leaving
            and self.tiers.always_same(entry, sibling)
            and not any(self.outweighs(other, sibling)[0] for other in self.outweighing(sibling))
            and not any(self.beats(other, sibling)[0] for other in self.beating(sibling))
            and self._surely_takes_guide(sibling, entry)
            for sibling in self.same_card(entry)
        )

    def _surely_takes_guide(self, plan: Entrant, entry: Entrant) -> bool:
        """Whether a guide's line for a card goes to this plan of it before an equal of others, whatever is answered."""
        own = [each for each in (entry, *self.same_card(entry)) if each is not plan]
        costs = [cost for each in own if (cost := each.judged.measures.cost) is not None]
        cost, share = plan.judged.measures.cost, 1 + self.objective.preference_share
        if cost is None or not costs or cost > min(costs) * share:
            return False
        equals = {equal.id: equal for each in own for equal in self.outweighing(each)}
        return all(self._most_lead(equal, plan) <= 0 for equal in equals.values() if equal is not plan)

    def _most_lead(self, one: Entrant, other: Entrant) -> float:
        """The most points by which a plan may be ahead of another, whatever is answered."""
        lead = one.judged.ranked.score - other.judged.ranked.score
        lead += one.best_terms - one.terms + other.terms - other.worst_terms
        for group in self.comparer.groups.scores:
            least, most = self.comparer.lead(group, other, one)
            lead += most - least
        return lead

    def beating_causes(self, entry: Entrant) -> frozenset[str]:
        """The askable facts that decide whether a plan that is beaten now stays so: the fewest that would do."""
        if entry.judged.standing.dominated_by is None:
            return frozenset()
        found = [self.between(entry, other) for other in self.beating(entry) if self.beats(other, entry)[0]]
        if found:
            return min(found, key=lambda causes: (len(causes), sorted(causes)))
        # It was passed over for another plan of its card: that depends on all that outweigh or beat the two.
        causes: frozenset[str] = frozenset()
        for plan in (entry, *self.same_card(entry)):
            causes |= self.between(entry, plan)
            for other in (*self.outweighing(plan), *self.beating(plan)):
                causes |= self.between(plan, other)
        return causes


def _product(entry: Entrant) -> tuple[float, str]:
    """The order in which plans that beat another come: cost times time."""
    cost, time = entry.judged.measures.cost, entry.judged.measures.time
    return (cost or 0.0) * (time or 0.0), entry.id
