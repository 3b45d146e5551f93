"""Which facts flip a decision, between which values, nearest first. Every flip named is one that was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, Outcome
from whichgpu.engine.core import Value, collection_paused, is_number
from whichgpu.engine.explain.fact_changes import FactChange, between, probes, side_of, spread_out, valid
from whichgpu.engine.explain.plan_figures import plan_figures
from whichgpu.engine.explain.what_if import OutOfDecisionsError, WhatIfSearch
from whichgpu.engine.interview import Answered, answered
from whichgpu.engine.records import recorded_facts, recorded_moment, unstated_objective
from whichgpu.engine.rules import FactDef


#: Re-decisions of one analysis, the first among them.
SENSITIVITY_DECISIONS = 600
#: Of these, so many may narrow a number down to where the decision flips, and to where it flips again.
_FOR_NARROWING = 200
#: Factors by which a number without a threshold nearby is varied.
_FACTORS = (0.5, 0.8, 1.25, 2.0)
#: More than it takes from one end of any range to a step beside the other, at three digits.
_BISECTIONS = 30
#: Choices of one fact that are shown flipping the decision.
_CHOICES = 3


class Turn(Struct, frozen=True):
    """A change that flips the decision, and to what. ``origin`` says how the fact stood: given, assumed or unknown.

    A number flips it so from ``change.after`` to ``until``, both tried, and beyond ``until`` to something else; where
    ``open_ended``, no value that was tried lies beyond. ``rises`` says whether it lies above the values that keep the
    decision: above the present one, or where there is none above the nearest that was tried. Between two tried values
    nothing is claimed.
    """

    change: FactChange
    origin: str
    verdict: Answered
    flips: tuple[str, ...]
    narrowed: bool  # a number brought as near as three digits say
    until: Value | None = None
    open_ended: bool = False
    rises: bool | None = None  # of a number


class NoFlip(Struct, frozen=True):
    """A fact for which no flip was found, and the values that were tried."""

    fact: str
    tried: tuple[Value | None, ...]  # None: taken away


class Sensitivity(Struct, frozen=True):
    """What flips the decision, nearest first, and facts for which no flip was found."""

    verdict: Answered
    turns: tuple[Turn, ...]
    steady: tuple[NoFlip, ...]
    decisions: int
    limit: int
    complete: bool


@collection_paused()
def sensitivity(
    decision: Mapping[str, Any],
    advisor: Advisor,
    *,
    limit: int = SENSITIVITY_DECISIONS,
    stated: bool = True,
    watch: Callable[[int], object] | None = None,
) -> Sensitivity:
    """Vary each fact alone: stated ones, assumed ones, and those that are still open.

    A number is tried at the thresholds of the rules that read it, at the figures of plans that rules hold against it,
    at the ends of its range, and at a half to twice its value; where a try flips the decision, halving finds where
    between it and the last one that does not, and on the far side where it flips again. Between two tries that both
    keep the decision nothing is claimed.

    Args:
        decision: in the shape of the contract.
        advisor: decides again.
        limit: how many re-decisions may be made.
        stated: vary what was stated, too; else only what was assumed or left open.
        watch: called with 1 at every re-decision.

    Raises:
        InputError: the recorded facts are not taken any more.
    """
    given = recorded_facts(decision, advisor)
    objective = unstated_objective(decision, given, advisor)
    what_if = WhatIfSearch(advisor, given, objective, recorded_moment(decision), limit, watch)
    base = what_if.outcome()
    if base is None:  # The recorded facts were read, so they decide; this is for the type checker.
        return Sensitivity(Answered(None, None, "undecided"), (), (), what_if.made, limit, complete=True)
    origins = {
        name: origin for name, origin in _origins(base, decision, advisor).items() if stated or origin != "given"
    }
    tries = _tries(base, origins, advisor)
    study = _Study(what_if, answered(base), advisor.vocabulary.facts, origins)
    complete = True
    try:
        study.coarse(tries)
    except OutOfDecisionsError:
        complete = False
    for turn in sorted(study.turns, key=_nearness):
        study.narrowed.append(study.narrow(turn))
    narrowed = [study.reach(turn, tries) for turn in sorted(study.narrowed, key=_nearness)]
    turning = {change.fact for change, flips in study.tried.items() if flips}
    tried: dict[str, list[Value | None]] = {}
    for change in sorted(study.tried, key=lambda change: (change.fact, change.distance, str(change.after))):
        tried.setdefault(change.fact, []).append(change.after)
    return Sensitivity(
        verdict=study.base,
        turns=tuple(dict.fromkeys(sorted(narrowed, key=_nearness))),  # Two may have been narrowed to one.
        steady=tuple(NoFlip(name, tuple(values)) for name, values in tried.items() if name not in turning),
        decisions=what_if.made,
        limit=limit,
        complete=complete,
    )


@dataclass(slots=True)
class _Study:
    what_if: WhatIfSearch
    base: Answered
    facts: Mapping[str, FactDef]
    origins: Mapping[str, str]
    tried: dict[FactChange, bool] = field(default_factory=dict)  # whether it flips
    turns: list[Turn] = field(default_factory=list)
    narrowed: list[Turn] = field(default_factory=list)

    def coarse(self, tries: Iterable[FactChange]) -> None:
        """The first flip of each number in either direction, and the first choices that flip."""
        seen: dict[tuple[str, object], int] = {}
        reserve = min(_FOR_NARROWING, self.what_if.limit // 3)
        for change in tries:
            if self.what_if.made >= self.what_if.limit - reserve:
                raise OutOfDecisionsError
            side = side_of(change)
            if seen.get((change.fact, side), 0) >= (_CHOICES if side is None else 1):
                continue
            turn = self.turn(change)
            known = [(other.change.fact, other.verdict) for other in self.turns]
            if turn is not None and (side is not None or (change.fact, turn.verdict) not in known):
                seen[change.fact, side] = seen.get((change.fact, side), 0) + 1
                self.turns.append(turn)

    def turn(self, change: FactChange) -> Turn | None:
        """The flip that a change makes, if it makes one. A workload that contradicts itself is no flip."""
        verdict = self.what_if.answer((change,)) or self.base
        flips = self.base.differs_in(verdict)
        self.tried[change] = bool(flips)
        return Turn(change, self.origins[change.fact], verdict, flips, narrowed=False) if flips else None

    def narrow(self, turn: Turn) -> Turn:
        """Halve the way between the flip and the nearest value that keeps the decision."""
        fact, after, before = self.facts[turn.change.fact], turn.change.after, turn.change.before
        keeping = self._keeping(fact.name)
        if not is_number(after) or not (keeping or is_number(before)):
            return turn
        now = float(before) if is_number(before) else min(keeping, key=lambda value: abs(value - after))
        rises = after > now
        kept = [value for value in keeping if (now < value < after if rises else after < value < now)]
        near = max(kept, key=lambda value: abs(value - now), default=now)
        for other in self.narrowed:
            value = other.change.after
            same = (other.change.fact, other.rises, other.narrowed) == (fact.name, rises, True)
            if same and is_number(value) and min(near, after) < value < max(near, after):
                return other  # What was tried beyond it flips, too: halving would lead back there.
        best, whole = turn, True
        for _ in range(_BISECTIONS):
            middle = between(fact, near, float(best.change.after))  # type: ignore[arg-type]
            if middle is None:
                break
            try:
                closer = self.turn(replace(turn.change, after=middle))
            except OutOfDecisionsError:
                whole = False
                break
            if closer is None:
                near = float(middle)  # type: ignore[arg-type]
            else:
                best = closer
        return replace(best, narrowed=whole, rises=rises)

    def _keeping(self, fact: str) -> list[float]:
        """The numbers of a fact that were tried and keep the decision."""
        tried = (change.after for change, flips in self.tried.items() if change.fact == fact and not flips)
        return [float(value) for value in tried if is_number(value)]

    def reach(self, turn: Turn, tries: Iterable[FactChange]) -> Turn:
        """How far beyond the flip the decision stays what it then is."""
        rises, until = turn.rises, turn.change.after
        if rises is None or not is_number(until):
            return turn
        start = float(until)
        beyond = [other for other in tries if other.fact == turn.change.fact and _beyond(other, start, rises=rises)]
        beyond.sort(key=lambda other: abs(float(other.after) - start))  # type: ignore[arg-type]
        try:
            for other in beyond:
                if self._verdict(other) != turn.verdict:
                    return replace(turn, until=self._last(turn, float(until), float(other.after)))  # type: ignore[arg-type]
                until = other.after
        except OutOfDecisionsError:
            return replace(turn, until=until)
        return replace(turn, until=until, open_ended=True)

    def _last(self, turn: Turn, near: float, far: float) -> Value:
        """The last value, at three digits, where the decision is still what the flip made it."""
        fact = self.facts[turn.change.fact]
        for _ in range(_BISECTIONS):
            middle = between(fact, near, far)
            if middle is None:
                break
            try:
                same = self._verdict(replace(turn.change, after=middle)) == turn.verdict
            except OutOfDecisionsError:
                break
            near, far = (float(middle), far) if same else (near, float(middle))  # type: ignore[arg-type]
        return valid(fact, near) or near

    def _verdict(self, change: FactChange) -> Answered:
        turn = self.turn(change)
        return turn.verdict if turn else self.base


def _beyond(change: FactChange, value: float, *, rises: bool) -> bool:
    after = change.after
    return is_number(after) and (after > value if rises else after < value)


def _origins(base: Outcome, decision: Mapping[str, Any], advisor: Advisor) -> dict[str, str]:
    """Facts to vary, with how they stand: what was stated or assumed, and what rules would still like to know."""
    found: dict[str, str] = {}
    for name, fact in base.intake.resolved.items():
        definition = advisor.vocabulary.facts[name]
        stated = fact.candidate.origin == "given"
        if stated or (fact.candidate.origin == "assumed" and definition.role == "input"):
            found[name] = fact.candidate.origin
    for question in decision["open_questions"]:
        name = question["fact"]
        if name in advisor.vocabulary.facts and advisor.vocabulary.facts[name].scope == "workload":
            found.setdefault(name, "unknown")
    return found


def _tries(base: Outcome, origins: Mapping[str, str], advisor: Advisor) -> list[FactChange]:
    """All changes to try, nearest first, the facts taking turns where changes are alike."""
    tries: list[tuple[float, int, str, FactChange]] = []
    figures = plan_figures(advisor, base)
    for name, origin in origins.items():
        fact = advisor.vocabulary.facts[name]
        if fact.type in ("list", "text", "gpu"):
            continue
        now = base.intake.facts.get(name)
        rules = tuple(rule for rule in advisor.rulebook.rules if name in rule.reads)
        own = figures.get(name, ())
        changes = probes(fact, now, rules, stated=origin == "given", figures=own)
        factored = [valid(fact, now * factor) for factor in _FACTORS] if is_number(now) and now else []
        further = [FactChange(name, now, value) for value in factored if value is not None and value != now]
        changes += [change for change in further if change not in changes]
        changes = spread_out(sorted(changes, key=lambda change: (change.distance, str(change.after))))
        tries += [(change.distance, position, name, change) for position, change in enumerate(changes)]
    return [change for *_, change in sorted(tries, key=lambda entry: entry[:3])]


def _nearness(turn: Turn) -> tuple[float, str, str]:
    return turn.change.distance, turn.change.fact, str(turn.change.after)
