"""Blocks as HTML, so that the report says the same as the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whichgpu.cli.render.blocks import (
    Bar,
    Block,
    Bullets,
    Heading,
    Item,
    Line,
    Outline,
    Pairs,
    Paragraph,
    Table,
    Verbatim,
)
from whichgpu.cli.report.markup import Markup, join, tag


_ADDRESS = re.compile(r"https?://[^\s,;)]+")


def to_html(blocks: Iterable[Block]) -> Markup:
    """The blocks one after another."""
    return join(*(_block(block) for block in blocks))


def _block(block: Block) -> Markup:
    match block:
        case Heading(title, level):
            shown = tag(f"h{level}", title, id=slug(title))
        case Paragraph(says, tone):
            shown = tag("p", linked(says), class_=tone)
        case Bar(_, says):
            shown = tag("p", says)
        case Bullets(items):
            shown = tag("ul", *(_item(item) for item in items))
        case Table():
            shown = _table(block)
        case Pairs(rows):
            shown = tag("dl", *(join(tag("dt", label), tag("dd", value)) for label, value in rows))
        case Verbatim(says):
            shown = tag("pre", says)
        case Outline(lines):
            shown = tag("ul", *(_line(line) for line in lines))
    return shown


def slug(title: str) -> str:
    """A heading as an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def linked(says: str) -> Markup:
    """Text with its web addresses as links."""
    pieces: list[Markup | str] = []
    end = 0
    for match in _ADDRESS.finditer(says):
        pieces += [says[end : match.start()], tag("a", match[0], href=match[0], rel="noreferrer")]
        end = match.end()
    return join(*pieces, says[end:])


def _item(item: Item) -> Markup:
    below = (tag("div", linked(line), class_="below") for line in item.below)
    return tag("li", tag("span", linked(item.text), class_=item.tone), *below)


def _line(line: Line) -> Markup:
    return tag("li", line.text, class_=line.tone)


#: Tables of more columns are shown row by row where the page is narrow.
_MOST_SIDE_BY_SIDE = 4


def _table(table: Table) -> Markup:
    wide = len(table.headers) > _MOST_SIDE_BY_SIDE
    head = tag("tr", *(tag("th", cell, scope="col", class_=_side(i, table)) for i, cell in enumerate(table.headers)))
    rows = [
        tag(
            "tr",
            *(
                tag("th", cell, scope="row")
                if i == 0
                else tag("td", cell, class_=_side(i, table), data_header=table.headers[i] if wide else None)
                for i, cell in enumerate(row)
            ),
        )
        for row in table.rows
    ]
    body = tag("table", tag("thead", head), tag("tbody", *rows), class_="wide" if wide else None)
    return tag(
        "div",
        body,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"Table: {table.headers[0] or 'comparison'}",
    )


def _side(column: int, table: Table) -> str | None:
    return "number" if column in table.right else None
