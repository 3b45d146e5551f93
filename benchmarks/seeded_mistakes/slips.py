"""What slips are made of: another line, number, name, effect, sentence, row or cell of an entry.

Each function gives a slip, which changes the first place in an entry that it fits, and says whether it found one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from whichgpu.engine.core import KnowledgeError, locate, plain, read_yaml

from .rule_files import Entry, Slip


NUMBER = r"(\d+(?:\.\d+)?)$"
CARD = r"gpu\.series == ([\w-]+)"


def written_lines(entry: Entry) -> Iterator[tuple[list[Any], int]]:
    """Every written line of conditions, with the list that it stands in."""
    waiting = [entry["when"]] if isinstance(entry.get("when"), list) else []
    while waiting:
        lines = waiting.pop(0)
        for at, line in enumerate(lines):
            if isinstance(line, str):
                yield lines, at
            elif isinstance(line, dict):
                waiting += [inner for inner in line.values() if isinstance(inner, list)]


def line(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Slip:
    """A line that the pattern finds, written in another way."""

    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            text = re.sub(pattern, new, lines[at], count=1)
            if text != lines[at]:
                lines[at] = text
                return True
        return False

    return slip


def added(pattern: str, *new: str) -> Slip:
    """Another line, made of one that the pattern matches."""

    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            match = re.fullmatch(pattern, lines[at])
            if match and lines is entry["when"]:
                entry["when"] += [match.expand(text) for text in new]
                return True
        return False

    return slip


def times(pattern: str, factor: float) -> Slip:
    """The number of a line, the pattern's last group, times a factor."""

    def scaled(match: re.Match[str]) -> str:
        number = float(match[match.lastindex or 0]) * factor
        return match[0][: match.start(match.lastindex or 0) - match.start()] + f"{number:.10g}"

    return line(pattern, scaled)


def drop_line(pattern: str) -> Slip:
    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            if re.search(pattern, lines[at]) and len(lines) > 1 and lines is entry["when"]:
                del lines[at]
                return True
        return False

    return slip


def then(change: Callable[[dict[str, Any], Entry], bool]) -> Slip:
    return lambda entry: isinstance(entry.get("then"), dict) and change(entry["then"], entry)


def value_under(key: str, other: Callable[[str, Any], Any]) -> Callable[[dict[str, Any], Any], bool]:
    """For ``then`` and ``effect``: the first value under a word that there is another for; None: there is none."""

    def change(then: dict[str, Any], _: Any) -> bool:
        for name, value in then.get(key, {}).items():
            new = other(name, value)
            if new is not None and new != value:
                then[key][name] = new
                return True
        return False

    return change


def put(key: str, value: object, *, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> Slip:
    """Another value under a word of ``then`` that is there already."""

    def change(then: dict[str, Any], _: Entry) -> bool:
        if key not in then or then[key] == value or not where(then):
            return False
        then[key] = value
        return True

    return then(change)


def claim(**new: object) -> Slip:
    def change(then: dict[str, Any], _: Entry) -> bool:
        claim = then.get("claim")
        if claim is None:
            return False
        claim = {"quantity": claim} if isinstance(claim, str) else claim
        changed = {name: value(claim, then) if callable(value) else value for name, value in new.items()}
        if any(value is None for value in changed.values()) or changed.items() <= claim.items():
            return False
        then["claim"] = claim | changed
        return True

    return then(change)


def effects(entry: Entry) -> Iterator[tuple[dict[str, Any], str]]:
    """What the entry and its rows do, each with the title that stands over it."""
    for holder in (entry, *entry.get("rows", [])):
        if isinstance(holder.get("then"), dict):
            yield holder["then"], holder.get("title", entry["title"])


def effect(change: Callable[[dict[str, Any], str], bool]) -> Slip:
    """A change to the first effect of a rule or row that bears it."""
    return lambda entry: any(change(then, title) for then, title in effects(entry))


def key(key: str, value: object, *, having: str | None = None) -> Slip:
    """A key of the rule set, or replaced where it is there."""

    def slip(entry: Entry) -> bool:
        if "table" in entry or (having and having not in entry):
            return False
        entry[key] = value
        return True

    return slip


def in_text(pattern: str, new: str | Callable[[re.Match[str]], str], *keys: str) -> Slip:
    def slip(entry: Entry) -> bool:
        then = entry.get("then") if isinstance(entry.get("then"), dict) else {}
        for holder in (entry, then):
            for key in keys:
                if isinstance(holder.get(key), str):
                    text = re.sub(pattern, new, holder[key], count=1)
                    if text != holder[key]:
                        holder[key] = text
                        return True
        return False

    return slip


def in_any_text(pattern: str, new: str | Callable[[re.Match[str]], str], *keys: str) -> Slip:
    """As ``in_text``, in rows too."""

    def slip(entry: Entry) -> bool:
        holders = [entry, *entry.get("rows", [])]
        return any(in_text(pattern, new, *keys)(holder) for holder in holders)

    return slip


def exchanged(first: str, second: str) -> tuple[str, Callable[[re.Match[str]], str]]:
    def other(match: re.Match[str]) -> str:
        return second if match[0].lower() == first else first

    return rf"(?i)\b(?:{first}|{second})\b", other


def rows(change: Callable[[list[dict[str, Any]], Entry], bool]) -> Slip:
    return lambda entry: isinstance(entry.get("rows"), list) and change(entry["rows"], entry)


def cell(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Slip:
    def change(rows: list[dict[str, Any]], _: Entry) -> bool:
        for row in rows:
            for at, cell in enumerate(row.get("if", [])):
                text = re.sub(pattern, new, str(cell), count=1)
                if isinstance(cell, str) and text != cell:
                    row["if"][at] = text
                    return True
        return False

    return rows(change)


def branch(new: Callable[[Entry, list[Any]], str | None]) -> Slip:
    """A further alternative beside those that stand there."""

    def slip(entry: Entry) -> bool:
        for each in entry.get("when") or []:
            if isinstance(each, dict) and "any" in each and (text := new(entry, each["any"])):
                each["any"].append(text)
                return True
        return False

    return slip


def at_stage(stage: str, slip: Slip) -> Slip:
    return lambda entry: entry["stage"] == stage and slip(entry)


def either(*slips: Slip) -> Slip:
    return lambda entry: any(slip(entry) for slip in slips)


@cache
def knowledge(name: str) -> Any:
    """A shipped knowledge file, as plain values."""
    return plain(read_yaml(locate("knowledge") / f"{name}.yaml", error=KnowledgeError))
