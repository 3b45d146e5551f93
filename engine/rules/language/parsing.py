"""The doors of the language: text of a condition, expression or table cell to a checked tree, every problem placed."""

from __future__ import annotations

import re
from collections.abc import Sequence as AbstractSequence
from collections.abc import Set as AbstractSet

from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import Sequence
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.core.yaml import place_within
from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.facts import yes_or_no
from whichgpu.engine.rules.language.checking import Checker
from whichgpu.engine.rules.language.grammar import MAX_LENGTH
from whichgpu.engine.rules.language.grammar import RawLeaf
from whichgpu.engine.rules.language.grammar import parse_raw
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.operands import Each
from whichgpu.engine.rules.language.operands import literal
from whichgpu.engine.rules.language.operands import literal_error
from whichgpu.engine.rules.language.operands import near_literals
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Has
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or


Where = Place | Scalar | None


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
    try:
        tree = checker.condition(parse_raw(text, subject))
    except BadExpression as bad:
        raise error(_problem(bad, text, place)) from None
    return _finished(tree, checker, text, place, error)


def parse_expression(
    text: str,
    vocabulary: Vocabulary,
    place: Where = None,
    each: Each = "workload",
    *,
    target: FactDef | None = None,
    known_gpus: AbstractSet[str] = frozenset(),
    error: type[WhichgpuError] = RulebookError,
) -> Expr:
    """Parse and check an expression that gives a value, such as the right side of ``set``.

    With ``target`` the value must be one that this fact can take: literals are read in its unit, words are its
    choices first. Any text is a value of a text fact. Arguments and errors otherwise as ``parse_condition``.
    """
    if target is not None and target.type == "text" and _is_prose(text, vocabulary):
        return Const(text.strip().strip("'\""))
    checker = Checker(vocabulary, each, known_gpus)
    try:
        raw = parse_raw(text)
        tree = checker.anything(raw) if target is None else checker.value(raw, target)
    except BadExpression as bad:
        raise error(_problem(bad, text, place)) from None
    return _finished(tree, checker, text, place, error)


def _is_prose(text: str, vocabulary: Vocabulary) -> bool:
    return bool(text.strip()) and vocabulary.fact(text.strip()) is None


def _finished(tree: Expr | None, checker: Checker, text: str, place: Where, error: type[WhichgpuError]) -> Expr:
    if checker.findings or tree is None:
        findings = sorted(checker.findings, key=lambda finding: (finding.start, finding.code))
        raise error([_problem(finding, text, place) for finding in findings])
    return tree


def _problem(bad: BadExpression, text: str, place: Where) -> Problem:
    where = locate(text, place, bad.start, max(1, bad.end - bad.start))
    return Problem(bad.code, bad.message, where, bad.fact, bad.near, bad.fix)


def locate(text: str, place: Where, start: int, length: int) -> Place:
    """The place of a part of an expression in the file it came from."""
    if isinstance(place, Scalar):
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

CellText = str | bool | int | float | Scalar | Sequence | Mapping | AbstractSequence[object] | None


def parse_cell(
    cell: CellText,
    fact: FactDef,
    vocabulary: Vocabulary,
    place: Where = None,
    each: Each = "workload",
    *,
    known_gpus: AbstractSet[str] = frozenset(),
    error: type[WhichgpuError] = RulebookError,
) -> Expr | None:
    """The condition that a cell of the column ``fact`` stands for; None for ``-``, which always holds.

    Args:
        cell: a YAML node (places are then exact), or plain text, number, bool, or a list of these.
        fact: the column.
        vocabulary: for the facts that a comparison in the cell may name.
        place: where the cell stands, if it is no node.
        each: the scope of the table.
        known_gpus: every name of a GPU that is accepted; empty to accept all.
        error: the class to raise.

    Raises:
        WhichgpuError: of class ``error``.
    """
    if fact.scope not in READABLE[each]:
        message = f"{fact.name} is not known to a table of each: {each}"
        where = place_of(cell) if isinstance(cell, (Scalar, Sequence, Mapping)) else locate("", place, 0, 1)
        raise error(Problem("out-of-scope", message, where, fact.name))
    return _Cells(fact, vocabulary, each, known_gpus, error).read(cell, place)


