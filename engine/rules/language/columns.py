"""Conditions over columns: judged on all rows of a table at once, in the three values of ``compiling``.

A truth is 1, 0 or -1: it holds, is unknown, does not hold. So ``and`` is the least, ``or`` the greatest and ``not`` the
negative of what it joins. A test of words is made once for each word and read off by number. Facts of the workload are
single values, and what reads them alone is a single truth.

Numbers of a table are doubles. What columns cannot do as the scalar form does it (whole numbers that no double holds, a
number beside a word) raises ``Unsuited``: such a condition is judged row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import Column, Facts, FactTable, NumberColumn, Scalar, Value, WordColumn
from whichgpu.engine.rules.language.compiling import COMPARISONS, OPERATIONS, Test, calculate, compile_in
from whichgpu.engine.rules.language.tree import OPPOSITE, ArithOp, CompareOp, Expr, is_local


Truths: TypeAlias = NDArray[np.int8]
HOLDS, UNKNOWN, FAILS = 1, 0, -1


class View(NamedTuple):
    """What a condition over columns reads: the workload's facts, and those of each row."""

    shared: Facts
    table: FactTable


class Unsuited(Exception):  # noqa: N818 - a signal between two modules, not an error anyone sees
    """Columns of these kinds have no such operation."""


#: A function of a view. A value: a column, a single value, or None; a truth: one for each row, or one for all.
Operand: TypeAlias = Callable[[View], "Column | Truths | Value | None"]
Condition: TypeAlias = Callable[[View], "Truths | int"]


def compile_columns(expr: Expr) -> Condition:
    """A function of a view that gives the truth of a condition.

    Raises, when called:
        Unsuited: the condition must be judged row by row.
    """
    return _truth(compile_in(_COLUMNS, expr))


def truth_of(value: Value | None) -> int:
    """The truth of a single value; one that is no truth value is taken for unknown."""
    return HOLDS if value is True else FAILS if value is False else UNKNOWN


class _Condition:
    """Marks a function whose result is a truth already; others give a value that may be one."""

    __slots__ = ("call",)

    def __init__(self, call: Condition) -> None:
        self.call = call

    def __call__(self, view: View) -> Truths | int:
        return self.call(view)


def _truth(operand: Operand) -> Condition:
    if isinstance(operand, _Condition):
        return operand.call
    return _OfWords(operand, None)


class _OfWords:
    """A test of the operand's value, made once for each word of a column and kept while the words stay.

    Args:
        operand: gives the value.
        test: what to ask of a known one; None: whether it is true.
        numbers: the same test of an array of numbers, if there is one: where it holds and where it fails.
    """

    __slots__ = ("_kept", "_numbers", "_operand", "_test")

    def __init__(
        self, operand: Operand, test: Test | None, numbers: Callable[[NDArray[np.float64]], Truths] | None = None
    ) -> None:
        self._operand = operand
        self._test = test
        self._numbers = numbers
        self._kept: tuple[tuple[Value, ...] | None, Truths] = (None, np.empty(0, np.int8))

    def __call__(self, view: View) -> Truths | int:
        value = self._operand(view)
        if isinstance(value, WordColumn):
            words, truths = self._kept
            if words is not value.words:
                truths = np.array([*map(self._of, value.words), UNKNOWN], np.int8)  # The last is for the number -1.
                self._kept = (value.words, truths)
            return truths[value.codes]
        if isinstance(value, NumberColumn):
            if self._numbers is None:
                raise Unsuited
            return self._numbers(value.values)
        return UNKNOWN if value is None else self._of(cast("Value", value))

    def _of(self, value: Value) -> int:
        if self._test is None:
            return truth_of(value)
        return HOLDS if self._test(value) else FAILS


