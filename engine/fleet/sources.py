"""Files of jobs: on this machine or behind an fsspec URL, plain or packed, and what identifies a content."""

from __future__ import annotations

import gzip
import hashlib
import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from whichgpu.engine.core import InputError, Problem, unreadable


_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".psv": "csv", ".jsonl": "jsonl"}


class Jobs(NamedTuple):
    """Files of jobs."""

    files: tuple[str, ...]
    form: str
    sizes: tuple[int, ...]  # bytes
    digest: str  # over names and content


def open_jobs(source: str) -> Jobs:
    """A file, a folder of them, or what an fsspec URL (``s3://...``) names.

    Raises:
        InputError: there is none, or it is of no form that is read.
    """
    try:
        files, stat = _remote(source) if "://" in source else _local(source)
    except OSError as error:
        raise InputError(unreadable(Path(source), error)) from error
    forms = {_form(name) for name in files} - {None}
    if not files or len(forms) != 1:
        fix = "name a file or a folder of .parquet, .csv, .tsv or .jsonl files of one form, plain or .gz"
        raise InputError(Problem("no-jobs", f"{source} holds no jobs of one form", fix=fix))
    kept = [name for name in files if _form(name)]
    whole = hashlib.sha256()
    for name in kept:
        whole.update(f"{Path(name).name} {stat[name][1]}\n".encode())
    return Jobs(tuple(kept), str(forms.pop()), tuple(stat[name][0] for name in kept), whole.hexdigest())


def needed(module: str) -> Any:
    """A module of the extra ``fleet``. Raises InputError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = "fleet-ray" if module == "ray" else "fleet"
        fix = f"pip install 'whichgpu[{extra}]'"
        message = f"this needs {module.partition('.')[0]}, which is not installed"
        raise InputError(Problem("extra-missing", message, fix=fix)) from error


def _local(source: str) -> tuple[list[str], dict[str, tuple[int, str]]]:
    path = Path(source)
    files = (
        sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_"))) if path.is_dir() else [path]
    )
    stat = {}
    for entry in files:
        with entry.open("rb") as stream:
            stat[str(entry)] = entry.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    return [str(entry) for entry in files], stat


def _remote(source: str) -> tuple[list[str], dict[str, tuple[int, str]]]:
    system, path = needed("fsspec").core.url_to_fs(source)
    found = sorted(system.find(path)) or [path]
    kept = [name for name in found if not Path(name).name.startswith((".", "_"))]
    infos = {system.unstrip_protocol(name): system.info(name) for name in kept}
    # What a store says of its content: enough to see that another file lies there.
    said = {
        name: [info.get(key) for key in ("size", "ETag", "etag", "mtime", "created")] for name, info in infos.items()
    }
    return list(infos), {name: (int(infos[name]["size"] or 0), repr(said[name])) for name in infos}


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """The bytes of a file, unpacked."""
    with ExitStack() as held:
        if "://" in name:
            stream = held.enter_context(needed("fsspec").open(name, "rb"))
        else:
            stream = held.enter_context(Path(name).open("rb"))
        yield held.enter_context(gzip.open(stream)) if name.endswith(".gz") else stream


def _form(name: str) -> str | None:
    return _ENDINGS.get(suffix_of(name))


def suffix_of(name: str) -> str:
    """The ending of a file, below that of its packing."""
    return Path(name.removesuffix(".gz")).suffix.lower()
