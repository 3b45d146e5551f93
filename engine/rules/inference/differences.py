"""Where durable-rules and the generated evaluator differ: gathered while a decision is made, kept for ``doctor``.

The generated evaluator answers then. The answer says so, and the facts are kept in a small file of the user's, for
whoever is to find out which of the two is wrong.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import msgspec
from msgspec import Struct

from whichgpu.engine.core import Value, json_value


#: The file holds no more than this many; the oldest go first.
MOST_KEPT = 50


class Difference(Struct, frozen=True):
    """A match on which the two differ, or a failure of the C engine."""

    what: str  # in words
    rule: str | None = None
    on: str | None = None  # what the fact set is called: a plan's id, say
    facts: Mapping[str, Value] = {}  # those known of what the rule reads


_gathering: ContextVar[list[Difference] | None] = ContextVar("gathering", default=None)


@contextmanager
def gathering_differences() -> Iterator[list[Difference]]:
    """While it lasts the differences that firing meets go into the list that it gives."""
    found: list[Difference] = []
    token = _gathering.set(found)
    try:
        yield found
    finally:
        _gathering.reset(token)


def note(differences: Sequence[Difference]) -> None:
    """Add to the list of whoever gathers; it goes nowhere else."""
    found = _gathering.get()
    if found is not None:
        found.extend(differences)


def differences_file() -> Path:
    """``$XDG_STATE_HOME/whichgpu/engines-differ.jsonl``, by default below ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return folder / "whichgpu" / "engines-differ.jsonl"


def keep_differences(differences: Sequence[Difference], **about: str) -> None:
    """Write them into the user's file, a line each, with ``about``; where that cannot be done they are not kept."""
    try:
        file = differences_file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = [json.dumps(json_value({**about, **msgspec.to_builtins(each)}), sort_keys=True) for each in differences]
        lines = [*_lines(file), *new][-MOST_KEPT:]
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except (OSError, RuntimeError):  # No folder, or no home.
        return


def kept_differences() -> list[dict[str, object]]:
    """What was kept, the oldest first."""
    found: list[dict[str, object]] = []
    try:
        lines = _lines(differences_file())
    except (OSError, RuntimeError):
        return found
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
