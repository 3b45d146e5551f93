"""Rent or buy: the verdict, its ground and the thresholds that it was held against."""

from __future__ import annotations

from typing import Any

from cli.render.blocks import Block
from cli.render.blocks import Bullets
from cli.render.blocks import Heading
from cli.render.blocks import Item
from cli.render.blocks import Paragraph
from cli.render.figures import value_text


JsonObject = dict[str, Any]

_VERDICTS = {
    "rent": "Rent.",
    "buy": "Buy.",
    "hybrid": "Own the base load and rent the peaks.",
    "undecided": "Open: not enough is known to say rent or buy.",
}


def procurement_blocks(decision: JsonObject) -> list[Block]:
    """The verdict in one sentence, then the thresholds."""
    procurement = decision["procurement"]
    blocks: list[Block] = [Heading("Rent or buy"), Paragraph(verdict_sentence(procurement))]
    items = [Item(_threshold(entry)) for entry in procurement["thresholds"]]
    if items:
        blocks.append(Bullets(tuple(items)))
    return blocks


def verdict_sentence(procurement: JsonObject) -> str:
    """``Rent. Because ...``."""
    return f"{_VERDICTS[procurement['verdict']]} {procurement['because']}".strip()


def _threshold(entry: object) -> str:
    """A threshold is a text, or an object whose fields are shown as they are named."""
    if not isinstance(entry, dict):
        return value_text(entry)
    text = entry.get("text") or entry.get("says")
    if text:
        return str(text)
    return ", ".join(
        f"{name.replace('_', ' ')}: {value_text(value)}" for name, value in entry.items() if value is not None
    )
