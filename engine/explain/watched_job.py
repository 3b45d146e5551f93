"""A job that records which of its facts are read: what is not read can be changed without planning again."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from whichgpu.engine.sizing import Job


class WatchedJob:
    """A job, and the same one watched.

    Attributes:
        job: the job.
        watching: the same; whatever is looked at of it is remembered. It equals no other job.
        read: the names of its fields that were looked at so far.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.read: set[str] = set()
        self.watching = _watching(job, self.read)

    def agrees_with(self, job: Job) -> bool:
        """Whether a job has the same in all that was looked at."""
        return all(getattr(self.job, name) == getattr(job, name) for name in self.read)


def _watching(job: Job, read: set[str]) -> Job:
    fields = frozenset(job.__struct_fields__)

    class Watching(Job, frozen=True):
        def __getattribute__(self, name: str) -> Any:
            if name in fields:
                read.add(name)
            return super().__getattribute__(name)

    return Watching(**asdict(job))
