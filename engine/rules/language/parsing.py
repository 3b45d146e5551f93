"""The doors of the language: text to a checked tree, every problem with its exact place."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import place_within
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language.checking import Checker
from whichgpu.engine.rules.language.grammar import parse_raw
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.naming import Each
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr


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
