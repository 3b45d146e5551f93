"""Comparisons of sums of facts, decided exactly: is there a point at which they all come out as wanted?

A comparison such as ``plan.usd_per_hour * 1.3 > budget_usd_per_hour`` becomes a linear form, compared with zero.
Whether several hold together, with each fact in its range, is found by eliminating one fact after the other (Fourier
and Motzkin) in fractions, without rounding; whole numbers, values left out of a range and ``!=`` are decided by
dividing the case in two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from whichgpu.engine.rules import (
    Arith,
    Compare,
    Const,
    Expr,
    FactRef,
    Vocabulary,
    bounds,
    facts_read,
    written,
)


#: Rows of a system, and divisions of a case, after which nothing is claimed.
MOST_ROWS, MOST_DIVISIONS = 600, 40


class GaveUp(Exception):  # noqa: N818  (not an error: the answer is "undecided")
    """The search took too many steps."""


class Linear(Struct, frozen=True):
    """A sum of multiples of terms and a constant. A term is a fact, or a product of facts taken for one number."""

    terms: tuple[tuple[str, Fraction], ...]
    constant: Fraction
    reads: frozenset[str]  # the facts
    plain: bool  # every term is a fact

    @property
    def key(self) -> str:
        """Equal for forms that are equal, and unknown together."""
        cancelled = self.reads - {name for name, _ in self.terms} if self.plain else ()
        parts = (*(f"{times} {name}" for name, times in self.terms), *(f"0 {name}" for name in sorted(cancelled)))
        return f"{' + '.join(parts)} ~ {-self.constant}"


class Row(Struct, frozen=True):
    """``sum of terms + constant`` is below zero (``strict``), or at most zero."""

    terms: Mapping[str, Fraction]
    constant: Fraction
    strict: bool


class Interval(Struct, frozen=True):
    """Numbers between two ends, which may belong to it; None: no end."""

    low: Fraction | None
    high: Fraction | None
    low_open: bool
    high_open: bool

    def holds(self, number: Fraction) -> bool:
        """Whether the number lies in it."""
        above = self.low is None or number > self.low or (number == self.low and not self.low_open)
        return above and (self.high is None or number < self.high or (number == self.high and not self.high_open))


def form_of(comparison: Compare, vocabulary: Vocabulary) -> tuple[Linear, bool] | None:
    """The comparison as a form against zero, and whether its sides are exchanged; None where a side is no number.

    The first term counts once and positively, so that ``a > 2 * b`` and ``4 * b < 2 * a`` come to the same.
    """
    turned = isinstance(comparison.left, Const)
    left, right = (comparison.right, comparison.left) if turned else (comparison.left, comparison.right)
    match left, right:
        case Arith("/", dividend, divisor), Const() if _positive(divisor, vocabulary):
            left, right = dividend, Arith("*", right, divisor)
    try:
        one, other = _sum(left, vocabulary), _sum(right, vocabulary)
    except TypeError:
        return None
    terms = {name: one.get(name, Fraction(0)) - other.get(name, Fraction(0)) for name in sorted({*one, *other})}
    constant = terms.pop("", Fraction(0))
    kept = {name: times for name, times in terms.items() if times}
    first = next(iter(kept.values()), Fraction(1))
    reads = facts_read(left) | facts_read(right)
    scaled = tuple((name, times / abs(first)) for name, times in kept.items())
    if first < 0:
        scaled, constant, turned = tuple((name, -times) for name, times in scaled), -constant, not turned
    return Linear(scaled, constant / abs(first), reads, all(name in vocabulary.facts for name in kept)), turned


def _positive(expr: Expr, vocabulary: Vocabulary) -> bool:
    """Whether a divisor is a fact that is above zero wherever it is known."""
    fact = vocabulary.facts.get(expr.name) if isinstance(expr, FactRef) else None
    return fact is not None and fact.min is not None and (fact.min > 0 or (fact.min == 0 and fact.exclusive_min))


def _sum(expr: Expr, vocabulary: Vocabulary) -> dict[str, Fraction]:
    """Terms with how often each counts; "" is the constant. Raises TypeError for what is no number."""
    match expr:
        case Const(value) if not isinstance(value, bool | str):
            return {"": Fraction(value)}  # As exact as the number is held.
        case FactRef(name) if vocabulary.facts[name].numeric:
            return {name: Fraction(1)}
        case Arith(op, left, right):
            one, other = _sum(left, vocabulary), _sum(right, vocabulary)
            if op in "+-":
                sign = 1 if op == "+" else -1
                return {n: one.get(n, Fraction(0)) + sign * other.get(n, Fraction(0)) for n in {**one, **other}}
            if op == "*" and one.keys() <= {""}:
                one, other = other, one
            if other.keys() <= {""} and (op == "*" or (op == "/" and other.get(""))):
                factor = other.get("", Fraction(0))
                return {name: times * factor if op == "*" else times / factor for name, times in one.items()}
            return {written(expr): Fraction(1)}
    raise TypeError


def bounds_of(name: str, vocabulary: Vocabulary) -> Interval:
    """The range of a fact; everything for a product."""
    fact = vocabulary.facts.get(name)
    low, high = bounds(fact) if fact else (-math.inf, math.inf)
    return Interval(_end(low), _end(high), fact is not None and fact.exclusive_min, high_open=False)


def _end(number: float) -> Fraction | None:
    return Fraction(number) if math.isfinite(number) else None


class System(Struct, frozen=True):
    """Forms with the signs that they may have (1 below zero, 2 zero, 4 above), and where each term may lie."""

    forms: tuple[tuple[Linear, int], ...]
    ranges: Mapping[str, tuple[Interval, ...]]  # disjoint, in order
    whole: frozenset[str] = frozenset()  # terms that are whole numbers

    def point(self) -> dict[str, Fraction] | None:
        """A point at which all holds; None: there is none.

        Raises:
            GaveUp: it would take too long to decide.
        """
        return self._point(iter(range(MOST_DIVISIONS)))

    def _point(self, divisions: Iterator[int]) -> dict[str, Fraction] | None:
        if not all(self.ranges.values()) or not all(signs for _, signs in self.forms):
            return None
        found = _eliminated([*self._rows()], self.whole, self.ranges)
        division = None if found is None else self._division(found)
        if division is None:
            return found
        if next(divisions, None) is None:
            raise GaveUp
        # A case and the rest of it: whichever has a point.
        return next((point for case in division if (point := case._point(divisions)) is not None), None)

    def _rows(self) -> Iterator[Row]:
        for form, signs in self.forms:
            terms = dict(form.terms)
            if signs in (1, 2, 3):
                yield Row(terms, form.constant, strict=signs == 1)
            if signs in (2, 4, 6):
                yield Row(_times(terms, Fraction(-1)), -form.constant, strict=signs == 4)
        for name, parts in self.ranges.items():
            low, high = parts[0], parts[-1]
            if low.low is not None:
                yield Row({name: Fraction(-1)}, low.low, low.low_open)
            if high.high is not None:
                yield Row({name: Fraction(1)}, -high.high, high.high_open)

    def _division(self, point: Mapping[str, Fraction]) -> tuple[System, System] | None:
        """Two cases that leave this point out and nothing else that counts; None where the point is as wanted."""
        for at, (form, signs) in enumerate(self.forms):
            if signs == 5 and not sum((times * point[name] for name, times in form.terms), form.constant):
                one, other = ((*self.forms[:at], (form, sign), *self.forms[at + 1 :]) for sign in (1, 4))
                return System(one, self.ranges, self.whole), System(other, self.ranges, self.whole)
        for name, parts in self.ranges.items():
            value = point[name]
            below = tuple(part for part in parts if part.low is None or part.low <= value)
            if not any(part.holds(value) for part in below):
                below = tuple(part for part in parts if part.high is not None and part.high <= value)
                return self._with(name, below), self._with(name, parts[len(below) :])
            if name in self.whole and value.denominator > 1:
                floor = Fraction(math.floor(value))
                down = (_cut(part, None, floor) for part in parts)
                up = (_cut(part, floor + 1, None) for part in parts)
                return self._with(name, filter(None, down)), self._with(name, filter(None, up))
        return None

    def _with(self, name: str, parts: Iterable[Interval]) -> System:
        return System(self.forms, {**self.ranges, name: tuple(parts)}, self.whole)


def _cut(part: Interval, low: Fraction | None, high: Fraction | None) -> Interval | None:
    """The part of an interval from ``low``, or up to ``high``; None where nothing is left."""
    if high is not None and (part.high is None or part.high > high):
        part = Interval(part.low, high, part.low_open, high_open=False)
    if low is not None and (part.low is None or part.low < low):
        part = Interval(low, part.high, low_open=False, high_open=part.high_open)
    if part.low is not None and part.high is not None:
        empty = part.low > part.high or (part.low == part.high and (part.low_open or part.high_open))
        return None if empty else part
    return part


def _times(terms: Mapping[str, Fraction], factor: Fraction) -> dict[str, Fraction]:
    return {name: times * factor for name, times in terms.items()}


def _eliminated(rows: list[Row], whole: frozenset[str], terms: Iterable[str]) -> dict[str, Fraction] | None:
    """A value for each term so that all rows are met, whole where that is easy; None: there are none."""
    removed: list[tuple[str, list[Row]]] = []
    while names := {name for row in rows for name in row.terms}:
        name = min(sorted(names), key=lambda each: _products(rows, each))
        here = [row for row in rows if name in row.terms]
        removed.append((name, here))
        rows = [*(row for row in rows if name not in row.terms), *_combined(here, name)]
        if len(rows) > MOST_ROWS:
            raise GaveUp
    if any(row.constant > 0 or (row.strict and not row.constant) for row in rows):
        return None
    point = dict.fromkeys(terms, Fraction(0))  # What no row limits any more may be anything.
    for name, here in reversed(removed):
        point[name] = _number(_left_open(here, name, point), whole=name in whole)
    return point


def _products(rows: Iterable[Row], name: str) -> int:
    above = sum(row.terms.get(name, 0) > 0 for row in rows)
    return above * sum(row.terms.get(name, 0) < 0 for row in rows)


def _combined(rows: list[Row], name: str) -> Iterator[Row]:
    """What rows say of all other terms: each upper limit of ``name`` against each lower one."""
    seen: dict[tuple[object, ...], None] = {}
    for upper in (row for row in rows if row.terms[name] > 0):
        for lower in (row for row in rows if row.terms[name] < 0):
            one, other = -lower.terms[name], upper.terms[name]
            terms = _times(upper.terms, one)
            for each, times in lower.terms.items():
                terms[each] = terms.get(each, Fraction(0)) + times * other
            kept = {each: times for each, times in terms.items() if times}
            row = Row(kept, upper.constant * one + lower.constant * other, upper.strict or lower.strict)
            key = (*sorted(kept.items()), row.constant, row.strict)
            if key not in seen:
                seen[key] = None
                yield row


def _left_open(rows: Iterable[Row], name: str, point: Mapping[str, Fraction]) -> Interval:
    """Where a term may lie, given the others."""
    low, high, low_open, high_open = None, None, False, False
    for row in rows:
        times = row.terms[name]
        end = -(row.constant + sum(t * point[n] for n, t in row.terms.items() if n != name)) / times
        if times > 0 and (high is None or end < high or (end == high and row.strict)):
            high, high_open = end, row.strict
        elif times < 0 and (low is None or end > low or (end == low and row.strict)):
            low, low_open = end, row.strict
    return Interval(low, high, low_open, high_open)


def _number(space: Interval, *, whole: bool) -> Fraction:
    """A number of an interval that reads well."""
    low, high = space.low, space.high
    if low is None or high is None:
        start = Fraction(0) if low is None and high is None else low if high is None else high
        step = 1 if high is None else -1
        rounded = Fraction(math.ceil(start) if step > 0 else math.floor(start))  # type: ignore[arg-type]
        return rounded if space.holds(rounded) else rounded + step
    if low == high:
        return low
    middle = (low + high) / 2
    for digits in range(0 if whole else -6, 7):
        scale = Fraction(10) ** digits
        for number in (Fraction(round(middle * scale)) / scale, math.ceil(low * scale) / scale):
            if space.holds(number):
                return number
    return middle
