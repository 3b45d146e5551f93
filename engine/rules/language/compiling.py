"""The semantics: Kleene's three values over facts, where None is unknown; trees become functions that are called.

One walk over a tree makes them, in two forms: the scalar form here, which takes the facts of one case, and the form
over columns (``columns``), which takes a row for each plan. A form says what each kind of node comes to; no text of a
rule ever becomes code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from whichgpu.engine.core import Facts, Scalar, Value
from whichgpu.engine.rules.language.tree import (
    And,
    Arith,
    ArithOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
)


Compiled = Callable[[Facts], Value | None]

COMPARISONS: dict[CompareOp, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATIONS: dict[ArithOp, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "min": min,
    "max": max,
}

#: A test of one known value.
Test = Callable[[Any], bool]
_Function = TypeVar("_Function")


class Form(Protocol[_Function]):
    """What each kind of node comes to, given what its parts come to."""

    def constant(self, value: Scalar) -> _Function:
        """A literal."""

    def fact(self, name: str) -> _Function:
        """The value of a fact."""

    def arithmetic(self, op: ArithOp, left: _Function, right: _Function) -> _Function:
        """``left op right`` over numbers, as ``calculate`` says."""

    def compare(self, op: CompareOp, left: _Function, right: _Function) -> _Function:
        """``left op right``; unknown if a side is."""

    def compare_fact(self, op: CompareOp, name: str, value: Scalar) -> _Function:
        """A fact compared with a literal, as most conditions do."""

    def member(self, operand: _Function, choices: tuple[Scalar, ...], *, negated: bool) -> _Function:
        """Whether the operand's value is among the choices; unknown where that is."""

    def has(self, operand: _Function, item: Scalar) -> _Function:
        """Whether the operand's value is a list with the item; unknown where that is."""

    def known(self, name: str, *, negated: bool) -> _Function:
        """Whether a fact is known."""

    def negation(self, operand: _Function) -> _Function:
        """Not the operand; unknown where that is."""

    def junction(self, operands: Sequence[_Function], *, deciding: bool) -> _Function:
        """``deciding`` if any operand is that, else unknown if any is unknown, else the opposite."""


def compile_in(form: Form[_Function], expr: Expr) -> _Function:  # noqa: PLR0911  # One case per kind of node.
    """The function of an expression, in a form."""
    match expr:
        case Const(value):
            return form.constant(value)
        case FactRef(name):
            return form.fact(name)
        case Compare(op, FactRef(name), Const(value)):
            return form.compare_fact(op, name, value)
        case Compare(op, left, right):
            return form.compare(op, compile_in(form, left), compile_in(form, right))
        case Member(left, choices, negated):
            return form.member(compile_in(form, left), choices, negated=negated)
        case Has(fact, item):
            return form.has(compile_in(form, fact), item)
        case Known(FactRef(name), negated):
            return form.known(name, negated=negated)
        case Not(operand):
            return form.negation(compile_in(form, operand))
        case And(operands):
            return form.junction([compile_in(form, part) for part in operands], deciding=False)
        case Or(operands):
            return form.junction([compile_in(form, part) for part in operands], deciding=True)
        case Arith(op, left, right):
            return form.arithmetic(op, compile_in(form, left), compile_in(form, right))


def evaluate(expr: Expr, facts: Facts) -> Value | None:
    """The value of an expression; None for unknown. Never raises on checked trees. To ask often, compile it once."""
    return compile_expr(expr)(facts)


def compile_expr(expr: Expr) -> Compiled:
    """A function of facts that gives the value of an expression."""
    return compile_in(SCALAR, expr)


class ScalarForm:
    """Functions of the facts of one case."""

    def constant(self, value: Scalar) -> Compiled:
        """A literal."""
        return lambda _facts: value

    def fact(self, name: str) -> Compiled:
        """The value of a fact, or None."""
        return lambda facts: facts.get(name)

    def arithmetic(self, op: ArithOp, left: Compiled, right: Compiled) -> Compiled:
        """A number, or None."""
        return lambda facts: calculate(op, left(facts), right(facts))

    def compare(self, op: CompareOp, left: Compiled, right: Compiled) -> Compiled:
        """A comparison of two values."""
        test = COMPARISONS[op]

        def between(facts: Facts) -> bool | None:
            one, other = left(facts), right(facts)
            return None if one is None or other is None else test(one, other)

        return between

    def compare_fact(self, op: CompareOp, name: str, value: Scalar) -> Compiled:
        """A comparison with a literal."""
        test = COMPARISONS[op]

        def against_constant(facts: Facts) -> bool | None:
            held = facts.get(name)
            return None if held is None else test(held, value)

        return against_constant

    def member(self, operand: Compiled, choices: tuple[Scalar, ...], *, negated: bool) -> Compiled:
        """A look-up among literals."""
        return _tested(operand, member(choices, negated=negated))

    def has(self, operand: Compiled, item: Scalar) -> Compiled:
        """A look into a list."""
        return _tested(operand, lambda held: isinstance(held, tuple) and item in held)

    def known(self, name: str, *, negated: bool) -> Compiled:
        """Whether a fact has a value."""
        if negated:
            return lambda facts: facts.get(name) is None
        return lambda facts: facts.get(name) is not None

    def negation(self, operand: Compiled) -> Compiled:
        """Not the operand."""
        return _tested(operand, operator.not_)

    def junction(self, operands: Sequence[Compiled], *, deciding: bool) -> Compiled:
        """Kleene's ``and`` or ``or``; what stands behind a deciding operand is not looked at."""
        otherwise = not deciding

        def joined(facts: Facts) -> bool | None:
            result: bool | None = otherwise
            for part in operands:
                value = part(facts)
                if value is deciding:
                    return deciding
                if value is None:
                    result = None
            return result

        return joined


SCALAR = ScalarForm()


def _tested(operand: Compiled, test: Test) -> Compiled:
    """What a test says of the operand's value; unknown where that is."""

    def tested(facts: Facts) -> bool | None:
        value = operand(facts)
        return None if value is None else test(value)

    return tested


def member(choices: tuple[Scalar, ...], *, negated: bool) -> Test:
    """Whether a known value is among the choices, or is not."""
    among = frozenset(choices).__contains__
    return (lambda value: not among(value)) if negated else among


def calculate(op: ArithOp, left: Any, right: Any) -> int | float | None:
    """``left op right`` over numbers. Unknown if a side is, if the divisor is zero, or if nothing finite comes out."""
    if left is None or right is None or (op == "/" and right == 0):
        return None
    try:
        result: int | float = OPERATIONS[op](left, right)
    except OverflowError:
        return None
    return result if not isinstance(result, float) or math.isfinite(result) else None
