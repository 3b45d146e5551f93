"""Trees in plain words, with this case's values where facts are given."""

from __future__ import annotations

import re

from whichgpu.engine.core import Facts
from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.language.compiling import evaluate
from whichgpu.engine.rules.language.texts import format_value
from whichgpu.engine.rules.language.tree import (
    MIRRORED,
    And,
    Arith,
    Compare,
    Const,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
)


_AFTER_HEAD = re.compile(r" (?:of|per|to|from|for|in|at|on|over|against) ")
#: Labels that are clauses, such as ``how often jobs run``; neither these nor labels with an article are given one.
_CLAUSES = ("how ", "what ", "where ")
_NO_ARTICLE = ("the ", "a ", "an ", *_CLAUSES)
_RELATIONS = {"==": "", "!=": " not", "<": " less than", "<=": " at most", ">": " more than", ">=": " at least"}
_CHOICES = {(True, False): " one of", (True, True): " none of", (False, True): " not", (False, False): ""}
_OPERATIONS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


def words(expr: Expr, vocabulary: Vocabulary, facts: Facts | None = None) -> str:
    """A condition or expression as a phrase: ``the number of GPUs is more than 8 (it is 16)``.

    Args:
        expr: the tree.
        vocabulary: labels, units and choices.
        facts: this case's values, shown in brackets behind each comparison; left out when None.
    """
    return _Writer(vocabulary, facts).phrase(expr)


