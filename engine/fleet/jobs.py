"""Jobs from Parquet, CSV or JSON Lines, a batch of rows at a time; a row that cannot be read keeps its place."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from whichgpu.engine.core import InputError, Problem, nearest_words, unreadable
from whichgpu.engine.fleet.columns import Coded
from whichgpu.engine.fleet.mapping import JobMap
from whichgpu.engine.fleet.sources import Jobs, needed, opened, suffix_of


_DELIMITERS = {".tsv": "\t", ".psv": "|"}
#: Characters; a longer line or cell is no job.
_LONGEST = 5_000_000
csv.field_size_limit(_LONGEST)


class Batch(NamedTuple):
    """Rows in the order of the input."""

    first: int  # the number of its first row, from 0 over all files
    rows: int
    columns: dict[str, Coded]
    bad: dict[int, Problem]  # by the place in the batch
    share: float  # of the input that is read when this batch is, 0 to 1


def batches(jobs: Jobs, job_map: JobMap, size: int, start: int = 0) -> Iterator[Batch]:
    """The jobs from row ``start`` on, ``size`` at a time; the same rows make the same batches every time.

    Raises:
        InputError: a file cannot be opened at all, or has not the columns that the map names.
    """
    number, done, total = 0, 0, max(1, sum(jobs.sizes))
    for name, length in zip(jobs.files, jobs.sizes, strict=True):
        try:
            number = yield from _READERS[jobs.form](
                _File(name, number, start, size, done / total, length / total), job_map
            )
        except OSError as error:
            raise InputError(unreadable(Path(name), error)) from error
        done += length


class _File(NamedTuple):
    name: str
    first: int  # the number of its first row
    start: int  # rows before this one are passed over
    size: int  # of a batch
    before: float  # the share of the input that lies before it
    share: float  # its own

    def batch(self, first: int, columns: dict[str, Coded], rows: int, bad: dict[int, Problem], read: float) -> Batch:
        return Batch(first, rows, columns, bad, min(1.0, self.before + self.share * read))


_Reader = Callable[[_File, JobMap], Generator[Batch, None, int]]


def _read_csv(file: _File, job_map: JobMap) -> Generator[Batch, None, int]:
    delimiter = job_map.delimiter or _DELIMITERS.get(suffix_of(file.name), ",")
    with opened(file.name) as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter)
        header = list(job_map.header) or next(reader, [])
        _check_columns(header, job_map, file.name)
        used = job_map.columns
        places = [(name, place) for place, name in enumerate(header) if used is None or name in used]

        def columns(rows: Sequence[Any], bad: dict[int, Problem], first: int) -> dict[str, Coded]:
            for place, row in enumerate(rows):
                if isinstance(row, csv.Error) or len(row) != len(header):
                    says = (
                        str(row) if isinstance(row, csv.Error) else f"{len(row)} fields where there are {len(header)}"
                    )
                    bad[place] = Problem("malformed-row", f"row {first + place}: {says}")
                elif any("\udc80" <= letter <= "\udcff" for cell in row for letter in cell if letter >= "\ud800"):
                    bad[place] = Problem("not-text", f"row {first + place} is not UTF-8 text")
            return {
                name: Coded.of(None if at in bad else row[place] for at, row in enumerate(rows))
                for name, place in places
            }

        return (yield from _by_rows(file, _csv_rows(reader), columns, stream))


def _csv_rows(reader: Iterator[list[str]]) -> Iterator[list[str] | csv.Error]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield error
        else:
            if row:
                yield row


def _read_lines(file: _File, job_map: JobMap) -> Generator[Batch, None, int]:
    used = job_map.columns
    decode = msgspec.json.Decoder(dict[str, Any]).decode

    def columns(lines: Sequence[bytes], bad: dict[int, Problem], first: int) -> dict[str, Coded]:
        rows: list[dict[str, Any]] = []
        for place, line in enumerate(lines):
            try:
                rows.append(decode(line))
            except (ValueError, RecursionError) as error:
                bad[place] = Problem("not-json", f"row {first + place} is no JSON object: {error}")
                rows.append({})
        names = dict.fromkeys(name for row in rows for name in row) if used is None else used
        return {name: Coded.of(_cell(row, name) for row in rows) for name in names}

    with opened(file.name) as stream:
        lines = (line for line in iter(lambda: stream.readline(_LONGEST), b"") if line.strip())
        return (yield from _by_rows(file, lines, columns, stream))


def _cell(row: dict[str, Any], name: str) -> Any:
    """What stands under a key, or under a path of keys (``labels.team``)."""
    value: Any = row.get(name)
    if value is None and "." in name:
        value = row
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _by_rows(
    file: _File,
    rows: Iterator[Any],
    columns: Callable[[Sequence[Any], dict[int, Problem], int], dict[str, Coded]],
    stream: Any,
) -> Generator[Batch, None, int]:
    number = file.first
    length = max(1, _length(stream))
    while block := list(islice(rows, file.size)):
        if number >= file.start:
            bad: dict[int, Problem] = {}
            made = columns(block, bad, number)
            yield file.batch(number, made, len(block), bad, _position(stream) / length)
        number += len(block)
    return number


def _read_parquet(file: _File, job_map: JobMap) -> Generator[Batch, None, int]:
    pyarrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    try:
        with opened(file.name) as stream:
            whole = parquet.ParquetFile(stream)
            names = list(dict.fromkeys([*whole.schema_arrow.names, *(leaf.path for leaf in _leaves(whole))]))
            _check_columns(names, job_map, file.name)
            used = None if job_map.columns is None else list(job_map.columns)
            number = file.first
            for group in range(whole.num_row_groups):
                held = whole.metadata.row_group(group).num_rows
                if number + held > file.start:
                    share = (group + 1) / whole.num_row_groups
                    yield from _row_group(file, whole, group, number, held, used, share)
                number += held
            return number
    except pyarrow.ArrowException as error:
        raise InputError(Problem("unreadable", f"{file.name} is no Parquet file: {error}")) from error


def _row_group(
    file: _File, whole: Any, group: int, number: int, held: int, used: list[str] | None, share: float
) -> Iterator[Batch]:
    """The batches of a row group. One that cannot be read is a batch of rows that are bad, each of them."""
    pyarrow = needed("pyarrow")
    first, end = number, number + held
    try:
        for records in whole.iter_batches(batch_size=file.size, row_groups=[group], columns=used):
            if first >= file.start:
                columns = {name: coded(column) for name, column in _flat(pyarrow.table(records))}
                yield file.batch(first, columns, records.num_rows, {}, share)
            first += records.num_rows
    except (OSError, pyarrow.ArrowException) as error:
        problem = Problem("unreadable-row-group", f"row group {group} of {file.name} cannot be read: {error}")
        first = max(first, file.start)
        while first < end:
            rows = min(file.size, end - first)
            yield file.batch(first, {}, rows, dict.fromkeys(range(rows), problem), share)
            first += rows


def _leaves(whole: Any) -> Iterator[Any]:
    return (whole.schema.column(place) for place in range(len(whole.schema)))


def _flat(table: Any) -> Iterator[tuple[str, Any]]:
    """The columns, those of structures by their path."""
    while any(str(field.type).startswith("struct") for field in table.schema):
        table = table.flatten()
    return zip(table.column_names, table.columns, strict=True)


def coded(column: Any) -> Coded:
    """An Arrow column as codes; nulls are a value of their own."""
    array = column.combine_chunks()
    try:
        found = array.dictionary_encode(null_encoding="encode")
    except (NotImplementedError, needed("pyarrow").ArrowException):  # lists, maps
        return Coded.of(column.to_pylist())
    return Coded(found.indices.to_numpy(zero_copy_only=False).astype(np.int64), found.dictionary.to_pylist())


_READERS: dict[str, _Reader] = {"csv": _read_csv, "jsonl": _read_lines, "parquet": _read_parquet}


def _check_columns(names: Sequence[str], job_map: JobMap, file: str) -> None:
    """Refuses a file that has not the columns that the map reads."""
    missing = [name for name in job_map.columns or () if name not in names]
    if missing:
        fix = f"name one of {', '.join(names)}" if names else None
        raise InputError(
            Problem("no-such-column", f"{file} has no column {name!r}", None, name, nearest_words(name, names), fix)
            for name in missing
        )


def _length(stream: Any) -> int:
    """Bytes of what is read, packed or not."""
    under = getattr(stream, "fileobj", stream)
    size: int = getattr(under, "size", 0) or 0
    with contextlib.suppress(OSError, AttributeError, io.UnsupportedOperation):
        size = os.fstat(under.fileno()).st_size
    return size


def _position(stream: Any) -> int:
    place: int = getattr(stream, "fileobj", stream).tell()
    return place
