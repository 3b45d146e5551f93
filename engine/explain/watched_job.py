"""A job that records which of its facts are read: what is not read can be changed without planning again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set as AbstractSet
from typing import Any

from msgspec.structs import asdict

from whichgpu.engine.sizing import Job


#: A field of a job, or a field that holds names and one of the names that it was asked for.
Read = str | tuple[str, object]


class WatchedJob:
    """A job, and the same one watched.

    Attributes:
        job: the job.
        watching: the same; whatever is looked at of it is remembered. It equals no other job.
        read: what was looked at of it so far.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.read: set[Read] = set()
        self.watching = _watching(job, self.read)

    def agrees_with(self, job: Job) -> bool:
        """Whether a job has the same in all that was looked at."""
        return are_alike(self.job, job, self.read)


def are_alike(one: Job, other: Job, read: Iterable[Read]) -> bool:
    """Whether two jobs have the same in all of this."""
    for what in read:
        if isinstance(what, str):
            if getattr(one, what) != getattr(other, what):
                return False
        else:
            field, name = what
            if (name in getattr(one, field)) != (name in getattr(other, field)):
                return False
    return True


class _WatchedNames(AbstractSet[Any]):
    """The names that a field of a job holds; remembered is which of them were asked for, or that all were looked at."""

    def __init__(self, field: str, names: Collection[str], read: set[Read]) -> None:
        self._field, self._names, self._read = field, names, read

    @classmethod
    def _from_iterable(cls, found: Iterable[Any]) -> AbstractSet[Any]:
        return frozenset(found)

    def __contains__(self, name: object) -> bool:
        self._read.add((self._field, name))
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        self._read.add(self._field)
        return iter(self._names)

    def __len__(self) -> int:
        self._read.add(self._field)
        return len(self._names)


def _watching(job: Job, read: set[Read]) -> Job:
    every = asdict(job)
    fields = frozenset(every)
    names = {field: _WatchedNames(field, value, read) for field, value in every.items() if isinstance(value, frozenset)}

    class Watching(Job, frozen=True):
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                return names[name]
            if name in fields:
                read.add(name)
            return super().__getattribute__(name)

    return Watching(**every)
