"""Untyped tree to typed tree: names, types, units, domains and scope, checked against the vocabulary.

Problems are collected, so that one expression reports all of them; a part that is wrong becomes ``None``.
"""

from __future__ import annotations

from whichgpu.engine.core import Scalar
from whichgpu.engine.rules.facts import FactDef, yes_or_no
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.operands import Quantities, Quantity, kind_of, literal
from whichgpu.engine.rules.language.raw_tree import Raw, RawArith, RawCompare, RawJunction, RawLeaf, RawRelation
from whichgpu.engine.rules.language.tree import (
    And,
    Compare,
    Const,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
    facts_read,
    written,
)


class Checker(Quantities):
    """Checks one expression. ``findings`` holds what is wrong after a run."""

    def condition(self, raw: Raw) -> Expr | None:  # noqa: PLR0911  # One case per kind of node.
        """A part that must be true, false or unknown."""
        if isinstance(raw, RawJunction):
            parts = [self.condition(operand) for operand in raw.operands]
            operands = tuple(part for part in parts if part is not None)
            if len(operands) < len(parts):
                return None
            if raw.word == "if known":
                return self._if_known(raw, operands[0])
            if raw.word == "or":  # An operand that asks `if known` is two of them.
                split = (
                    part.operands if isinstance(part, Or) and _guarded(inner) else (part,)
                    for part, inner in zip(operands, raw.operands, strict=True)
                )
                return Or(tuple(part for several in split for part in several))
            return Not(operands[0]) if raw.word == "not" else And(operands)
        if isinstance(raw, RawCompare):
            return self._compare(raw)
        if not isinstance(raw, RawRelation):
            return self._bare(raw)
        fact = self._fact(raw.left)
        if fact is None:
            return None
        if raw.word == "is":
            return Known(FactRef(fact.name), raw.negated)
        return self._has(raw, fact) if raw.word == "has" else self._member(raw, fact)

    def _if_known(self, raw: Raw, condition: Expr) -> Expr | None:
        """The condition, or one of its facts is unknown."""
        names = sorted(facts_read(condition), key=written(condition).index)  # As they are written.
        if not names:
            self._find("no-fact", raw, "no fact is read here that might be unknown", fix="leave out `if known`")
            return None
        return Or((*(Known(FactRef(name), negated=True) for name in names), condition))

    def value(self, raw: Raw, target: FactDef) -> Expr | None:
        """An expression whose value the fact ``target`` takes."""
        if target.type == "list":
            self._find("list-value", raw, f"{target.name} is a list, which no expression gives")
            return None
        if target.numeric:
            quantity = self._quantity(raw, target)
            if quantity is not None:
                self._match_units(quantity, Quantity(FactRef(target.name), target.parsed_unit, target.unit), raw)
            return None if quantity is None else quantity.expr
        if isinstance(raw, RawLeaf):
            return self._word_value(raw, target)
        if target.type == "bool":
            return self.condition(raw)
        self._find("type-mismatch", raw, f"{target.name} takes a word, not a calculation or condition")
        return None

    def anything(self, raw: Raw) -> Expr | None:
        """An expression of any type: a number, a condition, or a fact."""
        if isinstance(raw, RawLeaf) and raw.kind != "number":
            fact = self._fact(raw)
            return None if fact is None else FactRef(fact.name)
        if isinstance(raw, (RawLeaf, RawArith)):
            quantity = self._quantity(raw, None)
            return None if quantity is None else quantity.expr
        return self.condition(raw)

    # ------------------------------------------------------------------ comparisons

    def _compare(self, raw: RawCompare) -> Expr | None:
        left, right = self._named(raw.left), self._named(raw.right)
        if left is not None and isinstance(raw.right, RawLeaf):
            chosen = self._literal(left, raw.right, named=right)
            if chosen is not None:
                return self._with_literal(raw, left, chosen, flipped=False)
        if right is not None and isinstance(raw.left, RawLeaf) and (left is None or not left.numeric):
            chosen = self._literal(right, raw.left, named=left)
            if chosen is not None:
                return self._with_literal(raw, right, chosen, flipped=True)
        if left is not None and right is not None:
            return self._two_facts(raw, left, right)
        if self._is_arithmetic(raw.left, left) and self._is_arithmetic(raw.right, right):
            return self._numbers(raw, left, right)
        self._explain(raw, left, right)
        return None

    def _with_literal(self, raw: RawCompare, fact: FactDef, const: Const, *, flipped: bool) -> Expr | None:
        self._readable(fact, raw.right if flipped else raw.left)
        if not fact.numeric and raw.op not in {"==", "!="}:
            self._order(raw, fact)
            return None
        if fact.type == "int" and raw.op in {"==", "!="} and const.value != int(const.value):
            self._find("never-equal", raw, f"{fact.name} is a whole number and never equals {const.value}")
            return None
        ref = FactRef(fact.name)
        return Compare(raw.op, const, ref) if flipped else Compare(raw.op, ref, const)

    def _two_facts(self, raw: RawCompare, left: FactDef, right: FactDef) -> Expr | None:
        if left.numeric and right.numeric:
            return self._numbers(raw, left, right)
        self._readable(left, raw.left)
        self._readable(right, raw.right)
        if left.type == "list" or right.type == "list":
            self._refuse_list(left if left.type == "list" else right, raw)
            return None
        fitting = _alike(left, right)
        if fitting and left.type == right.type == "enum":
            fitting = bool(set(left.choices) & set(right.choices))
        if not fitting:
            message = f"{left.name} ({kind_of(left)}) cannot be compared with {right.name} ({kind_of(right)})"
            self._find("type-mismatch", raw, message)
            return None
        if raw.op not in {"==", "!="}:
            self._order(raw, left)
            return None
        return Compare(raw.op, FactRef(left.name), FactRef(right.name))

    def _numbers(self, raw: RawCompare, left: FactDef | None, right: FactDef | None) -> Expr | None:
        before = len(self.findings)
        hint = self._unit_of(raw.left) or self._unit_of(raw.right)
        first = self._quantity(raw.left, right, hint)
        second = self._quantity(raw.right, left, hint)
        if first is None or second is None or len(self.findings) > before:
            return None
        if isinstance(first.expr, Const) and isinstance(second.expr, Const):
            self._find("constant", raw, "both sides are constants", fix="name the fact that decides")
            return None
        self._match_units(first, second, raw)
        return Compare(raw.op, first.expr, second.expr)

    def _explain(self, raw: RawCompare, left: FactDef | None, right: FactDef | None) -> None:
        """Report why the two sides do not fit."""
        fact, other = (left, raw.right) if left is not None else (right, raw.left)
        if fact is None:
            before = len(self.findings)
            for side in (raw.left, raw.right):
                if isinstance(side, RawLeaf) and side.kind == "word":
                    self._unknown_fact(side)
                    break
            if len(self.findings) == before:
                self._find("no-fact", raw, "no fact is compared here", fix="name the fact that decides")
            return
        self._readable(fact, raw.left if fact is left else raw.right)
        if fact.type == "list":
            self._refuse_list(fact, raw)
        elif isinstance(other, RawLeaf):
            self._bad_literal(fact, other)
        elif isinstance(other, RawArith):
            self._find("type-mismatch", other, f"{fact.name} ({kind_of(fact)}) cannot be compared with a number")
        else:
            self._find("type-mismatch", other, f"{fact.name} cannot be compared with a condition", fix="use and")

    def _order(self, raw: RawCompare, fact: FactDef) -> None:
        fix = f"write {fact.name} == VALUE or {fact.name} in [VALUES]"
        message = f"{raw.op} needs numbers, and {fact.name} is {kind_of(fact)}"
        self.findings.append(BadExpression("no-order", message, raw.at, raw.to, fix=fix, fact=fact.name))

    def _refuse_list(self, fact: FactDef, raw: Raw) -> None:
        self._find("list-compared", raw, f"{fact.name} is a list", fix=f"write {fact.name} has VALUE")

    def _member(self, raw: RawRelation, fact: FactDef) -> Expr | None:
        if fact.type == "list":
            self._refuse_list(fact, raw.left)
            return None
        choices: list[Scalar] = []
        before = len(self.findings)
        for item in raw.items:
            const = literal(fact, item, self.known_gpus)
            if const is None:
                self._bad_literal(fact, item)
            elif const.value in choices:
                self._find("twice", item, f"{item.text} stands twice", fix="remove one")
            else:
                choices.append(const.value)
        return None if len(self.findings) > before else Member(FactRef(fact.name), tuple(choices), raw.negated)

    def _has(self, raw: RawRelation, fact: FactDef) -> Expr | None:
        if fact.type != "list" or fact.items == "gpu_count":
            fix = None if fact.type == "list" else f"write {fact.name} == VALUE or {fact.name} in [VALUES]"
            self._find("has-without-list", raw.left, f"has needs a list, and {fact.name} is {kind_of(fact)}", fix=fix)
            return None
        (item,) = raw.items
        const = literal(fact, item, self.known_gpus)
        if const is None:
            self._bad_literal(fact, item)
            return None
        return Has(FactRef(fact.name), const.value)

    def _bare(self, raw: Raw) -> Expr | None:
        if isinstance(raw, RawArith) or (isinstance(raw, RawLeaf) and raw.kind == "number"):
            self._find("not-a-condition", raw, "a number is not a condition", fix="compare it: ... > 0")
            return None
        if isinstance(raw, RawLeaf) and self.vocabulary.fact(raw.text) is None and _is_constant(raw):
            self._find("not-a-condition", raw, f"{raw.text!r} alone is not a condition", fix="name a fact")
            return None
        fact = self._fact(raw)
        if fact is None:
            return None
        if fact.type != "bool":
            example = f"{fact.name} > 0" if fact.numeric else f"{fact.name} == VALUE"
            message = f"{fact.name} is {kind_of(fact)} and no condition by itself"
            self._find("not-a-condition", raw, message, fix=f"compare it ({example}), or write {fact.name} is known")
            return None
        return FactRef(fact.name)

    def _word_value(self, raw: RawLeaf, target: FactDef) -> Expr | None:
        named = self._named(raw)
        const = self._literal(target, raw, named)
        if const is not None:
            return const
        if named is None:
            self._bad_literal(target, raw)
            return None
        if not self._readable(named, raw):
            return None
        if _alike(named, target):
            return FactRef(named.name)
        message = f"{target.name} ({kind_of(target)}) cannot take the value of {named.name} ({kind_of(named)})"
        self._find("type-mismatch", raw, message)
        return None


def _guarded(raw: Raw) -> bool:
    return isinstance(raw, RawJunction) and raw.word == "if known"


def _alike(one: FactDef, other: FactDef) -> bool:
    """Whether the values of two facts may be compared: of one type, or words both."""
    return one.type == other.type or {one.type, other.type} <= {"enum", "text", "gpu"}


def _is_constant(leaf: RawLeaf) -> bool:
    return leaf.kind == "quoted" or yes_or_no(leaf.text) is not None
