"""JSON text to nodes, where YAML fails on it: escapes of surrogate pairs, keys of over a thousand characters."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # Public in use, and what json itself reads with.

from whichgpu.engine.core.yaml.node import MappingNode, Node, ScalarNode, SequenceNode, Source


_SPACE = re.compile(r"[ \t\n\r]*")
_BARE = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")


class NotJsonError(ValueError):
    """The text is no JSON, or is nested too deeply, or names a key twice."""


def nodes_of_json(source: Source, max_depth: int) -> Node:
    """The nodes of one JSON value with their positions.

    Raises:
        NotJsonError: whatever the reason; the reader of YAML says what is wrong with the text.
    """
    return _Reader(source, max_depth).whole()


class _Reader:
    def __init__(self, source: Source, max_depth: int) -> None:
        self.source = source
        self.text = source.text
        self._left = max_depth
        self._line, self._line_start, self._counted = 1, 0, 0

    def whole(self) -> Node:
        node, at = self._value(self._skip(0))
        if self._skip(at) != len(self.text):
            raise NotJsonError
        return node

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column, counted on from the last place that was asked for."""
        while (found := self.text.find("\n", self._counted, at)) >= 0:
            self._line, self._line_start, self._counted = self._line + 1, found + 1, found + 1
        self._counted = max(self._counted, at)
        return self._line, at - self._line_start + 1

    def _value(self, at: int) -> tuple[Node, int]:
        char = self.text[at : at + 1]
        if char == '"':
            return self._string(at)
        if char in {"{", "["}:
            return self._collection(at)
        bare = _BARE.match(self.text, at)
        if bare is None:
            raise NotJsonError
        line, column = self._place(at)
        return ScalarNode(bare[0], line, column, False, self.source), bare.end()

    def _string(self, at: int) -> tuple[ScalarNode, int]:
        line, column = self._place(at)
        try:
            text, end = scanstring(self.text, at + 1, True)
        except ValueError as error:
            raise NotJsonError from error
        return ScalarNode(text, line, column, True, self.source), end

    def _collection(self, at: int) -> tuple[Node, int]:
        mapping = self.text[at] == "{"
        closing = "}" if mapping else "]"
        line, column = self._place(at)
        self._left -= 1
        if self._left < 0:
            raise NotJsonError
        parts: list[Node] = []
        at = self._skip(at + 1)
        while self.text[at : at + 1] != closing:
            if parts:
                at = self._skip(self._past(",", at))
            if mapping:
                key, at = self._string(at)
                parts.append(key)
                at = self._skip(self._past(":", self._skip(at)))
            node, at = self._value(at)
            parts.append(node)
            at = self._skip(at)
        self._left += 1
        if not mapping:
            return SequenceNode(tuple(parts), line, column, self.source), at + 1
        keys = [part for part in parts[::2] if isinstance(part, ScalarNode)]
        if len({key.text for key in keys}) != len(keys):
            raise NotJsonError
        return MappingNode(tuple(zip(keys, parts[1::2], strict=True)), line, column, self.source), at + 1

    def _past(self, char: str, at: int) -> int:
        if self.text[at : at + 1] != char:
            raise NotJsonError
        return at + 1
