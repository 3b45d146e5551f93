"""Parsed content kept between runs: JSON files in the user's cache folder, keyed by the content's digest.

The cache is a convenience: where it cannot be read or written, nothing is said and the work is done again.
``WHICHGPU_CACHE=off`` turns it off. Nodes are kept with their positions, as compact JSON lists: a scalar is
``[text, line, column]``, with a fourth item 1 when quoted, a mapping ``[line, column, key, value, ...]`` and a sequence
``[[], line, column, item, ...]``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import msgspec

from whichgpu.engine.core.yaml.node import MappingNode, Node, ScalarNode, SequenceNode, Source


#: What ``recall`` returns when it has nothing; None is a value like any other.
MISSING: Final[Any] = object()

#: Raised whenever the stored form or the reading of YAML changes; entries of other editions are never read.
EDITION = "1"
_MOST_ENTRIES = 400
_TRUSTED = ContextVar("trusted", default=True)


@contextmanager
def sources_alone() -> Iterator[None]:
    """Nothing is taken from the cache meanwhile and nothing put there: for who must not trust it, such as an audit."""
    token = _TRUSTED.set(False)
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def digest_of(content: bytes) -> str:
    """The key of a content."""
    return hashlib.sha256(content).hexdigest()


def recall(kind: str, digest: str | None) -> Any:
    """What was remembered under this kind and digest, or ``MISSING``. None: of what is not kept."""
    folder = cache_folder()
    if folder is None or digest is None:
        return MISSING
    try:
        return msgspec.json.decode((folder / f"{digest}.{kind}.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return MISSING


def remember(kind: str, digest: str | None, content: Any) -> None:
    """Keep a JSON value. Written beside and moved into place, so no reader ever sees half of it."""
    folder = cache_folder()
    if folder is None or digest is None:
        return
    try:
        # Positions and texts hold no number that is none, which msgspec would write as null.
        data = msgspec.json.encode(content) if kind == "nodes" else _exact_json(content)
    except (ValueError, TypeError):
        return
    replace_file(folder / f"{digest}.{kind}.json", data, most=_MOST_ENTRIES)


def _exact_json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def replace_file(path: Path, data: bytes, *, most: int) -> None:
    """Write beside the path and move into place. Nothing is said where that fails.

    Args:
        path: where the file will be.
        data: what it will hold.
        most: how many entries its folder may have; beyond, the older half goes.
    """
    import tempfile  # noqa: PLC0415  # With a warm cache nothing is written.

    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _prune(folder, most)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)


def cache_folder(name: str = "source") -> Path | None:
    """The folder of that name of this edition, or None when the cache is off. It need not exist."""
    if not _TRUSTED.get() or os.environ.get("WHICHGPU_CACHE", "").lower() in {"off", "no", "0", "false"}:
        return None
    base = _base()
    return base / "whichgpu" / f"{name}-{EDITION}" if base else None


def _base() -> Path | None:
    named = os.environ.get("XDG_CACHE_HOME")
    if named and Path(named).is_absolute():
        return Path(named)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _prune(folder: Path, most: int) -> None:
    entries = [entry for entry in folder.iterdir() if entry.is_file()]
    if len(entries) < most:
        return
    entries.sort(key=lambda entry: entry.stat().st_mtime)
    for entry in entries[: most // 2]:
        entry.unlink(missing_ok=True)


def pack(node: Node) -> list[Any]:
    """The JSON form of a node."""
    if isinstance(node, ScalarNode):
        return [node.text, node.line, node.column, 1] if node.quoted else [node.text, node.line, node.column]
    if isinstance(node, MappingNode):
        return [node.line, node.column, *(pack(part) for entry in node.entries for part in entry)]
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
        return ScalarNode(first, packed[1], packed[2], len(packed) > 3, source)
    if first.__class__ is int:
        parts = [_unpack(part, source) for part in packed[2:]]
        entries: Any = tuple(zip(parts[::2], parts[1::2], strict=True))
        return MappingNode(entries, first, packed[1], source)
    return SequenceNode(tuple([_unpack(part, source) for part in packed[3:]]), packed[1], packed[2], source)
