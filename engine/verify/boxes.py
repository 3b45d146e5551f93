"""Regions of facts in which a rule can fire, as unions of boxes: one constraint per fact.

A box over-approximates: conditions that are no simple test of one fact against constants widen it, and it then says
that it is not exact. So an empty box proves that a rule cannot fire, and disjoint boxes that two rules never fire
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from engine.language.shaping import to_nnf
from engine.language.tree import And
from engine.language.tree import Compare
from engine.language.tree import CompareOp
from engine.language.tree import Const
from engine.language.tree import Expr
from engine.language.tree import FactRef
from engine.language.tree import Has
from engine.language.tree import Known
from engine.language.tree import Member
from engine.language.tree import Not
from engine.language.tree import Or
from engine.rulebook.model import Rule
from engine.values import Scalar
from engine.vocabulary import FactDef
from engine.vocabulary import Vocabulary


#: More alternatives than this are not spread out: the group then widens its box.
MOST_BOXES = 128

_MIRRORED: dict[CompareOp, CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Range:
    """The values one fact may have. ``known`` False means: must be unknown, and nothing else matters."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    allowed: frozenset[Scalar] | None = None  # None: anything within the interval
    denied: frozenset[Scalar] = frozenset()
    known: bool = True
    has: frozenset[Scalar] = frozenset()  # items that a list holds
    lacks: frozenset[Scalar] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether no value is left."""
        if not self.known:
            return self != Range(known=False)
        if self.has & self.lacks:
            return True
        if self.allowed is not None:
            return not any(self.holds(value) for value in self.allowed)
        if self.low == self.high:
            return self.low_open or self.high_open or self.low in self.denied
        return self.low > self.high

    def holds(self, value: Scalar) -> bool:
        """Whether one value is in the range."""
        if value in self.denied or (self.allowed is not None and value not in self.allowed):
            return False
        if isinstance(value, str | bool):
            return True
        above = value > self.low or (value == self.low and not self.low_open)
        below = value < self.high or (value == self.high and not self.high_open)
        return above and below

    def meet(self, other: Range) -> Range:
        """The values in both. A fact that has to be known and unknown leaves nothing."""
        if self.known != other.known:
            return Range(known=False, allowed=frozenset())
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, high_closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        allowed = self.allowed
        if other.allowed is not None:
            allowed = other.allowed if allowed is None else allowed & other.allowed
        return Range(
            low,
            high,
            low_open,
            not high_closed,
            allowed,
            self.denied | other.denied,
            self.known,
            self.has | other.has,
            self.lacks | other.lacks,
        )

    def within(self, other: Range) -> bool:
        """Whether every value in this range is in the other. May say no where it cannot tell."""
        if self.empty or self == other:
            return True
        if not (self.known and other.known):
            return False
        if not (other.has <= self.has and other.lacks <= self.lacks):
            return False
        return self._inside(other)

    def _inside(self, other: Range) -> bool:
        """``within`` for facts that are known, by value alone."""
        if self.allowed is not None:
            return all(other.holds(value) for value in self.allowed if self.holds(value))
        if other.allowed is not None or any(self.holds(value) for value in other.denied):
            return False
        low_fits = (self.low, self.low_open) >= (other.low, other.low_open)
        high_fits = (self.high, not self.high_open) <= (other.high, not other.high_open)
        return low_fits and high_fits


@dataclass(frozen=True, slots=True)
class Box:
    """Constraints by fact. ``exact``: the box is all that is asked, nothing was left out."""

    ranges: Mapping[str, Range] = field(default_factory=dict)
    exact: bool = True

    @property
    def empty(self) -> bool:
        """Whether no facts fit."""
        return any(span.empty for span in self.ranges.values())

    def meet(self, other: Box) -> Box:
        """The facts in both boxes."""
        ranges = dict(self.ranges)
        for fact, span in other.ranges.items():
            ranges[fact] = ranges[fact].meet(span) if fact in ranges else span
        return Box(ranges, self.exact and other.exact)

    def within(self, other: Box) -> bool:
        """Whether all facts of this box surely fit the other, which has to be exact."""
        if self.empty:
            return True
        if not other.exact:
            return False
        return all(fact in self.ranges and self.ranges[fact].within(span) for fact, span in other.ranges.items())


_EVERYTHING = (Box(),)
_OPAQUE = (Box(exact=False),)


def boxes_of(rule: Rule, vocabulary: Vocabulary) -> tuple[Box, ...]:
    """The boxes of all conditions of a rule together; empty ones are left out, so no box means: never fires."""
    return boxes_of_exprs((condition.expr for condition in rule.when), vocabulary)


def boxes_of_exprs(exprs: Iterable[Expr], vocabulary: Vocabulary) -> tuple[Box, ...]:
    """The boxes in which all ``exprs`` can hold."""
    boxes: tuple[Box, ...] = _EVERYTHING
    for expr in exprs:
        boxes = _meet_all(boxes, _boxes(to_nnf(expr), vocabulary))
    return boxes


def _meet_all(left: tuple[Box, ...], right: tuple[Box, ...]) -> tuple[Box, ...]:
    if len(left) * len(right) > MOST_BOXES:
        return tuple(Box(box.ranges, exact=False) for box in left)
    met = (one.meet(two) for one in left for two in right)
    return tuple(box for box in met if not box.empty)


def _boxes(expr: Expr, vocabulary: Vocabulary) -> tuple[Box, ...]:
    if isinstance(expr, And):
        boxes: tuple[Box, ...] = _EVERYTHING
        for part in expr.operands:
            boxes = _meet_all(boxes, _boxes(part, vocabulary))
        return boxes
    if isinstance(expr, Or):
        found = tuple(box for part in expr.operands for box in _boxes(part, vocabulary))
        return found if len(found) <= MOST_BOXES else _OPAQUE
    if isinstance(expr, Const):
        return _EVERYTHING if expr.value else ()
    single = _single(expr)
    if single is None:
        return _OPAQUE
    fact, span = single
    definition = vocabulary.fact(fact)
    if definition is not None and span.known:
        span = span.meet(domain_of(definition))
    box = Box({fact: span})
    return () if box.empty else (box,)


def domain_of(fact: FactDef) -> Range:
    """All values that a fact may have when it is known."""
    if fact.type == "bool":
        return Range(allowed=frozenset({True, False}))
    if fact.type == "enum" and fact.choices:
        return Range(allowed=frozenset((*fact.choices, "other") if fact.open else fact.choices))
    if fact.numeric:
        low = -math.inf if fact.min is None else fact.min
        high = math.inf if fact.max is None else fact.max
        return Range(low, high, low_open=fact.exclusive_min and fact.min is not None)
    return Range()


def _single(expr: Expr) -> tuple[str, Range] | None:
    """The one fact that a leaf tests against constants, and the values that pass."""
    match expr:
        case FactRef(name):
            found: tuple[str, Range] | None = name, Range(allowed=frozenset({True}))
        case Known(fact, negated):
            found = fact.name, Range(known=not negated)
        case Member(FactRef(name), choices, negated):
            values = frozenset(choices)
            found = name, Range(denied=values) if negated else Range(allowed=values)
        case Has(fact, item):
            found = fact.name, Range(has=frozenset({item}))
        case Not(operand):
            found = _negated(operand)
        case Compare():
            found = _compared(expr)
        case _:
            found = None
    return found


def _negated(expr: Expr) -> tuple[str, Range] | None:
    if isinstance(expr, FactRef):
        return expr.name, Range(allowed=frozenset({False}))
    if isinstance(expr, Has):
        return expr.fact.name, Range(lacks=frozenset({expr.item}))
    return None


def _compared(expr: Compare) -> tuple[str, Range] | None:
    left, right, operator = expr.left, expr.right, expr.op
    if isinstance(left, Const) and isinstance(right, FactRef):
        left, right, operator = right, left, _MIRRORED[operator]
    if not (isinstance(left, FactRef) and isinstance(right, Const)):
        return None
    value = right.value
    if operator == "==":
        return left.name, Range(allowed=frozenset({value}))
    if operator == "!=":
        return left.name, Range(denied=frozenset({value}))
    if isinstance(value, str):
        return None
    number = float(value)
    return left.name, {
        "<": Range(high=number, high_open=True),
        "<=": Range(high=number),
        ">": Range(low=number, low_open=True),
        ">=": Range(low=number),
    }[operator]
