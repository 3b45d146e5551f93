"""Who decides: this process, a process for each core, or tasks of Ray; and what is done where one of them is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from datetime import datetime
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, NamedTuple, Protocol

import msgspec

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import InputError, Problem, WhichgpuError
from whichgpu.engine.rules import probing


#: Jobs that a worker is given at once: at 20 to 50 ms each a few seconds, after which the others are not kept waiting.
MOST_AT_ONCE = 64
#: As many workers lost in a row, each with another job, are no fault of the jobs.
_MOST_LOST = 5


class Orders(NamedTuple):
    """All that a worker needs to decide like the others."""

    load: Callable[[], Advisor]
    decided_at: datetime
    digests: tuple[str, str]  # of rulebook and knowledge, as the run began


def decide_job(advisor: Advisor, facts: str, decided_at: datetime) -> str:
    """The compact answer to one job, or the problem with it, as JSON. Nothing that goes wrong in it is raised.

    Args:
        advisor: everything loaded.
        facts: of the job, a JSON object.
        decided_at: the time of the decision.
    """
    try:
        with probing():
            answer = advisor.decide(msgspec.json.decode(facts), decided_at=decided_at).compact()
    except WhichgpuError as error:
        return msgspec.json.encode(error.problems[0]).decode()
    except Exception as error:  # noqa: BLE001 - one job that breaks the program must not cost the other answers.
        problem = Problem("internal-error", f"whichgpu failed in itself: {type(error).__name__}: {error}")
        return msgspec.json.encode(problem).decode()
    return msgspec.json.encode(answer).decode()


class Engine(Protocol):
    """Takes chunks of jobs and gives their replies. ``width`` is how many it works on at the same time."""

    width: int
    all_lost_together: bool  # a worker that is lost takes the chunks of the others with it

    def submit(self, chunk: Sequence[str]) -> Any:
        """Begin a chunk."""

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """The chunks that are done, at least one; waits for it."""

    def result(self, task: Any) -> list[str]:
        """The replies, one a job. Raises WorkerLostError."""

    def close(self) -> None:
        """Let go of the workers."""


class WorkerLostError(Exception):
    """A worker ended before it had answered."""


class Workers:
    """Replies to jobs, from whichever engine; what a lost worker was at is tried again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.lost = 0

    def replies(self, jobs: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
        """Jobs with their replies, some at a time as they are done.

        Args:
            jobs: facts as JSON, each once; neighbours go to the same worker, which shares between them what it can.
        """
        size = max(1, min(MOST_AT_ONCE, len(jobs) // (4 * self._engine.width)))
        waiting = [list(jobs[at : at + size]) for at in range(0, len(jobs), size)][::-1]
        running: dict[Any, list[str]] = {}
        while waiting or running:
            while waiting and len(running) < 2 * self._engine.width:
                chunk = waiting.pop()
                running[self._engine.submit(chunk)] = chunk
            suspects: list[list[str]] = []
            for task in self._engine.finished(list(running)):
                chunk = running.pop(task)
                try:
                    yield list(zip(chunk, self._engine.result(task), strict=True))
                except WorkerLostError:
                    suspects.append(chunk)
            if suspects and self._engine.all_lost_together:
                suspects += running.values()
                running.clear()
            if suspects:
                yield from self._again(suspects)

    def _again(self, suspects: Sequence[Sequence[str]]) -> Iterator[list[tuple[str, str]]]:
        """Chunks by themselves, and the jobs of one that fails again: what breaks two workers is answered by that."""
        self.lost += 1
        in_a_row = 0
        for chunk in suspects:
            try:
                yield list(zip(chunk, self._alone(chunk), strict=True))
                continue
            except WorkerLostError:
                self.lost += 1
            for job in chunk:
                try:
                    yield [(job, self._alone([job])[0])]
                    in_a_row = 0
                except WorkerLostError:
                    self.lost += 1
                    in_a_row += 1
                    if in_a_row == _MOST_LOST:
                        raise InputError(
                            Problem("workers-lost", "no worker lives long enough to decide a job")
                        ) from None
                    problem = Problem("worker-lost", "the worker that decided this job ended, and so did the next")
                    yield [(job, msgspec.json.encode(problem).decode())]

    def _alone(self, chunk: Sequence[str]) -> list[str]:
        task = self._engine.submit(chunk)
        while task not in self._engine.finished([task]):
            pass
        return self._engine.result(task)

    def close(self) -> None:
        """Let go of the workers."""
        self._engine.close()


class Here:
    """This process alone."""

    width = 1
    all_lost_together = False

    def __init__(self, advisor: Advisor, decided_at: datetime) -> None:
        self._advisor = advisor
        self._decided_at = decided_at
        self._replies: dict[int, list[str]] = {}

    def submit(self, chunk: Sequence[str]) -> int:
        """Decide a chunk."""
        key = len(self._replies) and max(self._replies) + 1
        self._replies[key] = [decide_job(self._advisor, facts, self._decided_at) for facts in chunk]
        return key

    def finished(self, tasks: Sequence[int]) -> Sequence[int]:
        """All of them."""
        return tasks

    def result(self, task: int) -> list[str]:
        """The replies."""
        return self._replies.pop(task)

    def close(self) -> None:
        """There is nothing to let go of."""


class Processes:
    """A process for each core. They are started anew where one is lost."""

    all_lost_together = True

    def __init__(self, orders: Orders, width: int) -> None:
        self.width = width
        self._orders = orders
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        # Not forked: the threads of pyarrow would not be there in a copy of this process.
        return ProcessPoolExecutor(self.width, get_context("spawn"), _begin, (self._orders,))

    def submit(self, chunk: Sequence[str]) -> Future[list[str]]:
        """Begin a chunk."""
        try:
            return self._pool.submit(_decide_here, list(chunk))
        except BrokenExecutor:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._started()
            return self._pool.submit(_decide_here, list(chunk))

    def finished(self, tasks: Sequence[Future[list[str]]]) -> Sequence[Future[list[str]]]:
        """The chunks that are done, at least one; waits for it."""
        return tuple(wait(tasks, return_when=FIRST_COMPLETED).done)

    def result(self, task: Future[list[str]]) -> list[str]:
        """The replies. Raises WorkerLostError."""
        try:
            return task.result()
        except BrokenExecutor as error:
            raise WorkerLostError from error
        except RuntimeError as error:
            raise cannot_begin(error) from error

    def close(self) -> None:
        """End the workers. What they may still be working on is dropped."""
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Worker:
    """What a process that decides has loaded, or why it could not."""

    orders: Orders
    advisor: Advisor | None = None
    failure: str = ""


def load_for(orders: Orders) -> Advisor:
    """The advisor that a run was begun with.

    Raises:
        RuntimeError: it cannot be loaded here, or rules or prices have changed since.
    """
    try:
        advisor = orders.load()
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
    if (advisor.rulebook.digest, advisor.knowledge.digest) != orders.digests:
        raise RuntimeError("rules or prices are others than when the run began")
    return advisor


def cannot_begin(error: Exception) -> InputError:
    """The error where no worker can be like this process."""
    fix = "run the same command again; machines of a cluster need the same version, rules and prices"
    return InputError(Problem("workers-cannot-begin", f"a worker cannot begin: {error}", fix=fix))


def _begin(orders: Orders) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that keeps what is done.
    Thread(target=_end_with_parent, daemon=True).start()
    _Worker.orders = orders
    try:
        _Worker.advisor = load_for(orders)
    except RuntimeError as error:
        _Worker.failure = str(error)


def _end_with_parent() -> None:
    """A worker whose parent was killed has no one to answer, and would wait for its next job for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _decide_here(chunk: list[str]) -> list[str]:
    if _Worker.advisor is None:
        raise RuntimeError(_Worker.failure)
    return [decide_job(_Worker.advisor, facts, _Worker.orders.decided_at) for facts in chunk]
