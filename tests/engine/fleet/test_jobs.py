"""Parquet, CSV and JSON Lines give the same rows, and what cannot be read keeps its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.fleet.mapping import JobMap, Taken
from whichgpu.engine.fleet.sources import open_jobs

from .conftest import all_rows


pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = [{"id": str(n), "task": "inference" if n % 2 else "experimentation"} for n in range(8)]
TWO = JobMap(facts={"task": Taken(column="task")}, then={}, id="id")


def written(folder: Path, form: str) -> Path:
    file = folder / f"jobs.{form}"
    if form == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(ROWS), file, row_group_size=5)
    elif form.startswith("csv"):
        text = "id,task\n" + "".join(f"{row['id']},{row['task']}\n" for row in ROWS)
        file.write_bytes(gzip.compress(text.encode()) if form.endswith("gz") else text.encode())
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz", "jsonl"])
@pytest.mark.parametrize("start", [0, 3, 5])
def test_all_forms_give_the_same_rows(form: str, start: int, tmp_path: Path) -> None:
    found = all_rows(written(tmp_path, form), TWO, 3, start)
    # The batches of a Parquet file end with its row groups: 3, 2, 3.
    assert found == ROWS[start:] or (form != "parquet" and start == 5 and found == ROWS[6:])


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in "ba":
        (folder / f"{name}.csv").write_text(f"id,task\n{name},inference\n")
    (folder / "_notes.txt").write_text("no jobs")
    assert [row["id"] for row in all_rows(folder, TWO)] == ["a", "b"]


def test_bad_rows_keep_their_place(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(b"id,task\n1,inference\n2\n3,inference,x\n4,\xff\n5,inference\n")
    found = all_rows(file, TWO)
    assert [row if isinstance(row, str) else row["id"] for row in found] == [
        "1", "malformed-row", "malformed-row", "not-text", "5",
    ]  # fmt: skip
    lines = tmp_path / "jobs.jsonl"
    lines.write_text('{"id": "1"}\n{\n[1]\n\n{"id": "2"}\n')
    assert [row if isinstance(row, str) else row["id"] for row in all_rows(lines, TWO)] == [
        "1",
        "not-json",
        "not-json",
        "2",
    ]


def test_a_row_group_that_cannot_be_read_is_as_many_bad_rows(tmp_path: Path) -> None:
    file = written(tmp_path, "parquet")
    at = parquet.ParquetFile(file).metadata.row_group(1).column(0).data_page_offset
    raw = bytearray(file.read_bytes())
    raw[at : at + 12] = b"\xff" * 12
    file.write_bytes(raw)
    found = all_rows(file, TWO)
    assert [row if isinstance(row, str) else row["id"] for row in found] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        *["unreadable-row-group"] * 3,
    ]


def test_columns_inside_columns(tmp_path: Path) -> None:
    row: dict[str, Any] = {"id": "1", "labels": {"task": "inference", "other": 1}}
    inside = JobMap(facts={"task": Taken(column="labels.task")}, then={}, id="id")
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    for form in ("parquet", "jsonl"):
        assert all_rows(tmp_path / f"a.{form}", inside) == [{"id": "1", "labels.task": "inference"}]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("jobs.csv", b"id,tsk\n1,a\n", "no-such-column"),
        ("jobs.parquet", b"PAR1", "unreadable"),
        ("jobs.txt", b"x", "no-jobs"),
    ],
)
def test_what_holds_no_jobs_is_reported(name: str, content: bytes, code: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        all_rows(tmp_path / name, TWO)
    assert caught.value.problems[0].code == code


def test_the_digest_follows_the_content(tmp_path: Path, advisor: Advisor) -> None:
    file = written(tmp_path, "csv")
    before = open_jobs(str(file)).digest
    file.write_text(file.read_text().replace("0,", "9,"))
    assert open_jobs(str(file)).digest != before
    with pytest.raises(InputError, match="there is no file"):
        open_jobs(str(tmp_path / "none.csv"))
