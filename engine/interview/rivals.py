"""Whether another plan can still take the front-runner's place, over all joint answers to what is open.

The choice goes by tier, then by dominance, then (where an objective is stated) by merit, then by score. A rival is no
threat if, whatever is answered, it stands in a lower tier, or is beaten by a plan that is sure to stay, or lies outside
the share of the best merit, or has fewer points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from engine.decide.choice import joins_no_more
from engine.decide.choice import stands_as_well
from engine.decide.rank import Objective
from engine.interview.entrants import CLOSE
from engine.interview.entrants import MARKS
from engine.interview.entrants import Comparer
from engine.interview.entrants import Entrant
from engine.interview.entrants import Pairs
from engine.interview.entrants import counted


#: What a change of tier weighs beside points, when the next question is picked: as much as a decisive rule.
_TIER_POINTS = 6.0
#: Room for rounding where two merits are compared, as a share.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Threat:
    """A plan that could take the front-runner's place, and the askable facts that could bring it about."""

    plan: str
    causes: Mapping[str, float]  # askable fact -> points that it could move


@dataclass(frozen=True, slots=True)
class Rivalry:
    """What stands between the front-runner and a settled choice."""

    threats: tuple[Threat, ...] = ()
    heirs: tuple[Threat, ...] = ()  # other splits of the same GPUs: the answer stays if the verdict does
    narrowest: float | None = None  # the least by which the front-runner stays ahead of a rival of its standing
    moves: Mapping[str, float] = field(default_factory=dict)  # points that each askable fact could move for any rival
    tiers: frozenset[str] = frozenset()  # askable facts that could move plans between tiers
    read: frozenset[str] = frozenset()  # askable facts that waiting rules of preference read


