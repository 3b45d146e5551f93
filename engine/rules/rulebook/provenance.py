"""Reading what a rule rests on (because, sources, encodes, status, overrides), and what its points stand for."""

from __future__ import annotations

from typing import TypedDict

from whichgpu.engine.core import MappingNode, Node
from whichgpu.engine.rules.rulebook.grammar import CLAIM_KEYS, QUANTITIES, RESPONSIBLE_KEYS, STATUSES
from whichgpu.engine.rules.rulebook.model import Claim, Responsible, Status
from whichgpu.engine.rules.rulebook.reading import Context, Fields, Reader, kind_of


#: The keys that a row has from its table where it does not give them itself.
INHERITED = (
    *("because", "sources", "encodes", "status", "valid_until", "overrides"),
    *(key.name for key in RESPONSIBLE_KEYS),
)


class Provenance(TypedDict):
    """Why a rule holds, by which source, and how firmly: these fields of a ``Rule``."""

    because: str
    sources: tuple[str, ...]
    encodes: tuple[str, ...]
    status: Status
    valid_until: str | None
    overrides: tuple[str, ...]
    responsible: Responsible


def read_provenance(owner: str, fields: Fields, context: Context) -> Provenance:
    """Reasons and sources of the rule or table ``owner``. What it overrides is checked once all rules are known."""
    overrides = context.names(fields["overrides"][1], "`overrides`") if "overrides" in fields else ()
    context.overrides += [(owner, name) for name in overrides]
    return Provenance(
        because=context.text(fields, "because"),
        sources=_read_references(fields, "sources", context.known.sources, context),
        encodes=_read_references(fields, "encodes", context.known.heuristics, context),
        status=context.word(fields, "status", STATUSES) or "stable",
        valid_until=context.date(fields["valid_until"][1], "`valid_until`") if "valid_until" in fields else None,
        overrides=tuple(sorted(name.text for name in overrides)),
        responsible=read_responsible(fields, context.responsible, context),
    )


def read_responsible(fields: Fields, default: Responsible, reader: Reader) -> Responsible:
    """Who said so; what is not stated is as in the default, that of the layer."""
    day = reader.date(fields["approved_on"][1], "`approved_on`") if "approved_on" in fields else None
    return Responsible(
        reader.text(fields, "author") or default.author,
        reader.text(fields, "reviewed_by") or default.reviewed_by,
        day or default.approved_on,
    )


def _read_references(fields: Fields, key: str, known: frozenset[str], context: Context) -> tuple[str, ...]:
    """Ids of sources or heuristics. A source may go on with ``/section``."""
    if key not in fields:
        return ()
    names = context.names(fields[key][1], f"`{key}`")
    for name in names:
        heads = {name.text} if key == "encodes" else source_heads(name.text)
        if known and not heads & known:
            what, home = ("source", "knowledge/sources.yaml") if key == "sources" else ("heuristic", "the catalogue")
            message = f"{home} has no {what} {name.text!r}"
            context.unknown(f"unknown-{what}", message, name, known, asked=min(heads, key=len), fix=f"add it to {home}")
    return tuple(name.text for name in names)


def source_heads(source: str) -> set[str]:
    """``a/b/c``, ``a/b`` and ``a``: the ids that a source reference may start with."""
    parts = source.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}


def read_claim(then: Fields, context: Context) -> Claim | None:
    """The claim of a rule with this ``then``; None without one, or after a problem."""
    node = then["claim"][1] if "claim" in then else None
    if not isinstance(node, MappingNode):
        quantity = context.word(then, "claim", QUANTITIES)
        return Claim(quantity) if quantity else None
    fields = context.fields(node, CLAIM_KEYS, "`claim`") or {}
    quantity = context.word(fields, "quantity", QUANTITIES)
    ratio = _ratio(fields["ratio"][1], context) if "ratio" in fields else None
    over = _card(fields, context)
    return Claim(quantity, ratio, over) if quantity else None


def _ratio(node: Node, context: Context) -> float | None:
    ratio = context.number(node, "the ratio of `claim`")
    if ratio is not None and ratio <= 0:
        fix = "write how many times that of the other card: 2 for twice as much, 0.5 for half"
        context.add("wrong-form", f"the ratio of `claim` is {kind_of(node)}, not above 0", node, fix=fix)
        return None
    return ratio


def _card(fields: Fields, context: Context) -> str | None:
    """The id, family or series of the card compared with."""
    name, known = context.text(fields, "over"), context.known.gpus
    if name and known and name not in known:
        message = f"`over` names {name!r}, which is no GPU, family or series of the catalogue"
        context.unknown("unknown-gpu", message, fields["over"][1], known, asked=name, fix="see: whichgpu gpus")
        return None
    return name or None
