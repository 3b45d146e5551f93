"""What a fact may be, as a few values that stand for all: between two constants no rule sees a difference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from whichgpu.engine.core.values import Scalar
from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import FactDef
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


def constants_compared(exprs: Iterable[Expr], *, plain_only: bool = False) -> dict[str, frozenset[Scalar]]:
    """For each fact the constants that conditions compare it with.

    With ``plain_only``, only facts that are never read otherwise (in arithmetic, or beside another fact).
    """
    found: dict[str, set[Scalar]] = {}
    awkward: set[str] = set()
    for expr in exprs:
        _collect(expr, found, awkward)
    return {name: frozenset(values) for name, values in found.items() if not (plain_only and name in awkward)}


def _collect(expr: Expr, found: dict[str, set[Scalar]], awkward: set[str]) -> None:
    match expr:
        case Compare(_, FactRef(name), Const(value)) | Compare(_, Const(value), FactRef(name)):
            found.setdefault(name, set()).add(value)
        case Compare(_, left, right) | Arith(_, left, right):
            for side in (left, right):
                _awkward(side, awkward)
        case Member(FactRef(name), choices):
            found.setdefault(name, set()).update(choices)
        case Member(left):
            _awkward(left, awkward)
        case FactRef(name) | Known(FactRef(name)):
            found.setdefault(name, set())
        case Has(FactRef(name)):
            awkward.add(name)
        case Not(operand):
            _collect(operand, found, awkward)
        case And(operands) | Or(operands):
            for operand in operands:
                _collect(operand, found, awkward)


def _awkward(expr: Expr, awkward: set[str]) -> None:
    match expr:
        case FactRef(name):
            awkward.add(name)
        case Arith(_, left, right):
            _awkward(left, awkward)
            _awkward(right, awkward)


def representatives(fact: FactDef, constants: frozenset[Scalar]) -> tuple[Value, ...] | None:
    """Values that stand for the whole domain of a fact, given what rules compare it with; None where none can.

    A number is stood for by the ends of its domain, by each constant, and by one value between any two of these.
    """
    if fact.type == "bool":
        return (False, True)
    if fact.type == "enum":
        return fact.choices
    if not fact.numeric:
        return None
    low, high = _domain(fact)
    inner = {float(c) for c in constants if isinstance(c, int | float) and not isinstance(c, bool) and low <= c <= high}
    marks = sorted({low, high, *inner})
    between = [_middle(a, b) for a, b in pairwise(marks)]
    if fact.type == "int":
        whole = {math.floor(x) for x in (*marks, *between)} | {int(m) + d for m in inner for d in (-1, 1)}
        return tuple(sorted(x for x in whole if low <= x <= high))
    return tuple(sorted({*marks, *between}))


def _middle(low: float, high: float) -> float:
    """A value between two others, on a logarithmic scale where it spans decades."""
    return math.sqrt(low * high) if low > 0 and high / low > 100 else (low + high) / 2


def _domain(fact: FactDef) -> tuple[float, float]:
    low = -1e12 if fact.min is None else fact.min
    high = 1e12 if fact.max is None else fact.max
    if fact.exclusive_min:
        low += min(1e-3, (high - low) / 1e6)
    return float(low), float(high)
