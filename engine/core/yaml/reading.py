"""Reading YAML from files and text: bytes to nodes with positions, every problem of a file at once."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from whichgpu.engine.core.errors import InputError, Problem, WhichgpuError, nearest_words
from whichgpu.engine.core.yaml import cache
from whichgpu.engine.core.yaml.filling import filled
from whichgpu.engine.core.yaml.node import Node, Source
from whichgpu.engine.core.yaml.plain import plain


MAX_BYTES = 5 * 1000 * 1000


class Document:
    """One file's content: plain values and nodes, each made when first asked for, from the cache where it has them."""

    def __init__(self, name: str, content: bytes, error: type[WhichgpuError], digest: str | None) -> None:
        self.source = Source(name, content)
        self._content = content
        self._error = error
        self._digest = digest

    @cached_property
    def node(self) -> Node:
        """The content with positions. Raises the document's error class with all problems of the text."""
        stored = cache.recall("nodes", self._digest)
        return (cache.unpack(stored, self.source) if stored is not cache.MISSING else None) or self._parse()

    @cached_property
    def plain(self) -> Any:
        """The content as Python values; see ``whichgpu.engine.core.yaml.plain``. Raises like ``node``."""
        found = _from_json(self._content)
        if found is None:
            found = cache.recall("plain", self._digest)
        if found is cache.MISSING:
            if "node" not in vars(self):
                # Who reads values asks for a place only where something is wrong: nodes are not worth keeping as well.
                self.node = self._parse(keep=False)
            found = plain(self.node)
            cache.remember("plain", self._digest, found)
        return found

    def _parse(self, *, keep: bool = True) -> Node:
        from whichgpu.engine.core.yaml.composing import compose  # noqa: PLC0415  # With a warm cache yaml is never imported.

        _check_text(self.source, self._content, self._error)
        node = compose(self.source, self._error)
        if keep and self._digest:
            cache.remember("nodes", self._digest, cache.pack(node))
        return node


def _from_json(content: bytes) -> Any:
    """A mapping that is written as JSON, which is YAML too and read twenty times as fast; None of anything else.

    What JSON would let pass (a key twice, NaN) is left to the reading that names its place.
    """
    if not content.startswith(b"{"):
        return None
    try:
        return json.loads(content, object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def read_document(
    path: Path | str,
    *,
    error: type[WhichgpuError],
    name: str | None = None,
    cached: bool = False,
    parameters: bool = True,
) -> Document:
    """Open a YAML file.

    Args:
        path: the file.
        error: the class of the errors that this file can raise: InputError, RulebookError or KnowledgeError.
        name: what places call the file; the path as given when left out.
        cached: keep the parsed content in the user's cache folder. For rules and knowledge, never for inputs.
        parameters: put numbers in the place of ``$name``; never in inputs.

    Raises:
        WhichgpuError: of class ``error``; at once where the file cannot be read, else when the content is asked for.
    """
    shown = name or str(path)
    content = _read_bytes(Path(path), shown, error)
    if parameters and not issubclass(error, InputError):  # What people state of their work is no place for parameters.
        content = filled(content, shown, error)
    return Document(shown, content, error, cache.digest_of(content) if cached else None)


def read_yaml(path: Path | str, *, error: type[WhichgpuError], name: str | None = None, cached: bool = False) -> Node:
    """The content of a YAML file with positions; see ``read_document``."""
    return read_document(path, error=error, name=name, cached=cached).node


def read_yaml_text(text: str | bytes, name: str, *, error: type[WhichgpuError]) -> Node:
    """The content of a YAML text (stdin, say) with positions. ``name`` is what places call it."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(content) > MAX_BYTES:
        raise error(_too_large(name))
    return Document(name, content, error, None).node


def unreadable(path: Path, reason: Exception, shown: str = "") -> Problem:
    """Why a file cannot be read, and what helps.

    Args:
        path: of the file.
        reason: what opening or reading it raised.
        shown: the name of the file in messages; else its path.
    """
    shown = shown or str(path)
    if isinstance(reason, FileNotFoundError):
        fix = "check the path and the spelling"
        return Problem("file-missing", f"there is no file {shown}", nearest=_neighbours(path), fix=fix)
    if isinstance(reason, IsADirectoryError):
        return Problem("file-is-folder", f"{shown} is a folder", fix="name a file inside it")
    if isinstance(reason, PermissionError):
        return Problem("file-unreadable", f"{shown} may not be read", fix="change its permissions or copy it")
    detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return Problem("file-unreadable", f"{shown} cannot be read: {detail}")


def _read_bytes(path: Path, shown: str, error: type[WhichgpuError]) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as reason:
        raise error(unreadable(path, reason, shown)) from None
    if len(content) > MAX_BYTES:
        raise error(_too_large(shown))
    return content


def _neighbours(path: Path) -> tuple[str, ...]:
    try:
        return nearest_words(path.name, sorted(entry.name for entry in path.parent.iterdir() if entry.is_file()))
    except (OSError, ValueError):
        return ()


def _too_large(shown: str) -> Problem:
    return Problem("file-too-large", f"{shown} is larger than {MAX_BYTES // 1000**2} MB", fix="split it")


def _check_text(source: Source, content: bytes, error: type[WhichgpuError]) -> None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise error(Problem("not-utf8", f"{source.name} is UTF-16 text", fix="save it as UTF-8"))
    if b"\0" in content:
        raise error(Problem("binary-file", f"{source.name} is a binary file, not YAML text", fix="name a YAML file"))
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = content.count(b"\n", 0, reason.start) + 1
        message = f"{source.name}: line {line} holds a byte (0x{content[reason.start]:02x}) that is not UTF-8"
        raise error(Problem("not-utf8", message, fix="save the file as UTF-8")) from None
