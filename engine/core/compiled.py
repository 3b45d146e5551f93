"""What was made of source files, kept between runs in the user's cache folder, so that a start need not make it anew.

Kept are records that msgspec encodes, under a digest over all that they were made of: the bytes and names of the files,
what else went into them, and the program's own code (size and time of every module), so that nothing stale is ever
read. Each file begins with a digest over the rest: what is damaged is as good as missing. Like the parsed YAML
(``core.yaml.cache``) it is a convenience: where it cannot be read or written, nothing is said and the work is done
again, and ``WHICHGPU_CACHE=off`` turns it off.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from whichgpu.engine.core.parameters import knowledge_in_use
from whichgpu.engine.core.version import VERSION
from whichgpu.engine.core.yaml.cache import cache_folder, replace_file


_T = TypeVar("_T")
_HASH_BYTES = 16
_MOST_ENTRIES = 100
_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as below.


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def compiled_key(files: Iterable[Path], *more: str) -> str | None:
    """The key of what is made of these files and of ``more``; None where one cannot be read."""
    try:
        whole = hashlib.sha256(_code_stamp())
        _add(whole, knowledge_in_use().stamp.encode())
        for text in more:
            _add(whole, text.encode("utf-8", "surrogatepass"))
        for path in files:
            _add(whole, os.fsencode(path))
            _add(whole, path.read_bytes())
    except OSError:
        return None
    return whole.hexdigest()


def keeps_compiled() -> bool:
    """Whether anything is kept between runs, and taken from there, at the moment."""
    return cache_folder() is not None


def recall_compiled(kind: str, key: str | None, form: type[_T]) -> _T | None:
    """What was kept under this kind and key, as ``form``; None where nothing sound is."""
    path = _path(kind, key)
    if path is None:
        return None
    try:
        stored = path.read_bytes()
        if hashlib.sha256(stored[_HASH_BYTES:]).digest()[:_HASH_BYTES] != stored[:_HASH_BYTES]:
            return None
        return msgspec.msgpack.decode(stored[_HASH_BYTES:], type=form)
    except (OSError, ValueError, RecursionError):  # msgspec's own errors are ValueErrors.
        return None


def remember_compiled(kind: str, key: str | None, content: Any) -> None:
    """Keep a record. Written beside and moved into place, so no reader ever sees half of it."""
    path = _path(kind, key)
    if path is None:
        return
    data = msgspec.msgpack.encode(content)
    replace_file(path, hashlib.sha256(data).digest()[:_HASH_BYTES] + data, most=_MOST_ENTRIES)


def _path(kind: str, key: str | None) -> Path | None:
    folder = cache_folder("compiled")
    return None if folder is None or key is None else folder / f"{kind}-{key}.msgpack"


def _add(whole: _Hash, part: bytes) -> None:
    """Each part with its length, so that no two lists of parts read the same."""
    whole.update(b"%d:" % len(part))
    whole.update(part)


@cache
def _code_stamp() -> bytes:
    """The program's modules by name, size and time. pathlib would take several milliseconds for them."""
    stamps = sorted(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in _modules(_ENGINE))
    return "\n".join((VERSION, *stamps)).encode()


def _modules(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path.removeprefix(_ENGINE), entry.stat()
            elif entry.is_dir() and entry.name not in {"__pycache__", "_data"}:
                yield from _modules(entry.path)
