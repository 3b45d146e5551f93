"""What became of every rule, grouped by outcome."""

from __future__ import annotations

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of, joined, value_text
from whichgpu.cli.rulings import Ruling


_TITLES = {
    "fired": "Fired",
    "overridden": "Overridden by another rule",
    "undecided": "Undecided, because a fact is unknown",
    "not_fired": "Did not fire",
}


def ruling_blocks(rulings: list[Ruling]) -> list[Block]:
    """One section an outcome."""
    blocks: list[Block] = [Heading("What became of the rules", 1), Paragraph(f"{_amounts(rulings)}.")]
    for outcome, title in _TITLES.items():
        group = [ruling for ruling in rulings if ruling.verdict == outcome]
        if group:
            blocks += [Heading(f"{title} ({len(group)})"), Bullets(tuple(_item(ruling) for ruling in group))]
    return blocks


def _amounts(rulings: list[Ruling]) -> str:
    parts = [
        f"{sum(ruling.verdict == outcome for ruling in rulings)} {outcome.replace('_', ' ')}" for outcome in _TITLES
    ]
    return f"{count_of(len(rulings), 'rule')}: {joined(parts)}"


def _item(ruling: Ruling) -> Item:
    where = [f"{ruling.stage} rule of {ruling.topic}"] if ruling.stage else ["not in the present rulebook"]
    if ruling.scope:
        where.append(f"on {ruling.scope}")
    title = f": {ruling.title}" if ruling.title else ""
    return Item(f"{ruling.id}{title}", tuple(part for part in (ground(ruling), ", ".join(where)) if part))


def ground(ruling: Ruling) -> str:
    """Why a rule had this verdict."""
    if ruling.by:
        return f"rule {ruling.by} prevails"
    if ruling.missing:
        return f"unknown: {joined(list(ruling.missing))}"
    if ruling.failed:
        known = f"; the value is {value_text(ruling.value)}" if ruling.value is not None else ""
        return f"first condition that is false: {ruling.failed}{known}"
    return ""
