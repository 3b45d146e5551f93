"""What was computed for one job, kept for whoever plans the same job again under other prices, wishes or hours."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.plans.links import LinkTable
from whichgpu.engine.plans.needs import MemoryNeeds
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.size_columns import SizeColumns
from whichgpu.engine.sizing import Demand, GpuTable, Job, JobSpeed, Layout, SpeedEstimate


#: An interview and the search for the nearest change go to and fro between a few jobs.
_KEPT = 6


class Terms(Struct, frozen=True):
    """All that memory, fit and speed of plans depend on beside the GPUs themselves."""

    job: Job
    demand: Demand
    desk: bool  # under a desk fewer GPUs are joined
    margin: bool  # whether fit is judged with room to spare


@dataclass(slots=True)
class SizingCache:
    """Results by GPU and layout; each is computed once."""

    columns: SizeColumns
    desk: bool
    speeds: dict[tuple[str, Layout], tuple[SpeedEstimate | None, int | None]] = field(default_factory=dict)
    apart: dict[str, tuple[Gpu, SizingCache]] = field(default_factory=dict)
    _found: dict[Hashable, PlannedRows] = field(default_factory=dict)

    def found(self, terms: Hashable, search: Callable[[], PlannedRows]) -> PlannedRows:
        """What a search finds; the same terms of the same job are searched once."""
        if terms not in self._found:
            if len(self._found) == _KEPT:
                self._found.pop(next(iter(self._found)))
            self._found[terms] = search()
        return self._found[terms]

    def of(self, gpu: Gpu) -> tuple[SizingCache, int]:
        """Where the results of a GPU lie, and its position there. A slice of a card, or a changed one, lies apart."""
        gpus = self.columns.gpus
        place = gpus.position.get(gpu.id)
        if place is not None and gpus.gpus[place] is gpu:
            return self, place
        known, cache = self.apart.get(gpu.id, (None, None))
        if cache is None or known is not gpu:
            alone = (gpu,)
            cache = SizingCache(self.columns.of_others(GpuTable(alone), LinkTable(alone, desk=self.desk)), self.desk)
            self.apart[gpu.id] = gpu, cache
        return cache, 0


class _Recent(threading.local):
    """Each thread keeps its own: what is computed is filled in step by step, which two at a time would spoil."""

    def __init__(self) -> None:
        self.kept: deque[tuple[Knowledge, Terms, SizingCache]] = deque(maxlen=_KEPT)
        self.tables: deque[tuple[Knowledge, bool, tuple[GpuTable, LinkTable]]] = deque(maxlen=_KEPT)


_recent = _Recent()


def clear_sizing_cache() -> None:
    """Keep nothing of this thread any longer: for measurements of a decision on a job that is new."""
    _recent.kept.clear()


def sizing_cache_of(knowledge: Knowledge, terms: Terms) -> SizingCache:
    """What is kept under these terms: the results of before where they are still kept."""
    for known, before, cache in _recent.kept:
        if known is knowledge and before == terms:
            return cache
    job = terms.job
    gpus, links = _tables(knowledge, desk=terms.desk)
    needs = MemoryNeeds(job, gpus, margin=terms.margin)
    speed = JobSpeed(job, terms.demand)
    cache = SizingCache(SizeColumns(job, gpus, links, needs, speed), terms.desk)
    _recent.kept.appendleft((knowledge, terms, cache))
    return cache


def _tables(knowledge: Knowledge, *, desk: bool) -> tuple[GpuTable, LinkTable]:
    """The GPUs of a catalogue as columns. They hold for every job, and are read again for another catalogue."""
    for known, at_desk, tables in _recent.tables:
        if known is knowledge and at_desk == desk:
            return tables
    gpus = tuple(knowledge.gpus.values())
    tables = GpuTable(gpus), LinkTable(gpus, desk=desk)
    _recent.tables.appendleft((knowledge, desk, tables))
    return tables
