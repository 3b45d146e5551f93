"""Entry points of the language: text of a condition, expression or cell to a checked tree, every problem placed."""

from __future__ import annotations

import re
from collections.abc import Callable, Set as AbstractSet
from functools import partial

from msgspec import Struct

from whichgpu.engine.core import (
    MappingNode,
    Node,
    Place,
    Problem,
    RulebookError,
    ScalarNode,
    SequenceNode,
    WhichgpuError,
    place_of,
    place_within,
)
from whichgpu.engine.rules.facts import READABLE, FactDef, Vocabulary, yes_or_no
from whichgpu.engine.rules.language.checking import Checker
from whichgpu.engine.rules.language.grammar import MAX_LENGTH, parse_raw
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.operands import Each, literal, literal_error, near_literals
from whichgpu.engine.rules.language.raw_tree import LeafKind, Raw, RawLeaf
from whichgpu.engine.rules.language.tree import And, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or


Where = Place | ScalarNode | None


def parse_condition(
    text: str,
    vocabulary: Vocabulary,
    place: Where = None,
    each: Each = "workload",
    *,
    known_gpus: AbstractSet[str] = frozenset(),
    subject: str | None = None,
    error: type[WhichgpuError] = RulebookError,
) -> Expr:
    """Parse and check one condition.

    Args:
        text: the condition.
        vocabulary: the facts it may name.
        place: where it stands: the YAML scalar itself gives the most exact places.
        each: which scope its rule has.
        known_gpus: every name of a GPU that is accepted; empty to accept all.
        subject: the fact that a relation without left side is about (table cells).
        error: the class to raise.

    Raises:
        WhichgpuError: of class ``error``, with all problems of the expression.
    """
    checker = Checker(vocabulary, each, known_gpus)
    return _checked(checker, checker.condition, text, place, subject=subject, error=error)


def parse_expression(
    text: str,
    vocabulary: Vocabulary,
    place: Where = None,
    each: Each = "workload",
    *,
    target: FactDef | None = None,
    known_gpus: AbstractSet[str] = frozenset(),
) -> Expr:
    """Parse and check an expression that gives a value, such as the right side of ``set``.

    With ``target`` the value must be one that this fact can take: literals are read in its unit, words are its
    choices first. Any text is a value of a text fact. Arguments and errors otherwise as ``parse_condition``.
    """
    stripped = text.strip()
    if target is not None and target.type == "text" and stripped and vocabulary.fact(stripped) is None:
        return Const(stripped.strip("'\""))
    checker = Checker(vocabulary, each, known_gpus)
    return _checked(checker, checker.anything if target is None else partial(checker.value, target=target), text, place)


def _checked(
    checker: Checker,
    check: Callable[[Raw], Expr | None],
    text: str,
    place: Where,
    *,
    subject: str | None = None,
    error: type[WhichgpuError] = RulebookError,
) -> Expr:
    """The tree that a method of the checker makes of a text."""
    try:
        tree = check(parse_raw(text, subject))
    except BadExpression as bad:
        raise error(_problem(bad, text, place)) from None
    if checker.findings or tree is None:
        findings = sorted(checker.findings, key=lambda finding: (finding.start, finding.code))
        raise error([_problem(finding, text, place) for finding in findings])
    return tree


def _problem(bad: BadExpression, text: str, place: Where) -> Problem:
    where = locate(text, place, bad.start, max(1, bad.end - bad.start))
    return Problem(bad.code, bad.message, where, bad.fact, bad.near, bad.fix)


def locate(text: str, place: Where, start: int, length: int) -> Place:
    """The place of a part of an expression in the file it came from."""
    if isinstance(place, ScalarNode):
        return place_within(place, start, length)
    if place is None:
        return Place("expression", 1, start + 1, length, text if text.isprintable() and len(text) <= 300 else "")
    column = place.column - 1
    for offset in (column, column + 1):  # Directly, or behind a quote.
        if place.text.startswith(text, offset):
            return Place(place.path, place.line, offset + start + 1, length, place.text)
    return place


_RANGE = re.compile(r"\s*(\S.*?)\s*\.\.\s*(\S.*?)\s*\Z")
_RELATION = re.compile(r"\s*(==|!=|<|>|(in|not|has|is)\b)")


