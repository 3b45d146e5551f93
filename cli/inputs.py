"""What the user hands in: a file or standard input, as text or as lines of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from whichgpu.engine.advisor import Saved, read_saved as saved_in
from whichgpu.engine.core import InputError, Problem


STDIN = "-"
MAX_BYTES = 5_000_000


class Line(Struct, frozen=True):
    """One line of ``--jsonl``: a workload, or what is wrong with it."""

    number: int
    id: Any
    workload: dict[str, Any] | None
    problem: Problem | None = None


def read_stdin() -> bytes:
    """Standard input, up to a byte more than is allowed, so that the reader can refuse it."""
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def read_text(file: str) -> tuple[str, str]:
    """The text of a file or of standard input, and the name to use in messages. Raises InputError."""
    if file == STDIN:
        return _decoded(read_stdin(), "standard input"), "standard input"
    try:
        with Path(file).open("rb") as stream:
            return _decoded(stream.read(MAX_BYTES + 1), file), file
    except OSError as error:
        raise InputError(_unreadable(file, error)) from error


def read_saved(file: str) -> Saved:
    """The decision in a file or on standard input. Raises InputError where there is none, or only a part of one."""
    return saved_in(*read_text(file))


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
        raise InputError(_unreadable(file, error)) from error
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


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > MAX_BYTES:
        raise InputError(Problem("too-large", f"{name} is larger than {MAX_BYTES // 1_000_000} MB"))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1}"
        raise InputError(Problem("not-text", f"{name} is not UTF-8 text ({where})")) from error


def _unreadable(file: str, error: OSError) -> Problem:
    reason = (error.strerror or type(error).__name__).lower()
    return Problem("unreadable", f"cannot read {file}: {reason}")
