"""A plan as the rules see it while facts are open: its points, its marks, and how it compares with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import Judged
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview.possible_outcomes import OpenFacts, truth_values_of
from whichgpu.engine.interview.rule_groups import RuleGroup, RuleGroups
from whichgpu.engine.interview.rule_index import Line, Mark, RuleView


#: Scores are compared to six digits; a lead below this is none.
CLOSE = 1e-5

#: Whether a rule applies to a plan: no, yes, or it depends on plan facts that still move.
NO, YES, MAYBE = 0, 1, 2

#: The marks that a rule may set, in the order of the tiers.
MARKS: tuple[Mark, ...] = ("fallback", "counts", "cards")

#: What two plans can be at once in one respect: (the first, the second).
Pairs = frozenset[tuple[bool, bool]]


class PossibleOutcome(Struct, frozen=True):
    """What may become of one plan, and the askable facts behind it."""

    rejecting: frozenset[str] = frozenset()  # behind the rules that may eliminate it; empty: none may
    unproven: frozenset[bool] = frozenset((False,))  # whether a limit may stand that it cannot be held against
    unproven_behind: frozenset[str] = frozenset()


class Entrant(Struct, frozen=True):
    """A plan as the rules see it: what stands whatever the answers, and which waiting rules apply to it."""

    judged: Judged
    possible: PossibleOutcome
    terms: float  # what cost and speed give
    best_terms: float
    worst_terms: float
    standing: Mapping[str, tuple[float, ...]]  # reason -> points of rules that hold whatever the answers
    marks: frozenset[Mark]  # those of rules that hold whatever the answers
    applies: Mapping[str, int]  # waiting rule -> NO, YES or MAYBE
    merits: tuple[float, float]  # least and most

    @property
    def id(self) -> str:
        """The id of the plan."""
        return self.judged.ranked.plan.id

    @property
    def roomy(self) -> bool:
        """Whether it meets the stated targets with room, as far as that is known."""
        return self.judged.facts.get("plan.meets_with_room") is not False

    @property
    def meets_all(self) -> bool:
        """Whether targets are stated and it is known to meet them with room."""
        return self.judged.facts.get("plan.meets_with_room") is True

    @property
    def figures_known(self) -> bool:
        """Whether its cost and time are computed."""
        return self.judged.measures.cost is not None and self.judged.measures.time is not None


def entrant_of(
    judged: Judged,
    waiting: WaitingRules,
    possible: PossibleOutcome,
    *,
    terms: tuple[float, float],
    merits: tuple[float, float],
) -> Entrant:
    """A judged plan as an entrant.

    Args:
        judged: the plan.
        waiting: the rules that wait; points and marks of all others stand.
        possible: what may become of it at the reject rules.
        terms: by how much the points for cost and speed may fall and rise.
        merits: the least and the most that its merit may be.
    """
    own, standing = 0.0, dict[str, list[float]]()
    for award in judged.ranked.awards:
        if award.rule is None:
            own += award.points
        elif award.rule not in waiting.rules and not award.checked:
            standing.setdefault(award.reason, []).append(award.points)
    rules = {"fallback": judged.fallbacks, "cards": judged.card_bands, "counts": judged.count_bands}
    return Entrant(
        judged,
        possible,
        own,
        own + terms[1],
        own + terms[0],
        {reason: tuple(points) for reason, points in standing.items()},
        frozenset(mark for mark in MARKS if any(rule not in waiting.rules for rule in rules[mark])),
        waiting.applying_to(judged.facts),
        merits,
    )


def local_reads(view: RuleView) -> tuple[str, ...]:
    """The facts of a plan or GPU that a rule reads."""
    return tuple(sorted({name for line in view.local for name in line.reads if "." in name}))


@dataclass(slots=True)
class WaitingRules:
    """The rules that wait, asked plan by plan. Plans that a rule treats alike are judged once."""

    rules: Mapping[str, RuleView]
    shared: Facts  # of the workload
    open_facts: OpenFacts
    #: What some rules read of a plan, the rules, and what they came to for plans that they treat alike.
    _seen: list[tuple[tuple[str, ...], list[RuleView], dict[tuple[Value | None, ...], dict[str, int]]]] = field(
        init=False
    )

    def __post_init__(self) -> None:
        """Find what each rule reads of a plan."""
        alike: dict[tuple[str, ...], list[RuleView]] = {}
        for view in self.rules.values():
            alike.setdefault(local_reads(view), []).append(view)
        self._seen = [(reads, views, {}) for reads, views in alike.items()]

    def applying_to(self, plan_facts: Facts) -> dict[str, int]:
        """Whether each of the rules applies to a plan: NO, YES or MAYBE."""
        found: dict[str, int] = {}
        for reads, views, known in self._seen:
            key = tuple(map(plan_facts.get, reads))
            if key not in known:
                known[key] = {v.rule.id: _applies_to(v, self.shared, plan_facts, self.open_facts) for v in views}
            found |= known[key]
        return found


def _applies_to(view: RuleView, shared: Facts, plan_facts: Facts, open_facts: OpenFacts) -> int:
    """Whether the lines of a rule that read the plan hold for it."""
    found = YES
    seen: Facts | None = None
    for line in view.local:
        if open_facts.hides(line.reads):
            seen = seen or {**shared, **plan_facts}
            outcomes = truth_values_of((line,), seen, open_facts)
            if True not in outcomes:
                return NO
            if len(outcomes) > 1:
                found = MAYBE
        elif line.test(_joined(line, shared, plan_facts)) is not True:
            return NO
    return found


def _joined(line: Line, shared: Facts, plan_facts: Facts) -> Facts:
    if all("." in name for name in line.reads):
        return plan_facts
    return {name: (plan_facts if "." in name else shared).get(name) for name in line.reads}  # type: ignore[misc]


@dataclass(slots=True)
class _GroupView:
    """How the rules of one group treat plans: those that they treat alike have one number, and are compared once."""

    group: RuleGroup
    profiles: list[tuple[object, ...]] = field(default_factory=list)  # by number
    numbers: dict[str, int] = field(default_factory=dict)  # by entrant
    leads: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    pairs: dict[tuple[int, int], Pairs] = field(default_factory=dict)
    causes: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)
    _each: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    def number(self, entrant: Entrant) -> int:
        """The number of the plans that the group treats as this one."""
        found = self.numbers.get(entrant.id)
        if found is None:
            group = self.group
            fixed = entrant.standing.get(group.name, ()) if group.mark is None else group.mark in entrant.marks
            profile = (*(entrant.applies[name] for name in group.involved), fixed, entrant.figures_known)
            found = self._places.setdefault(profile, len(self.profiles))
            if found == len(self.profiles):
                self.profiles.append(profile)
            self.numbers[entrant.id] = found
        return found

    def each(self, entrant: Entrant) -> tuple[Any, ...]:
        """For each set of rules that hold: whether a plan has the group's mark, or its least and most points."""
        number = self.number(entrant)
        if number not in self._each:
            outcome = _bounds if self.group.mark is None else _marked
            self._each[number] = tuple(outcome(self.group, entrant, firing) for firing in self.group.firings)
        return self._each[number]

    def treats_alike(self, one: int, other: int) -> bool:
        """Whether two plans are the same to the group, whatever is answered."""
        return one == other and MAYBE not in self.profiles[one][: len(self.group.involved)]


