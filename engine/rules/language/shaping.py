"""Shapes of a tree: negation normal form, conjuncts, the facts it reads."""

from __future__ import annotations

from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Arith
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import CompareOp
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Has
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or


_OPPOSITE: dict[CompareOp, CompareOp] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def facts_read(expr: Expr) -> frozenset[str]:  # noqa: PLR0911  # One case per kind of node.
    """The names of all facts whose value the expression looks at."""
    match expr:
        case FactRef(name):
            return frozenset({name})
        case Const():
            return frozenset()
        case Compare(_, left, right) | Arith(_, left, right):
            return facts_read(left) | facts_read(right)
        case Member(left, _, _):
            return facts_read(left)
        case Has(fact, _) | Known(fact, _):
            return frozenset({fact.name})
        case Not(operand):
            return facts_read(operand)
        case And(operands) | Or(operands):
            return frozenset().union(*map(facts_read, operands))


def to_nnf(expr: Expr) -> Expr:
    """The same condition with ``not`` only before bare facts and ``has``.

    Equal in all three values: a comparison and its opposite are unknown together.
    """
    match expr:
        case Not(operand):
            return _negated(operand)
        case And(operands):
            return And(tuple(to_nnf(operand) for operand in operands))
        case Or(operands):
            return Or(tuple(to_nnf(operand) for operand in operands))
        case _:
            return expr


def _negated(expr: Expr) -> Expr:  # noqa: PLR0911  # One case per kind of node.
    match expr:
        case Not(operand):
            return to_nnf(operand)
        case And(operands):
            return Or(tuple(_negated(operand) for operand in operands))
        case Or(operands):
            return And(tuple(_negated(operand) for operand in operands))
        case Compare(op, left, right):
            return Compare(_OPPOSITE[op], left, right)
        case Member(left, choices, negated):
            return Member(left, choices, not negated)
        case Known(fact, negated):
            return Known(fact, not negated)
        case _:
            return Not(expr)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The operands of nested conjunctions, in order; the expression itself where it is none."""
    if isinstance(expr, And):
        return tuple(part for operand in expr.operands for part in conjuncts(operand))
    return (expr,)
