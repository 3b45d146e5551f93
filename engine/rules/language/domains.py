"""What a fact may be: its range, the classes of values that conditions can distinguish, and values that stand for them.

A number that is compared with 7 and 70 has five classes: below 7, 7, between, 70, above. Every value of a class meets
the same comparisons, so one stands for all, and a set of values becomes a bit mask. Being unknown is one more class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from whichgpu.engine.core import Scalar, Value, is_number
from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.language.tree import (
    And,
    Compare,
    Const,
    Expr,
    FactRef,
    Known,
    Member,
    Not,
    Or,
    facts_read,
    leaves,
)


if TYPE_CHECKING:
    import random


#: Stands for every text that no rule names.
ANY_OTHER = "anything else"
#: Stands for the end of a domain that has none; and as far as a number is drawn at random.
_FAR, _FAR_DRAWN = 1e12, 1e6

ItemT = TypeVar("ItemT")


def constants(expr: Expr) -> Iterator[tuple[str, Scalar]]:
    """Facts with the constants that a condition compares them with, in the order in which they are written."""
    for part in leaves(expr):
        match part:
            case Member(FactRef(name), choices):
                for value in choices:
                    yield name, value
            case Compare(_, FactRef(name), Const(value)) | Compare(_, Const(value), FactRef(name)):
                yield name, value
            case _:
                pass


def constants_compared(exprs: Iterable[Expr]) -> dict[str, frozenset[Scalar]]:
    """For each fact the constants that conditions compare it with."""
    found: dict[str, set[Scalar]] = {}
    for expr in exprs:
        for name, value in constants(expr):
            found.setdefault(name, set()).add(value)
    return {name: frozenset(values) for name, values in found.items()}


def compares_with_constant(expr: Expr) -> bool:
    """Whether it is a comparison of a fact with a constant."""
    return isinstance(expr, Compare) and {type(expr.left), type(expr.right)} == {FactRef, Const}


def read_jointly(expr: Expr) -> frozenset[str]:
    """Facts that a condition reads otherwise than against constants: in arithmetic, beside another fact, as a list."""
    match expr:
        case And(operands) | Or(operands):
            return frozenset().union(*(read_jointly(part) for part in operands))
        case Not(operand):
            return read_jointly(operand)
        case FactRef() | Known() | Member(FactRef()):
            return frozenset()
        case _:
            return frozenset() if compares_with_constant(expr) else frozenset(facts_read(expr))


def bounds(fact: FactDef) -> tuple[float, float]:
    """The ends of a number's range; infinite where it has none."""
    return (-math.inf if fact.min is None else fact.min), (math.inf if fact.max is None else fact.max)


def inside(fact: FactDef, number: float) -> bool:
    """Whether a number lies in the range of a fact."""
    low, high = bounds(fact)
    return low <= number <= high and not (fact.exclusive_min and number == low)


class Span(Struct, frozen=True):
    """One class of numbers: a point (``low == high``) or an open interval."""

    low: float
    high: float

    @property
    def point(self) -> bool:
        """Whether it holds one number."""
        return self.low == self.high


class Classes(Struct, frozen=True):
    """The classes of one fact; the last bit of a mask is "unknown"."""

    fact: str
    members: tuple[Span | Scalar, ...]
    integer: bool = False

    @property
    def unknown(self) -> int:
        """The mask of being unknown."""
        return 1 << len(self.members)

    @property
    def known(self) -> int:
        """The mask of all values."""
        return self.unknown - 1

    @property
    def full(self) -> int:
        """The mask of everything."""
        return self.unknown | self.known

    def where(self, op: str, value: Scalar) -> int:
        """The mask of the values that compare so with ``value``."""
        return sum(1 << at for at, member in enumerate(self.members) if _holds(member, op, value))

    def among(self, values: Iterable[Scalar]) -> int:
        """The mask of these values."""
        mask = 0
        for value in values:
            mask |= self.where("==", value)
        return mask

    def holding(self, value: Value) -> int:
        """The mask of the class that a value lies in; of a fact that takes other words too, the rest of them."""
        if isinstance(value, tuple):
            return self.known
        spans = [member for member in self.members if isinstance(member, Span)]
        if spans and not isinstance(value, str):
            held = (span.low < value < span.high or span.low == value == span.high for span in spans)
            return sum(1 << at for at, inside in enumerate(held) if inside)
        return self.where("==", value) or (self.where("==", ANY_OTHER) if isinstance(value, str) else 0)

    def example(self, mask: int) -> Scalar | None:
        """A value of the mask, points and words before intervals; None where only being unknown is left."""
        found = [member for at, member in enumerate(self.members) if mask >> at & 1]
        if not found:
            return None
        best = next((m for m in found if not isinstance(m, Span) or m.point), found[0])
        if not isinstance(best, Span):
            return best
        number = best.low if best.point else _readable(best, integer=self.integer)
        return int(number) if self.integer or float(number).is_integer() else number


class Domains:
    """The classes of all facts, as fine as the constants need them that conditions name."""

    def __init__(self, named: Iterable[tuple[str, Scalar]], vocabulary: Vocabulary) -> None:
        """Prepare: ``named`` are facts with the constants that they are compared with or set to."""
        self._named: dict[str, set[Scalar]] = {}
        for fact, value in named:
            self._named.setdefault(fact, set()).add(value)
        self._vocabulary = vocabulary
        self._classes: dict[str, Classes] = {}

    def of(self, fact: str) -> Classes:
        """The classes of one fact."""
        if fact not in self._classes:
            self._classes[fact] = _classes(self._vocabulary.facts[fact], self._named.get(fact, set()))
        return self._classes[fact]


