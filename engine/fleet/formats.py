"""The forms that parts of a result are written in and read from: Parquet, lines of JSON, CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichgpu.engine.core import InputError
from whichgpu.engine.fleet.columns import Coded
from whichgpu.engine.fleet.rows import COLUMNS, Kind
from whichgpu.engine.fleet.sources import needed


def default_form() -> str:
    """Parquet where pyarrow is installed."""
    try:
        needed("pyarrow")
    except InputError:
        return "jsonl"
    return "parquet"


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


#: How a part of so many rows is written, in each form.
WRITERS: dict[str, Callable[[Path, Mapping[str, Coded], int], None]] = {
    "parquet": _write_parquet,
    "jsonl": _write_lines,
    "csv": _write_csv,
}
#: Columns of a part by their names, of each form.
READERS: dict[str, Callable[[Path, Sequence[str]], dict[str, Coded]]] = {
    "parquet": _read_parquet,
    "jsonl": _read_lines,
    "csv": _read_csv,
}
#: How results are written: Parquet needs the extra ``fleet``.
FORMS = tuple(WRITERS)
