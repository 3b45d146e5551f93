"""Trees back to the rule language, for conditions that nobody wrote as such (the cells of tables)."""

from __future__ import annotations

import re

from whichgpu.engine.core.values import Scalar
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


_PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")


def written(expr: Expr) -> str:
    """The expression in the rule language; reading it again gives the same tree."""
    match expr:
        case Const(value):
            text = _constant(value)
        case FactRef(name):
            text = name
        case Arith(op, left, right) | Compare(op, left, right):
            text = f"{_part(left)} {op} {_part(right)}"
        case Member(left, choices, negated):
            listed = ", ".join(_constant(value) for value in choices)
            text = f"{_part(left)} {'not in' if negated else 'in'} [{listed}]"
        case Has(fact, item):
            text = f"{fact.name} has {_constant(item)}"
        case Known(fact, negated):
            text = f"{fact.name} is {'unknown' if negated else 'known'}"
        case Not(operand):
            text = f"not {_part(operand)}"
        case And(operands):
            text = " and ".join(_part(operand) for operand in operands)
        case Or(operands):
            text = " or ".join(_part(operand) for operand in operands)
    return text


def _part(expr: Expr) -> str:
    """A part, in parentheses where its operators would bind the wrong way."""
    return f"({written(expr)})" if isinstance(expr, And | Or | Arith | Not) else written(expr)


def _constant(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _PLAIN_WORD.fullmatch(value) else f'"{value}"'
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