@dataclass(slots=True)
class Comparer:
    """Compares entrants over all joint answers. Remembers what rules give to plans that they treat alike."""

    groups: RuleGroups
    _views: dict[str, _GroupView] = field(default_factory=dict)

    def lead(self, group: RuleGroup, one: Entrant, other: Entrant) -> tuple[float, float]:
        """The least and the most points that the rules of a group can give the second plan over the first."""
        view = self._view(group)
        key = view.number(one), view.number(other)
        if key not in view.leads:
            both = list(zip(view.each(other), view.each(one), strict=True))
            view.leads[key] = (
                (0.0, 0.0)
                if view.treats_alike(*key)
                else (min(its[0] - own[1] for its, own in both), max(its[1] - own[0] for its, own in both))
            )
        return view.leads[key]

    def pairs(self, mark: Mark, one: Entrant, other: Entrant) -> Pairs:
        """Whether either plan has a mark: all that the two can be at once."""
        group = self.groups.marks.get(mark)
        if group is None:
            return frozenset({(mark in one.marks, mark in other.marks)})
        view = self._view(group)
        key = view.number(one), view.number(other)
        if key not in view.pairs:
            alike = view.treats_alike(*key)
            both = zip(view.each(one), view.each(other), strict=True)
            found = (pair for first, second in both for pair in product(first, second))
            view.pairs[key] = frozenset((a, b) for a, b in found if a == b or not alike)
        return view.pairs[key]

    def causes(self, group: RuleGroup, one: Entrant, other: Entrant) -> frozenset[str]:
        """The askable facts behind the rules of a group that may apply to either plan."""
        view = self._view(group)
        key = view.number(one), view.number(other)
        if key not in view.causes:
            names = [name for name in group.involved if one.applies[name] != NO or other.applies[name] != NO]
            view.causes[key] = frozenset(cause for name in names for cause in self.groups.behind[name])
        return view.causes[key]

    def seen_as(self, mark: Mark, entrant: Entrant) -> int | bool:
        """What a plan is as far as a mark goes: plans of equal value compare alike with any other."""
        group = self.groups.marks.get(mark)
        return mark in entrant.marks if group is None else self._view(group).number(entrant)

    def _view(self, group: RuleGroup) -> _GroupView:
        found = self._views.get(group.name)
        if found is None:
            found = self._views[group.name] = _GroupView(group)
        return found


def counted(points: Sequence[float]) -> float:
    """The strongest for and the strongest against."""
    return sum(_strongest(points))


def _strongest(points: Sequence[float]) -> tuple[float, float]:
    return max((p for p in points if p > 0), default=0.0), min((p for p in points if p <= 0), default=0.0)


def _bounds(group: RuleGroup, entrant: Entrant, firing: frozenset[str]) -> tuple[float, float]:
    sure = list(entrant.standing.get(group.name, ()))
    perhaps: list[float] = []
    for view in group.rules:
        held = _holds(view.rule.id, group, entrant, firing)
        points = [
            award.points
            for award in view.awards
            if award.reason == group.name and not (award.claim and entrant.figures_known)
        ]
        if held != NO:
            (sure if held == YES else perhaps).extend(points)
    gained, lost = _strongest(sure)
    most, least = _strongest([*sure, *perhaps])
    return gained + least, most + lost


def _marked(group: RuleGroup, entrant: Entrant, firing: frozenset[str]) -> frozenset[bool]:
    held = [_holds(view.rule.id, group, entrant, firing) for view in group.rules]
    if group.mark in entrant.marks or YES in held:
        return frozenset((True,))
    return frozenset((True, False)) if MAYBE in held else frozenset((False,))


def _holds(name: str, group: RuleGroup, entrant: Entrant, firing: frozenset[str]) -> int:
    """Whether a rule fires for a plan where these rules hold."""
    if entrant.applies[name] == NO or (name not in firing and name not in group.loose):
        return NO
    return YES if entrant.applies[name] == YES and name not in group.loose else MAYBE
