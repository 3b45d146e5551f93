"""Blocks as plain text: wrapped, aligned, coloured only where the screen takes it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from whichgpu.cli.render.blocks import (
    Bar,
    Block,
    Bullets,
    Heading,
    Line,
    Outline,
    Pairs,
    Paragraph,
    Summary,
    Table,
    Tone,
    Verbatim,
    printable,
)
from whichgpu.cli.render.screen import NARROWEST, Screen


_CODES: dict[Tone, str] = {"plain": "", "strong": "1", "good": "32", "warn": "33", "bad": "31", "faint": "2"}
_BAR_CELLS = 30
_GAP = "  "
_NARROWEST_COLUMN = 6
_LONGEST_WORD = 22
#: A summary with less room than this beside its labels puts them on lines of their own.
_NARROWEST_SUMMARY = 40


def to_text(blocks: Iterable[Block], screen: Screen) -> str:
    """The page as text that ends with one newline."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Heading) and lines:
            lines.append("")
        lines.extend(_lines(block, screen))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _lines(block: Block, screen: Screen) -> list[str]:
    match block:
        case Heading(text, level):
            lines = _heading(text, level, screen)
        case Paragraph(text, tone):
            lines = [_toned(line, tone, screen) for line in _wrapped(text, screen.width)]
        case Bullets():
            lines = _bullets(block, screen)
        case Table():
            lines = _table(block, screen)
        case Bar(share, text):
            lines = _wrapped(f"{_bar(share, screen)} {text}", screen.width)
        case Pairs(rows):
            lines = _pairs(rows, screen)
        case Summary():
            lines = _summary(block, screen)
        case Verbatim(text):
            lines = printable(text).split("\n")
        case Outline(outlined):
            lines = [line for entry in outlined for line in _outlined(entry, screen)]
    return lines


