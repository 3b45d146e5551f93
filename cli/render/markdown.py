"""Blocks as Markdown, with the same content as the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whichgpu.cli.render.blocks import (
    Bar,
    Block,
    Bullets,
    Heading,
    Item,
    Outline,
    Pairs,
    Paragraph,
    Summary,
    Table,
    Verbatim,
    printable,
)


#: Characters that Markdown would read as markup inside running text. An underscore inside a word is none, so that the
#: names of facts stay readable.
_MARKUP = re.compile(r"([\\`*<>|#\[\]])")


def to_markdown(blocks: Iterable[Block]) -> str:
    """The page as Markdown: blocks apart by one empty line."""
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            shown = f"{'#' * level} {_escaped(text)}"
        case Paragraph(text, "strong"):
            shown = f"**{_escaped(text)}**"
        case Paragraph(text) | Bar(_, text):
            shown = _escaped(text)
        case Bullets(items):
            shown = "\n".join(_item(item) for item in items)
        case Table():
            shown = _table(block)
        case Pairs(rows):
            shown = "\n".join(f"- **{_escaped(label)}:** {_escaped(value)}" for label, value in rows)
        case Summary(entries):
            shown = "\n".join(f"- **{_escaped(row.label)}:** {_escaped(row.text)}" for row in entries)
        case Verbatim(text):
            shown = _fenced(printable(text))
        case Outline(lines):
            shown = "\n".join(f"{'  ' * line.depth}- {_escaped(line.text)}" for line in lines)
    return shown


def _item(item: Item) -> str:
    return "\n".join([f"- {_escaped(item.text)}", *(f"  - {_escaped(line)}" for line in item.below)])


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _table(table: Table) -> str:
    rule = ["---:" if column in table.right else "---" for column in range(len(table.headers))]
    rows = [table.headers, tuple(rule), *table.rows]
    return "\n".join(
        "| " + " | ".join(cell if row is rows[1] else _escaped(cell) for cell in row) + " |" for row in rows
    )


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", printable(text)).replace("\n", " ")
