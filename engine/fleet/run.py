"""A run over all jobs: mapped, equal ones joined, decided once each, written part by part; resumes where it ended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import InputError, Problem, canonical_json
from whichgpu.engine.fleet.columns import Coded, groups_of
from whichgpu.engine.fleet.jobs import Batch, batches
from whichgpu.engine.fleet.mapping import Bad, JobMap
from whichgpu.engine.fleet.money import Then, then_of
from whichgpu.engine.fleet.rows import Decided, result_columns
from whichgpu.engine.fleet.sources import Jobs
from whichgpu.engine.fleet.store import Store
from whichgpu.engine.fleet.workers import Workers


#: Distinct jobs whose answers are kept: at about 2 KB each a hundred megabytes at most, however long the run.
MOST_KEPT = 50_000
#: Topics of facts that concern wishes, prices and hours more than on sizes: for the order of work and nothing else.
_LATE = frozenset({"candidates", "measurements", "money", "reliability", "rhythm", "software"})


_IDLE = Problem("no-gpu", "it used no GPU")


class Progress(NamedTuple):
    """How far a run is."""

    rows: int
    share: float  # of the input, 0 to 1
    distinct: int  # jobs decided in this run
    errors: int


class Kept:
    """Answers by the facts of the job as JSON; those not asked for longest are forgotten first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._replies: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, facts: str) -> str | None:
        """The answer to a job, if it is kept."""
        if facts in self._replies:
            self._replies.move_to_end(facts)
        return self._replies.get(facts)

    def add(self, entries: Iterable[tuple[str, str]]) -> None:
        """Keep answers."""
        self._replies.update(entries)
        while len(self._replies) > self._most:
            self._replies.popitem(last=False)


class Mapped(NamedTuple):
    """The jobs of a batch: for each row its number among the distinct ones, and of each of those facts or a problem."""

    codes: Any
    jobs: list[str | Problem]


def run_fleet(
    jobs: Jobs,
    job_map: JobMap,
    advisor: Advisor,
    workers: Workers,
    store: Store,
    report: Callable[[Progress], None] = lambda _progress: None,
) -> None:
    """Decide all jobs that the result has not yet.

    Args:
        jobs: of any number.
        job_map: what their columns mean.
        advisor: reads facts and knows prices; the workers have the same.
        workers: decide.
        store: where the rows go, in the order of the jobs.
        report: is called with how far it is, several times for each part.

    Raises:
        InputError: the jobs cannot be read at all, or no more can be written. What is complete stays.
    """
    manifest = store.manifest
    kept = Kept()
    kept.add(store.noted())
    total, before = 0, 0.0
    errors = sum(part.errors for part in manifest.parts)
    for batch in batches(jobs, job_map, manifest.batch, manifest.rows):
        then = then_of(job_map.then_of(batch.columns, batch.rows), batch.rows, advisor)
        mapped = jobs_of(batch, job_map, advisor, manifest.changes, idle=then.gpus == 0)
        replies: dict[str, str] = {}
        unknown: list[str] = []
        for job in mapped.jobs:
            if isinstance(job, str):
                known = kept.get(job)
                if known is None:
                    unknown.append(job)
                else:
                    replies[job] = known
        # In order, so that jobs of one model and size, which differ in later facts, follow each other.
        for done in workers.replies(sorted(unknown, key=_by_what_is_sized(advisor))):
            replies.update(done)
            store.note(done)
            total += len(done)
            gone = len(replies) / len(mapped.jobs)
            share = before + (batch.share - before) * gone
            report(Progress(batch.first + int(batch.rows * gone), share, total, errors))
        kept.add((job, replies[job]) for job in unknown)
        decided = [_decided(job, replies) for job in mapped.jobs]
        part = store.add(_rows(batch, mapped, decided, job_map, then), batch.rows, distinct=len(unknown))
        errors, before = errors + part.errors, batch.share
        report(Progress(batch.first + batch.rows, batch.share, total, errors))
    store.finish(workers_lost=workers.lost)


