"""A register of decisions: records in one SQLite file, appended and never changed, each bound to the one before.

Every entry holds a chain value, SHA-256 over the one before it and over what the entry says, so that nothing can be
changed, taken out or put in between without all later values being wrong. Triggers refuse changes and deletions.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.statement import FORMAT, respelt


#: What the first entry is bound to.
_BEGINNING = "0" * 64
#: Seconds that a writer waits for others.
_PATIENCE = 60
_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY,
  added_at TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  sha256 TEXT NOT NULL,
  summary TEXT NOT NULL,
  chain TEXT NOT NULL,
  record BLOB NOT NULL
);
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'the register is append-only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'the register is append-only'); END;
"""
_COLUMNS = "seq, added_at, id, sha256, summary, chain"


class Entry(Struct, frozen=True):
    """One decision of the register. ``summary`` holds what lists and comparisons show."""

    seq: int
    added_at: str
    id: str
    sha256: str
    summary: dict[str, Any]
    chain: str


class Register:
    """The register in a file, which the first record makes, for its owner to read. Ten writers at once wait.

    Raises:
        InputError: from every method, where the file cannot be used; from those that read, where there is none.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, record: Mapping[str, Any], decision: Mapping[str, Any], added_at: datetime) -> Entry:
        """Append a record of the second form; where it is there already, its entry.

        Args:
            record: as its file holds it, verified.
            decision: the answer in it, unpacked.
            added_at: now.
        """
        if record.get("format") != FORMAT:
            fix = "save it anew: whichgpu recommend FILE --save RECORD"
            raise InputError(Problem("first-form", "the register takes self-contained records alone", fix=fix))
        name = record["statement"]["id"]
        packed = gzip.compress(respelt(record).encode("utf-8"), 9, mtime=0)
        with self._open(making=True) as connection:
            connection.execute("BEGIN IMMEDIATE")  # The next number and its chain value are one writer's alone.
            known = connection.execute(f"SELECT {_COLUMNS} FROM entries WHERE id = ?", (name,)).fetchone()  # noqa: S608
            if known:
                connection.execute("ROLLBACK")
                return _entry(known)
            last = connection.execute("SELECT seq, chain FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
            seq, before = (last[0] + 1, last[1]) if last else (1, _BEGINNING)
            summary = summary_of(record, decision)
            content = (seq, added_at.isoformat(), name, record["sha256"], json.dumps(summary, sort_keys=True))
            entry = (*content, _chain(before, content))
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (*entry, packed))
            connection.execute("COMMIT")
            return _entry(entry)

    def entries(self) -> list[Entry]:
        """All entries, the oldest first."""
        with self._open() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY seq").fetchall()  # noqa: S608
        return [_entry(row) for row in rows]

    def record_text(self, name: str) -> str:
        """The record of an id, or of the beginning of one, as the text of its file."""
        with self._open() as connection:
            rows = connection.execute("SELECT id, record FROM entries").fetchall()
        found = [row for row in rows if row[0] == name] or [row for row in rows if row[0].startswith(name)]
        if len(found) != 1:
            near = nearest_words(name, [row[0] for row in rows])
            what = f"{len(found)} decisions of the register begin" if found else "no decision of the register begins"
            fix = "see: whichgpu register list"
            raise InputError(Problem("unknown-decision", f"{what} with {name!r}", nearest=near, fix=fix))
        return gzip.decompress(found[0][1]).decode("utf-8")

    def faults(self) -> list[str]:
        """What was changed, taken out or put in since it was added; empty where the register holds."""
        found: list[str] = []
        before, expected = _BEGINNING, 1
        with self._open() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS}, record FROM entries ORDER BY seq")  # noqa: S608
            for row in rows:
                *content, chain, packed = row
                if row[0] != expected:
                    found.append(f"entry {expected} is missing")
                if _chain(before, tuple(content)) != chain:
                    found.append(f"entry {row[0]} ({row[2]}) is not bound to the one before it")
                if _digest_in(packed) != row[3]:
                    found.append(f"entry {row[0]} ({row[2]}): the record in it is another")
                before, expected = chain, row[0] + 1
        return found

    @contextmanager
    def _open(self, *, making: bool = False) -> Iterator[sqlite3.Connection]:
        if not making and not self.file.exists():
            # A file that is not there would be read as an empty register, and found to hold.
            fix = "check --file and WHICHGPU_REGISTER; the first record makes one: whichgpu recommend FILE --register"
            raise InputError(Problem("register", f"there is no register {self.file}", fix=fix))
        try:
            if making:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.file.touch(mode=0o600)  # Whole records lie in it, which their owner alone may read as files.
            with closing(sqlite3.connect(self.file, timeout=_PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(_TABLE)
                yield connection
        except (OSError, sqlite3.Error) as error:
            message = f"the register {self.file} cannot be used: {error}"
            raise InputError(
                Problem("register", message, fix="name another with --file, or WHICHGPU_REGISTER")
            ) from error


def summary_of(record: Mapping[str, Any], decision: Mapping[str, Any]) -> dict[str, Any]:
    """What lists and comparisons show of a record."""
    plan = decision["recommendation"]
    cost = plan["cost"] if plan else {}
    return {
        "decided_at": decision["decided_at"],
        "task": decision["facts"].get("task", {}).get("value"),
        "model": decision["facts"].get("model_name", {}).get("value"),
        "gpu": plan["gpu"] if plan else None,
        "count": plan["count"] if plan else None,
        "procurement": decision["procurement"]["verdict"],
        "usd_per_hour": cost.get("usd_per_hour"),
        "usd_per_month": cost.get("usd_per_month"),
        "rulebook": decision["rulebook"]["digest"][:12],
        "signed": record["signature"] is not None,
        "meta": record["statement"]["meta"],
    }


def quarter_of(moment: str) -> str:
    """The quarter of an ISO date: ``2026-Q4``."""
    return f"{moment[:4]}-Q{(int(moment[5:7]) + 2) // 3}"


def by_quarter(entries: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """For each quarter: decisions, answers, spending, and how often each GPU and verdict was the answer."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        said = entry.summary
        kept = found.setdefault(
            quarter_of(said["decided_at"]),
            {"decisions": 0, "answered": 0, "usd_per_month": 0.0, "gpus": {}, "procurement": {}},
        )
        kept["decisions"] += 1
        kept["answered"] += said["gpu"] is not None
        kept["usd_per_month"] += said["usd_per_month"] or 0.0
        for key, value in (("gpus", said["gpu"]), ("procurement", said["procurement"])):
            if value is not None:
                kept[key][value] = kept[key].get(value, 0) + 1
    return dict(sorted(found.items()))


def _chain(before: str, content: tuple[Any, ...]) -> str:
    return sha256_of([before, *content])


def _digest_in(packed: bytes) -> str | None:
    try:
        return sha256_of(json.loads(gzip.decompress(packed))["statement"])
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(row[0], row[1], row[2], row[3], json.loads(row[4]), row[5])