class _ColumnForm:
    """Functions of a view."""

    def constant(self, value: Scalar) -> Operand:
        return lambda _view: value

    def fact(self, name: str) -> Operand:
        if is_local(name):
            return lambda view: view.table.column(name)
        return lambda view: view.shared.get(name)

    def arithmetic(self, op: ArithOp, left: Operand, right: Operand) -> Operand:
        vector = OPERATIONS[op]

        def calculated(view: View) -> Column | Value | None:
            one, other = left(view), right(view)
            if one is None or other is None:
                return None
            if not isinstance(one, Column) and not isinstance(other, Column):
                return calculate(op, one, other)
            result = vector(_numbers(one), _numbers(other))
            return NumberColumn(np.where(np.isfinite(result), result, np.nan))  # A division by zero among them.

        return calculated

    def compare(self, op: CompareOp, left: Operand, right: Operand) -> Operand:
        def compared(view: View) -> Truths | int:
            one, other = left(view), right(view)
            if one is None or other is None:
                return UNKNOWN
            if not isinstance(one, Column) and not isinstance(other, Column):
                return HOLDS if COMPARISONS[op](one, other) else FAILS
            if isinstance(one, WordColumn) and not isinstance(other, Column):
                return _OfWords(lambda _view: one, partial(_right, COMPARISONS[op], other))(view)
            if isinstance(other, WordColumn) and not isinstance(one, Column):
                return _OfWords(lambda _view: other, partial(COMPARISONS[op], one))(view)
            return _compared(op, _numbers(one), _numbers(other))

        return _Condition(compared)

    def compare_fact(self, op: CompareOp, name: str, value: Scalar) -> Operand:
        try:
            numbers = partial(_compared, op, other=_double(value))
        except Unsuited:
            numbers = None
        return _Condition(_OfWords(self.fact(name), partial(_right, COMPARISONS[op], value), numbers))

    def test(self, operand: Operand, test: Test) -> Operand:
        return _Condition(_OfWords(operand, test, partial(_each, test)))

    def known(self, name: str, *, negated: bool) -> Operand:
        fact, yes, no = self.fact(name), *((FAILS, HOLDS) if negated else (HOLDS, FAILS))

        def known(view: View) -> Truths | int:
            value = fact(view)
            if isinstance(value, NumberColumn):
                return np.where(np.isnan(value.values), np.int8(no), np.int8(yes))
            if isinstance(value, WordColumn):
                return np.where(value.codes < 0, np.int8(no), np.int8(yes))
            return no if value is None else yes

        return _Condition(known)

    def negation(self, operand: Operand) -> Operand:
        truth = _truth(operand)
        return _Condition(lambda view: -truth(view))

    def junction(self, operands: Sequence[Operand], *, deciding: bool) -> Operand:
        truths = [_truth(operand) for operand in operands]
        decided = HOLDS if deciding else FAILS
        fold = np.maximum if deciding else np.minimum

        def joined(view: View) -> Truths | int:
            rows: Truths | None = None
            single = -decided
            for part in truths:
                truth = part(view)
                if isinstance(truth, int):
                    if truth == decided:
                        return decided
                    single = truth if single == -decided else single
                else:
                    rows = truth if rows is None else fold(rows, truth)
            if rows is None:
                return single
            return rows if single == -decided else fold(rows, np.int8(single))

        return _Condition(joined)


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


def _numbers(value: object) -> NDArray[np.float64] | float:
    return value.values if isinstance(value, NumberColumn) else _double(value)


def _compared(op: CompareOp, one: Any, other: Any) -> Truths:
    """Numbers compared. NaN, the unknown, is neither below, above nor equal."""
    if op in ("==", "!="):
        equal, differ = np.equal(one, other), np.less(one, other) | np.greater(one, other)
        holds, fails = (equal, differ) if op == "==" else (differ, equal)
    else:
        holds, fails = COMPARISONS[op](one, other), COMPARISONS[OPPOSITE[op]](one, other)
    return cast("Truths", holds.view(np.int8) - fails.view(np.int8))


def _each(test: Test, values: NDArray[np.float64]) -> Truths:
    """A test of numbers, one by one."""
    return np.array(
        [UNKNOWN if isnan(value) else HOLDS if test(value) else FAILS for value in values.tolist()], np.int8
    )