def jobs_of(batch: Batch, job_map: JobMap, advisor: Advisor, changes: Sequence[str], *, idle: Any) -> Mapped:
    """The distinct jobs of a batch.

    Args:
        batch: rows of the jobs.
        job_map: what their columns mean.
        advisor: reads facts.
        changes: ``fact=value`` texts, stated for every job.
        idle: which rows used no GPU, so that there is nothing to decide.
    """
    facts = job_map.facts_of(batch.columns, batch.rows)
    if "current_gpu" not in facts and "gpu" in job_map.then:
        facts["current_gpu"] = job_map.then["gpu"].of(batch.columns, batch.rows).mapped(_found_by(advisor))
    if job_map.facts_json is not None:
        facts[""] = batch.columns.get(job_map.facts_json, Coded.constant(None, batch.rows))
    bad = Coded.of(batch.bad.get(row) for row in range(batch.rows)) if batch.bad else Coded.constant(None, batch.rows)
    bad = Coded(np.where(idle, len(bad.values), bad.codes), [*bad.values, _IDLE])
    columns = [bad, *facts.values()]
    codes, first = groups_of(columns, batch.rows)
    numbers: dict[str | Problem, int] = {}
    found: list[int] = []
    for row in first.tolist():
        problem, *values = (column.values[column.codes[row]] for column in columns)
        job = problem or _job(dict(zip(facts, values, strict=True)), advisor, changes)
        found.append(numbers.setdefault(job, len(numbers)))
    return Mapped(np.array(found, np.int64)[codes] if found else codes, list(numbers))


def _job(cells: Mapping[str, Any], advisor: Advisor, changes: Sequence[str]) -> str | Problem:
    """The facts of a job as canonical JSON, so that equal jobs are spelt alike."""
    raw: dict[str, Any] = {}
    for name, value in cells.items():
        if isinstance(value, Bad):
            return value.problem
        if name == "":
            if value is None:
                return Problem("no-facts", "nothing is stated of this job")
            raw |= _object(value)
        elif value is not None:
            raw[name] = value
    try:
        return canonical_json(advisor.read(raw, changes).given)
    except InputError as error:
        return error.problems[0]


def _object(cell: Any) -> dict[str, Any]:
    """An object of JSON Lines, or a text that is one."""
    try:
        return cell if isinstance(cell, dict) else msgspec.json.decode(cell, type=dict[str, Any])
    except (msgspec.DecodeError, TypeError):
        return {"facts": str(cell)}  # which is no fact, and said to be none


def _found_by(advisor: Advisor) -> Callable[[Any], Any]:
    """The GPU of a name; what is none means nothing to the decision."""
    cache: dict[Any, Any] = {}

    def found(name: Any) -> Any:
        if isinstance(name, Bad) or name is None:
            return None
        if name not in cache:
            cache[name] = str(name) if advisor.knowledge.find_gpu(str(name)).found else None
        return cache[name]

    return found


def _by_what_is_sized(advisor: Advisor) -> Callable[[str], Any]:
    """The order of jobs: those of one model and size follow each other, as sizes are kept for a few jobs."""
    place = {name: (fact.topic in _LATE, name) for name, fact in advisor.vocabulary.facts.items()}

    def order(job: str) -> list[tuple[Any, str]]:
        facts = msgspec.json.decode(job)
        return sorted((place[name], repr(value)) for name, value in facts.items())

    return order


def _decided(job: str | Problem, replies: Mapping[str, str]) -> Decided:
    if isinstance(job, Problem):
        return Decided(None, None, job)
    reply = replies[job]
    if '"code"' in reply[:8]:
        return Decided(job, None, msgspec.json.decode(reply, type=Problem))
    return Decided(job, reply)


def _rows(batch: Batch, mapped: Mapped, decided: list[Decided], job_map: JobMap, then: Then) -> dict[str, Coded]:
    nothing = Coded.constant(None, batch.rows)

    def carried(name: str | None) -> Coded:
        return batch.columns.get(name, nothing) if name else nothing

    named = {"id": carried(job_map.id), "team": carried(job_map.team)} | {name: carried(name) for name in job_map.keep}
    return result_columns(batch.first, batch.rows, mapped.codes, decided, then, named)