class _Cells:
    def __init__(
        self,
        fact: FactDef,
        vocabulary: Vocabulary,
        each: Each,
        known_gpus: AbstractSet[str],
        error: type[WhichgpuError],
    ) -> None:
        self.fact = fact
        self.ref = FactRef(fact.name)
        self.vocabulary = vocabulary
        self.each = each
        self.known_gpus = known_gpus
        self.error = error

    def read(self, cell: CellText, place: Where) -> Expr | None:
        if isinstance(cell, Mapping):
            raise self.error(Problem("bad-cell", "a cell is a word, a list or a comparison", place_of(cell)))
        if isinstance(cell, Scalar):
            return self._text(cell.text, cell)
        if isinstance(cell, Sequence):
            return self._list(list(cell.items), place_of(cell))
        if isinstance(cell, (bool, int, float, str)) or cell is None:
            return self._text(_as_text(cell), place)
        return self._list(list(cell), place)

    def _list(self, items: AbstractSequence[object], place: Where) -> Expr:
        if not items:
            raise self.error(Problem("bad-cell", "the list is empty", _where(place), fix="write - for anything"))
        parts: list[Expr] = []
        for item in items:
            if not isinstance(item, (Scalar, str, bool, int, float)):
                raise self.error(Problem("bad-cell", "a list in a cell holds words or numbers", _where(place)))
            part = self.read(item, place)
            if part is None:
                raise self.error(Problem("bad-cell", "- cannot stand in a list", _where(place), fix="write - alone"))
            parts.append(part)
        values = [part.right.value for part in parts if isinstance(part, Compare) and isinstance(part.right, Const)]
        plain = all(isinstance(part, Compare) and part.op == "==" for part in parts)
        if plain and len(values) == len(parts):
            return Member(self.ref, tuple(dict.fromkeys(values))) if len(parts) > 1 else parts[0]
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _text(self, text: str, place: Where) -> Expr | None:
        stripped = text.strip()
        if len(text) > MAX_LENGTH:
            message = f"longer than {MAX_LENGTH} characters"
            raise self.error(Problem("expression-too-long", message, locate(text, place, 0, 1), self.fact.name))
        if stripped == "-":
            return None
        if not stripped:
            fix = "write - for anything, or is unknown"
            raise self.error(
                Problem("bad-cell", "the cell is empty", locate(text, place, 0, 1), self.fact.name, fix=fix)
            )
        if stripped in {"unknown", "known"} and self.fact.choice(stripped) is None:
            return Known(self.ref, negated=stripped == "unknown")
        if _RELATION.match(text):
            return parse_condition(
                text,
                self.vocabulary,
                place,
                self.each,
                known_gpus=self.known_gpus,
                subject=self.fact.name,
                error=self.error,
            )
        bounds = _RANGE.match(text)
        if bounds and self.fact.numeric:
            return self._range(text, bounds, place)
        return self._value(stripped, text, place)

    def _range(self, text: str, bounds: re.Match[str], place: Where) -> Expr:
        low = self._const(bounds[1], text, place)
        high = self._const(bounds[2], text, place)
        if isinstance(low.value, str) or isinstance(high.value, str) or low.value > high.value:
            where = locate(text, place, 0, len(text))
            message = f"the range starts above its end: {text.strip()}"
            raise self.error(Problem("empty-range", message, where, self.fact.name, fix="swap the two ends"))
        return And((Compare(">=", self.ref, low), Compare("<=", self.ref, high)))

    def _value(self, value: str, text: str, place: Where) -> Expr:
        if self.fact.type == "bool":
            truth = yes_or_no(value)
            if truth is not None:
                return self.ref if truth else Not(self.ref)
        const = self._const(value, text, place)
        return Has(self.ref, const.value) if self.fact.type == "list" else Compare("==", self.ref, const)

    def _const(self, value: str, text: str, place: Where) -> Const:
        start = text.find(value)
        leaf = RawLeaf("number" if self._numeric() else "quoted", value, start, start + len(value))
        const = literal(self.fact, leaf, self.known_gpus)
        if const is not None:
            return const
        code, message, fix = literal_error(self.fact, leaf, self.known_gpus)
        near = near_literals(self.fact, leaf, self.known_gpus)
        where = locate(text, place, start, len(value))
        raise self.error(Problem(code, message, where, self.fact.name, near, fix))

    def _numeric(self) -> bool:
        return self.fact.numeric or self.fact.items == "int"


def _as_text(cell: bool | float | str | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return str(cell)


def _where(place: Where) -> Place | None:
    return place_of(place) if isinstance(place, Scalar) else place
