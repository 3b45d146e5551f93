"""Processes and Ray: the same rows as in this process, also where a worker is killed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.fleet.mapping import AS_WORKLOADS
from whichgpu.engine.fleet.ray_workers import RayTasks
from whichgpu.engine.fleet.run import run_fleet
from whichgpu.engine.fleet.sources import open_jobs
from whichgpu.engine.fleet.store import Store
from whichgpu.engine.fleet.workers import Orders, Processes, Workers

from .conftest import MOMENT, Fleet, manifest, rows_of


JOBS = [{"task": "experimentation", "run_hours": n + 1, "id": n} for n in range(24)]
SHOWN = ("row", "id", "status", "answer")


def orders(advisor: Advisor) -> Orders:
    return Orders(partial(load_advisor, tests=False), MOMENT, (advisor.rulebook.digest, advisor.knowledge.digest))


def test_a_worker_that_is_killed_loses_nothing() -> None:
    # An advisor of this kind answers every job by an internal error, and loads in no time.
    digests = {name: SimpleNamespace(digest=name) for name in ("rulebook", "knowledge")}
    engine = Processes(Orders(partial(SimpleNamespace, **digests), MOMENT, ("rulebook", "knowledge")), 1)
    workers, jobs, replies = Workers(engine), [str(n) for n in range(20)], dict[str, str]()
    try:
        for done in workers.replies(jobs):
            if not replies:
                os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)
            replies.update(done)
    finally:
        workers.close()
    assert workers.lost == 1
    assert sorted(replies, key=int) == jobs
    assert all("internal-error" in reply for reply in replies.values())


def test_workers_by_other_rules_are_refused() -> None:
    digests = {name: SimpleNamespace(digest="changed") for name in ("rulebook", "knowledge")}
    workers = Workers(Processes(Orders(partial(SimpleNamespace, **digests), MOMENT, ("r", "k")), 1))
    try:
        with pytest.raises(InputError, match="others than when the run began"):
            list(workers.replies(["{}"]))
    finally:
        workers.close()


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_rows(fleet: Fleet, advisor: Advisor, tmp_path: Path) -> None:
    ray: Any = pytest.importorskip("ray")
    here, _ = fleet(JOBS)
    file = str(tmp_path / "jobs.jsonl")
    store = Store.open(tmp_path / "ray", manifest(file))
    workers = Workers(RayTasks(orders(advisor), None, 1))
    try:
        run_fleet(open_jobs(file), AS_WORKLOADS, advisor, workers, store)
    finally:
        workers.close()
    assert not ray.is_initialized()
    assert rows_of(store, *SHOWN) == rows_of(here, *SHOWN)
