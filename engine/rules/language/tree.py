"""The typed tree of a condition or expression. Evaluation lives in ``evaluate``, wording in ``words``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whichgpu.engine.core.values import Scalar


CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
ArithOp = Literal["+", "-", "*", "/"]


@dataclass(frozen=True, slots=True)
class Const:
    """A literal: number (in the unit of the fact it stands beside), boolean or word."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class FactRef:
    """The value of a fact: a canonical vocabulary name, such as ``param_count_b`` or ``plan.count``."""

    name: str


@dataclass(frozen=True, slots=True)
class Arith:
    """``left op right`` over numbers. Unknown if a side is unknown or the divisor is zero."""

    op: ArithOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``. Unknown if a side is unknown."""

    op: CompareOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Member:
    """``left in [choices]``, or ``not in`` when ``negated``."""

    left: Expr
    choices: tuple[Scalar, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Has:
    """``fact has item``: membership in a list-valued fact."""

    fact: FactRef
    item: Scalar


@dataclass(frozen=True, slots=True)
class Known:
    """``fact is known``, or ``is unknown`` when ``negated``. Always true or false."""

    fact: FactRef
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """Kleene negation."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class And:
    """Kleene conjunction: false if any is false, else unknown if any is unknown."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Kleene disjunction: true if any is true, else unknown if any is unknown."""

    operands: tuple[Expr, ...]


#: A bare boolean fact stands as ``FactRef``.
Expr = Const | FactRef | Arith | Compare | Member | Has | Known | Not | And | Or
