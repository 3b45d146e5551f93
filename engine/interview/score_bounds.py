"""Whether another plan can still take the leading plan's place, over all joint answers to what is open.

The choice goes by tier, then by dominance, then (where an objective is stated) by merit, then by score; where none is
stated, an equal that outweighs the leading plan stands in for it, and where it is stated how soon all is due, one that
is in time for clearly less stands in for either. A plan is no challenger if, whatever is answered, it
stands in a lower tier, or is beaten by a plan that is sure to stay, or lies outside the share of the best merit, or has
fewer points, or has the answer for its own stand-in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from whichgpu.engine.advisor import UNSTATED, AskedLoad, Objective
from whichgpu.engine.interview.entrants import CLOSE, Comparer, Entrant, counted
from whichgpu.engine.interview.precedence import Precedence


#: What a change of tier weighs beside points, when the next question is picked: as much as a decisive rule.
_TIER_POINTS = 6.0
#: Room for rounding where two merits are compared, as a share.
_ROUNDING = 1e-9


class Challenger(Struct, frozen=True):
    """A plan that could take the leading plan's place, and the askable facts that could bring it about."""

    plan: str
    causes: Mapping[str, float]  # askable fact -> points that it could move


class ScoreBounds(Struct, frozen=True):
    """What stands between the leading plan and a final choice."""

    challengers: tuple[Challenger, ...] = ()
    other_splits: tuple[Challenger, ...] = ()  # other splits of the same GPUs: the answer stays if the verdict does
    narrowest: float | None = None  # the least lead over another plan of the same tier
    moves: Mapping[str, float] = msgspec.field(
        default_factory=dict
    )  # points that each askable fact could move for any other plan
    read: frozenset[str] = frozenset()  # askable facts that waiting rules of preference read


