"""Reading what a rule rests on: because, sources, encodes, status, valid_until, overrides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from typing import get_args

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.rules.rulebook.model import Status
from whichgpu.engine.rules.rulebook.raw_rule import Context
from whichgpu.engine.rules.rulebook.reading import Fields
from whichgpu.engine.rules.rulebook.reading import read_date
from whichgpu.engine.rules.rulebook.reading import read_names
from whichgpu.engine.rules.rulebook.reading import read_text
from whichgpu.engine.rules.rulebook.reading import read_word


#: The keys that a row has from its table where it does not give them itself.
INHERITED = ("because", "sources", "encodes", "status", "valid_until", "overrides")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a rule holds, on whose word, and how firmly."""

    because: str
    sources: tuple[str, ...]
    encodes: tuple[str, ...]
    status: Status
    valid_until: str | None
    overrides: tuple[str, ...]


def read_grounds(owner: str, fields: Fields, context: Context) -> Grounds:
    """The grounds of the rule or table ``owner``. What it overrides is checked once all rules are known."""
    problems = context.problems
    overrides = read_names(fields["overrides"][1], "`overrides`", problems) if "overrides" in fields else ()
    context.overrides += [(owner, name) for name in overrides]
    status = None
    if "status" in fields:
        status = cast("Status | None", read_word(fields["status"][1], "`status`", get_args(Status), problems))
    until = read_date(fields["valid_until"][1], "`valid_until`", problems) if "valid_until" in fields else None
    return Grounds(
        because=read_text(fields["because"][1], "`because`", problems) if "because" in fields else "",
        sources=_read_references(fields, "sources", context.known.sources, context),
        encodes=_read_references(fields, "encodes", context.known.heuristics, context),
        status=status or "stable",
        valid_until=until,
        overrides=tuple(sorted(name.text for name in overrides)),
    )


def _read_references(fields: Fields, key: str, known: frozenset[str], context: Context) -> tuple[str, ...]:
    """Ids of sources or heuristics. A source may go on with ``/section``."""
    if key not in fields:
        return ()
    names = read_names(fields[key][1], f"`{key}`", context.problems)
    for name in names:
        heads = {name.text} if key == "encodes" else source_heads(name.text)
        if known and not heads & known:
            what, home = ("source", "knowledge/sources.yaml") if key == "sources" else ("heuristic", "the catalogue")
            nearest = nearest_words(min(heads, key=len), sorted(known), limit=1)
            fix = None if nearest else f"add it to {home}"
            context.problems.add(
                f"unknown-{what}", f"{home} has no {what} {name.text!r}", name, nearest=nearest, fix=fix
            )
    return tuple(name.text for name in names)


def source_heads(source: str) -> set[str]:
    """``a/b/c``, ``a/b`` and ``a``: the ids that a source reference may start with."""
    parts = source.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}