@dataclass(slots=True)
class Field:
    """The plans that may take part, with what may put each out."""

    leader: Entrant
    others: Sequence[Entrant]
    leaving: Mapping[str, frozenset[str]]  # plans that may drop out or never come in, with the askable facts behind it
    comparer: Comparer
    objective: Objective
    _by_cost: list[tuple[float, float, Entrant]] = field(init=False)
    _window: float = field(init=False)

    def __post_init__(self) -> None:
        """Sort the plans by cost, and find the merit beyond which none can be the answer."""
        known = [
            (entry.judged.measures.cost, entry.judged.measures.time, entry) for entry in (self.leader, *self.others)
        ]
        priced = [(cost, time, entry) for cost, time, entry in known if cost is not None and time is not None]
        self._by_cost = sorted(priced, key=lambda each: (each[0], each[1], each[2].id))
        self._window = self._merit_window()

    def rivalry(self) -> Rivalry:
        """Which plans could take the leader's place."""
        threats: list[Threat] = [*self._ruling_out()]
        heirs: list[Threat] = []
        narrowest: float | None = None
        moves: dict[str, float] = {}
        tiers: frozenset[str] = frozenset()
        for other in self.others:
            above, level = self._against(self.leader, other)
            tiers |= self._tier_causes(self.leader, other)
            gains: dict[str, float] = {}
            overtakes = level and other.merits[0] <= self._window
            if overtakes:
                lead, gains = self._lead(other)
                overtakes = lead >= -CLOSE
                narrowest = -lead if narrowest is None else min(narrowest, -lead)
                for cause, gain in gains.items():
                    moves[cause] = max(moves.get(cause, 0.0), gain)
            if not (above or overtakes) or self._surely_beaten(other):
                continue
            causes = self._tier_causes(self.leader, other) | self._beating_causes(other)
            if overtakes:
                causes |= self._merit_causes(other)
            threat = Threat(other.id, self._weighed(other, causes, gains if overtakes else {}))
            (heirs if self._same_answer(other) else threats).append(threat)
        return Rivalry(
            tuple(sorted(threats, key=lambda threat: threat.plan)),
            tuple(sorted(heirs, key=lambda threat: threat.plan)),
            narrowest,
            moves,
            tiers,
            self.comparer.bundles.causes,
        )

    def _ruling_out(self) -> Iterator[Threat]:
        """The plans that could rule the leader out: by beating it in cost and speed, or by a much better merit."""
        for other, same in self._beating(self.leader):
            if self._beats(other, self.leader, same_tier=same)[0]:
                yield Threat(other.id, self._weighed(other, self._tier_causes(self.leader, other), {}))
        if not self.objective.stated:
            return
        share = (1 + self.objective.preference_share) * (1 + _ROUNDING)
        for other in self.others:
            if other.merits[0] * share >= self.leader.merits[1] or not self._against(self.leader, other)[1]:
                continue
            if not self._surely_beaten(other):
                causes = self._tier_causes(self.leader, other) | self._beating_causes(other)
                yield Threat(other.id, self._weighed(other, causes | self._open_merit(other, self.leader), {}))

    def _weighed(self, other: Entrant, causes: frozenset[str], gains: Mapping[str, float]) -> dict[str, float]:
        """The facts behind a threat, each with the points that it could move."""
        weights = dict.fromkeys(causes | self.leaving.get(other.id, frozenset()), _TIER_POINTS)
        for cause, gain in gains.items():
            weights[cause] = weights.get(cause, 0.0) + gain
        return weights

    def _same_answer(self, other: Entrant) -> bool:
        mine, its = self.leader.judged.ranked.plan, other.judged.ranked.plan
        return (mine.gpu.id, mine.count) == (its.gpu.id, its.count)

    # Tiers.

    def _places(self, one: Entrant, other: Entrant) -> Iterator[Pairs]:
        """Place by place of the tier, what the two plans can be at once; True is the lower standing."""
        yield frozenset((a, b) for a in one.fate.unproven for b in other.fate.unproven)
        yield self.comparer.pairs("fallback", one, other)
        if not self.objective.stated:
            for mark in MARKS[1:]:
                yield frozenset((not a, not b) for a, b in self.comparer.pairs(mark, one, other))

    def _against(self, one: Entrant, other: Entrant) -> tuple[bool, bool]:
        """Whether the second plan may stand in a better tier than the first, and whether in the same."""
        better = False
        for pairs in self._places(one, other):
            better = better or (True, False) in pairs
            if all(a != b for a, b in pairs):
                return better, False
        return better, True

    def _always_level(self, one: Entrant, other: Entrant) -> bool:
        return all(a == b for pairs in self._places(one, other) for a, b in pairs)

    def _tier_causes(self, one: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts that could change which of two plans stands in the better tier."""
        causes: frozenset[str] = frozenset()
        for mark in MARKS:
            bundle = (self.comparer.bundles.marks or {}).get(mark)
            if bundle is not None and len(self.comparer.pairs(mark, one, other)) > 1:
                causes |= self.comparer.causes(bundle, one, other)
        for entrant in (one, other):
            if len(entrant.fate.unproven) > 1:
                causes |= entrant.fate.unproven_behind
        return causes

    # Dominance.

    def _beating(self, entry: Entrant) -> Iterator[tuple[Entrant, bool]]:
        """The plans whose figures beat a plan's, each with whether only plans of the same tier are beaten so."""
        cost, time = entry.judged.measures.cost, entry.judged.measures.time
        if cost is None or time is None:
            return
        margin, ratio = self.objective.dominance_margin, self.objective.guide_cost_ratio
        for other_cost, other_time, other in self._by_cost:
            if other_cost > cost * (1 - margin) and other_cost * ratio > cost:
                break
            if other is entry or other_time * (1 + margin) > time:
                continue
            plans = other.judged.ranked.plan, entry.judged.ranked.plan
            if other_cost <= cost * (1 - margin) and (self.objective.stated or joins_no_more(*plans)):
                yield other, True
            if not self.objective.stated and other_cost * ratio <= cost and stands_as_well(*plans):
                yield other, False

    def _beats(self, other: Entrant, entry: Entrant, *, same_tier: bool) -> tuple[bool, bool]:
        """Whether a plan whose figures beat another's may rule it out, and whether it does whatever is answered."""
        if same_tier:
            return self._against(entry, other)[1], self._always_level(entry, other)
        places = list(self._places(entry, other))
        may = all(any(a == b for a, b in pairs) for pairs in places[:2])
        sure = all(a == b for pairs in places[:2] for a, b in pairs)
        # The third place: whether a guide names its count. One that is named is not beaten by one that is not.
        return may and any(a or not b for a, b in places[2]), sure and all(a or not b for a, b in places[2])

    def _surely_beaten(self, entry: Entrant) -> bool:
        """Whether some plan that is sure to stay rules this one out, whatever is answered."""
        return any(
            other.id not in self.leaving and self._beats(other, entry, same_tier=same)[1]
            for other, same in self._beating(entry)
        )

    def _beating_causes(self, entry: Entrant) -> frozenset[str]:
        """The askable facts on which it hangs whether a plan that is beaten now stays so: the fewest that would do."""
        if entry.judged.standing is None or entry.judged.standing.dominated_by is None:
            return frozenset()
        found = [
            self._tier_causes(entry, other) | self.leaving.get(other.id, frozenset())
            for other, same in self._beating(entry)
            if self._beats(other, entry, same_tier=same)[0]
        ]
        return min(found, key=lambda causes: (len(causes), sorted(causes)), default=frozenset())

    # Merit, where an objective is stated.

    def _merit_window(self) -> float:
        """The merit beyond which a plan of the leader's tier cannot be the answer, whoever drops out."""
        if not self.objective.stated:
            return math.inf
        best = min(
            (
                entry.merits[1]
                for entry in (self.leader, *self.others)
                if entry is self.leader or self._stays_in_the_pool(entry)
            ),
        )
        return best * (1 + self.objective.preference_share) * (1 + _ROUNDING)

    def _stays_in_the_pool(self, entry: Entrant) -> bool:
        """Whether a plan is compared with the leader by merit, whatever is answered."""
        if entry.id in self.leaving or entry.merits[1] >= self.leader.merits[1]:
            return False
        if not self._always_level(self.leader, entry):
            return False
        return not any(self._beats(other, entry, same_tier=same)[0] for other, same in self._beating(entry))

    def _merit_causes(self, other: Entrant) -> frozenset[str]:
        """The askable facts on which it hangs whether a plan outside the share of the best merit stays there."""
        standing = other.judged.standing
        if not self.objective.stated or standing is None or standing.eligible:
            return frozenset()
        pool = [e for e in (self.leader, *self.others) if e.judged.standing is not None and e.judged.standing.eligible]
        if not pool:
            return frozenset()
        best = min(pool, key=lambda entry: (entry.merits[0], entry.id))
        causes = self._tier_causes(self.leader, best) | self.leaving.get(best.id, frozenset())
        for beating, same in self._beating(best):
            if self._beats(beating, best, same_tier=same)[0]:
                causes |= self._tier_causes(best, beating) | self.leaving.get(beating.id, frozenset())
        return causes | self._open_merit(other, best)

    def _open_merit(self, *entries: Entrant) -> frozenset[str]:
        """The facts that could put out plans, where one of these has a merit that hangs on who is left."""
        if all(entry.merits[0] == entry.merits[1] for entry in entries):
            return frozenset()
        return frozenset(cause for causes in self.leaving.values() for cause in causes)

    # Score.

    def _lead(self, other: Entrant) -> tuple[float, dict[str, float]]:
        """The largest lead that a plan may have over the leader, and how many points each open fact could move."""
        leader, bundles = self.leader, self.comparer.bundles
        lead = other.best_terms - leader.worst_terms
        waiting = {bundle.name for bundle in bundles.scores}
        for reason in (other.standing.keys() | leader.standing.keys()) - waiting:
            lead += counted(other.standing.get(reason, ())) - counted(leader.standing.get(reason, ()))
        gains: dict[str, float] = {}
        for bundle in bundles.scores:
            least, most = self.comparer.lead(bundle, leader, other)
            lead += most
            if most - least > CLOSE:
                for cause in self.comparer.causes(bundle, leader, other):
                    gains[cause] = gains.get(cause, 0.0) + most - least
        open_terms = other.best_terms - other.terms + leader.terms - leader.worst_terms
        if open_terms > CLOSE:
            for cause in {cause for causes in self.leaving.values() for cause in causes}:
                gains[cause] = gains.get(cause, 0.0) + open_terms
        return lead, gains
