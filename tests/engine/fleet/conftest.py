from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.fleet.jobs import batches
from whichgpu.engine.fleet.mapping import AS_WORKLOADS, JobMap
from whichgpu.engine.fleet.run import Progress, run_fleet
from whichgpu.engine.fleet.sources import open_jobs
from whichgpu.engine.fleet.store import FORMAT, Manifest, Store, read_parts
from whichgpu.engine.fleet.workers import Here, Workers


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Rows = list[dict[str, Any]]


def manifest(jobs: str, job_map: JobMap = AS_WORKLOADS, **changed: Any) -> Manifest:
    stated: dict[str, Any] = {
        "format": FORMAT,
        "source": jobs,
        "jobs": open_jobs(jobs).digest,
        "map": job_map.digest,
        "rulebook": "r",
        "knowledge": "k",
        "engine_version": "v",
        "decided_at": MOMENT.isoformat(),
        "changes": (),
        "rounding": job_map.rounding,
        "keep": job_map.keep,
        "batch": 3,
        "form": "jsonl",
    }
    return Manifest(**{**stated, **changed})


class Counting(Here):
    """Decides here, and remembers what it was asked."""

    def __init__(self, advisor: Advisor) -> None:
        super().__init__(advisor, MOMENT)
        self.asked: list[str] = []

    def submit(self, chunk: Sequence[str]) -> int:
        self.asked += chunk
        return super().submit(chunk)


Fleet = Callable[..., tuple[Store, list[str]]]


@pytest.fixture
def fleet(advisor: Advisor, tmp_path: Path) -> Fleet:
    """Runs jobs, given as rows or as a file; returns the result, and the distinct jobs that were decided."""

    def call(
        jobs: Iterable[dict[str, Any]] | Path,
        job_map: JobMap = AS_WORKLOADS,
        out: str = "out",
        report: Callable[[Progress], None] = lambda _: None,
        **changed: Any,
    ) -> tuple[Store, list[str]]:
        if not isinstance(jobs, Path):
            file = tmp_path / "jobs.jsonl"
            file.write_text("".join(json.dumps(job) + "\n" for job in jobs))
            jobs = file
        engine = Counting(advisor)
        store = Store.open(tmp_path / out, manifest(str(jobs), job_map, **changed))
        try:
            run_fleet(open_jobs(str(jobs)), job_map, advisor, Workers(engine), store, report)
        finally:
            store.close()
        return store, engine.asked

    return call


def rows_of(store: Store, *names: str) -> Rows:
    """The rows of a result."""
    found: Rows = []
    for columns, _ in read_parts(store.folder, store.manifest, names):
        found += (
            dict(zip(names, cells, strict=True)) for cells in zip(*(columns[n].items() for n in names), strict=True)
        )
    return found


def all_rows(file: Path, job_map: JobMap = AS_WORKLOADS, size: int = 3, start: int = 0) -> list[Any]:
    """All rows of a file as the batches give them: values by column, or the code of what is wrong."""
    found: list[Any] = []
    for batch in batches(open_jobs(str(file)), job_map, size, start):
        items = {name: column.items() for name, column in batch.columns.items()}
        for row in range(batch.rows):
            problem = batch.bad.get(row)
            found.append(problem.code if problem else {name: cells[row] for name, cells in items.items()})
    return found
