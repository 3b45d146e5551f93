"""A result: a folder of parts and a manifest, each written whole or not at all, so that a run can go on from there."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from whichgpu.engine.core import FrozenModel, InputError, Problem
from whichgpu.engine.fleet.columns import Coded
from whichgpu.engine.fleet.rows import COLUMNS, Kind
from whichgpu.engine.fleet.sources import needed


FORMAT = "whichgpu.fleet/1"
#: How results are written: Parquet needs the extra ``fleet``.
FORMS = ("parquet", "jsonl", "csv")
_MANIFEST = "_manifest.json"
_JOURNAL = "_decided.jsonl"


class Part(FrozenModel):
    """A file of rows that is complete."""

    name: str
    rows: int
    bytes: int
    errors: int
    internal: int  # of them, where the program failed
    distinct: int  # jobs that were decided for it, and for none before


class Manifest(FrozenModel):
    """What a result was made of and by, and the parts that are done."""

    format: str
    source: str
    jobs: str  # digests
    map: str
    rulebook: str
    knowledge: str
    engine_version: str
    decided_at: str
    changes: tuple[str, ...]  # facts stated for every job
    rounding: dict[str, int]  # facts that were rounded, each to so many significant digits
    keep: tuple[str, ...]
    batch: int
    form: str
    parts: tuple[Part, ...] = ()
    workers_lost: int = 0
    complete: bool = False

    @property
    def rows(self) -> int:
        """Rows that are written."""
        return sum(part.rows for part in self.parts)


#: What must be the same for a run to go on; each with how it is called.
_SAME = {
    "jobs": "jobs",
    "map": "map",
    "rulebook": "rulebook",
    "knowledge": "knowledge and prices",
    "engine_version": "version of whichgpu",
    "changes": "facts of --set",
    "form": "format",
}


class Store:
    """The folder of a result while it is made."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock = _locked(folder)

    @classmethod
    def open(cls, folder: Path, wanted: Manifest) -> Store:
        """The folder of a new result, or of the same one that was begun before.

        Raises:
            InputError: there is a result of something else, or something that is no result.
        """
        if (folder / _MANIFEST).is_file():
            found = read_manifest(folder)
            differing = [word for name, word in _SAME.items() if getattr(found, name) != getattr(wanted, name)]
            if differing:
                message = f"{folder} was begun with other {', '.join(differing)}: its rows would not go together"
                raise InputError(Problem("other-result", message, fix="write to another folder, or take this one away"))
            return cls(folder, found)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                message = f"{folder} holds files that are no result of whichgpu fleet"
                raise InputError(Problem("not-a-result", message, fix="name a folder that is new or empty"))
            store = cls(folder, wanted)
            store.save()
        except OSError as error:
            raise unwritable(folder, error) from error
        return store

    def add(self, columns: Mapping[str, Coded], rows: int, *, distinct: int) -> Part:
        """Write a part, and that it is done. Raises InputError where it cannot be written."""
        name = f"part-{len(self.manifest.parts):05d}.{self.manifest.form}"
        half = self.folder / f".{name}.{os.getpid()}"
        try:
            _WRITERS[self.manifest.form](half, columns, rows)
            size = half.stat().st_size
            half.replace(self.folder / name)
            status, code = columns["status"].items(), columns["error_code"].items()
            part = Part(
                name=name,
                rows=rows,
                bytes=size,
                errors=status.count("error"),
                internal=sum(each in {"internal-error", "worker-lost"} for each in code),
                distinct=distinct,
            )
            self.manifest = replace(self.manifest, parts=(*self.manifest.parts, part))
            self.save()
            (self.folder / _JOURNAL).unlink(missing_ok=True)
        except OSError as error:
            with contextlib.suppress(OSError):
                half.unlink(missing_ok=True)
            raise unwritable(self.folder, error) from error
        return part

    def finish(self, *, workers_lost: int) -> None:
        """Every job has its row."""
        self.manifest = replace(self.manifest, complete=True, workers_lost=self.manifest.workers_lost + workers_lost)
        self.save()
        self.close()

    def close(self) -> None:
        """Let others write here."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def save(self) -> None:
        """Write the manifest. Raises OSError."""
        half = self.folder / f".{_MANIFEST}.{os.getpid()}"
        half.write_bytes(msgspec.json.format(msgspec.json.encode(self.manifest), indent=1) + b"\n")
        half.replace(self.folder / _MANIFEST)

    def note(self, entries: Sequence[tuple[str, str]]) -> None:
        """Keep what is decided for a part that is not complete, should the run end here."""
        try:
            with (self.folder / _JOURNAL).open("ab") as stream:
                stream.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def noted(self) -> Iterator[tuple[str, str]]:
        """What was decided before the run ended; a last line that was cut off is left out."""
        path = self.folder / _JOURNAL
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            with contextlib.suppress(msgspec.DecodeError):
                yield msgspec.json.decode(line, type=tuple[str, str])


def read_manifest(folder: Path) -> Manifest:
    """What a result was made of. Raises InputError where the folder holds none."""
    try:
        manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
    except OSError as error:
        message = f"{folder} holds no result of whichgpu fleet"
        raise InputError(Problem("not-a-result", message, fix="make one: whichgpu fleet JOBS -o OUT")) from error
    except msgspec.DecodeError as error:
        raise InputError(Problem("not-a-result", f"{folder / _MANIFEST} is no manifest: {error}")) from error
    if manifest.format != FORMAT:
        raise InputError(Problem("not-a-result", f"{folder} is of the form {manifest.format}, not {FORMAT}"))
    return manifest


def is_result(source: str) -> bool:
    """Whether a folder holds a result."""
    return (Path(source) / _MANIFEST).is_file()


def read_parts(folder: Path, manifest: Manifest, names: Sequence[str]) -> Iterator[tuple[dict[str, Coded], int]]:
    """Columns of a result, a part at a time, with its rows. Raises InputError where a part cannot be read."""
    for part in manifest.parts:
        path = folder / part.name
        try:
            yield _READERS[manifest.form](path, names), part.rows
        except (OSError, ValueError) as error:
            raise InputError(Problem("unreadable", f"{path} cannot be read: {error}")) from error


def _locked(folder: Path) -> int | None:
    """A hold on the folder that ends with the process; None where the system has no such thing."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows.
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        message = f"another run is writing to {folder}"
        raise InputError(Problem("in-use", message, fix="wait for it, or write to another folder")) from None
    except OSError:  # Some network file systems have no locks.
        os.close(handle)
        return None
    return handle


