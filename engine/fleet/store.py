"""A result: a folder of parts and a manifest, each written whole or not at all, so that a run can go on from there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from whichgpu.engine.core import FrozenModel, InputError, Problem
from whichgpu.engine.fleet.columns import Coded
from whichgpu.engine.fleet.formats import READERS, WRITERS


FORMAT = "whichgpu.fleet/1"
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
            WRITERS[self.manifest.form](half, columns, rows)
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
            yield READERS[manifest.form](path, names), part.rows
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


def unwritable(folder: Path, error: OSError) -> InputError:
    """The error where nothing more can be written: what is complete stays."""
    message = f"cannot write to {folder}: {(error.strerror or str(error)).lower()}; the parts that are complete stay"
    return InputError(Problem("unwritable", message, fix="make room and run the same command again: it goes on there"))
