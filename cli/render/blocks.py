"""What a page is made of. Sections build blocks, and each writer shows the same blocks in its own way."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


#: Marks that turn the direction of text, so that a line reads otherwise than it is written.
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
#: Control characters but the line feed: a value in a workload file must not drive the reader's terminal.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0), *_TURNING) if code != 0x0A
}

#: JSON's own encoder escapes those below the space alone.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}

Tone = Literal["plain", "strong", "good", "warn", "bad", "faint"]


class Heading(Struct, frozen=True):
    """A title. Level 1 opens a page, level 2 a section."""

    text: str
    level: Literal[1, 2, 3] = 2


class Paragraph(Struct, frozen=True):
    """Running text. The tone decorates and never carries meaning of its own."""

    text: str
    tone: Tone = "plain"


class Item(Struct, frozen=True):
    """One bullet: the point, and what stands under it in smaller words."""

    text: str
    below: tuple[str, ...] = ()
    tone: Tone = "plain"


class Bullets(Struct, frozen=True):
    """A list of points."""

    items: tuple[Item, ...]
    first: int | None = None  # numbered from here in text, where what is typed is a number of the list


class Table(Struct, frozen=True):
    """Rows under headers. ``right`` holds the positions of the columns that are numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


class Bar(Struct, frozen=True):
    """How full something is: ``share`` of 1, with the words that say the same."""

    share: float
    text: str


class Pairs(Struct, frozen=True):
    """``label: value`` lines."""

    rows: tuple[tuple[str, str], ...]


class Row(Struct, frozen=True):
    """One line of a summary; with ``share`` a bar of how full something is stands before the words."""

    label: str
    text: str
    tone: Tone = "plain"
    share: float | None = None


class Summary(Struct, frozen=True):
    """What matters in a few labelled lines."""

    rows: tuple[Row, ...]


class Verbatim(Struct, frozen=True):
    """Lines that are not wrapped: a command to type, a source line with its caret."""

    text: str


class Line(Struct, frozen=True):
    """One line of an outline; depth 0 stands at the margin."""

    depth: int
    text: str
    tone: Tone = "plain"


class Outline(Struct, frozen=True):
    """A tree, line by line."""

    lines: tuple[Line, ...]


Block = Heading | Paragraph | Bullets | Table | Bar | Pairs | Summary | Verbatim | Outline


def escaped_json(text: str) -> str:
    """A JSON text whose control characters are escapes, which means the same to every reader of JSON."""
    return text.translate(_JSON_ESCAPES)


def printable(text: str) -> str:
    """The text with control characters, and marks that turn its direction, replaced."""
    return text.translate(_CONTROLS)
