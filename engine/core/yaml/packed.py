"""Nodes as compact JSON lists, so that parsed files can be cached with their positions.

A scalar is ``[text, line, column]``, with a fourth item 1 when quoted. A mapping is ``[line, column, key, value, ...]``
and a sequence ``[[], line, column, item, ...]``.
"""

from __future__ import annotations

from typing import Any

from whichgpu.engine.core.yaml.node import Mapping
from whichgpu.engine.core.yaml.node import Node
from whichgpu.engine.core.yaml.node import Scalar
from whichgpu.engine.core.yaml.node import Sequence
from whichgpu.engine.core.yaml.node import Source


def pack(node: Node) -> list[Any]:
    """The JSON form of a node."""
    if isinstance(node, Scalar):
        return [node.text, node.line, node.column, 1] if node.quoted else [node.text, node.line, node.column]
    packed: list[Any]
    if isinstance(node, Mapping):
        packed = [node.line, node.column]
        for key, value in node.entries:
            packed += [pack(key), pack(value)]
        return packed
    return [[], node.line, node.column, *map(pack, node.items)]


def unpack(packed: Any, source: Source) -> Node | None:
    """The node of a JSON form, or None where the form is not one that ``pack`` makes."""
    try:
        return _unpack(packed, source)
    except (TypeError, ValueError, IndexError, KeyError, RecursionError):
        return None


def _unpack(packed: Any, source: Source) -> Node:
    first = packed[0]
    if first.__class__ is str:
        return Scalar(first, packed[1], packed[2], len(packed) > 3, source)
    if first.__class__ is int:
        parts = [_unpack(part, source) for part in packed[2:]]
        entries: Any = tuple(zip(parts[::2], parts[1::2], strict=True))
        return Mapping(entries, first, packed[1], source)
    return Sequence(tuple([_unpack(part, source) for part in packed[3:]]), packed[1], packed[2], source)
