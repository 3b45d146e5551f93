"""The reference semantics: Kleene's three values over facts, where None is unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Arith
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Has
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or


def evaluate(expr: Expr, facts: Facts) -> Value | None:  # noqa: PLR0911  # One case per kind of node.
    """The value of an expression; None for unknown. Never raises on checked trees."""
    match expr:
        case Const(value):
            return value
        case FactRef(name):
            return facts.get(name)
        case Compare(op, left, right):
            return compare(op, evaluate(left, facts), evaluate(right, facts))
        case Member(left, choices, negated):
            held = evaluate(left, facts)
            return None if held is None else (held in choices) is not negated
        case And(operands):
            return _kleene(operands, facts, deciding=False)
        case Or(operands):
            return _kleene(operands, facts, deciding=True)
        case Not(operand):
            truth = evaluate(operand, facts)
            return None if truth is None else not truth
        case Has(FactRef(name), item):
            items = facts.get(name)
            return None if items is None else isinstance(items, tuple) and item in items
        case Known(FactRef(name), negated):
            return (facts.get(name) is not None) is not negated
        case Arith(op, left, right):
            return calculate(op, evaluate(left, facts), evaluate(right, facts))


def _kleene(operands: tuple[Expr, ...], facts: Facts, *, deciding: bool) -> bool | None:
    result: bool | None = not deciding
    for operand in operands:
        value = evaluate(operand, facts)
        if value is deciding:
            return deciding
        if value is None:
            result = None
    return result


def compare(op: str, left: Any, right: Any) -> bool | None:
    """``left op right``, unknown if a side is. Both evaluators go through here or do exactly the same."""
    if left is None or right is None:
        return None
    if op == "==":
        return bool(left == right)
    if op == "!=":
        return bool(left != right)
    if op == "<":
        return bool(left < right)
    if op == "<=":
        return bool(left <= right)
    return bool(left > right) if op == ">" else bool(left >= right)


def calculate(op: str, left: Any, right: Any) -> int | float | None:
    """``left op right`` over numbers. Unknown if a side is, if the divisor is zero, or if nothing finite comes out."""
    if left is None or right is None or (op == "/" and right == 0):
        return None
    try:
        result: int | float
        if op == "+":
            result = left + right
        elif op == "-":
            result = left - right
        else:
            result = left * right if op == "*" else left / right
    except OverflowError:
        return None
    return result if not isinstance(result, float) or math.isfinite(result) else None


def first_failure(conditions: Iterable[Expr], facts: Facts) -> tuple[Expr, Value | None] | None:
    """The first false condition and the value that made it false (None unless it reads one fact), or None."""
    from whichgpu.engine.rules.language.tree import facts_read  # noqa: PLC0415  # Only explanations need it.

    for condition in conditions:
        if evaluate(condition, facts) is False:
            names = sorted(facts_read(condition))
            return condition, facts.get(names[0]) if len(names) == 1 else None
    return None
