"""The nearest change that would bring a GPU in, or to the front. Every claim is one that was decided."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Outcome
from whichgpu.engine.core import is_number
from whichgpu.engine.explain.fact_changes import FactChange, between, probes, spread_out
from whichgpu.engine.explain.gap import REJECTED, Judgement, gap
from whichgpu.engine.explain.influencing_facts import InfluencingFacts, best_of
from whichgpu.engine.explain.plan_figures import plan_figures
from whichgpu.engine.explain.what_if import OutOfDecisionsError, WhatIfSearch
from whichgpu.engine.rules import FactDef


Goal = Literal["wins", "fits"]

#: Re-decisions of one search, the first among them.
WHY_NOT_DECISIONS = 300
#: Of these, so many are kept for pairs of facts.
_FOR_PAIRS = 100
#: The search ends when so many facts alone reach the goal: the nearest are tried first.
_ENOUGH = 3
#: Facts that take part in pairs: those that alone came nearest.
_PAIRED = 8
#: More than it takes from one end of any range to a step beside the other, at three digits.
_BISECTIONS = 30


class Nearest(Struct, frozen=True):
    """Changes after which the goal is reached, and what the decision then is."""

    goal: Goal
    changes: tuple[FactChange, ...]
    recommendation: str | None  # plan id
    plan: str  # the plan of the GPU in question

    @property
    def distance(self) -> tuple[int, float]:
        """Single facts first, then by the size of the changes."""
        return len(self.changes), sum(change.distance for change in self.changes)


class Search(Struct, frozen=True):
    """What was found, nearest first, and how far the search went."""

    wins: tuple[Nearest, ...]
    fits: tuple[Nearest, ...]
    decisions: int
    limit: int
    facts: tuple[str, ...]  # those tried
    complete: bool  # whether everything that was to be tried was tried


@dataclass(slots=True)
class _NearestSearch:
    what_if: WhatIfSearch
    gpus: frozenset[str]
    facts: Mapping[str, FactDef]
    found: dict[Goal, list[Nearest]] = field(default_factory=lambda: {"wins": [], "fits": []})
    gaps: dict[FactChange, float] = field(default_factory=dict)
    rejected: bool = False  # every plan of the GPUs, as the facts are

    def try_out(self, changes: tuple[FactChange, ...], goals: Iterable[Goal]) -> dict[Goal, Nearest]:
        """Decide with these changes; what they reach."""
        tried = self.what_if.tried(changes, self.gpus if self.rejected else frozenset())
        if len(changes) == 1:
            self.gaps[changes[0]] = gap(tried, self.gpus)
        if tried is None:
            return {}
        chosen = tried.chosen.ranked.plan.id if tried.chosen else None
        plans = {goal: REACHED[goal](tried, self.gpus) for goal in goals}
        return {goal: Nearest(goal, changes, chosen, plan) for goal, plan in plans.items() if plan is not None}


def nearest_changes(
    what_if: WhatIfSearch, influencing: InfluencingFacts, gpus: frozenset[str], facts: Mapping[str, FactDef]
) -> Search:
    """Search for the nearest change.

    Single facts are tried first, those that decided where the GPU lost before others, nearest first, at the thresholds
    of the deciding rules a step either way and at the ends of their domains; a number that reaches the goal is then
    brought nearer by halving. Where no fact alone does, pairs are tried of those that came nearest and of those that
    decided where the GPU lost.

    Args:
        what_if: decides, and counts.
        influencing: what may be changed.
        gpus: any of these will do.
        facts: definitions by name.
    """
    search = _NearestSearch(what_if, gpus, facts)
    complete = True
    goals: list[Goal] = []
    try:
        base = what_if.outcome()
        goals = [goal for goal in ("fits", "wins") if base is None or REACHED[goal](base, gpus) is None]
        search.rejected = "fits" in goals
        singles = _singles(base, influencing, search)
        complete = _try_singles(search, singles, goals)
        _try_pairs(search, base, goals, influencing.first)
        missed = [goal for goal in goals if not search.found[goal]]
        if missed and not complete:  # What pairs left of the decisions goes to the values left out.
            complete = _try_singles(search, singles, missed, for_pairs=0)
    except OutOfDecisionsError:
        complete = False
    return Search(
        wins=_sorted(search.found["wins"]),
        fits=_sorted(search.found["fits"]),
        decisions=what_if.made,
        limit=what_if.limit,
        facts=influencing.facts,
        complete=complete,
    )


def _singles(base: Outcome | None, influencing: InfluencingFacts, search: _NearestSearch) -> list[FactChange]:
    known = base.final.facts if base else search.what_if.given
    figures = plan_figures(search.what_if.advisor, base, search.gpus) if base else {}
    changes: list[FactChange] = []
    for name in influencing.facts:
        fact = search.facts[name]
        stated = name in search.what_if.given
        if fact.type == "list":
            changes += _list_changes(fact, search)
        else:
            own = figures.get(name, ())
            changes += spread_out(probes(fact, known.get(name), influencing.rules, stated=stated, figures=own))
    return sorted(changes, key=lambda c: (c.fact not in influencing.first, c.distance, c.fact, str(c.after)))


def _list_changes(fact: FactDef, search: _NearestSearch) -> list[FactChange]:
    """A list that keeps the GPU out, without it; a list that leaves it out, with it."""
    now = search.what_if.given.get(fact.name)
    if not isinstance(now, tuple):
        return []
    changes = [FactChange(fact.name, now, None)]
    if len(now) > 1:
        changes += [FactChange(fact.name, now, tuple(i for i in now if i != item)) for item in now]
    if fact.items == "gpu":
        changes += [FactChange(fact.name, now, (*now, gpu)) for gpu in sorted(search.gpus) if gpu not in now][:1]
    return changes


def _try_singles(
    search: _NearestSearch, singles: list[FactChange], goals: list[Goal], for_pairs: int = _FOR_PAIRS
) -> bool:
    """Try single changes in order; False when the search had to leave some out for pairs."""
    reserve = min(for_pairs, search.what_if.limit // 3)
    reached: dict[Goal, set[str]] = {goal: set() for goal in goals}
    for change in singles:
        open_goals = [goal for goal in goals if len(reached[goal]) < _ENOUGH]
        if not open_goals:
            return True
        if search.what_if.made > search.what_if.limit - reserve and not search.found[goals[-1]]:
            return False
        if all(change.fact in reached[goal] for goal in open_goals):
            continue
        for goal, nearest in search.try_out((change,), open_goals).items():
            if change.fact not in reached[goal]:
                reached[goal].add(change.fact)
                search.found[goal].append(_brought_nearer(search, nearest))
    return True


def _brought_nearer(search: _NearestSearch, nearest: Nearest, position: int = 0) -> Nearest:
    """Halve the way of one number between where the goal is not reached and where it is; other changes stay."""
    change = nearest.changes[position]
    fact = search.facts[change.fact]
    before, after = change.before, change.after
    if not (fact.numeric and is_number(before) and is_number(after)):
        return nearest
    near = _last_missing(search, change, float(before), float(after)) if len(nearest.changes) == 1 else float(before)
    best = nearest
    for _ in range(_BISECTIONS):
        middle = between(fact, near, float(best.changes[position].after))  # type: ignore[arg-type]
        if middle is None:
            break
        changes = list(best.changes)
        changes[position] = replace(change, after=middle)
        reached = search.try_out(tuple(changes), (nearest.goal,))
        if nearest.goal in reached:
            best = reached[nearest.goal]
        else:
            near = float(middle)  # type: ignore[arg-type]
    return best


def _last_missing(search: _NearestSearch, change: FactChange, before: float, after: float) -> float:
    """The value nearest to one that reaches the goal of which it is known that it does not."""
    tried = [
        float(other.after)
        for other in search.gaps
        if other.fact == change.fact
        and isinstance(other.after, int | float)
        and min(before, after) < other.after < max(before, after)
    ]
    return min(tried, key=lambda value: abs(value - after), default=before)


def _try_pairs(search: _NearestSearch, base: Outcome | None, goals: list[Goal], first: frozenset[str]) -> None:
    """Pairs of the changes that alone came nearest, for goals that no fact alone reaches."""
    missed = [goal for goal in goals if not search.found[goal]]
    if not missed:
        return
    start = gap(base, search.gpus)
    best: dict[str, FactChange] = {}
    by_gap = sorted(search.gaps, key=lambda c: (search.gaps[c], c.distance, c.fact, str(c.after)))
    for change in by_gap:
        if search.gaps[change] < start - 1e-9 or (change.fact in first and search.gaps[change] < start + 1e-9):
            best.setdefault(change.fact, change)
    leading = sorted(best.values(), key=lambda change: change.fact not in first)[:_PAIRED]
    rest = [change for change in by_gap if search.gaps[change] < REJECTED and change not in leading]
    pairs = [*itertools.combinations(leading, 2), *itertools.product(leading[:3], rest[:10])]

    def order(pair: tuple[FactChange, FactChange]) -> tuple[bool, float, float]:
        one, other = pair
        gaps = search.gaps[one] + search.gaps[other]
        return not {one.fact, other.fact} <= first, gaps, one.distance + other.distance

    for pair in sorted((pair for pair in pairs if pair[0].fact != pair[1].fact), key=order):
        missed = [goal for goal in missed if len(search.found[goal]) < _ENOUGH]
        if not missed:
            break
        for goal, nearest in search.try_out(pair, missed).items():
            search.found[goal].append(nearest)
            for position in (0, 1):
                search.found[goal][-1] = _brought_nearer(search, search.found[goal][-1], position)


def fitting_plan(outcome: Judgement, gpus: frozenset[str]) -> str | None:
    """The best plan of a GPU that no rule rejects."""
    best = best_of(outcome, gpus)
    return best.ranked.plan.id if best else None


def winning_plan(outcome: Judgement, gpus: frozenset[str]) -> str | None:
    """The recommended plan, where it is of this GPU."""
    chosen = outcome.chosen
    return chosen.ranked.plan.id if chosen and chosen.ranked.plan.gpu.id in gpus else None


REACHED: dict[Goal, Callable[[Judgement, frozenset[str]], str | None]] = {"wins": winning_plan, "fits": fitting_plan}


def _sorted(found: list[Nearest]) -> tuple[Nearest, ...]:
    """The nearest first; of several values of the same facts, changed the same way, the nearest alone."""
    kept: dict[tuple[object, ...], Nearest] = {}
    for nearest in sorted(found, key=lambda nearest: (*nearest.distance, str(nearest.changes))):
        kept.setdefault(tuple(_way(change) for change in nearest.changes), nearest)
    return tuple(kept.values())


def _way(change: FactChange) -> tuple[object, ...]:
    """Which fact changes, and to which value; of a number, which way it goes."""
    before, after = change.before, change.after
    if isinstance(after, bool) or not isinstance(after, int | float):
        return change.fact, after
    return change.fact, isinstance(before, int | float) and after > before
