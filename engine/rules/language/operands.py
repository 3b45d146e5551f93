"""Operands of an expression: which fact a name means, which value a word or number is, and whether the units fit."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Value, nearest_words
from whichgpu.engine.rules.facts import READABLE, FactDef, Vocabulary, read_value, yes_or_no
from whichgpu.engine.rules.facts.numbers import Refused, read_literal
from whichgpu.engine.rules.facts.units import Unit, derived_unit
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.raw_tree import Raw, RawArith, RawLeaf
from whichgpu.engine.rules.language.tree import Arith, Const, Expr, FactRef


def literal(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> Const | None:
    """The leaf as a value of the fact (of its items, for a list), or None where it is none."""
    kind, text = fact.items if fact.type == "list" else fact.type, leaf.text
    value: Value | None = None
    if kind in {"int", "number"}:
        with suppress(Refused):
            value = read_literal(text, fact) if leaf.kind == "number" else None
    elif kind == "bool":
        value = yes_or_no(text)
    elif kind == "enum":
        value = fact.choice(text)
    elif kind == "gpu" and known_gpus:
        value = next((name for name in (text, text.casefold()) if name in known_gpus), None)
    elif kind == "gpu":
        value = text if text != "unknown" else None
    elif text.casefold() != "unknown" or leaf.kind != "word":
        value = read_value(fact if fact.type != "list" else replace(fact, type="text"), text).value
    return None if value is None or isinstance(value, tuple) else Const(value)


def literal_error(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> tuple[str, str, str | None]:
    """Code, message and fix for a leaf that is no value of the fact."""
    text = leaf.text
    kind = fact.items if fact.type == "list" else fact.type
    if text == "unknown":
        return "unknown-compared", "unknown is not a value", f"write {fact.name} is unknown"
    if kind in {"int", "number"}:
        found: tuple[str, str, str | None] = "type-mismatch", f"{fact.name} is a number, and {text!r} is not", None
        try:
            if leaf.kind == "number":
                read_literal(text, fact)
        except Refused as problem:
            found = problem.code, f"{fact.name}: {problem}", problem.fix
        return found
    if kind == "enum":
        return "unknown-choice", f"{text!r} is not a choice of {fact.name}", f"write one of {', '.join(fact.choices)}"
    if kind == "bool":
        return "type-mismatch", f"{fact.name} is yes or no, and {text!r} is neither", f"write {fact.name} alone"
    if kind == "gpu" and known_gpus:
        return "unknown-gpu", f"no GPU is called {text!r}", None
    return "wrong-value", f"{text!r} is not a value of {fact.name}", None


def near_literals(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> tuple[str, ...]:
    """Values of the fact that the leaf may have meant."""
    if fact.choices:
        return fact.near_choices(leaf.text)
    kind = fact.items if fact.type == "list" else fact.type
    return nearest_words(leaf.text, sorted(known_gpus)) if kind == "gpu" else ()


Each = Literal["workload", "plan", "chosen", "candidate"]


class Names:
    """Resolves names and words. ``findings`` gathers what is wrong."""

    def __init__(self, vocabulary: Vocabulary, each: Each, known_gpus: AbstractSet[str]) -> None:
        self.vocabulary = vocabulary
        self.each = each
        self.known_gpus = known_gpus
        self.findings: list[BadExpression] = []

    def _named(self, raw: Raw) -> FactDef | None:
        """The fact that a bare word names, without complaint."""
        return self.vocabulary.fact(raw.text) if isinstance(raw, RawLeaf) and raw.kind == "word" else None

    def _literal(self, fact: FactDef, raw: RawLeaf, named: FactDef | None) -> Const | None:
        """The word as a value of ``fact``. Where any word would do, a word that names a fact is that fact."""
        if fact.type == "list":
            return None
        if named is not None and (fact.type == "text" or (fact.type == "gpu" and not self.known_gpus)):
            return None
        return literal(fact, raw, self.known_gpus)

    def _fact(self, raw: Raw) -> FactDef | None:
        """The fact that must stand here; reports what is wrong with it."""
        if not isinstance(raw, RawLeaf) or raw.kind != "word":
            self._find("no-fact", raw, "the name of a fact is needed here")
            return None
        fact = self.vocabulary.fact(raw.text)
        if fact is None:
            self._unknown_fact(raw)
        elif not self._readable(fact, raw):
            return None
        return fact

    def _readable(self, fact: FactDef, raw: Raw) -> bool:
        if fact.scope in READABLE[self.each]:
            return True
        wanted = "plan" if fact.scope in {"plan", "gpu"} else fact.scope
        message = f"{fact.name} is not known to a rule of each: {self.each}"
        self._find("out-of-scope", raw, message, fix=f"write each: {wanted}", fact=fact.name)
        return False

    def _unknown_fact(self, raw: RawLeaf) -> None:
        near = self.vocabulary.nearest(raw.text)
        parts = raw.text.split("-")
        is_minus = len(parts) > 1 and self.vocabulary.fact(parts[0]) is not None
        fix = f"write {' - '.join(parts)}: a minus needs spaces around it" if is_minus else None
        message = f"no fact is called {raw.text!r}"
        self._find("unknown-fact", raw, message, near=near, fix=fix, fact=raw.text)

    def _bad_literal(self, fact: FactDef, raw: RawLeaf) -> None:
        code, message, fix = literal_error(fact, raw, self.known_gpus)
        near = near_literals(fact, raw, self.known_gpus)
        if not near and raw.kind == "word":
            near = self.vocabulary.nearest(raw.text, limit=1)
        self._find(code, raw, message, near=near, fix=fix, fact=fact.name)

    def _find(
        self,
        code: str,
        raw: Raw,
        message: str,
        *,
        near: tuple[str, ...] = (),
        fix: str | None = None,
        fact: str | None = None,
    ) -> None:
        self.findings.append(BadExpression(code, message, raw.start, raw.end, near=near, fix=fix, fact=fact))


def _shown(op: str, left: str | None, right: str | None) -> str:
    """A derived unit in words: ``W`` times ``GPUs`` is shown as both."""
    return f"{left} {'x' if op == '*' else 'per'} {right}"


def kind_of(fact: FactDef) -> str:
    """What a fact holds, in words."""
    kinds = {"bool": "yes or no", "enum": "a choice", "gpu": "a GPU", "list": "a list", "text": "a text"}
    return kinds.get(fact.type, "a number")


class Quantity(Struct, frozen=True):
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
            except Refused as problem:
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
        if left.unit is None:
            return Quantity(expr, right.unit, right.shown_unit) if raw.op == "*" else Quantity(expr)
        unit = derived_unit(raw.op, left.unit, right.unit)
        return Quantity(expr, unit, _shown(raw.op, left.shown_unit, right.shown_unit) if unit else None)

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
                unit = derived_unit(raw.op, left[0], right[0])
                return (unit, _shown(raw.op, left[1], right[1])) if unit else None
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
