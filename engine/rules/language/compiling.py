"""The semantics: Kleene's three values over facts, where None is unknown; trees become closures that are called."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or


Compiled = Callable[[Facts], Value | None]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATIONS: dict[str, Callable[[Any, Any], int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def evaluate(expr: Expr, facts: Facts) -> Value | None:
    """The value of an expression; None for unknown. Never raises on checked trees. To ask often, compile it once."""
    return compile_expr(expr)(facts)


def compile_expr(expr: Expr) -> Compiled:  # noqa: PLR0911  # One case per kind of node.
    """A function of facts that gives the value of an expression."""
    match expr:
        case Const(value):
            return lambda _facts: value
        case FactRef(name):
            return lambda facts: facts.get(name)
        case Compare():
            return _compile_compare(expr)
        case Member(left, choices, negated):
            among = frozenset(choices).__contains__
            return _compile_test(left, (lambda value: not among(value)) if negated else among)
        case And(operands):
            return _compile_kleene(operands, deciding=False)
        case Or(operands):
            return _compile_kleene(operands, deciding=True)
        case Not(operand):
            return _compile_test(operand, operator.not_)
        case Has(fact, item):
            return _compile_test(fact, lambda held: isinstance(held, tuple) and item in held)
        case Known(FactRef(name), negated):
            if negated:
                return lambda facts: facts.get(name) is None
            return lambda facts: facts.get(name) is not None
        case Arith(op, left, right):
            first, second = compile_expr(left), compile_expr(right)
            return lambda facts: calculate(op, first(facts), second(facts))


def _compile_compare(expr: Compare) -> Compiled:
    test = _COMPARISONS[expr.op]
    if isinstance(expr.left, FactRef) and isinstance(expr.right, Const):
        name, constant = expr.left.name, expr.right.value

        def against_constant(facts: Facts) -> bool | None:
            value = facts.get(name)
            return None if value is None else test(value, constant)

        return against_constant
    first, second = compile_expr(expr.left), compile_expr(expr.right)

    def between(facts: Facts) -> bool | None:
        left, right = first(facts), second(facts)
        return None if left is None or right is None else test(left, right)

    return between


def _compile_test(operand: Expr, test: Callable[[Any], bool]) -> Compiled:
    """What a test says of the operand's value; unknown where that is."""
    inner = compile_expr(operand)

    def tested(facts: Facts) -> bool | None:
        value = inner(facts)
        return None if value is None else test(value)

    return tested


def _compile_kleene(operands: tuple[Expr, ...], *, deciding: bool) -> Compiled:
    parts = tuple(compile_expr(operand) for operand in operands)
    otherwise = not deciding

    def junction(facts: Facts) -> bool | None:
        result: bool | None = otherwise
        for part in parts:
            value = part(facts)
            if value is deciding:
                return deciding
            if value is None:
                result = None
        return result

    return junction


def calculate(op: str, left: Any, right: Any) -> int | float | None:
    """``left op right`` over numbers. Unknown if a side is, if the divisor is zero, or if nothing finite comes out."""
    if left is None or right is None or (op == "/" and right == 0):
        return None
    try:
        result = _OPERATIONS[op](left, right)
    except OverflowError:
        return None
    return result if not isinstance(result, float) or math.isfinite(result) else None
