"""Walks: the values of a number worth trying, to either side of the present one, and which of them tell of the others.

Between two values on which every condition of the rules comes to the same, rules change nothing: what changes there
follows from figures that rise or fall with the number. So of such values within 10 % the farthest is tried; only where
it brings another answer are those before it looked at, by halving, for the first that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from whichgpu.engine.core import Facts
from whichgpu.engine.explain.rerun import FactChange, is_number
from whichgpu.engine.rules import Expr, Rule, compile_expr, evaluate, facts_read, leaves


#: So near, as the logarithm of a ratio, one value may stand for another: about 10 %.
_NEAR = 0.1


class Walks:
    """The changes of numbers among some changes, each number's to one side in order."""

    def __init__(self, changes: Iterable[FactChange], rules: Iterable[Rule], facts: Facts, given: Facts) -> None:
        """Sort them.

        Args:
            changes: to be tried.
            rules: all that may judge the workload.
            facts: of the workload as it is.
            given: those that were stated, which stay as they are while another one changes.
        """
        self._walks: dict[tuple[str, bool | None], list[FactChange]] = {}
        for change in changes:
            if is_number(change.after):
                self._walks.setdefault((change.fact, side_of(change)), []).append(change)
        reading: dict[str, dict[str, Expr]] = {name: {} for name, _ in self._walks}
        for rule in rules:
            kept_back = _kept_back(rule, given)
            for name in rule.reads & reading.keys():
                if any(name not in read for read in kept_back):
                    continue  # It cannot fire, whatever the number.
                parts = (leaf for condition in rule.when for leaf in leaves(condition.expr))
                reading[name].update((repr(leaf), leaf) for leaf in parts if name in facts_read(leaf))
        compiled = {name: [compile_expr(leaf) for leaf in parts.values()] for name, parts in reading.items()}
        self._told: set[FactChange] = set()  # by a farther one
        for (_, side), walk in self._walks.items():
            walk.sort(key=lambda change: change.after, reverse=side is False)  # type: ignore[arg-type, return-value]

            def truths(change: FactChange) -> list[object]:
                seen = facts if change.after is None else {**facts, change.fact: change.after}
                return [holds(seen) for holds in compiled[change.fact]]

            alike = [[*group] for _, group in groupby(walk, truths)]
            for group in alike:
                last = group[-1]
                for change in group[-2::-1]:
                    if _apart(change, last) < _NEAR:
                        self._told.add(change)
                    else:  # Farther away figures may have come and gone in between.
                        last = change

    def told_by_another(self, change: FactChange) -> bool:
        """Whether a value beside it is tried in place of this one."""
        return change in self._told

    def first(
        self, change: FactChange, kept: Callable[[FactChange], bool], differs: Callable[[FactChange], bool]
    ) -> FactChange:
        """The first value on the way to one that brings another answer that does so too, found by halving.

        Args:
            change: it brings another answer.
            kept: whether it is known of a value that it keeps the answer.
            differs: decides whether a value brings another answer.
        """
        side = side_of(change)
        walk: Sequence[FactChange] = () if side is None else self._walks.get((change.fact, side), ())
        far = walk.index(change) if walk else 0
        near = max((place for place in range(far) if kept(walk[place])), default=-1)
        while far - near > 1:
            middle = (near + far) // 2
            near, far = (near, middle) if differs(walk[middle]) else (middle, far)
        return walk[far] if walk else change


def _apart(one: FactChange, other: FactChange) -> float:
    return FactChange(one.fact, one.after, other.after).distance


def _kept_back(rule: Rule, given: Facts) -> list[frozenset[str]]:
    """The facts of each condition that is false by what was stated."""
    read = ((condition, frozenset(facts_read(condition.expr))) for condition in rule.when)
    return [names for condition, names in read if names <= given.keys() and evaluate(condition.expr, given) is False]


def side_of(change: FactChange) -> bool | None:
    """Whether a number rises; None for anything else."""
    before, after = change.before, change.after
    return after > before if is_number(before) and is_number(after) else None