class _Writer:
    def __init__(self, vocabulary: Vocabulary, facts: Facts | None) -> None:
        self.vocabulary = vocabulary
        self.facts = facts

    def phrase(self, expr: Expr) -> str:  # noqa: PLR0911  # One case per kind of node.
        """A condition, or a value."""
        match expr:
            case Compare():
                return self._compare(expr)
            case Member():
                return self._member(expr)
            case Has():
                return self._has(expr)
            case Known(FactRef(name), negated):
                unknown = self.facts is not None and self.facts.get(name) is None
                case = "" if negated and unknown else self._case(name)
                known = "unknown" if negated else "known"
                if self._is_bool(name):
                    return f"{self._label(name)}: {known}{case}"
                return f"{self._the(name)} {self._be(name)} {known}{case}"
            case And(operands):
                return " and ".join(self._inner(part, within=And) for part in operands)
            case Or(operands):
                return " or ".join(self._inner(part, within=Or) for part in operands)
            case Not(operand):
                return self._negation(operand)
            case FactRef(name) if self._is_bool(name):
                return f"{self._label(name)}: yes{self._case(name)}"
            case _:
                return self._term(expr, None)

    def _inner(self, part: Expr, within: type) -> str:
        text = self.phrase(part)
        return f"({text})" if isinstance(part, (And, Or)) and not isinstance(part, within) else text

    def _negation(self, operand: Expr) -> str:
        if isinstance(operand, FactRef):
            return f"{self._label(operand.name)}: no{self._case(operand.name)}"
        if isinstance(operand, Has):
            return self._has(operand, negated=True)
        return f"not ({self.phrase(operand)})"

    def _compare(self, expr: Compare) -> str:
        left, right, op = expr.left, expr.right, str(expr.op)
        if isinstance(left, Const):
            left, right, op = right, left, MIRRORED[expr.op]
        first, second = self._fact_in(left), self._fact_in(right)
        verb = self._be(left.name) if isinstance(left, FactRef) else "is"
        phrase = f"{self._term(left, second)} {verb}{_RELATIONS[op]} {self._term(right, first)}"
        return phrase + self._sides(left, right, first or second)

    def _sides(self, left: Expr, right: Expr, fact: FactDef | None) -> str:
        if self.facts is None:
            return ""
        if isinstance(right, Const):
            if isinstance(left, FactRef):
                return self._case(left.name)
            return f" (it is {self._amount(left, fact)})"
        return f" ({self._amount(left, fact)} against {self._amount(right, fact)})"

    def _amount(self, expr: Expr, fact: FactDef | None) -> str:
        value = evaluate(expr, self.facts or {})
        if isinstance(expr, FactRef):
            return format_value(self.vocabulary.fact(expr.name), value)
        return format_value(fact if isinstance(expr, Arith) else None, value)

    def _member(self, expr: Member) -> str:
        fact = self._fact_in(expr.left)
        name = expr.left.name if isinstance(expr.left, FactRef) else ""
        relation = _CHOICES[len(expr.choices) > 1, expr.negated]
        choices = _listed([format_value(fact, choice) for choice in expr.choices])
        return f"{self._term(expr.left, None)} {self._be(name)}{relation} {choices}{self._case(name) if name else ''}"

    def _has(self, expr: Has, *, negated: bool = False) -> str:
        name = expr.fact.name
        item = format_value(self.vocabulary.fact(name), expr.item)
        plural = self._be(name) == "are"
        verb = ("do not include" if plural else "does not include") if negated else "include" if plural else "includes"
        return f"{self._the(name)} {verb} {item}{self._case(name)}"

    def _term(self, expr: Expr, beside: FactDef | None) -> str:
        """A value inside a phrase; ``beside`` is the fact whose unit or choice a constant takes."""
        match expr:
            case Const(value):
                return format_value(beside, value)
            case FactRef(name):
                return self._the(name)
            case Arith("min" | "max" as op, left, right):
                which, inner = ("smaller", "larger")[op == "max"], self._fact_in(expr)
                return f"the {which} of {self._term(left, inner)} and {self._term(right, inner)}"
            case Arith(op, left, right):
                inner = self._fact_in(expr) if op in {"+", "-"} else None
                parts = [self._part(side, inner) for side in (left, right)]
                return f"{parts[0]} {_OPERATIONS[op]} {parts[1]}"
            case _:
                return self.phrase(expr)

    def _part(self, side: Expr, beside: FactDef | None) -> str:
        text = self._term(side, beside)
        return f"({text})" if isinstance(side, Arith) else text

    def _fact_in(self, expr: Expr) -> FactDef | None:
        """The fact that gives an expression its unit or choices, if one does."""
        if isinstance(expr, FactRef):
            return self.vocabulary.fact(expr.name)
        if isinstance(expr, Arith):
            left, right = self._fact_in(expr.left), self._fact_in(expr.right)
            if expr.op not in {"*", "/"}:
                return left or right
            if left is None or right is None:
                return left if expr.op == "/" else left or right
            return left if right.unit is None else right if left.unit is None and expr.op == "*" else None
        return None

    def _case(self, name: str) -> str:
        if self.facts is None:
            return ""
        value = self.facts.get(name)
        return " (unknown)" if value is None else f" (it is {format_value(self.vocabulary.fact(name), value)})"

    def _is_bool(self, name: str) -> bool:
        fact = self.vocabulary.fact(name)
        return fact is not None and fact.type == "bool"

    def _label(self, name: str) -> str:
        fact = self.vocabulary.fact(name)
        return fact.label or name if fact else name

    def _the(self, name: str) -> str:
        label = self._label(name)
        fact = self.vocabulary.fact(name)
        named = fact is not None and bool(fact.label)
        return f"the {label}" if named and not label.startswith(_NO_ARTICLE) else label

    def _be(self, name: str) -> str:
        label = self._label(name)
        return "are" if _is_plural(label) and not label.startswith(_CLAUSES) else "is"


def _is_plural(label: str) -> bool:
    """Whether a label such as ``GPUs compared`` or ``number of GPUs`` speaks of several things."""
    head = _AFTER_HEAD.split(label, maxsplit=1)[0].split()
    ends = {head[0], head[-1]} if head else set()
    return any(word.endswith("s") and not word.endswith(("ss", "us", "is", "series")) for word in ends)


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
