"""Memory of a job by layout, computed once for all GPUs: only a fixed part of it depends on the GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import distinct_numbers
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.layouts import Layouts, blocks_of, columns_of, joined, split_options_of
from whichgpu.engine.sizing import (
    PIPELINE_SHARE,
    Floats,
    GpuTable,
    Ints,
    Job,
    Layout,
    batch_of,
    card_columns,
    granted_column,
    memory_columns,
    own_column,
)


#: Batches at which memory is computed; between them, and beyond the last, a straight line is drawn. Memory is convex in
#: the batch (the greater of two phases), so the line is on the cautious side between the points.
_PROBES = np.array([1, 4, 16])
#: While serving, memory is a straight line from the first request on.
_PROBES_OF_SERVING = np.array([1, 2])
#: No batch is larger.
_MOST = 65536
#: The fewest and the most ranks that a layer is split among, as far as an engine's own part goes.
_SPLITS = (1, 64)


class Choices(NamedTuple):
    """The layouts of several counts: first those of the first count, least exchange first, then those of the next."""

    query: Ints  # position of the count that a layout belongs to
    layouts: Layouts
    raised_gb: Floats  # need of the reference GPU, raised by the safety factor

    def take(self, which: Any) -> Choices:
        """Some of them, by their positions or a mask."""
        return Choices(self.query[which], self.layouts.take(which), self.raised_gb[which])


class MemoryNeeds:
    """Memory needs of one job on a reference GPU, the first of a table; NaN where they are not known. They are kept."""

    def __init__(self, job: Job, gpus: GpuTable, *, margin: bool = True) -> None:
        self._job = job
        self._margin = margin
        self._gpus, self._own = gpus, _own_parts(job, gpus)
        self._card = tuple(column[0] for column in card_columns(gpus))
        self._manner = split_options_of(job)
        self._probes = _PROBES if job.training else _PROBES_OF_SERVING
        #: Layouts by count and tensor degree that is allowed: one block of rows after the other.
        self._blocks: dict[tuple[int, int], int] = {}
        self._starts = np.zeros(1, np.int64)
        self._rows = Layouts(*(np.zeros(0, np.int64) for _ in Layouts._fields))
        self._raised_gb: Floats = np.zeros(0)
        self._safety: float | None = None  # known once any layout was computed

    def limits_gb(self, gpus: GpuTable) -> Floats:
        """What the reference GPU would have to offer to be worth each of these; NaN where its memory is not known."""
        # What a card saves beside the reference depends on how a layer is split: the least is taken.
        own = self._own if gpus is self._gpus else _own_parts(self._job, gpus)
        more: Any = np.maximum(*(part - base[0] for part, base in zip(own, self._own, strict=True)))
        if self._job.shape is not None and not self._job.training:
            more = np.where(more < 0, more * PIPELINE_SHARE, more)  # What a small card saves is less in a pipeline.
        safety = self._safety_of_context()
        limits: Floats = np.minimum(gpus.usable_gb(), self.granted_gb(gpus) * safety) - more * safety
        return limits

    def granted_gb(self, gpus: GpuTable) -> Floats:
        """What the job may take of each GPU: of those whose number is stated too what its engine keeps to by default.

        Whoever plans sets that share as he starts the engine, and it is told how.
        """
        return gpus.usable_gb() if self._margin else granted_column(self._job, gpus)

    def choices(self, counts: Ints, tensor_most: Ints) -> Choices:
        """All sensible layouts of each count with their needs.

        Args:
            counts: of GPUs.
            tensor_most: over how many of them a layer may be split, for each count.
        """
        first, which = distinct_numbers(counts * (_MOST + 1) + tensor_most)
        asked = list(zip(counts[first].tolist(), tensor_most[first].tolist(), strict=True))
        self._prepare([key for key in asked if key not in self._blocks])
        block = np.array([self._blocks[key] for key in asked], np.int64)[which]
        start, lengths = self._starts[block], self._starts[block + 1] - self._starts[block]
        query = np.repeat(np.arange(len(counts)), lengths)
        row = np.arange(len(query)) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
        return Choices(query, self._rows.take(row), self._raised_gb[row])

    def _prepare(self, new: list[tuple[int, int]]) -> None:
        if not new:
            return
        rows, lengths = blocks_of(self._manner, tuple(new))
        self._blocks |= {key: block for block, key in enumerate(new, len(self._blocks))}
        ends = self._starts[-1] + np.cumsum(lengths)
        self._starts = np.concatenate([self._starts, ends])
        self._rows = joined([self._rows, rows])
        self._raised_gb = np.concatenate([self._raised_gb, self.raised_gb(rows, batch_of(self._job))])

    def raised_gb(self, rows: Layouts, batch: Any) -> Floats:
        """Memory per GPU of the reference under each layout, raised by the safety factor.

        Args:
            rows: the layouts.
            batch: micro-batch in training, requests in flight over all replicas while serving.
        """
        found = memory_columns(self._job, rows.rows(batch, *self._card))
        self._safety = 1.0 if found is None else safety_of(self._job, found.method, margin=self._margin)
        return np.full(len(rows.data), np.nan) if found is None else found.per_gpu_gb * self._safety

    def raised(self, per_gpu_gb: Any, method: str) -> Any:
        """Memory per GPU, raised by the safety factor of its kind."""
        return per_gpu_gb * safety_of(self._job, method, margin=self._margin)

    def most_batch(self, rows: Layouts, limit_gb: Floats) -> Floats:
        """The largest micro-batch in training, or number of requests per replica while serving, that fits.

        Args:
            rows: the layouts.
            limit_gb: of each; NaN where it is not known.

        Returns:
            Whole numbers; NaN where the limit or the job's memory is not known.
        """
        if not len(limit_gb):
            return np.zeros(0)
        serving = not self._job.training
        if serving and not self._job.expert_parallel:  # One replica is like the others, and like one that is alone.
            rows = rows._replace(data=np.ones_like(rows.data))
        first, which = distinct_numbers(rows.codes)
        probes = self._probes
        each = rows.take(np.repeat(first, len(probes)))
        batch = np.tile(probes, len(first)) * (each.data if serving else 1)
        needed = self.raised_gb(each, batch).reshape(len(first), len(probes))[which]
        # Along the last piece of the line that begins within the limit.
        piece = np.clip((needed <= limit_gb[:, None]).sum(1) - 1, 0, len(probes) - 2)
        row = np.arange(len(which))
        low, high, step = needed[row, piece], needed[row, piece + 1], np.diff(probes)[piece]
        rise = np.where(high > low, high - low, np.nan)
        inside = probes[piece] + np.floor((limit_gb - low) / rise * step)
        above = np.minimum(_MOST, probes[piece + 1] + np.floor((limit_gb - high) / (rise / step)))
        most = np.where(high > limit_gb, inside, np.where(high > low, above, _MOST))
        most = np.where(needed[:, 0] > limit_gb, 0, most)
        return np.where(np.isnan(limit_gb) | np.isnan(needed[:, 0]), np.nan, most)

    def _safety_of_context(self) -> float:
        """The factor that the memory of a card is compared with: that of the job, however it is split."""
        if self._safety is None:
            self.raised_gb(columns_of([Layout()]), batch_of(self._job))
        return self._safety or 1.0


def _own_parts(job: Job, gpus: GpuTable) -> list[Floats]:
    """What depends on the card of each GPU, for the fewest and the most ranks of a layer."""
    return [own_column(job, gpus, tensor) for tensor in _SPLITS]


def safety_of(job: Job, method: str, *, margin: bool = True) -> float:
    """The factor by which an estimate is raised before it is compared with a GPU, by how it was made.

    Without ``margin`` the best estimate counts: that is how hardware is judged whose kind and number the user states.
    """
    safety = plan_constants().safety
    # A band of the guides names cards that do, so it needs no margin on top.
    if not margin or method == "stated" or job.stated_high_gb is not None:
        return safety.stated.value
    if job.training:
        return safety.training.value
    return (safety.serving if method == "architecture" else safety.rule_of_thumb).value