def _outlined(line: Line, screen: Screen) -> list[str]:
    """One line of an outline; what is deeper than the screen is wide stays at the deepest indent that fits."""
    indent = "  " * min(line.depth, (screen.width - NARROWEST) // 2 + 4)
    first, *rest = _wrapped(line.text, screen.width - len(indent) - 2)
    return [
        f"{indent}- {_toned(first, line.tone, screen)}",
        *(f"{indent}  {_toned(more, line.tone, screen)}" for more in rest),
    ]


def _heading(text: str, level: int, screen: Screen) -> list[str]:
    lines = [_toned(line, "strong", screen) for line in _wrapped(text, screen.width)]
    if level == 1:
        lines.append("=" * min(screen.width, len(text)))
    elif level == 2:
        lines.append("-" * min(screen.width, len(text)))
    return lines


def _bullets(block: Bullets, screen: Screen) -> list[str]:
    lines: list[str] = []
    for place, item in enumerate(block.items):
        mark = "- " if block.first is None else f"  {block.first + place}. "
        first, *rest = _wrapped(item.text, screen.width - len(mark))
        lines.append(mark + _toned(first, item.tone, screen))
        lines.extend(" " * len(mark) + _toned(line, item.tone, screen) for line in rest)
        for text in item.below:
            lines.extend("    " + _toned(line, "faint", screen) for line in _wrapped(text, screen.width - 4))
    return lines


def _table(table: Table, screen: Screen) -> list[str]:
    columns = range(len(table.headers))
    everything = [table.headers, *table.rows]
    widths = [max(len(row[column]) for row in everything) for column in columns]
    floors = [min(width, _narrowest(table, column)) for column, width in enumerate(widths)]
    room = screen.width - len(_GAP) * (len(widths) - 1)
    if sum(widths) > room:
        below = len(widths) - 1
        if below > 1 and below not in table.right and sum(widths[:-1]) <= room + len(_GAP):
            return _with_remarks(table, screen)
        if len(widths) > 2 or sum(floors) > room:  # Two columns are words with what they mean, which may run on.
            return _as_records(table, screen)
    while sum(widths) > room:
        widths[max(columns, key=lambda column: (widths[column] - floors[column], -column))] -= 1
    lines = [_toned(line, "strong", screen) for line in _row(table.headers, widths, table.right)]
    lines.append(_GAP.join("-" * width for width in widths))
    for row in table.rows:
        lines.extend(_row(row, widths, table.right))
    return lines


def _with_remarks(table: Table, screen: Screen) -> list[str]:
    """A table whose last column finds no room beside the others: it stands below each row, and no cell is broken."""
    short = Table(table.headers[:-1], tuple(row[:-1] for row in table.rows), table.right)
    head, line, *rows = _table(short, screen)
    lines = [head, line]
    for row, (*_, remark) in zip(rows, table.rows, strict=True):
        lines.append(row)
        lines.extend(f"{_GAP}{_toned(more, 'faint', screen)}" for more in _wrapped(remark, screen.width - 2) if more)
    return lines


def _row(cells: tuple[str, ...], widths: list[int], right: frozenset[int]) -> list[str]:
    wrapped = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for index in range(max(len(cell) for cell in wrapped)):
        parts = []
        for column, cell in enumerate(wrapped):
            text = cell[index] if index < len(cell) else ""
            parts.append(text.rjust(widths[column]) if column in right else text.ljust(widths[column]))
        lines.append(_GAP.join(parts))
    return lines


def _narrowest(table: Table, column: int) -> int:
    """How narrow a column may get: its longest word, though the longest ids are broken."""
    cells = [table.headers[column], *(row[column] for row in table.rows)]
    longest = max((len(word) for cell in cells for word in cell.split()), default=0)
    return max(_NARROWEST_COLUMN, min(longest, _LONGEST_WORD))


def _as_records(table: Table, screen: Screen) -> list[str]:
    """A table too wide for the screen: the first cell of each row, and below it the others with their headers."""
    lines: list[str] = []
    for row in table.rows:
        lines.extend(_wrapped(row[0], screen.width))
        cells = [f"{header}: {cell}" for header, cell in zip(table.headers[1:], row[1:], strict=True) if cell]
        lines.extend("  " + line for line in _wrapped("; ".join(cells), screen.width - 2) if line)
    return lines


def _pairs(rows: tuple[tuple[str, str], ...], screen: Screen) -> list[str]:
    label_width = max((len(label) for label, _ in rows), default=0) + 1
    room = screen.width - label_width - 1
    if room < 20:
        return [line for label, value in rows for line in _wrapped(f"{label}: {value}", screen.width)]
    lines: list[str] = []
    for label, value in rows:
        first, *rest = _wrapped(value, room)
        lines.append(f"{label + ':':<{label_width}} {first}")
        lines.extend(" " * (label_width + 1) + line for line in rest)
    return lines


def _summary(summary: Summary, screen: Screen) -> list[str]:
    """The labels in a column of their own, the bar and the words beside it; one below the other on a narrow screen."""
    indent = max(len(row.label) for row in summary.rows) + 2
    if screen.width - indent < _NARROWEST_SUMMARY:
        indent = 2
    lines: list[str] = []
    for row in summary.rows:
        label = f"{row.label}:"
        words = row.text if row.share is None else f"{_bar(row.share, screen)} {row.text}"
        first, *rest = _wrapped(words, screen.width - indent)
        if len(label) >= indent:
            lines.append(_toned(label, "strong", screen))
            label = ""
        lead = _toned(label, "strong", screen) + " " * (indent - len(label))
        lines.append(lead + _toned(first, row.tone, screen))
        lines.extend(" " * indent + _toned(line, row.tone, screen) for line in rest)
    return lines


def _bar(share: float, screen: Screen) -> str:
    filled = round(min(max(share, 0.0), 1.0) * _BAR_CELLS)
    full, empty = ("█", "░") if screen.blocks else ("#", ".")
    return f"[{full * filled}{empty * (_BAR_CELLS - filled)}]"


def _wrapped(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for paragraph in printable(text).split("\n"):
        lines.extend(textwrap.wrap(paragraph, max(width, 1), break_on_hyphens=False) or [""])
    return lines


def _toned(text: str, tone: Tone, screen: Screen) -> str:
    code = _CODES[tone]
    return f"\x1b[{code}m{text}\x1b[0m" if screen.colour and code and text else text
