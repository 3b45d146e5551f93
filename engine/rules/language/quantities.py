"""Arithmetic: numeric facts, literals in their units, and whether the units of two sides fit."""

from __future__ import annotations

from dataclasses import dataclass

from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts.numbers import NumberProblem
from whichgpu.engine.rules.facts.numbers import read_literal
from whichgpu.engine.rules.facts.units import Unit
from whichgpu.engine.rules.language.grammar import Raw
from whichgpu.engine.rules.language.grammar import RawArith
from whichgpu.engine.rules.language.grammar import RawLeaf
from whichgpu.engine.rules.language.naming import Names
from whichgpu.engine.rules.language.naming import kind_of
from whichgpu.engine.rules.language.tree import Arith
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef


@dataclass(frozen=True, slots=True)
class Quantity:
    """A checked arithmetic operand. ``unit`` is None for plain numbers and where units are not followed."""

    expr: Expr
    unit: Unit | None = None
    shown_unit: str | None = None


class Quantities(Names):
    """Checks the numeric parts of an expression."""

    def _quantity(self, raw: Raw, beside: FactDef | None, hint: tuple[Unit, str] | None = None) -> Quantity | None:
        """A numeric part. ``beside`` types a literal that stands alone; ``hint`` gives other literals their unit."""
        if isinstance(raw, RawArith):
            return self._arithmetic(raw, hint)
        if isinstance(raw, RawLeaf) and raw.kind == "number":
            fact = beside if beside is not None and beside.numeric else None
            unit = fact.parsed_unit if fact else hint[0] if hint else None
            try:
                return Quantity(Const(read_literal(raw.text, fact, unit)))
            except NumberProblem as problem:
                self._find(problem.code, raw, str(problem), fix=problem.fix)
                return None
        fact = self._fact(raw)
        if fact is None:
            return None
        if not fact.numeric:
            self._find("type-mismatch", raw, f"a number is needed here, and {fact.name} is {kind_of(fact)}")
            return None
        return Quantity(FactRef(fact.name), fact.parsed_unit, fact.unit)

    def _arithmetic(self, raw: RawArith, hint: tuple[Unit, str] | None) -> Quantity | None:
        scaling = raw.op in {"*", "/"}
        inner = None if scaling else self._unit_of(raw) or hint
        left = self._quantity(raw.left, None, inner if not scaling else None)
        right = self._quantity(raw.right, None, inner if not scaling else None)
        if left is None or right is None:
            return None
        if raw.op == "/" and right.expr == Const(0):
            self._find("division-by-zero", raw.right, "division by zero")
            return None
        expr = Arith(raw.op, left.expr, right.expr)
        if not scaling:
            self._match_units(left, right, raw)
            return Quantity(expr, left.unit or right.unit, left.shown_unit or right.shown_unit)
        if right.unit is None:
            return Quantity(expr, left.unit, left.shown_unit)
        if left.unit is None and raw.op == "*":
            return Quantity(expr, right.unit, right.shown_unit)
        return Quantity(expr)  # A product or quotient of two units is not followed further.

    def _match_units(self, left: Quantity, right: Quantity, raw: Raw) -> None:
        if left.unit is None or right.unit is None or left.unit.comparable(right.unit):
            return
        message = f"the units differ: {left.shown_unit} and {right.shown_unit}"
        self._find("unit-mismatch", raw, message, fix="multiply one side, so that both are in one unit")

    def _unit_of(self, raw: Raw) -> tuple[Unit, str] | None:
        """The unit of the first fact that gives this arithmetic its unit, so that literals beside it can be read."""
        if isinstance(raw, RawArith):
            left, right = self._unit_of(raw.left), self._unit_of(raw.right)
            if raw.op in {"*", "/"} and left is not None and right is not None:
                return None
            return left or (None if raw.op == "/" else right)
        if isinstance(raw, RawLeaf) and raw.kind == "word":
            fact = self.vocabulary.fact(raw.text)
            if fact is not None and fact.numeric and fact.parsed_unit is not None and fact.unit:
                return fact.parsed_unit, fact.unit
        return None

    def _is_arithmetic(self, raw: Raw, named: FactDef | None) -> bool:
        if isinstance(raw, RawLeaf):
            return raw.kind == "number" or (named is not None and named.numeric)
        return isinstance(raw, RawArith)