def default_form() -> str:
    """Parquet where pyarrow is installed."""
    try:
        needed("pyarrow")
    except InputError:
        return "jsonl"
    return "parquet"


def unwritable(folder: Path, error: OSError) -> InputError:
    """The error where nothing more can be written: what is complete stays."""
    message = f"cannot write to {folder}: {(error.strerror or str(error)).lower()}; the parts that are complete stay"
    return InputError(Problem("unwritable", message, fix="make room and run the same command again: it goes on there"))


def _write_parquet(path: Path, columns: Mapping[str, Coded], rows: int) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    types = {
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "yes": arrow.bool_(),
        "text": arrow.string(),
        "texts": arrow.list_(arrow.string()),
    }
    arrays = {}
    for name, column in columns.items():
        values = arrow.array(column.values, types[COLUMNS.get(name, "text")])
        arrays[name] = values.take(arrow.array(column.codes)) if rows else values[:0]
    parquet.write_table(arrow.table(arrays), path, compression="zstd")


def _write_lines(path: Path, columns: Mapping[str, Coded], rows: int) -> None:
    # Each distinct value is encoded once; facts and answer are JSON already.
    encoded = {
        name: np.array([_json(name, value) for value in column.values], object) for name, column in columns.items()
    }
    parts = [(msgspec.json.encode(name) + b":", encoded[name][column.codes]) for name, column in columns.items()]
    with path.open("wb") as stream:
        for row in range(rows):
            stream.write(b"{" + b",".join(key + cells[row] for key, cells in parts) + b"}\n")


def _json(name: str, value: Any) -> bytes:
    return str(value).encode() if name in {"facts", "answer"} and value is not None else msgspec.json.encode(value)


def _write_csv(path: Path, columns: Mapping[str, Coded], rows: int) -> None:
    cells = [
        column.mapped(lambda value: " ".join(value) if isinstance(value, list) else value)
        for column in columns.values()
    ]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.items() for column in cells), strict=True) if rows else ())


def _read_parquet(path: Path, names: Sequence[str]) -> dict[str, Coded]:
    from whichgpu.engine.fleet.jobs import coded  # noqa: PLC0415 - pyarrow is an extra.

    table = needed("pyarrow.parquet").read_table(path, columns=list(names))
    return {name: coded(table.column(name)) for name in names}


def _read_lines(path: Path, names: Sequence[str]) -> dict[str, Coded]:
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    texts = {"facts", "answer"}.intersection(names)

    def cell(row: dict[str, Any], name: str) -> Any:
        value = row.get(name)
        return msgspec.json.encode(value).decode() if name in texts and value is not None else value

    return {name: Coded.of(cell(row, name) for row in rows) for name in names}


def _read_csv(path: Path, names: Sequence[str]) -> dict[str, Coded]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: Coded.of(_typed(row.get(name), COLUMNS.get(name, "text")) for row in rows) for name in names}


def _typed(cell: str | None, kind: Kind) -> Any:
    if not cell:
        return [] if kind == "texts" else None
    if kind == "texts":
        return cell.split(" ")
    if kind == "yes":
        return cell == "True"
    return cell if kind == "text" else float(cell) if kind == "number" else int(cell)


_WRITERS: dict[str, Callable[[Path, Mapping[str, Coded], int], None]] = {
    "parquet": _write_parquet,
    "jsonl": _write_lines,
    "csv": _write_csv,
}
_READERS: dict[str, Callable[[Path, Sequence[str]], dict[str, Coded]]] = {
    "parquet": _read_parquet,
    "jsonl": _read_lines,
    "csv": _read_csv,
}
