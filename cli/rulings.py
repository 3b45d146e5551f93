"""What became of every rule in a decision, for a reader who wants only some of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.rules import Rule


OUTCOMES = ("fired", "overridden", "undecided", "not_fired")


class Ruling(Struct, frozen=True):
    """One rule's verdict, with what the present rulebook says of the rule; None where it has no such rule any more."""

    id: str
    verdict: str
    scope: str | None
    stage: str | None
    topic: str | None
    title: str | None
    missing: tuple[str, ...]
    failed: str | None
    value: Any
    by: str | None


def rulings(decision: Mapping[str, Any], rules: Mapping[str, Rule], wanted: tuple[str, ...] = ()) -> list[Ruling]:
    """The rulings of a decision, sorted by rule.

    Args:
        decision: in the shape of the contract.
        rules: the present rulebook, for stage, topic and title.
        wanted: outcomes, stages, topics or parts of ids. Words of one kind widen, words of several kinds narrow.

    Raises:
        InputError: a word names nothing.
    """
    found = [_ruling(entry, rules.get(entry["id"])) for entry in decision["rules"]]
    tests: dict[str, set[str]] = {}
    for word in wanted:
        kind = _kind(word.replace("-", "_") if word.replace("-", "_") in OUTCOMES else word, found)
        tests.setdefault(kind, set()).add(word.replace("-", "_") if kind == "verdict" else word)
    return [ruling for ruling in found if all(_meets(ruling, kind, words) for kind, words in tests.items())]


def _meets(ruling: Ruling, kind: str, words: set[str]) -> bool:
    if kind == "id":
        return any(word in ruling.id for word in words)
    return getattr(ruling, kind) in words


def _kind(word: str, found: list[Ruling]) -> str:
    """What a filter word is about."""
    if word in OUTCOMES:
        return "verdict"
    for kind in ("stage", "topic"):
        if any(getattr(ruling, kind) == word for ruling in found):
            return kind
    if any(word in ruling.id for ruling in found):
        return "id"
    known = [*OUTCOMES, *(name for r in found for name in (r.stage, r.topic, r.id) if name)]
    fix = f"an outcome ({', '.join(OUTCOMES)}), a stage, a topic or a part of a rule's id"
    message = f"--filter {word}: no rule of this decision has that outcome, stage, topic or id"
    raise InputError(Problem("bad-filter", message, nearest=nearest_words(word, known), fix=fix))


def _ruling(entry: Mapping[str, Any], rule: Rule | None) -> Ruling:
    return Ruling(
        id=entry["id"],
        verdict=entry["verdict"],
        scope=entry.get("scope"),
        stage=rule.stage if rule else None,
        topic=rule.topic if rule else None,
        title=rule.title if rule else None,
        missing=tuple(entry.get("missing", ())),
        failed=entry.get("failed"),
        value=entry.get("value"),
        by=entry.get("by"),
    )
