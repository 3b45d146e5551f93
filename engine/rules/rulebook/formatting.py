"""One form for rule files: keys in the order of the guide, lists indented alike, one empty line between entries.

Comments, quotes and the style of lists stay as they are. ruamel.yaml does the round trip; it is needed for nothing
else, so it is an extra and imported when a file is formatted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from whichgpu.engine.core import InputError, Problem, read_yaml_text, untyped
from whichgpu.engine.rules.rulebook.grammar import DISABLE_KEYS, ROW_KEYS, RULE_KEYS, TABLE_KEYS, Key


_ENTRY = re.compile(r"(?:- |-$)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_WIDEST = 100_000  # Lines are never folded: where one breaks is the author's choice.


def formatted(text: str, name: str) -> str:
    """The text of a rule file in the one form. Formatting it again changes nothing.

    Args:
        text: a rule file that can be read; whether its rules are right does not matter.
        name: what places call it.

    Raises:
        InputError: the text is no list of rules, or the library for it is not installed.
    """
    before = untyped(read_yaml_text(text, name, error=InputError))
    if not isinstance(before, list) or not all(isinstance(entry, dict) for entry in before):
        raise InputError(Problem("not-rules", f"{name} holds no list of rules", fix="name a rule file"))
    yaml = _round_trip()
    content = yaml.load(text)
    for entry in content:
        _order_entry(entry)
    written = io.StringIO()
    yaml.dump(content, written)
    result = _spaced(written.getvalue())
    # What looks like a comment may be a line of a long text; then comments stay where they are.
    for candidate in (_aligned(result), result):
        if _same(before, text, candidate, name):
            return candidate
    message = f"{name} cannot be brought into form without changing what it says"
    raise InputError(Problem("not-formatted", message, fix="leave it as it is, or simplify its layout"))


def _same(before: Any, text: str, result: str, name: str) -> bool:
    """Whether the content and every comment are still there."""
    after = untyped(read_yaml_text(result, name, error=InputError))
    return bool(after == before) and sorted(_comments(result)) == sorted(_comments(text))


def _comments(text: str) -> list[str]:
    return [comment.strip() for comment in _COMMENT.findall(text)]


def _round_trip() -> Any:
    try:
        from ruamel.yaml import YAML  # noqa: PLC0415 - an extra, and 60 ms.
        from ruamel.yaml.emitter import Emitter  # noqa: PLC0415
    except ImportError:
        fix = "pip install 'whichgpu[edit]'"
        raise InputError(Problem("not-installed", "formatting needs the library ruamel.yaml", fix=fix)) from None

    class Indented(Emitter):
        """Lists are indented by two below their key; a list that is the whole file not at all."""

        def _is_whole_file(self, depth: int) -> bool:
            return bool(self._depth() <= depth and (not self.indents.values or self.indents.values[0][1]))

        def _depth(self) -> int:
            return len(self.indents) if hasattr(self, "indents") else 0

        @property
        def sequence_dash_offset(self) -> int:
            return 0 if self._is_whole_file(1) else 2

        @sequence_dash_offset.setter
        def sequence_dash_offset(self, _: int) -> None:
            """The offset follows from the depth."""

        @property
        def best_sequence_indent(self) -> int:
            return 2 if self._depth() == 0 or self._is_whole_file(2) else 4

        @best_sequence_indent.setter
        def best_sequence_indent(self, _: int) -> None:
            """The indent follows from the depth."""

    yaml = YAML(typ="rt")
    yaml.Emitter = Indented
    yaml.preserve_quotes = True
    yaml.width = _WIDEST
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _order_entry(entry: Any) -> None:
    """Keys of a rule, a table or a row in the order of the guide."""
    keys: Sequence[Key] = TABLE_KEYS if "table" in entry else DISABLE_KEYS if "disable" in entry else RULE_KEYS
    _order(entry, keys)
    for row in entry.get("rows") or () if "table" in entry else ():
        if isinstance(row, dict):
            _order(row, ROW_KEYS)


def _order(mapping: Any, keys: Sequence[Key]) -> None:
    """Sort the keys, unless a comment or an empty line stands among them and would lose its neighbour."""
    places = {key.name: place for place, key in enumerate(keys)}
    names = list(mapping)
    wanted = sorted(names, key=lambda name: places.get(name, len(places)))
    if wanted == names or _commented(mapping):
        return
    for name in wanted:
        mapping[name] = mapping.pop(name)


def _commented(node: Any) -> bool:
    """Whether a comment or an empty line is attached anywhere inside."""
    attached = getattr(node, "ca", None)
    if attached is not None and (attached.items or attached.comment):
        return True
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return any(_commented(child) for child in inside)


def _spaced(text: str) -> str:
    """One empty line before each entry and the comments above it; none doubled, none at the ends of lines."""
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
        if _ENTRY.match(bare):
            start = len(lines) - 1
            while start > 0 and lines[start - 1].startswith("#"):
                start -= 1
            if start > 0 and lines[start - 1]:
                lines.insert(start, "")
    return "\n".join(lines).strip("\n") + "\n"


def _aligned(text: str) -> str:
    """Comments on lines of their own moved right to where the line below them starts."""
    lines = text.splitlines()
    for place in range(len(lines) - 2, -1, -1):
        bare, below = lines[place].lstrip(), lines[place + 1]
        indent = len(below) - len(below.lstrip())
        if bare.startswith("#") and below.strip() and 0 < len(lines[place]) - len(bare) < indent:
            lines[place] = " " * indent + bare
    return "\n".join(lines) + "\n"
