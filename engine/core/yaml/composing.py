"""YAML events to nodes. Anchors, aliases, tags, duplicate and compound keys are refused before anything is expanded."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from whichgpu.engine.core.errors import Place, Problem, WhichgpuError
from whichgpu.engine.core.yaml.json_text import NotJsonError, nodes_of_json
from whichgpu.engine.core.yaml.node import MappingNode, Node, ScalarNode, SequenceNode, Source, place_of


MAX_DEPTH = 40
MAX_PROBLEMS = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_HINTS = (
    ("mapping values are not allowed", "put the text in quotes if it holds ': ', or check the indentation"),
    ("cannot start any token", "put the text in quotes; indent with spaces, never tabs"),
    ("could not find expected ':'", "check the indentation, and that every key ends in ':'"),
    ("did not find expected key", "check the indentation and the quotes of this line and the one before"),
    ("did not find expected '-' indicator", "check the indentation: all entries of a list start in one column"),
    ("found unexpected end of stream", "a quote or bracket is never closed"),
    ("block scalar", "put a text that starts with '>' or '|' in quotes"),
    ("tag", "put a text that starts with '!' in quotes"),
    ("alias", "put a text that starts with '*' in quotes"),
    ("anchor", "put a text that starts with '&' in quotes"),
    ("expected ',' or", "a bracket is never closed, or a value inside it needs quotes"),
)


@dataclass(slots=True)
class _Frame:
    """A collection under construction: the items of a list, or each key of a mapping with its value behind it."""

    is_mapping: bool
    line: int
    column: int
    as_key: bool  # This collection stands where a key should: reported, then dropped.
    parts: list[Any] = field(default_factory=list)
    seen: dict[str, ScalarNode] = field(default_factory=dict)

    @property
    def wants_key(self) -> bool:
        """Whether a key comes next."""
        return self.is_mapping and len(self.parts) % 2 == 0


def compose(source: Source, error: type[WhichgpuError], loader: Any = None) -> Node:
    """Build the nodes of one YAML document.

    Raises:
        WhichgpuError: of class ``error``, with every problem up to the first that stops the YAML parser.
    """
    composer = _Composer(source)
    try:
        for event in yaml.parse(source.text, Loader=loader or _LOADER):
            composer.take(event)
            if composer.stopped:
                break
    except yaml.YAMLError as broken:
        if source.text.lstrip()[:1] in {"{", "["}:  # JSON that is no YAML.
            with suppress(NotJsonError):
                return nodes_of_json(source, MAX_DEPTH)
        composer.problems.append(_broken(broken, source))
    if composer.problems:
        raise error(composer.problems)
    if composer.root is None:
        raise error(Problem("empty-file", f"{source.name} is empty", source.place(1, 1), fix="write its content"))
    return composer.root


class _Composer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self.stopped = False
        self._stack: list[_Frame] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Take in one event of the YAML parser."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._refuse_properties(event)
            mark = event.start_mark
            self._place(ScalarNode(event.value, mark.line + 1, mark.column + 1, bool(event.style), self.source))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._open(event, is_mapping=kind is yaml.MappingStartEvent)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close()
        elif kind is yaml.AliasEvent:
            self._report("alias", event, f"the alias *{event.anchor} is not allowed here", "write the value out")
            mark = event.start_mark
            self._place(ScalarNode(f"*{event.anchor}", mark.line + 1, mark.column + 1, True, self.source))
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                fix = "put the second document in a file of its own"
                self._report("several-documents", event, "one file holds one YAML document", fix)
                self.stopped = True

    def _refuse_properties(self, event: Any) -> None:
        if event.anchor is not None:
            self._report("anchor", event, f"the anchor &{event.anchor} is not allowed", "remove it, write values out")
        if event.tag is not None:
            fix = "remove it; a text that starts with '!' needs quotes"
            self._report("tag", event, f"the tag {event.tag} is not allowed", fix)

    def _report(self, code: str, event: Any, message: str, fix: str) -> None:
        place = self.source.place(event.start_mark.line + 1, event.start_mark.column + 1)
        self._add(Problem(code, message, place, fix=fix))

    def _add(self, problem: Problem) -> None:
        self.problems.append(problem)
        self.stopped = self.stopped or len(self.problems) >= MAX_PROBLEMS

    def _open(self, event: Any, *, is_mapping: bool) -> None:
        self._refuse_properties(event)
        if len(self._stack) >= MAX_DEPTH:
            self._add(_too_deep(self.source.place(event.start_mark.line + 1, event.start_mark.column + 1)))
            self.stopped = True
            return
        as_key = bool(self._stack) and self._stack[-1].wants_key
        if as_key:
            self._report("compound-key", event, "a key must be a word, not a list or mapping", "put it in quotes")
        self._stack.append(_Frame(is_mapping, event.start_mark.line + 1, event.start_mark.column + 1, as_key))

    def _close(self) -> None:
        frame = self._stack.pop()
        node: Node
        if frame.as_key:
            text = f"<key in line {frame.line}, {frame.column}>"
            node = ScalarNode(text, frame.line, frame.column, True, self.source)
        elif frame.is_mapping:
            entries = tuple(zip(frame.parts[::2], frame.parts[1::2], strict=True))
            node = MappingNode(entries, frame.line, frame.column, self.source)
        else:
            node = SequenceNode(tuple(frame.parts), frame.line, frame.column, self.source)
        self._place(node)

    def _place(self, node: Node) -> None:
        if not self._stack:
            if not (isinstance(node, ScalarNode) and not node.quoted and not node.text):
                self.root = node
            return
        frame = self._stack[-1]
        if frame.wants_key and isinstance(node, ScalarNode):
            self._check_key(frame, node)
        frame.parts.append(node)

    def _check_key(self, frame: _Frame, key: ScalarNode) -> None:
        first = frame.seen.setdefault(key.text, key)
        if first is not key:
            message = f"the key {key.text!r} stands twice, first in line {first.line}"
            self._add(Problem("duplicate-key", message, place_of(key), fix="keep one of the two"))
        if not key.text and not key.quoted:
            self._add(Problem("empty-key", "a key is missing before ':'", place_of(key), fix="write the key"))


def _broken(broken: yaml.YAMLError, source: Source) -> Problem:
    mark = getattr(broken, "problem_mark", None) or getattr(broken, "context_mark", None)
    said = " ".join(str(part) for part in (getattr(broken, "context", None), getattr(broken, "problem", None)) if part)
    if mark is None:
        position = getattr(broken, "position", None)
        line = source.text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
        reason = getattr(broken, "reason", None) or said or str(broken)
        message = f"this is not YAML text: {reason}"
        return Problem("broken-yaml", message, source.place(line, 1), fix="remove the control character")
    place = source.place(mark.line + 1, mark.column + 1)
    if _TOO_DEEP_FOR_PARSER in said:
        return _too_deep(place)
    fix = next((hint for text, hint in _HINTS if text in said), None)
    return Problem("broken-yaml", f"broken YAML: {said}", place, fix=fix)


def _too_deep(place: Place) -> Problem:
    return Problem("nested-too-deep", f"nested deeper than {MAX_DEPTH} levels", place, fix="flatten it")


#: What PyYAML's parser says, since 6.0.4, of text that is nested deeper than it reads: before any event of it.
_TOO_DEEP_FOR_PARSER = "maximum nesting depth"
