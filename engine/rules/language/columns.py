"""Conditions over columns: on which rows of a table does one hold?

What fails is what the negated condition holds for, and on the other rows it is unknown: so two functions of one kind
give the three values of ``compiling``, and only what is asked for is computed. A test of words is made once for each
word and read off by number. Facts of the workload are single values; what reads them alone holds on all rows or none.

Numbers of a table are doubles. What columns cannot do as the scalar form does it (whole numbers that no double holds, a
number beside a word) raises ``Unsuited``: such a condition is judged row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from whichgpu.engine.core import Column, Facts, FactTable, NumberColumn, Numbers, Scalar, Value, WordColumn
from whichgpu.engine.rules.language.compiling import COMPARISONS, OPERATIONS, Test, calculate, compile_in, member
from whichgpu.engine.rules.language.tree import ArithOp, CompareOp, Expr, Not, is_local, to_nnf


Rows: TypeAlias = NDArray[np.bool_]


class View(Struct, frozen=True):
    """What a condition over columns reads: the workload's facts, and those of each row."""

    shared: Facts
    table: FactTable


class Unsuited(Exception):  # noqa: N818 - a signal between two modules, not an error anyone sees
    """Columns of these kinds have no such operation."""


Where: TypeAlias = Callable[[View], Rows | bool]


def where_holds(expr: Expr) -> Where:
    """A function of a view that gives the rows on which a condition holds, or whether it holds on all or on none.

    It raises Unsuited where the condition must be judged row by row.
    """
    return _where(compile_in(_COLUMNS, to_nnf(expr)))


def where_fails(expr: Expr) -> Where:
    """As ``where_holds``, for the rows on which the condition does not hold, for certain."""
    return where_holds(Not(expr))


#: Operations that columns have of their own.
_VECTORS: dict[ArithOp, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}


class _Value(Struct, frozen=True):
    """A function that gives a value: a column, a single value, or None."""

    of: Callable[[View], Column | Value | None]


class _Truth(Struct, frozen=True):
    """A function that gives the rows on which something holds; ``opposite`` where it fails, if that may be asked."""

    where: Where
    opposite: Where | None = None


_Operand: TypeAlias = _Value | _Truth


def _value(operand: _Operand) -> Callable[[View], Column | Value | None]:
    if not isinstance(operand, _Value):
        raise TypeError("a condition stands where a value is read")
    return operand.of


def _where(operand: _Operand) -> Where:
    """Where the operand is true."""
    return operand.where if isinstance(operand, _Truth) else _OfWords(operand.of, lambda value: value is True)


class _OfWords:
    """Where a test of a value holds. It is made once for each word of a column, and kept while the words stay.

    Args:
        value: gives a column, or a single value.
        test: what to ask of a known value.
        numbers: the same of an array of numbers, if there is such a test.
    """

    __slots__ = ("_kept", "_numbers", "_test", "_value")

    def __init__(
        self,
        value: Callable[[View], Column | Value | None],
        test: Test,
        numbers: Callable[[Numbers], Rows] | None = None,
    ) -> None:
        self._value = value
        self._test = test
        self._numbers = numbers
        self._kept: tuple[tuple[Value, ...] | None, Rows] = (None, np.empty(0, np.bool_))

    def __call__(self, view: View) -> Rows | bool:
        value = self._value(view)
        if isinstance(value, WordColumn):
            words, holds = self._kept
            if words is not value.words:
                holds = np.array([*map(self._test, value.words), False], np.bool_)  # The last is for the number -1.
                self._kept = (value.words, holds)
            return holds[value.codes]
        if isinstance(value, NumberColumn):
            if self._numbers is not None:
                return self._numbers(value.values)
            if not np.isnan(value.values).all():  # A fact that is known nowhere has a column of numbers.
                raise Unsuited
            return np.zeros(len(value.values), np.bool_)
        return value is not None and self._test(value)


