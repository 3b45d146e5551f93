"""YAML content with its positions: what every reader of a file works on, so that every error can name its place."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from whichgpu.engine.core.errors import Place


_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_LONGEST_SHOWN = 300  # Characters; a longer line says less than its number.


class Source:
    """A text and its name. Decodes and splits into lines only when somebody needs a place."""

    def __init__(self, name: str, content: bytes | str) -> None:
        self.name = name
        self._content = content

    @cached_property
    def text(self) -> str:
        """The whole text, without a byte order mark."""
        return self._content if isinstance(self._content, str) else self._content.decode("utf-8-sig")

    @cached_property
    def lines(self) -> list[str]:
        """All lines without their breaks."""
        return _BREAKS.split(self.text)

    def line(self, number: int) -> str:
        """Line ``number``, counted from 1; empty beyond the end."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def place(self, line: int, column: int, length: int = 1) -> Place:
        """The place at a line and column, both from 1."""
        shown = self.line(line)
        if len(shown) > _LONGEST_SHOWN or not shown.isprintable():
            shown = "" if len(shown) > _LONGEST_SHOWN else "".join(c if c.isprintable() else " " for c in shown)
        return Place(self.name, line, column, max(1, length), shown)

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


# Named tuples, since thousands are made on every start and a frozen dataclass costs four times as much to make.
class ScalarNode(NamedTuple):
    """A leaf: always text, typed later by the fact or field it stands for. Block scalars count as quoted."""

    text: str
    line: int
    column: int
    quoted: bool
    source: Source


class MappingNode(NamedTuple):
    """Keys with their values, in the order of the file. Keys are unique."""

    entries: tuple[tuple[ScalarNode, Node], ...]
    line: int
    column: int
    source: Source

    def get(self, key: str) -> Node | None:
        """The value of ``key``, or None."""
        return next((value for name, value in self.entries if name.text == key), None)

    def key(self, key: str) -> ScalarNode | None:
        """The key itself, for its place."""
        return next((name for name, _ in self.entries if name.text == key), None)

    def keys(self) -> tuple[str, ...]:
        """The texts of all keys."""
        return tuple(name.text for name, _ in self.entries)


class SequenceNode(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int
    source: Source


Node = ScalarNode | MappingNode | SequenceNode


def place_of(node: Node) -> Place:
    """Where a node stands; a scalar's place spans its text as far as the line goes."""
    return _span_of(node) if isinstance(node, ScalarNode) else node.source.place(node.line, node.column)


def _span_of(scalar: ScalarNode) -> Place:
    line = scalar.source.line(scalar.line)
    start = scalar.column - 1
    if not line.startswith(("'", '"'), start) or not scalar.quoted:
        return scalar.source.place(scalar.line, scalar.column, min(len(scalar.text), len(line) - start))
    end = line.find(line[start], start + 1)
    return scalar.source.place(scalar.line, scalar.column, (end if end > 0 else len(line) - 1) - start + 1)


def place_within(scalar: ScalarNode, start: int, length: int = 1) -> Place:
    """The place of ``scalar.text[start : start + length]`` in the file.

    Follows quotes and lines that YAML has folded. Where escapes hide the spot, the scalar's own place is returned.
    """
    lines = scalar.source.lines
    row, column = scalar.line - 1, scalar.column - 1
    if scalar.quoted and scalar.source.line(scalar.line)[column : column + 1] in {"'", '"'}:
        column += 1
    elif scalar.quoted:
        row, column = row + 1, 0
    for index, char in enumerate(scalar.text[: start + 1]):
        if char.isspace():
            column += row < len(lines) and lines[row][column : column + 1].isspace() and index < start
            continue
        found = _next_mark(lines, row, column)
        if found is None or lines[found[0]][found[1]] != char:
            return place_of(scalar)
        row, column = found[0], found[1] + (index < start)
    return scalar.source.place(row + 1, column + 1, length)


def _next_mark(lines: list[str], row: int, column: int) -> tuple[int, int] | None:
    """The first spot from here on that is no space, past the ends of lines."""
    while row < len(lines):
        rest = lines[row][column:]
        if rest.strip():
            return row, column + len(rest) - len(rest.lstrip())
        row, column = row + 1, 0
    return None


def find(node: Node, path: tuple[str | int, ...]) -> Node:
    """The node at ``path`` (keys and positions), or the deepest one on the way.

    Steps that lead nowhere are skipped: pydantic puts names of union members between the keys of a location.
    """
    for step in path:
        if isinstance(node, MappingNode):
            node = node.get(str(step)) or node
        elif isinstance(node, SequenceNode) and isinstance(step, int) and 0 <= step < len(node.items):
            node = node.items[step]
    return node


def key_place(node: Node, path: tuple[str | int, ...]) -> Place:
    """Where the key at the end of a path stands, or the deepest node on the way."""
    holder = find(node, path[:-1]) if path else None
    key = holder.key(str(path[-1])) if isinstance(holder, MappingNode) else None
    return place_of(key or find(node, path))
