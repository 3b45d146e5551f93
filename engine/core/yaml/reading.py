"""Reading YAML from files and text: bytes to nodes with positions, every problem of a file at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import cache
from whichgpu.engine.core.yaml.node import Node
from whichgpu.engine.core.yaml.node import Source
from whichgpu.engine.core.yaml.plain import plain


MAX_BYTES = 5 * 1000 * 1000


class Document:
    """One file's content: plain values and nodes, each made when first asked for, from the cache where it has them."""

    __slots__ = ("_content", "_digest", "_error", "_node", "_plain", "source")

    def __init__(self, name: str, content: bytes, error: type[WhichgpuError], digest: str | None) -> None:
        self.source = Source(name, content)
        self._content = content
        self._error = error
        self._digest = digest
        self._node: Node | None = None
        self._plain: Any = cache.MISSING

    @property
    def node(self) -> Node:
        """The content with positions. Raises the document's error class with all problems of the text."""
        if self._node is None:
            self._node = self._recall() or self._parse()
        return self._node

    @property
    def plain(self) -> Any:
        """The content as Python values; see ``whichgpu.engine.core.yaml.plain``. Raises like ``node``."""
        if self._plain is cache.MISSING and self._digest:
            self._plain = cache.recall("plain", self._digest)
        if self._plain is cache.MISSING:
            self._plain = plain(self.node)
            if self._digest:
                cache.remember("plain", self._digest, self._plain)
        return self._plain

    def _recall(self) -> Node | None:
        if not self._digest:
            return None
        stored = cache.recall("nodes", self._digest)
        return None if stored is cache.MISSING else cache.unpack(stored, self.source)

    def _parse(self) -> Node:
        from whichgpu.engine.core.yaml.composing import compose  # noqa: PLC0415  # With a warm cache yaml is never imported.

        _check_text(self.source, self._content, self._error)
        node = compose(self.source, self._error)
        if self._digest:
            cache.remember("nodes", self._digest, cache.pack(node))
        return node


def read_document(
    path: Path | str, *, error: type[WhichgpuError], name: str | None = None, cached: bool = False
) -> Document:
    """Open a YAML file.

    Args:
        path: the file.
        error: the class of the errors that this file can raise: InputError, RulebookError or KnowledgeError.
        name: what places call the file; the path as given when left out.
        cached: keep the parsed content in the user's cache folder. For rules and knowledge, never for inputs.

    Raises:
        WhichgpuError: of class ``error``; at once where the file cannot be read, else when the content is asked for.
    """
    shown = name or str(path)
    content = _read_bytes(Path(path), shown, error)
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


def _read_bytes(path: Path, shown: str, error: type[WhichgpuError]) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = _neighbours(path)
        raise error(
            Problem("file-missing", f"there is no file {shown}", nearest=near, fix="check the path and the spelling")
        ) from None
    except IsADirectoryError:
        raise error(Problem("file-is-folder", f"{shown} is a folder", fix="name a YAML file inside it")) from None
    except PermissionError:
        raise error(
            Problem("file-unreadable", f"{shown} may not be read", fix="change its permissions or copy it")
        ) from None
    except (OSError, ValueError) as reason:
        detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
        raise error(Problem("file-unreadable", f"{shown} cannot be read: {detail}")) from None
    if len(content) > MAX_BYTES:
        raise error(_too_large(shown))
    return content


def _neighbours(path: Path) -> tuple[str, ...]:
    from whichgpu.engine.core.errors import nearest_words  # noqa: PLC0415

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
