"""Conditions as formulas of two truth values over classes of facts.

A condition of the rule language is true, false or unknown. "It is true" and "it is not true" are plain yes-or-no
questions about classes of values, so De Morgan's laws hold for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.authoring.lint.comparisons import Comparisons
from whichgpu.engine.core import Scalar
from whichgpu.engine.rules import (
    MIRRORED,
    And,
    Compare,
    Const,
    Domains,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
    Vocabulary,
    compares_with_constant,
    facts_read,
    to_nnf,
    written,
)


class Literal(Struct, frozen=True):
    """The fact's class is one of ``mask``. ``full`` holds all classes that the fact has."""

    fact: str
    mask: int
    full: int


class All(Struct, frozen=True):
    """Every part holds; without parts: true."""

    parts: tuple[Formula, ...]


class Any(Struct, frozen=True):
    """Some part holds; without parts: false."""

    parts: tuple[Formula, ...]


Formula = Literal | All | Any

TRUE = All(())
FALSE = Any(())

#: An item of a list is a pseudo-fact of two classes: absent, present.
ITEM = " has "


def both(*parts: Formula) -> Formula:
    """Every part: flattened, literals of one fact merged, the plain cases decided."""
    return _merged(All, parts)


def either(*parts: Formula) -> Formula:
    """Some part: flattened, literals of one fact merged, the plain cases decided."""
    return _merged(Any, parts)


def _merged(kind: type[All | Any], parts: Iterable[Formula]) -> Formula:
    masks: dict[str, Literal] = {}
    rest: dict[Formula, None] = {}
    for part in parts:
        for inner in part.parts if isinstance(part, kind) else (part,):
            if isinstance(inner, Literal):
                seen = masks.get(inner.fact, inner)
                mask = seen.mask & inner.mask if kind is All else seen.mask | inner.mask
                masks[inner.fact] = Literal(inner.fact, mask, inner.full)
            else:
                rest[inner] = None
    literals = (literal(entry.fact, entry.mask, entry.full) for entry in masks.values())
    neutral, deciding = (TRUE, FALSE) if kind is All else (FALSE, TRUE)
    merged = (*(entry for entry in literals if entry != neutral), *rest)
    if deciding in merged:
        return deciding
    return merged[0] if len(merged) == 1 else kind(merged)


def opposite(formula: Formula) -> Formula:
    """What holds exactly where ``formula`` does not."""
    if isinstance(formula, Literal):
        return literal(formula.fact, formula.full & ~formula.mask, formula.full)
    parts = tuple(opposite(part) for part in formula.parts)
    return either(*parts) if isinstance(formula, All) else both(*parts)


def literal(fact: str, mask: int, full: int) -> Formula:
    """A literal, or a constant where the mask holds nothing or everything."""
    if not mask:
        return FALSE
    return TRUE if mask == full else Literal(fact, mask, full)


class Conditions:
    """Turns conditions into formulas."""

    def __init__(self, domains: Domains, vocabulary: Vocabulary) -> None:
        self.domains = domains
        self.comparisons = Comparisons(vocabulary, domains)
        self._masks: dict[tuple[str, str, type, Scalar], Formula] = {}

    def true(self, expr: Expr) -> Formula:
        """Where the condition is true."""
        return self._true(to_nnf(expr))

    def false(self, expr: Expr) -> Formula:
        """Where the condition is false, and not merely unknown."""
        return self._true(to_nnf(Not(expr)))

    def known(self, fact: str) -> Formula:
        """Where the fact is known."""
        classes = self.domains.of(fact)
        return literal(fact, classes.known, classes.full)

    def _true(self, expr: Expr) -> Formula:  # noqa: PLR0911  # One case per kind of node.
        match expr:
            case And(operands):
                return both(*(self._true(part) for part in operands))
            case Or(operands):
                return either(*(self._true(part) for part in operands))
            case Const(value):
                return TRUE if value is True else FALSE
            case FactRef(name):
                return self._is(name, "==", True)
            case Not(FactRef(name)):
                return self._is(name, "==", False)
            case Known(FactRef(name), negated):
                return opposite(self.known(name)) if negated else self.known(name)
            case Has(FactRef(name), item):
                return both(self.known(name), literal(f"{name}{ITEM}{item}", 2, 3))
            case Not(Has(FactRef(name), item)):
                return both(self.known(name), literal(f"{name}{ITEM}{item}", 1, 3))
            case Member(FactRef(name), choices, negated):
                classes = self.domains.of(name)
                mask = classes.among(choices)
                return literal(name, classes.known & ~mask if negated else mask, classes.full)
            case Compare():
                return self._compare(expr)
            case Member():
                sign = 1 if expr.negated else 2
                among = replace(expr, negated=False)
                return self._opaque(expr, self.comparisons.other(among, written(among)), sign, 3)
        return self._opaque(expr, self.comparisons.other(expr, written(expr)), 2, 3)

    def _is(self, name: str, op: str, value: bool | float | str) -> Formula:
        key = (name, op, type(value), value)
        if key not in self._masks:
            classes = self.domains.of(name)
            self._masks[key] = literal(name, classes.where(op, value), classes.full)
        return self._masks[key]

    def _compare(self, expr: Compare) -> Formula:
        left, right, op = expr.left, expr.right, expr.op
        if isinstance(left, Const) and isinstance(right, FactRef):
            left, right, op = right, left, MIRRORED[op]
        if compares_with_constant(expr):
            return self._is(cast("FactRef", left).name, op, cast("Const", right).value)
        return self._opaque(expr, *self.comparisons.named(expr), 7)

    def _opaque(self, expr: Expr, key: str, mask: int, full: int) -> Formula:
        """A comparison by its pseudo-fact, true only where all that it reads is known."""
        known = (self.known(name) for name in sorted(facts_read(expr)))
        return both(*known, literal(key, mask, full))
