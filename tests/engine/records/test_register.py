"""The register: appended, never changed, and whole after ten writers and a kill."""

from __future__ import annotations

import copy
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.core.errors import InputError
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.register import Register, by_quarter, quarter_of
from whichgpu.engine.records.statement import id_of


Json = dict[str, Any]
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def record_for(unsigned: str, ticket: str, day: str = "2026-06-01") -> Json:
    record: Json = copy.deepcopy(json.loads(unsigned))
    statement = record["statement"]
    statement["meta"] = {"ticket": ticket}
    statement["answer"]["decided_at"] = f"{day}T00:00:00+00:00"
    statement["id"] = id_of(statement)
    record["sha256"] = sha256_of(statement)
    return record


def add(file: Path, record: Json) -> int:
    return Register(file).add(record, record["statement"]["answer"], NOW).seq


def test_ten_writers_at_once_leave_one_chain(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    records = [record_for(unsigned, f"T-{number}") for number in range(20)]
    with ThreadPoolExecutor(10) as pool:
        numbers = list(pool.map(lambda record: add(file, record), records))
    assert sorted(numbers) == list(range(1, 21))
    assert add(file, records[0]) == numbers[0]  # There already.
    assert Register(file).faults() == []
    first = Register(file).entries()[0]
    assert read_saved(Register(file).record_text(first.id[:9]), "r").standing.state == "unsigned"


def test_a_writer_that_dies_leaves_nothing(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    add(file, record_for(unsigned, "T-1"))
    with closing(sqlite3.connect(file, isolation_level=None)) as dying:
        dying.execute("BEGIN IMMEDIATE")
        dying.execute("INSERT INTO entries VALUES (2, 'now', 'D-x', 'x', '{}', 'x', x'00')")
    assert add(file, record_for(unsigned, "T-2")) == 2
    assert Register(file).faults() == []


def test_what_is_changed_is_refused_or_found(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    for number in range(3):
        add(file, record_for(unsigned, f"T-{number}"))
    with closing(sqlite3.connect(file, isolation_level=None)) as forger:
        for words in ("UPDATE entries SET added_at = 'x'", "DELETE FROM entries WHERE seq = 2"):
            with pytest.raises(sqlite3.Error, match="append-only"):
                forger.execute(words)
        forger.execute("DROP TRIGGER no_update")
        forger.execute("UPDATE entries SET summary = '{}' WHERE seq = 2")
    assert "entry 2" in Register(file).faults()[0]
    with closing(sqlite3.connect(file, isolation_level=None)) as forger:
        forger.execute("DROP TRIGGER no_delete")
        forger.execute("DELETE FROM entries WHERE seq = 2")
    assert Register(file).faults()[0] == "entry 2 is missing"


def test_quarters_are_counted(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    for number, day in enumerate(("2026-03-31", "2026-04-01", "2026-06-30")):
        add(file, record_for(unsigned, f"T-{number}", day))
    found = by_quarter(Register(file).entries())
    assert {quarter: kept["decisions"] for quarter, kept in found.items()} == {"2026-Q1": 1, "2026-Q2": 2}
    assert quarter_of("2026-12-01") == "2026-Q4"


def test_what_is_no_register_is_an_input_error(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("task: inference, and long enough to be no SQLite file at all\n" * 40)
    with pytest.raises(InputError, match="cannot be used"):
        add(file, record_for(unsigned, "T-1"))
    with pytest.raises(InputError, match="there is no register"):
        Register(tmp_path / "r.sqlite").record_text("D-1")
    with pytest.raises(InputError, match="self-contained"):
        Register(tmp_path / "r.sqlite").add({"format": "whichgpu.record/1"}, {}, NOW)


def test_a_register_that_is_not_there_is_not_read_as_an_empty_one(tmp_path: Path) -> None:
    store = Register(tmp_path / "mistyped.sqlite")
    for reading in (store.faults, store.entries, lambda: store.record_text("D-1")):
        with pytest.raises(InputError, match=r"there is no register .*mistyped\.sqlite"):
            reading()
    assert not store.file.exists()


def test_only_its_owner_may_read_a_register(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    add(file, record_for(unsigned, "T-1"))
    assert file.stat().st_mode & 0o077 == 0


def test_what_is_no_single_decision_is_said_in_a_sentence(unsigned: str, tmp_path: Path) -> None:
    file = tmp_path / "register.sqlite"
    add(file, record_for(unsigned, "T-1"))
    add(file, record_for(unsigned, "T-2"))
    with pytest.raises(InputError, match="2 decisions of the register begin with 'D-'"):
        Register(file).record_text("D-")
    with pytest.raises(InputError, match="no decision of the register begins with 'X'"):
        Register(file).record_text("X")
