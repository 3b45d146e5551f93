"""In which tiers two plans may stand beside each other, over all joint answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from whichgpu.engine.interview.entrants import MARKS, Comparer, Entrant, Pairs
from whichgpu.engine.interview.rule_index import Mark


class TierPair(Struct, frozen=True):
    """How two plans may stand beside each other in their tiers, over all joint answers."""

    places: tuple[Pairs, ...]  # place by place, what the two can be at once; True is the worse
    better: bool  # the second may stand in a better tier than the first
    same: bool  # the two may be of one tier
    level: bool  # they are, whatever is answered
    causes: frozenset[str]  # the askable facts that could change which of the two stands in the better tier


@dataclass(slots=True)
class Tiers:
    """Compares the tiers of plans, once for all plans that stand alike beside any other."""

    entrants: Sequence[Entrant]
    comparer: Comparer
    stated: bool  # an objective is: what guides name does not bind then
    _standings: dict[str, int] = field(init=False)  # plans that stand alike beside any other have one number
    _pairs: dict[tuple[int, int], TierPair] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number how the plans stand."""
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

    def pair(self, one: Entrant, other: Entrant) -> TierPair:
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
        if not self.stated:
            places += [frozenset((not a, not b) for a, b in marked[mark]) for mark in MARKS[1:]]
        same = [any(a == b for a, b in pairs) for pairs in places]
        # A place counts as long as the two may be alike in all before it.
        reached = places[: same.index(False) + 1 if False in same else None]
        return TierPair(
            tuple(places),
            better=any((True, False) in pairs for pairs in reached),
            same=all(same),
            level=all(a == b for pairs in places for a, b in pairs),
            causes=self._causes_of(one, other, marked),
        )

    def _causes_of(self, one: Entrant, other: Entrant, marked: Mapping[Mark, Pairs]) -> frozenset[str]:
        open_marks = [group for mark, group in self.comparer.groups.marks.items() if len(marked[mark]) > 1]
        behind = [e.possible.unproven_behind for e in (one, other) if len(e.possible.unproven) > 1]
        return frozenset().union(*behind, *(self.comparer.causes(group, one, other) for group in open_marks))

    def against(self, one: Entrant, other: Entrant) -> tuple[bool, bool]:
        """Whether the second plan may stand in a better tier than the first, and whether in the same."""
        found = self.pair(one, other)
        return found.better, found.same

    def always_same(self, one: Entrant, other: Entrant) -> bool:
        """Whether two plans are of one tier, whatever is answered."""
        return self.pair(one, other).level

    def causes(self, one: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts that could change which of two plans stands in the better tier."""
        return self.pair(one, other).causes
