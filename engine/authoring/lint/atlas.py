"""Which values of a fact the rulebook can tell apart.

A number that is compared with 7 and 70 has five classes: below 7, 7, between, 70, above. Every value of a class meets
the same comparisons, so one stands for all, and a set of values becomes a bit mask. Being unknown is one more class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass

from whichgpu.engine.core.values import Scalar
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Arith
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or
from whichgpu.engine.rules.rulebook.effects import SetFact
from whichgpu.engine.rules.rulebook.model import Rulebook


#: Stands for every text that no rule names.
ANY_OTHER = "anything else"


@dataclass(frozen=True, slots=True)
class Span:
    """One class of numbers: a point (``low == high``) or an open interval."""

    low: float
    high: float

    @property
    def point(self) -> bool:
        """Whether it holds one number."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Classes:
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

    def example(self, mask: int) -> Scalar | None:
        """A value of the mask, points and words before intervals; None where only being unknown is left."""
        found = [member for at, member in enumerate(self.members) if mask >> at & 1]
        if not found:
            return None
        best = next((m for m in found if not isinstance(m, Span) or m.point), found[0])
        if not isinstance(best, Span):
            return best
        number = best.low if best.point else _inside(best, integer=self.integer)
        return int(number) if self.integer or float(number).is_integer() else number


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


def _inside(span: Span, *, integer: bool) -> float:
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


class Atlas:
    """The classes of all facts, as fine as a rulebook needs them."""

    def __init__(self, rulebook: Rulebook, vocabulary: Vocabulary, extra: Iterable[tuple[str, Scalar]] = ()) -> None:
        """Look at every constant that a condition or a ``set`` of the rulebook names, and at ``extra`` ones by fact."""
        named: dict[str, set[Scalar]] = {}
        for fact, value in extra:
            named.setdefault(fact, set()).add(value)
        for rule in rulebook.rules:
            for condition in rule.when:
                for fact, value in constants(condition.expr):
                    named.setdefault(fact, set()).add(value)
            for effect in rule.effects:
                if isinstance(effect, SetFact) and isinstance(effect.expr, Const):
                    named.setdefault(effect.fact, set()).add(effect.expr.value)
        self._named: Mapping[str, set[Scalar]] = named
        self._vocabulary = vocabulary
        self._classes: dict[str, Classes] = {}

    def of(self, fact: str) -> Classes:
        """The classes of one fact."""
        if fact not in self._classes:
            definition = self._vocabulary.facts[fact]
            self._classes[fact] = _classes(definition, self._named.get(fact, set()))
        return self._classes[fact]


def constants(expr: Expr) -> Iterator[tuple[str, Scalar]]:
    """Facts with the constants that they are compared with."""
    match expr:
        case And(operands) | Or(operands):
            for part in operands:
                yield from constants(part)
        case Not(operand):
            yield from constants(operand)
        case Member(FactRef(name), choices):
            for value in choices:
                yield name, value
        case Compare(_, FactRef(name), Const(value)) | Compare(_, Const(value), FactRef(name)):
            yield name, value
        case _:
            return


def is_simple(expr: Compare | Arith) -> bool:
    """Whether a comparison is one of a fact with a constant."""
    kinds = {type(expr.left), type(expr.right)}
    return kinds == {FactRef, Const}


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
    low = -math.inf if fact.min is None else fact.min
    high = math.inf if fact.max is None else fact.max
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


__all__ = ["ANY_OTHER", "Atlas", "Classes", "Span", "constants", "is_simple"]
