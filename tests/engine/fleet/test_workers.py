"""Lost workers: what they were at is tried again, and the job that ends two of them is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.fleet.workers import WorkerLostError, Workers, decide_job

from .conftest import MOMENT


class Fragile:
    """Loses its worker over some jobs, and with it all that is under way."""

    width = 2

    def __init__(self, fatal: Sequence[str], *, once: Sequence[str] = (), together: bool = True) -> None:
        self.fatal, self.once = set(fatal), set(once)
        self.all_lost_together = together
        self._tasks: list[list[str]] = []

    def submit(self, chunk: Sequence[str]) -> int:
        self._tasks.append(list(chunk))
        return len(self._tasks) - 1

    def finished(self, tasks: Sequence[int]) -> Sequence[int]:
        return tasks[:1]

    def result(self, task: int) -> list[str]:
        chunk = self._tasks[task]
        if self.fatal.intersection(chunk) or self.once.intersection(chunk):
            self.once -= set(chunk)
            raise WorkerLostError
        return [f"answer to {job}" for job in chunk]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("fatal", [[], ["7"], ["7", "8"]])
def test_nothing_is_lost_with_a_worker(together: bool, fatal: list[str]) -> None:
    workers = Workers(Fragile(fatal, once=["20"], together=together))
    jobs = [str(n) for n in range(50)]
    pairs = [pair for done in workers.replies(jobs) for pair in done]
    replies = dict(pairs)
    assert sorted(replies, key=int) == jobs
    assert len(pairs) == 50
    assert [job for job in jobs if "worker-lost" in replies[job]] == fatal
    assert workers.lost > 0


def test_workers_that_never_live_are_no_fault_of_the_jobs() -> None:
    jobs = [str(n) for n in range(50)]
    with pytest.raises(InputError, match="no worker lives"):
        list(Workers(Fragile(jobs)).replies(jobs))


def test_what_breaks_the_program_is_a_reply(advisor: Advisor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("x")

    assert msgspec.json.decode(decide_job(advisor, '{"tsk": 1}', MOMENT))["code"] == "unknown-fact"
    monkeypatch.setattr("whichgpu.engine.advisor.advisor.decide_workload", broken)
    reply = json.loads(decide_job(advisor, '{"task": "inference"}', MOMENT))
    assert reply["code"] == "internal-error"
    assert "ZeroDivisionError" in reply["message"]