def parse_cell(
    cell: Node,
    fact: FactDef,
    vocabulary: Vocabulary,
    each: Each = "workload",
    *,
    known_gpus: AbstractSet[str] = frozenset(),
) -> Expr | None:
    """The condition that a cell of the column ``fact`` stands for; None for ``-``, which always holds.

    Args:
        cell: a word, a list, a range or a relation without its left side.
        fact: the column.
        vocabulary: for the facts that a comparison in the cell may name.
        each: the scope of the table.
        known_gpus: every name of a GPU that is accepted; empty to accept all.

    Raises:
        RulebookError: with what is wrong in the cell.
    """
    if fact.scope not in READABLE[each]:
        message = f"{fact.name} is not known to a table of each: {each}"
        raise RulebookError(Problem("out-of-scope", message, place_of(cell), fact.name))
    return _Cells(fact, vocabulary, each, known_gpus).read(cell)


class _Cells(Struct, frozen=True):
    fact: FactDef
    vocabulary: Vocabulary
    each: Each
    known_gpus: AbstractSet[str]

    @property
    def ref(self) -> FactRef:
        return FactRef(self.fact.name)

    def read(self, cell: Node) -> Expr | None:
        if isinstance(cell, MappingNode):
            raise RulebookError(Problem("bad-cell", "a cell is a word, a list or a comparison", place_of(cell)))
        return self._list(cell) if isinstance(cell, SequenceNode) else self._text(cell)

    def _list(self, cell: SequenceNode) -> Expr:
        where = place_of(cell)
        if not cell.items:
            raise RulebookError(Problem("bad-cell", "the list is empty", where, fix="write - for anything"))
        parts: list[Expr] = []
        for item in cell.items:
            if not isinstance(item, ScalarNode):
                raise RulebookError(Problem("bad-cell", "a list in a cell holds words or numbers", where))
            part = self._text(item)
            if part is None:
                raise RulebookError(Problem("bad-cell", "- cannot stand in a list", where, fix="write - alone"))
            parts.append(part)
        values = [part.right.value for part in parts if isinstance(part, Compare) and isinstance(part.right, Const)]
        plain = all(isinstance(part, Compare) and part.op == "==" for part in parts)
        if plain and len(values) == len(parts):
            return Member(self.ref, tuple(dict.fromkeys(values))) if len(parts) > 1 else parts[0]
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _text(self, cell: ScalarNode) -> Expr | None:
        text, stripped, fact = cell.text, cell.text.strip(), self.fact
        if len(text) > MAX_LENGTH:
            raise self._bad("expression-too-long", f"longer than {MAX_LENGTH} characters", cell, 0, 1)
        if stripped == "-":
            return None
        if not stripped:
            raise self._bad("bad-cell", "the cell is empty", cell, 0, 1, "write - for anything, or is unknown")
        if stripped in {"unknown", "known"} and fact.choice(stripped) is None:
            return Known(self.ref, negated=stripped == "unknown")
        if _RELATION.match(text):
            return parse_condition(
                text, self.vocabulary, cell, self.each, known_gpus=self.known_gpus, subject=fact.name
            )
        bounds = _RANGE.match(text)
        if bounds and fact.numeric:
            low, high = self._const(bounds[1], cell), self._const(bounds[2], cell)
            if isinstance(low.value, str) or isinstance(high.value, str) or low.value > high.value:
                message = f"the range starts above its end: {stripped}"
                raise self._bad("empty-range", message, cell, 0, len(text), "swap the two ends")
            return And((Compare(">=", self.ref, low), Compare("<=", self.ref, high)))
        truth = yes_or_no(stripped) if fact.type == "bool" else None
        if truth is not None:
            return self.ref if truth else Not(self.ref)
        const = self._const(stripped, cell)
        return Has(self.ref, const.value) if fact.type == "list" else Compare("==", self.ref, const)

    def _const(self, value: str, cell: ScalarNode) -> Const:
        fact, start = self.fact, cell.text.find(value)
        kind: LeafKind = "number" if fact.numeric or fact.items == "int" else "quoted"
        leaf = RawLeaf(kind, value, start, start + len(value))
        const = literal(fact, leaf, self.known_gpus)
        if const is not None:
            return const
        code, message, fix = literal_error(fact, leaf, self.known_gpus)
        raise self._bad(code, message, cell, start, len(value), fix, near_literals(fact, leaf, self.known_gpus))

    def _bad(
        self,
        code: str,
        message: str,
        cell: ScalarNode,
        start: int,
        length: int,
        fix: str | None = None,
        near: tuple[str, ...] = (),
    ) -> RulebookError:
        return RulebookError(Problem(code, message, place_within(cell, start, length), self.fact.name, near, fix))
