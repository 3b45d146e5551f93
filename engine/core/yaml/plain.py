"""Nodes to plain Python values, by the YAML 1.2 core schema with yes/no/on/off of YAML 1.1."""

from __future__ import annotations

import re
from typing import Any

from whichgpu.engine.core.yaml.node import MappingNode, Node, ScalarNode


WORDS: dict[str, bool | None] = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
    "null": None,
    "~": None,
    "": None,
}
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?\Z")
_BASED = {"0x": 16, "0o": 8}
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_NUMERIC_START = frozenset("0123456789+-.")
_LONGEST_INTEGER = 300  # Digits; anything longer is no number that a fact could hold.


def typed(text: str) -> bool | int | float | str | None:
    """The value of an unquoted scalar: bool, null, int, float, or the text itself (dates stay text)."""
    if text[:1] in _NUMERIC_START and text:
        return _number(text)
    if len(text) <= 5 and (folded := text.lower()) in WORDS and text in {folded, folded.title(), folded.upper()}:
        return WORDS[folded]
    return text


def _number(text: str) -> int | float | str:
    if len(text) <= _LONGEST_INTEGER:
        if _INTEGER.match(text):
            return int(text.replace("_", ""))
        if _FLOAT.match(text):
            return float(text.replace("_", ""))
        base = _BASED.get(text[:2])
        if base is not None:
            try:
                return int(text[2:], base)
            except ValueError:
                return text
    return _SPECIAL.get(text.lower(), text)


def plain(node: Node) -> Any:
    """A node as dicts, lists and scalars. Keys are always text; quoted scalars too."""
    if isinstance(node, ScalarNode):
        return node.text if node.quoted else typed(node.text)
    if isinstance(node, MappingNode):
        return {key.text: plain(value) for key, value in node.entries}
    return [plain(item) for item in node.items]


def untyped(node: Node) -> Any:
    """A node as dicts, lists and texts: for values that their facts will type. Quoted or not makes no difference."""
    if isinstance(node, ScalarNode):
        return node.text
    if isinstance(node, MappingNode):
        return {key.text: untyped(value) for key, value in node.entries}
    return [untyped(item) for item in node.items]
