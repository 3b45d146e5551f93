"""Reading what a rule rests on (because, sources, encodes, status, overrides), and what its points stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from typing import get_args

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.rules.rulebook.grammar import CLAIM_KEYS
from whichgpu.engine.rules.rulebook.model import Band
from whichgpu.engine.rules.rulebook.model import Claim
from whichgpu.engine.rules.rulebook.model import Quantity
from whichgpu.engine.rules.rulebook.model import Status
from whichgpu.engine.rules.rulebook.reading import Context
from whichgpu.engine.rules.rulebook.reading import Draft
from whichgpu.engine.rules.rulebook.reading import Fields
from whichgpu.engine.rules.rulebook.reading import kind_of


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
    reader = context.reader
    overrides = reader.names(fields["overrides"][1], "`overrides`") if "overrides" in fields else ()
    context.overrides += [(owner, name) for name in overrides]
    status = None
    if "status" in fields:
        status = cast("Status | None", reader.word(fields["status"][1], "`status`", get_args(Status)))
    until = reader.date(fields["valid_until"][1], "`valid_until`") if "valid_until" in fields else None
    return Grounds(
        because=reader.text(fields["because"][1], "`because`") if "because" in fields else "",
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
    names = context.reader.names(fields[key][1], f"`{key}`")
    for name in names:
        heads = {name.text} if key == "encodes" else source_heads(name.text)
        if known and not heads & known:
            what, home = ("source", "knowledge/sources.yaml") if key == "sources" else ("heuristic", "the catalogue")
            nearest = nearest_words(min(heads, key=len), sorted(known), limit=1)
            fix = None if nearest else f"add it to {home}"
            context.reader.add(f"unknown-{what}", f"{home} has no {what} {name.text!r}", name, nearest=nearest, fix=fix)
    return tuple(name.text for name in names)


def source_heads(source: str) -> set[str]:
    """``a/b/c``, ``a/b`` and ``a``: the ids that a source reference may start with."""
    parts = source.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}


_QUANTITIES = CLAIM_KEYS[0].choices


def read_claim(draft: Draft, context: Context) -> Claim | None:
    """The claim of a rule; None without one, or after a problem."""
    if "claim" not in (draft.then or {}):
        return None
    node = cast("Fields", draft.then)["claim"][1]
    if not isinstance(node, Mapping):
        quantity = _quantity(node, "`claim`", context)
        return Claim(quantity) if quantity else None
    fields = context.reader.fields(node, CLAIM_KEYS, "`claim`") or {}
    quantity = _quantity(fields["quantity"][1], "`quantity`", context) if "quantity" in fields else None
    ratio = _ratio(fields["ratio"][1], context) if "ratio" in fields else None
    over = _card(fields["over"][1], context) if "over" in fields else None
    return Claim(quantity, ratio, over) if quantity else None


def read_band(draft: Draft, context: Context) -> Band | None:
    """The band of a rule; None without one, or after a problem."""
    if "band" not in (draft.then or {}):
        return None
    node = cast("Fields", draft.then)["band"][1]
    return cast("Band | None", context.reader.word(node, "`band`", get_args(Band)))


def _quantity(node: Node, what: str, context: Context) -> Quantity | None:
    return cast("Quantity | None", context.reader.word(node, what, _QUANTITIES))


def _ratio(node: Node, context: Context) -> float | None:
    ratio = context.reader.number(node, "the ratio of `claim`")
    if ratio is not None and ratio <= 0:
        fix = "write how many times that of the other card: 2 for twice as much, 0.5 for half"
        context.reader.add("wrong-form", f"the ratio of `claim` is {kind_of(node)}, not above 0", node, fix=fix)
        return None
    return ratio


def _card(node: Node, context: Context) -> str | None:
    """The id, family or series of the card compared with."""
    name = context.reader.text(node, "`over`")
    known = context.known.gpus
    if not isinstance(node, Scalar) or not name:
        return None
    if known and name not in known:
        nearest = nearest_words(name, sorted(known), limit=1)
        context.reader.add(
            "unknown-gpu",
            f"`over` names {name!r}, which is no GPU, family or series of the catalogue",
            node,
            nearest=nearest,
            fix=None if nearest else "see: whichgpu gpus",
        )
        return None
    return name