class _ColumnForm:
    """Functions of a view, for conditions in negation normal form."""

    def constant(self, value: Scalar) -> _Operand:
        return _Value(lambda _view: value)

    def fact(self, name: str) -> _Operand:
        if is_local(name):
            return _Value(lambda view: view.table.column(name))
        return _Value(lambda view: view.shared.get(name))

    def arithmetic(self, op: ArithOp, left: _Operand, right: _Operand) -> _Operand:
        first, second, vector = _value(left), _value(right), _VECTORS.get(op, OPERATIONS[op])

        def calculated(view: View) -> Column | Value | None:
            one, other = first(view), second(view)
            if one is None or other is None:
                return None
            if not isinstance(one, Column) and not isinstance(other, Column):
                return calculate(op, one, other)
            result = vector(_numbers(one), _numbers(other))
            return NumberColumn(np.where(np.isfinite(result), result, np.nan))  # A division by zero among them.

        return _Value(calculated)

    def compare(self, op: CompareOp, left: _Operand, right: _Operand) -> _Operand:
        first, second, test = _value(left), _value(right), COMPARISONS[op]

        def compared(view: View) -> Rows | bool:
            one, other = first(view), second(view)
            if one is None or other is None:
                return False
            if not isinstance(one, Column) and not isinstance(other, Column):
                return test(one, other)
            if isinstance(one, WordColumn) and not isinstance(other, Column):
                return _OfWords(lambda _view: one, partial(_right, test, other))(view)
            if isinstance(other, WordColumn) and not isinstance(one, Column):
                return _OfWords(lambda _view: other, partial(test, one))(view)
            return _compared(op, _numbers(one), _numbers(other))

        return _Truth(compared)

    def compare_fact(self, op: CompareOp, name: str, value: Scalar) -> _Operand:
        test = partial(_right, COMPARISONS[op], value)
        try:
            number = _double(value)
        except Unsuited:
            return _Truth(_OfWords(_value(self.fact(name)), test))
        return _Truth(_OfWords(_value(self.fact(name)), test, lambda values: _compared(op, values, number)))

    def member(self, operand: _Operand, choices: tuple[Scalar, ...], *, negated: bool) -> _Operand:
        numbers = [choice for choice in choices if not isinstance(choice, str)]

        def among(values: Numbers) -> Rows:
            found: Rows = (values[:, None] == np.array([_double(number) for number in numbers])).any(axis=1)
            return ~found & ~np.isnan(values) if negated else found

        return _Truth(_OfWords(_value(operand), member(choices, negated=negated), among))

    def has(self, operand: _Operand, item: Scalar) -> _Operand:
        value = _value(operand)
        return _Truth(
            _OfWords(value, lambda held: isinstance(held, tuple) and item in held),
            _OfWords(value, lambda held: not (isinstance(held, tuple) and item in held)),
        )

    def known(self, name: str, *, negated: bool) -> _Operand:
        fact = _value(self.fact(name))

        def known(view: View) -> Rows | bool:
            value = fact(view)
            if isinstance(value, NumberColumn):
                unknown = np.isnan(value.values)
                return unknown if negated else ~unknown
            if isinstance(value, WordColumn):
                return value.codes < 0 if negated else value.codes >= 0
            return (value is None) is negated

        return _Truth(known)

    def negation(self, operand: _Operand) -> _Operand:
        if isinstance(operand, _Value):
            return _Truth(_OfWords(operand.of, lambda value: not value))
        if operand.opposite is None:
            raise TypeError("not in negation normal form")
        return _Truth(operand.opposite)

    def junction(self, operands: Sequence[_Operand], *, deciding: bool) -> _Operand:
        parts = [_where(operand) for operand in operands]

        def joined(view: View) -> Rows | bool:
            rows: Rows | None = None
            for part in parts:
                holds = part(view)
                if holds is deciding:
                    return deciding
                if not isinstance(holds, bool):
                    rows = holds if rows is None else rows | holds if deciding else rows & holds
            return (not deciding) if rows is None else rows

        return _Truth(joined)


_COLUMNS = _ColumnForm()


def _right(test: Callable[[Any, Any], bool], right: object, left: Value) -> bool:
    return test(left, right)


def _double(value: object) -> float:
    """The number as a double.

    Raises:
        Unsuited: it is none, or no double equals it.
    """
    if not isinstance(value, int | float):
        raise Unsuited
    try:
        number = float(value)
    except OverflowError:
        raise Unsuited from None
    if number != value:
        raise Unsuited
    return number


def _numbers(value: object) -> Numbers | float:
    return value.values if isinstance(value, NumberColumn) else _double(value)


def _compared(op: CompareOp, one: Any, other: Any) -> Rows:
    """Numbers compared. NaN, the unknown, is neither below, above nor equal."""
    rows: Rows = (one < other) | (one > other) if op == "!=" else COMPARISONS[op](one, other)  # type: ignore[assignment]
    return rows
