"""The only way to standard output: whole texts, written once, quiet when the reader has gone."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from whichgpu.cli.pager import show_paged
from whichgpu.cli.render.blocks import Block, escaped_json
from whichgpu.cli.render.markdown import to_markdown
from whichgpu.cli.render.screen import Screen, screen_of
from whichgpu.cli.render.text import to_text
from whichgpu.engine.core import InputError, Problem


def emit(text: str) -> bool:
    """Write to standard output. False once the reader has closed it, so that a long run can stop early.

    A reader such as ``head`` that has seen enough is no error: the exit code stays the command's own.

    Raises:
        InputError: there is no standard output, or nothing more can be written to it.
    """
    if sys.stdout is None:
        raise InputError(Problem("unwritable", "standard output is closed"))
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        return False
    except OSError as error:
        _silence()
        message = f"cannot write to standard output: {error.strerror or error}"
        raise InputError(Problem("unwritable", message)) from error
    except UnicodeEncodeError:
        _show_what_it_can()
        return emit(text)
    return True


def emit_json(value: Any) -> bool:
    """One JSON document, indented."""
    return emit(escaped_json(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)) + "\n")


def emit_line(value: Any) -> bool:
    """One compact JSON value on a line of its own."""
    return emit(escaped_json(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))) + "\n")


def emit_short_line(value: Any) -> bool:
    """One line of JSON by the fast encoder, for runs over many workloads; NaN and infinity become null."""
    return emit(escaped_json(msgspec.json.encode(value).decode()) + "\n")


def emit_blocks(
    blocks: Iterable[Block], form: str, currency: str = "USD", *, plain: bool = False, paged: bool = False
) -> bool:
    """A page, as ``text`` for this screen or as ``markdown``.

    Args:
        blocks: the page.
        form: text or markdown.
        currency: of its amounts.
        plain: no colour, no block characters, no pager, though as wide as the screen.
        paged: a text that is longer than the terminal is shown by the pager.

    Raises:
        InputError: there is no rate for the currency.
    """
    if currency.upper() != "USD":
        from whichgpu.cli.render.money import in_currency  # noqa: PLC0415 - few pages need rates.

        blocks = in_currency(blocks, currency)
    if form == "markdown":
        return emit(to_markdown(blocks))
    seen = screen()
    text = to_text(blocks, Screen(seen.width) if plain else seen)
    return (paged and not plain and show_paged(text)) or emit(text)


def emit_as(form: str, value: Any, blocks: Iterable[Block]) -> bool:
    """The value as ``json``, or the page that says the same as ``text`` or ``markdown``."""
    return emit_json(value) if form == "json" else emit_blocks(blocks, form)


def emit_csv(headers: Iterable[str], rows: Iterable[Iterable[object]]) -> bool:
    """A table for spreadsheets and programs."""
    import csv  # noqa: PLC0415 - few commands write any.

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return emit(text.getvalue())


@contextlib.contextmanager
def progress(length: int, label: str) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while something goes on that may take seconds; nothing where no person looks at it."""
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr, show_pos=True) as bar:
        yield bar.update


@contextlib.contextmanager
def working(label: str) -> Iterator[None]:
    """Say on standard error what goes on, while it does, where it may take seconds and cannot be counted."""
    watched = sys.stderr.isatty()
    if watched:
        click.echo(f"{label} ...", err=True, nl=False)
    try:
        yield
    finally:
        if watched:
            click.echo("\r\x1b[K", err=True, nl=False)


def screen() -> Screen:
    """The screen behind standard output."""
    return screen_of(sys.stdout)


@contextlib.contextmanager
def writing(file: Path | str) -> Iterator[None]:
    """Say of a file or folder that cannot be written why, and what helps. Raises InputError."""
    try:
        yield
    except OSError as error:
        fix = None
        if isinstance(error, FileNotFoundError):
            fix = f"make the folder {Path(file).parent} first"
        elif isinstance(error, PermissionError):
            fix = "name a place where you may write"
        elif error.errno == errno.ENOSPC:
            fix = "make room, or name a place on another disk"
        message = f"cannot write {file}: {(error.strerror or str(error)).lower()}"
        raise InputError(Problem("unwritable", message, fix=fix)) from error


def save_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner may read, whole or not at all. Raises OSError."""
    save(path, content, mode=0o600)


def save(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Write a file whole or not at all: a full disk leaves what was there before.

    A link stays one, and what it points to is replaced. What is no plain file, such as a device, is written to.

    Args:
        path: of the file.
        content: of it, text as UTF-8.
        mode: its permissions; those of the file that is there, else the usual ones.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()
    data = content.encode("utf-8") if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        with target.open("wb", buffering=0) as stream:
            _write_all(stream, data)
        return
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        if mode is None and target.exists():
            half.chmod(target.stat().st_mode & 0o7777)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(target)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _write_all(stream: io.RawIOBase, data: bytes) -> None:
    """A device may take less than it is given at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]


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
