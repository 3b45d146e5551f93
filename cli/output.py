"""The only way to standard output: whole texts, written once, quiet when the reader has gone."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from whichgpu.cli.pager import show_paged
from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.markdown import to_markdown
from whichgpu.cli.render.screen import Screen, screen_of
from whichgpu.cli.render.text import to_text


def emit(text: str) -> bool:
    """Write to standard output. False once the reader has closed it, so that a long run can stop early.

    A reader such as ``head`` that has seen enough is no error: the exit code stays the command's own.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        return False
    except UnicodeEncodeError:
        _show_what_it_can()
        return emit(text)
    return True


def emit_json(value: Any) -> bool:
    """One JSON document, indented."""
    return emit(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def emit_line(value: Any) -> bool:
    """One compact JSON value on a line of its own."""
    return emit(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def emit_short_line(value: Any) -> bool:
    """The same by the fast encoder, for lines of which there are many. It writes what is no number as null."""
    return emit(msgspec.json.encode(value).decode() + "\n")


def emit_blocks(blocks: Iterable[Block], form: str, *, plain: bool = False, paged: bool = False) -> bool:
    """A page, as ``text`` for this screen or as ``markdown``.

    Args:
        blocks: the page.
        form: text or markdown.
        plain: no colour, no block characters, no pager, though as wide as the screen.
        paged: a text that is longer than the terminal is shown by the pager.
    """
    if form == "markdown":
        return emit(to_markdown(blocks))
    seen = screen()
    text = to_text(blocks, Screen(seen.width) if plain else seen)
    return (paged and not plain and show_paged(text)) or emit(text)


def screen() -> Screen:
    """The screen behind standard output."""
    return screen_of(sys.stdout)


def save_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all. Raises OSError."""
    target = path.resolve()
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(target)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _show_what_it_can() -> None:
    """Standard output takes some narrow encoding: show the rest as escapes instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _silence() -> None:
    """Point standard output nowhere, so that the interpreter does not complain while it shuts down."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