def _classes(fact: FactDef, named: set[Scalar]) -> Classes:
    if fact.numeric:
        return Classes(fact.name, tuple(_spans(fact, named)), integer=fact.type == "int")
    if fact.type == "bool":
        return Classes(fact.name, (False, True))
    if fact.type == "list":
        return Classes(fact.name, ("a list",))
    if fact.type == "enum" and fact.choices:
        choices = dict.fromkeys((*fact.choices, *(("other",) if fact.open else ())))
        return Classes(fact.name, tuple(choices))
    return Classes(fact.name, (*sorted(str(value) for value in named), ANY_OTHER))


def _spans(fact: FactDef, named: set[Scalar]) -> Iterator[Span]:
    """Points and the open intervals between them, within the fact's range, in order."""
    low, high = bounds(fact)
    limits = {float(value) for value in named if not isinstance(value, str)} | {low, high}
    points = sorted(limit for limit in limits if low <= limit <= high)
    for at, point in enumerate(points):
        open_end = point == low and fact.exclusive_min
        if math.isfinite(point) and not open_end and not (fact.type == "int" and point % 1):
            yield Span(point, point)
        if at + 1 < len(points) and _room(point, points[at + 1], integer=fact.type == "int"):
            yield Span(point, points[at + 1])


def _room(low: float, high: float, *, integer: bool) -> bool:
    """Whether a number lies strictly between."""
    if integer and math.isfinite(low) and math.isfinite(high):
        return math.floor(low) + 1 < high
    return low < high


def _holds(member: Span | Scalar, op: str, value: Scalar) -> bool:
    if not isinstance(member, Span):
        same = member == value and isinstance(member, bool) == isinstance(value, bool)
        return same if op == "==" else not same if op == "!=" else False
    if isinstance(value, str):
        return op == "!="
    limit = float(value)
    at = member.low == limit and member.point
    if op in ("==", "!="):
        return at is (op == "==")
    if op in ("<", "<="):
        return member.high <= limit and (op == "<=" or not at)
    return member.low >= limit and (op == ">=" or not at)


def _readable(span: Span, *, integer: bool) -> float:
    """A number of an open interval that reads well."""
    if math.isinf(span.low) and math.isinf(span.high):
        return 1
    if math.isinf(span.low):
        return span.high / 2 if span.high > 0 and not integer else span.high - 1
    if math.isinf(span.high):
        return span.low * 2 if span.low >= 1 else span.low + 1
    if integer:
        return math.floor(span.low) + 1
    middle = (span.low + span.high) / 2
    rounded = (round(middle, digits) for digits in range(6))
    return next((number for number in rounded if span.low < number < span.high), middle)


def representatives(fact: FactDef, named: Iterable[Scalar]) -> tuple[Value, ...] | None:
    """Values that stand for the whole domain of a fact, given what rules compare it with; None where none can.

    A number is stood for by the ends of its range, by each constant, and by one value between any two of these.
    """
    if fact.type == "bool":
        return (False, True)
    if fact.type == "enum":
        return fact.choices
    if not fact.numeric:
        return None
    low, high = (math.copysign(_FAR, end) if math.isinf(end) else float(end) for end in bounds(fact))
    if fact.exclusive_min:
        low += min(1e-3, (high - low) / 1e6)
    inner = {float(c) for c in named if is_number(c) and low <= c <= high}
    marks = sorted({low, high, *inner})
    between = [_middle(a, b) for a, b in pairwise(marks)]
    if fact.type == "int":
        whole = {math.floor(x) for x in (*marks, *between)} | {int(m) + d for m in inner for d in (-1, 1)}
        return tuple(sorted(x for x in whole if low <= x <= high))
    return tuple(sorted({*marks, *between}))


def _middle(low: float, high: float) -> float:
    """A value between two others, on a logarithmic scale where it spans decades."""
    return math.sqrt(low * high) if low > 0 and high / low > 100 else (low + high) / 2


def spread(values: Sequence[ItemT], most: int) -> tuple[ItemT, ...]:
    """At most so many of the values, the first and the last among them, evenly apart."""
    if len(values) <= most:
        return tuple(values)
    step = (len(values) - 1) / (most - 1)
    return tuple(values[round(index * step)] for index in range(most))


def drawn(fact: FactDef, chance: random.Random) -> bool | float | str | list[str] | None:
    """A value from the whole domain, every order of magnitude as likely; None where none can be drawn (texts, GPUs)."""
    if fact.type == "bool":
        return chance.random() < 0.5
    if fact.type == "enum":
        return chance.choice(fact.choices)
    if fact.type == "list":
        return [chance.choice(fact.choices)] if fact.items == "enum" else None
    if not fact.numeric:
        return None
    low = max(fact.min or 0, 0.01 if fact.type == "number" else 1)
    high = max(low, min(bounds(fact)[1], _FAR_DRAWN))
    value = low * (high / low) ** chance.random()
    return max(round(value), round(low)) if fact.type == "int" else float(f"{value:.3g}")
