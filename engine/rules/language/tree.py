"""The typed tree of a condition or expression: its nodes, its shapes, and how it is written in the rule language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from whichgpu.engine.core import Scalar


CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
ArithOp = Literal["+", "-", "*", "/", "min", "max"]


class _Node(Struct, frozen=True, tag=True, array_like=True):
    """Anything in a tree. Encoded as a list that begins with the name of its class."""


class Const(_Node, frozen=True):
    """A literal: number (in the unit of the fact it stands beside), boolean or word."""

    value: Scalar


class FactRef(_Node, frozen=True):
    """The value of a fact: a canonical vocabulary name, such as ``param_count_b`` or ``plan.count``."""

    name: str


class Arith(_Node, frozen=True):
    """``left op right`` over numbers, or the smaller or larger. Unknown if a side is unknown or the divisor is zero."""

    op: ArithOp
    left: Expr
    right: Expr


class Compare(_Node, frozen=True):
    """``left op right``. Unknown if a side is unknown."""

    op: CompareOp
    left: Expr
    right: Expr


class Member(_Node, frozen=True):
    """``left in [choices]``, or ``not in`` when ``negated``."""

    left: Expr
    choices: tuple[Scalar, ...]
    negated: bool = False


class Has(_Node, frozen=True):
    """``fact has item``: membership in a list-valued fact."""

    fact: FactRef
    item: Scalar


class Known(_Node, frozen=True):
    """``fact is known``, or ``is unknown`` when ``negated``. Always true or false."""

    fact: FactRef
    negated: bool = False


class Not(_Node, frozen=True):
    """Kleene negation."""

    operand: Expr


class And(_Node, frozen=True):
    """Kleene conjunction: false if any is false, else unknown if any is unknown."""

    operands: tuple[Expr, ...]


class Or(_Node, frozen=True):
    """Kleene disjunction: true if any is true, else unknown if any is unknown."""

    operands: tuple[Expr, ...]


#: A bare boolean fact stands as ``FactRef``.
Expr = Const | FactRef | Arith | Compare | Member | Has | Known | Not | And | Or


#: The comparison that holds where another does not, and the same one with its sides exchanged.
OPPOSITE: dict[CompareOp, CompareOp] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: dict[CompareOp, CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


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


def is_local(fact: str) -> bool:
    """Whether the fact belongs to one plan, GPU or candidate: these names, and only these, have a dot."""
    return "." in fact


def to_nnf(expr: Expr) -> Expr:
    """An equivalent condition in which ``not`` stands only before bare facts and ``has``.

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
            return Compare(OPPOSITE[op], left, right)
        case Member(left, choices, negated):
            return Member(left, choices, not negated)
        case Known(fact, negated):
            return Known(fact, not negated)
        case _:
            return Not(expr)


def leaves(expr: Expr) -> Iterator[Expr]:
    """The parts of a condition that ``and``, ``or`` and ``not`` join."""
    match expr:
        case And(operands) | Or(operands):
            for part in operands:
                yield from leaves(part)
        case Not(operand):
            yield from leaves(operand)
        case _:
            yield expr


def items_asked(expr: Expr) -> Iterator[tuple[str, Scalar]]:
    """Lists with the items that a condition looks for in them, in the order in which they are written."""
    yield from ((part.fact.name, part.item) for part in leaves(expr) if isinstance(part, Has))


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The operands of nested conjunctions, in order; the expression itself where it is none."""
    if isinstance(expr, And):
        return tuple(part for operand in expr.operands for part in conjuncts(operand))
    return (expr,)


_PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")


def written(expr: Expr) -> str:
    """The expression in the rule language; reading it again gives the same tree."""
    match expr:
        case Const(value):
            text = _constant(value)
        case FactRef(name):
            text = name
        case Arith("min" | "max" as op, left, right):
            text = f"{op}({written(left)}, {written(right)})"
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
    joined = isinstance(expr, And | Or | Not) or (isinstance(expr, Arith) and expr.op not in ("min", "max"))
    return f"({written(expr)})" if joined else written(expr)


def _constant(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _PLAIN_WORD.fullmatch(value) else f'"{value}"'
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
