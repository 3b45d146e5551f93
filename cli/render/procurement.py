"""Rent or buy: the verdict, its ground and the thresholds that it was held against."""

from __future__ import annotations

from typing import Any

from cli.render.blocks import Block
from cli.render.blocks import Bullets
from cli.render.blocks import Heading
from cli.render.blocks import Item
from cli.render.blocks import Paragraph
from cli.render.figures import joined
from cli.render.figures import number
from cli.render.names import Names
from cli.render.reasons import origin


JsonObject = dict[str, Any]

_VERDICTS = {
    "rent": "Rent.",
    "buy": "Buy.",
    "hybrid": "Own the base load and rent the peaks.",
    "undecided": "Open: not enough is known to say rent or buy.",
}


_SAYS = {
    "rent": "it says rent",
    "own": "it says own",
    "undecided": "it leaves it open",
    "unknown": "it cannot be applied",
}


def procurement_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """The verdict with its ground, the thresholds of the sources, and what would turn it."""
    procurement = decision["procurement"]
    blocks: list[Block] = [Heading("Rent or buy"), Paragraph(verdict_sentence(procurement))]
    known = [entry for entry in procurement["thresholds"] if entry["value"] is not None]
    if known:
        items = tuple(Item(_threshold(entry, names)) for entry in known)
        blocks += [Paragraph("Rules of thumb of the sources, applied to this case:"), Bullets(items)]
    lacking = sorted({entry["fact"] for entry in procurement["thresholds"] if entry["value"] is None})
    if lacking:
        blocks.append(Paragraph(f"Further rules of thumb would apply if this were known: {joined(lacking)}."))
    if procurement.get("flip"):
        blocks.append(Paragraph(_flip(procurement["flip"])))
    where = origin(", ".join(procurement.get("rules") or ()) or None, tuple(procurement.get("sources") or ()), names)
    return [*blocks, Paragraph(f"By {where}.", "faint")] if where else blocks


def verdict_sentence(procurement: JsonObject) -> str:
    """``Rent. Because ...``."""
    ground = procurement["because"].strip().rstrip(".")
    verdict = _VERDICTS[procurement["verdict"]]
    return f"{verdict} {ground[:1].upper()}{ground[1:]}." if ground else verdict


def _threshold(entry: JsonObject, names: Names) -> str:
    here = f"{entry['fact']} is {number(entry['value'])} here"
    return f"{names.source(entry['source'])}: {entry['limit']}. {here}, so {_SAYS[entry['says']]}."


def _flip(flip: JsonObject) -> str:
    now, needed = number(flip["now"]), number(flip["needed"])
    return f"The verdict would turn to {flip['verdict']} if {flip['fact']} were {needed} instead of {now}."