@dataclass(slots=True)
class Field:
    """The plans that may take part, with what may eliminate each."""

    leader: Entrant
    others: Sequence[Entrant]
    leaving: Mapping[str, frozenset[str]]  # plans that may drop out or never come in, with the askable facts behind it
    comparer: Comparer
    objective: Objective
    stand_in: Entrant | None = None  # the answer, where it is an equal that outweighs the leader
    load: AskedLoad = UNSTATED
    due: bool = False  # it is stated how soon all of the work is due, and no objective is
    order: Precedence = field(init=False)
    _window: float = field(init=False)
    _fixed: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the merit beyond which no plan can be the answer."""
        entrants = (self.leader, *self.others)
        self.order = Precedence(entrants, self.leaving, self.comparer, self.objective, self.load)
        self._window = self._merit_window()

    def bounds(self) -> ScoreBounds:
        """Which plans could take the leader's place."""
        challengers: list[Challenger] = [*self._ruling_out()]
        other_splits: list[Challenger] = []
        narrowest: float | None = None
        moves: dict[str, float] = {}
        for other in self.others:
            above, level = self.order.tiers.against(self.leader, other)
            gains: dict[str, float] = {}
            overtakes = level and other.merits[0] <= self._window
            if overtakes:
                lead, gains = self._lead(other)
                overtakes = lead >= -CLOSE
                narrowest = -lead if narrowest is None else min(narrowest, -lead)
                for cause, gain in gains.items():
                    moves[cause] = max(moves.get(cause, 0.0), gain)
            if not (above or overtakes) or self._is_no_challenger(other):
                continue
            causes = self._standing_causes(other)
            if overtakes:
                causes |= self._merit_causes(other)
                if not (other.figures_known and self.leader.figures_known):
                    # What is unknown counts as the slowest that is known, and that plan may drop out.
                    causes |= frozenset().union(*self.leaving.values())
            challenger = self._challenger(other, causes, gains if overtakes else None)
            (other_splits if self._same_answer(other) else challengers).append(challenger)
        return ScoreBounds(
            tuple(sorted(challengers, key=lambda challenger: challenger.plan)),
            tuple(sorted(other_splits, key=lambda challenger: challenger.plan)),
            narrowest,
            moves,
            self.comparer.groups.causes,
        )

    def _ruling_out(self) -> Iterator[Challenger]:
        """The plans that could rule the leader out or stand in for it, or be far better by merit."""
        for other in self.order.beating(self.leader):
            if self.order.beats(other, self.leader)[0]:
                yield self._challenger(other, self.order.tiers.causes(self.leader, other))
        yield from self._with_room()
        if not self.objective.stated:
            yield from self._standing_in()
            if self.due:
                yield from self._in_time_for_less()
            return
        share = (1 + self.objective.preference_share) * (1 + _ROUNDING)
        for other in self.others:
            if other.merits[0] * share >= self.leader.merits[1] or not self.order.tiers.against(self.leader, other)[1]:
                continue
            if not self._just_met_beside_the_leader(other) and not self.order.surely_beaten(other):
                yield self._challenger(other, self._standing_causes(other) | self._open_merit(other, self.leader))

    def _with_room(self) -> Iterator[Challenger]:
        """The plans with room that could be preferred to a leader without."""
        if self.leader.roomy:
            return
        for other in self.others:
            near = other.roomy and other.merits[0] <= self._most_for_room(self.leader.merits[1])
            if near and self.order.tiers.against(self.leader, other)[1] and not self.order.surely_beaten(other):
                yield self._challenger(other, self._standing_causes(other) | self._open_merit(other, self.leader))

    def _just_met_beside_the_leader(self, other: Entrant) -> bool:
        """Whether a plan without room is passed over for the leader, or for another with room that costs less."""
        taken = self.stand_in or self.leader
        if not self.leader.roomy or other.roomy or self._costlier_for_room(other):
            return False
        return taken.merits[1] <= self._most_for_room(other.merits[0])

    def _costlier_for_room(self, other: Entrant) -> bool:
        """Whether the leader costs more than room may, where only time was asked for."""
        mine, its = self.leader.judged.measures.cost, other.judged.measures.cost
        if self.objective.cost_exponent or mine is None or its is None:
            return False
        return mine > its * (1 + self.objective.guide_hour_share)

    def _most_for_room(self, merit: float) -> float:
        """The merit up to which a plan with room is preferred to one without."""
        return merit * (1 + self.objective.room_share) * (1 + _ROUNDING)

    def _challenger(
        self, other: Entrant, causes: frozenset[str], gains: Mapping[str, float] | None = None
    ) -> Challenger:
        """A plan as a challenger: the facts behind it or its elimination, each with the points that it could move."""
        weights = dict.fromkeys(causes | self.leaving.get(other.id, frozenset()), _TIER_POINTS)
        for cause, gain in (gains or {}).items():
            weights[cause] = weights.get(cause, 0.0) + gain
        return Challenger(other.id, weights)

    def _standing_causes(self, other: Entrant) -> frozenset[str]:
        """The facts that could change how a plan stands beside the leader, or whether it is beaten."""
        return self.order.tiers.causes(self.leader, other) | self.order.beating_causes(other)

    def _same_answer(self, other: Entrant) -> bool:
        answer = self.stand_in or self.leader
        mine, its = answer.judged.ranked.plan, other.judged.ranked.plan
        return (mine.gpu.id, mine.count) == (its.gpu.id, its.count)

    # Standing in, where no objective is stated.

    def _is_no_challenger(self, other: Entrant) -> bool:
        """Whether a plan that comes before the leader by tier or points is not the answer all the same."""
        if self.due:  # What is in time for less than one plan need not be so beside another.
            return False
        return (
            other is self.stand_in
            or (self._just_met_beside_the_leader(other) and self.order.tiers.always_same(self.leader, other))
            or self.order.surely_beaten(other)
            or self.order.surely_passed_over(other)
            or self._has_the_answer_for_stand_in(other)
        )

    def _has_the_answer_for_stand_in(self, entry: Entrant) -> bool:
        """Whether the answer stands in for a plan, if it comes first, whatever is answered."""
        for other in self.order.outweighing(entry):
            may, sure = self.order.outweighs(other, entry)
            if may:
                return sure and other is (self.stand_in or self.leader)
        return False

    def _standing_in(self) -> Iterator[Challenger]:
        """The plans that could come to stand in for the leader, or cease to, or take its place as its card's plan."""
        for other in self.order.outweighing(self.leader):
            may, sure = self.order.outweighs(other, self.leader)
            if other is self.stand_in and sure:
                break  # Those behind it never come to it.
            if may:
                causes = self.order.tiers.causes(self.leader, other)
                if not sure and other.judged.ranked.plan.count < self.leader.judged.ranked.plan.count:
                    causes |= self._named_count_causes()
                yield self._challenger(other, causes)
        if self.stand_in is None:
            return
        for sibling in self.order.same_card(self.leader):
            equals = self.order.outweighing(sibling)
            if self.order.tiers.against(self.leader, sibling)[1] and not any(
                self.order.outweighs(e, sibling)[1] for e in equals
            ):
                yield self._challenger(sibling, self._standing_causes(sibling))

    def _in_time_for_less(self) -> Iterator[Challenger]:
        """The plans that could come to be taken for being in time for less, or cease to, and what could beat them."""
        for sooner in (self.leader, *self.order.outweighing(self.leader)):
            for other in self.order.in_time_for_less(sooner):
                for each in (other, *self.order.beating(other), *self.order.outweighing(other)):
                    yield self._challenger(each, self.order.tiers.causes(self.leader, each))

    def _named_count_causes(self) -> frozenset[str]:
        """The facts that could eliminate plans in counts that guides name: fewer GPUs are enough beside those."""
        named = (entry.id for entry in self.others if entry.judged.count_bands)
        return frozenset().union(*(self.leaving.get(plan, frozenset()) for plan in named))

    # Merit, where an objective is stated.

    def _merit_window(self) -> float:
        """The merit beyond which a plan of the leader's tier cannot be the answer, whoever drops out."""
        if not self.objective.stated:
            return math.inf
        pool = (self.leader, *filter(self._stays_in_the_pool, self.others))
        # Beside plans with room those without do not count.
        best = min(entry.merits[1] for entry in pool if entry.roomy or not self.leader.roomy)
        return best * (1 + self.objective.widest_share) * (1 + _ROUNDING)

    def _stays_in_the_pool(self, entry: Entrant) -> bool:
        """Whether a plan is compared with the leader by merit, whatever is answered."""
        if entry.id in self.leaving or entry.merits[1] >= self.leader.merits[1]:
            return False
        if not self.order.tiers.always_same(self.leader, entry):
            return False
        return not any(self.order.beats(other, entry)[0] for other in self.order.beating(entry))

    def _merit_causes(self, other: Entrant) -> frozenset[str]:
        """The askable facts that decide whether a plan outside the share of the best merit stays there."""
        standing = other.judged.standing
        if not self.objective.stated or standing.eligible:
            return frozenset()
        pool = [e for e in (self.leader, *self.others) if e.judged.standing.eligible]
        if not pool:
            return frozenset()
        best = min(pool, key=lambda entry: (entry.merits[0], entry.id))
        causes = self.order.between(self.leader, best)
        for beating in self.order.beating(best):
            if self.order.beats(beating, best)[0]:
                causes |= self.order.between(best, beating)
        return causes | self._open_merit(other, best)

    def _open_merit(self, *entries: Entrant) -> frozenset[str]:
        """The facts that could eliminate plans, where one of these has a merit that depends on which are left."""
        if all(entry.merits[0] == entry.merits[1] for entry in entries):
            return frozenset()
        return frozenset().union(*self.leaving.values())

    # Score.

    def _lead(self, other: Entrant) -> tuple[float, dict[str, float]]:
        """The largest lead that a plan may have over the leader, and how many points each open fact could move."""
        leader, groups = self.leader, self.comparer.groups
        lead = other.best_terms - leader.worst_terms + self._fixed_points(other) - self._fixed_points(leader)
        gains: dict[str, float] = {}
        for group in groups.scores:
            least, most = self.comparer.lead(group, leader, other)
            lead += most
            if most - least > CLOSE:
                for cause in self.comparer.causes(group, leader, other):
                    gains[cause] = gains.get(cause, 0.0) + most - least
        open_terms = other.best_terms - other.terms + leader.terms - leader.worst_terms
        if open_terms > CLOSE:
            for cause in frozenset().union(*self.leaving.values()):
                gains[cause] = gains.get(cause, 0.0) + open_terms
        return lead, gains

    def _fixed_points(self, entry: Entrant) -> float:
        """The points of a plan for reasons for which no rule waits."""
        if entry.id not in self._fixed:
            waiting = {group.name for group in self.comparer.groups.scores}
            self._fixed[entry.id] = sum(
                counted(points) for reason, points in sorted(entry.standing.items()) if reason not in waiting
            )
        return self._fixed[entry.id]
