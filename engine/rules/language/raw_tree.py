"""The untyped tree of an expression. Every node knows where in the text it stands."""

from __future__ import annotations

from typing import Literal, NamedTuple

from whichgpu.engine.rules.language.tree import ArithOp, CompareOp


# Named tuples: they cost half as much to define as dataclasses, and the cold command pays for every definition.
LeafKind = Literal["word", "quoted", "number"]


class RawLeaf(NamedTuple):
    """A word, a quoted text, or a number with its unit."""

    kind: LeafKind
    text: str
    start: int
    end: int


class RawArith(NamedTuple):
    """``left op right`` over numbers."""

    op: ArithOp
    left: Raw
    right: Raw
    start: int
    end: int


class RawCompare(NamedTuple):
    """``left op right``; ``at`` and ``to`` span the operator."""

    op: CompareOp
    left: Raw
    right: Raw
    start: int
    end: int
    at: int
    to: int


class RawRelation(NamedTuple):
    """``left in [items]``, ``left has item`` or ``left is known``; negated ``not in`` and ``is unknown``."""

    word: Literal["in", "has", "is"]
    left: Raw
    items: tuple[RawLeaf, ...]
    negated: bool
    start: int
    end: int


class RawJunction(NamedTuple):
    """Operands joined by ``and`` or by ``or``; or the one operand of ``not`` or of ``if known``."""

    word: Literal["and", "or", "not", "if known"]
    operands: tuple[Raw, ...]
    start: int
    end: int


Raw = RawLeaf | RawArith | RawCompare | RawRelation | RawJunction
