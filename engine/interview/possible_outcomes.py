"""Which truth values a condition can take while some facts are open: a sound over-approximation in three values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview.rule_index import Line
from whichgpu.engine.rules import And, Expr, Not, Or, evaluate, facts_read


Truth = bool | None
TruthValues = frozenset[Truth]

ALWAYS: TruthValues = frozenset((True,))
NEVER: TruthValues = frozenset((False,))
ANY_TRUTH: TruthValues = frozenset((True, False, None))
#: More joint values than this are not tried one by one; the facts are then taken for anything at all.
MOST_COMBINATIONS = 384


@dataclass(slots=True)
class OpenFacts:
    """Facts that are not known yet: what each may be (None: anything), and the askable facts behind it."""

    values: dict[str, tuple[Value | None, ...] | None] = field(default_factory=dict)
    causes: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, fact: str, values: tuple[Value | None, ...] | None, causes: Iterable[str]) -> None:
        """Put in one more open fact."""
        self.values[fact] = values
        self.causes[fact] = frozenset(causes)

    def hides(self, reads: Iterable[str]) -> bool:
        """Whether any of these facts is open."""
        return any(name in self.values for name in reads)

    def behind(self, reads: Iterable[str]) -> frozenset[str]:
        """The askable facts behind these facts."""
        return frozenset(cause for name in reads for cause in self.causes.get(name, ()))

    def without(self, fact: str, value: Value | None) -> OpenFacts:
        """These open facts with one of them fixed to a value."""
        return OpenFacts({**self.values, fact: (value,)}, self.causes)


def overlays(names: Sequence[str], open_facts: OpenFacts) -> Iterator[dict[str, Value | None]]:
    """Every joint value of these facts."""
    for values in product(*(open_facts.values[name] or (None,) for name in names)):
        yield dict(zip(names, values, strict=True))


def combinations(names: Iterable[str], open_facts: OpenFacts) -> int:
    """How many joint values these facts have."""
    return prod(len(open_facts.values[name] or (None,)) for name in names)


def laid_over(facts: Facts, reads: Iterable[str], overlay: Mapping[str, Value | None]) -> dict[str, Value]:
    """The facts that are read, with the overlay's values; a None in it makes a fact unknown."""
    seen = {**{name: facts.get(name) for name in reads}, **overlay}
    return {name: value for name, value in seen.items() if value is not None}


def truth_values_of(lines: Sequence[Line], facts: Facts, open_facts: OpenFacts) -> TruthValues:
    """The values that the conjunction of some lines can take."""
    clear: Truth = True
    waiting = []
    for line in lines:
        if any(name in open_facts.values for name in line.reads):
            waiting.append(line)
        else:
            value = line.test(facts)
            if value is False:
                return NEVER
            clear = None if value is None else clear
    if not waiting:
        return frozenset((clear,))
    found = _values_of_waiting(waiting, facts, open_facts)
    return found if clear is True else frozenset(False if value is False else None for value in found)


def _values_of_waiting(lines: Sequence[Line], facts: Facts, open_facts: OpenFacts) -> TruthValues:
    reads = frozenset(name for line in lines for name in line.reads)
    hidden = sorted(name for name in reads if name in open_facts.values)
    blind = {name for name in hidden if open_facts.values[name] is None}
    blind |= {name for line in lines for name in line.blind if name in open_facts.values}
    finite = [name for name in hidden if name not in blind]
    if combinations(finite, open_facts) > MOST_COMBINATIONS:
        blind, finite = set(hidden), []
    found: set[Truth] = set()
    for overlay in overlays(finite, open_facts):
        seen = laid_over(facts, reads, overlay)
        if blind:
            found |= _conjunction([_blindly(line, seen, blind) for line in lines])
        else:
            found.add(_all(line.test(seen) for line in lines))
        if len(found) == 3:
            break
    return frozenset(found)


def _blindly(line: Line, facts: Facts, blind: set[str]) -> TruthValues:
    if not line.reads & blind:
        return frozenset((_truth(line.test(facts)),))
    return _walk(line.expr, facts, blind)


def _walk(expr: Expr, facts: Facts, blind: set[str]) -> TruthValues:
    match expr:
        case And(operands):
            return _conjunction([_walk(operand, facts, blind) for operand in operands])
        case Or(operands):
            return _negated(_conjunction([_negated(_walk(operand, facts, blind)) for operand in operands]))
        case Not(operand):
            return _negated(_walk(operand, facts, blind))
    if any(name in blind for name in facts_read(expr)):
        return ANY_TRUTH
    return frozenset((_truth(evaluate(expr, facts)),))


def _conjunction(parts: Sequence[TruthValues]) -> TruthValues:
    """What ``and`` over independent parts can be."""
    may_be: dict[Truth, bool] = {
        False: any(False in part for part in parts),
        True: all(True in part for part in parts),
        None: any(None in part for part in parts) and all(part - {False} for part in parts),
    }
    return frozenset(value for value, possible in may_be.items() if possible)


def _negated(part: TruthValues) -> TruthValues:
    return frozenset(None if value is None else not value for value in part)


def _truth(value: Value | None) -> Truth:
    return None if value is None else bool(value)


def _all(values: Iterable[Value | None]) -> Truth:
    result: Truth = True
    for value in values:
        if value is False:
            return False
        if value is None:
            result = None
    return result
