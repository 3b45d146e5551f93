"""What the user gives: a file or standard input, as text or as lines of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click
from msgspec import Struct

from whichgpu.engine.core import InputError, Problem, unreadable


STDIN = "-"
MAX_BYTES = 5_000_000


class Line(Struct, frozen=True):
    """One line of ``--jsonl``: a workload, or what is wrong with it."""

    number: int
    id: Any
    workload: dict[str, Any] | None
    problem: Problem | None = None


def file_or_settings(file: str | None, *, stated: bool) -> tuple[str, bytes | None]:
    """FILE and, where none was named because options state the facts, the empty workload in its place.

    Raises:
        click.UsageError: there is neither.
    """
    if file is not None:
        return file, None
    if stated:
        return STDIN, b"{}"
    example = "--set task=inference --set model_name=llama-3.1-8b"
    raise click.UsageError(f"Name a FILE (- reads standard input), or state facts: {example}.")


def read_stdin() -> bytes:
    """Standard input, up to a byte more than is allowed, so that the reader can refuse it."""
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def read_bytes(file: str, most: int = MAX_BYTES) -> tuple[bytes, str]:
    """The content of a file or of standard input, and the name to use in messages.

    Args:
        file: its path; ``-`` for standard input.
        most: bytes; what is larger comes a byte longer, so that its reader can refuse it.

    Raises:
        InputError: it cannot be read.
    """
    if file == STDIN:
        return sys.stdin.buffer.read(most + 1), "standard input"
    try:
        with Path(file).open("rb") as stream:
            return stream.read(most + 1), file
    except OSError as error:
        raise InputError(unreadable(Path(file), error)) from error


def read_text(file: str) -> tuple[str, str]:
    """The text of a file or of standard input, and the name to use in messages. Raises InputError."""
    raw, name = read_bytes(file)
    if len(raw) > MAX_BYTES:
        raise InputError(Problem("too-large", f"{name} is larger than {MAX_BYTES // 1_000_000} MB"))
    try:
        return raw.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1}"
        raise InputError(Problem("not-text", f"{name} is not UTF-8 text ({where})")) from error


def refuse_overwriting(target: str | None, *read: str | None) -> None:
    """Refuses to write over a file that is read. Raises InputError."""
    for source in read:
        if not target or not source or STDIN in {target, source}:
            continue
        try:
            same = Path(target).samefile(source)
        except OSError:  # One of them is not there, or cannot be looked at: reading or writing it says so.
            continue
        if same:
            message = f"{target} would be written over, and it is what is read"
            raise InputError(Problem("file-exists", message, fix="give another name"))


def json_lines(file: str) -> Iterator[Line]:
    """The workloads of a JSON Lines file or of standard input, one at a time; empty lines are passed over.

    Raises:
        InputError: The file cannot be opened. A bad line raises nothing: it is yielded with its problem.
    """
    if file == STDIN:
        yield from _lines(sys.stdin.buffer)
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115 - closed below, once the reader has had every line.
    except OSError as error:
        raise InputError(unreadable(Path(file), error)) from error
    with stream:
        yield from _lines(stream)


def _lines(stream: Any) -> Iterator[Line]:
    number = 0
    while raw := stream.readline(MAX_BYTES + 1):
        number += 1
        if len(raw) > MAX_BYTES:
            while raw and not raw.endswith(b"\n"):  # The rest of the line is passed over, a piece at a time.
                raw = stream.readline(MAX_BYTES)
            message = f"line {number} is longer than {MAX_BYTES // 1_000_000} MB"
            yield Line(number, None, None, Problem("too-large", message))
        elif raw.strip():
            yield _line(number, raw)


def _line(number: int, raw: bytes) -> Line:
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Line(number, None, None, Problem("not-json", f"line {number} is not JSON: {reason}"))
    if not isinstance(value, dict):
        message = f"line {number} is not a JSON object; a workload is a mapping of facts"
        return Line(number, None, None, Problem("not-an-object", message))
    return Line(number, value.get("id"), value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
