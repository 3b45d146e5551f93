"""Memory of a job by layout, computed once for all GPUs: only a fixed part of it depends on the GPU."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.layouts import layouts
from whichgpu.engine.plans.topology import Fabric
from whichgpu.engine.sizing import (
    PIPELINE_SHARE,
    Job,
    Layout,
    batch_of,
    context_gb,
    estimate_memory,
    granted_of,
    is_small,
    memory_columns,
    own_gb,
    rows_of,
)


#: Batches at which memory is computed; between them, and beyond the last, a straight line is drawn. Memory is convex in
#: the batch (the greater of two phases), so the line is on the cautious side between the points.
_PROBES = (1, 4, 16)


class Choice(NamedTuple):
    """A layout and what it needs of the reference GPU, raised by the safety factor, in GB."""

    layout: Layout
    raised_gb: float


class Needs:
    """Memory needs of one job. Everything is kept, since many GPUs ask the same."""

    def __init__(self, job: Job, reference: Gpu, *, margin: bool = True) -> None:
        self._job = job
        self._margin = margin
        self._reference = reference
        self._base = own_gb(job, reference)
        self._layouts: dict[tuple[Fabric, int], tuple[Layout, ...]] = {}
        self._choices: dict[tuple[Fabric, int], tuple[Choice, ...]] = {}
        self._least: dict[Fabric, list[float]] = {}
        self._raised: dict[Layout, float | None] = {}
        self._lines: dict[Layout, tuple[tuple[int, float], ...]] = {}

    def limit_gb(self, gpu: Gpu) -> float | None:
        """What the reference GPU would have to offer to be worth this one; None where its memory is not known."""
        granted = granted_of(self._job, gpu)
        if gpu.usable_gb is None or granted is None:
            return None
        more = own_gb(self._job, gpu) - self._base
        if more < 0 and self._job.shape is not None and not self._job.training:
            more *= PIPELINE_SHARE  # What a small card saves is less in a pipeline.
        safety = self._safety_of_context
        return min(gpu.usable_gb, granted * safety) - more * safety

    def fitting(self, fabric: Fabric, count: int, limit_gb: float) -> tuple[Layout, ...]:
        """All layouts of a count that fit the limit, least exchange first."""
        return tuple(choice.layout for choice in self.choices(fabric, count) if choice.raised_gb <= limit_gb)

    def leanest(self, fabric: Fabric, count: int) -> Layout:
        """The layout of a count that needs least memory, whether it fits or not."""
        choices = self.choices(fabric, count)
        return min(choices, key=lambda choice: choice.raised_gb).layout if choices else Layout(data=count)

    def smallest(self, fabric: Fabric, counts: Sequence[int], limit_gb: float) -> int | None:
        """The first of the counts, always the same ones for a fabric, that has a layout within the limit."""
        least = self._least.setdefault(fabric, [])
        for position, count in enumerate(counts):
            if position == len(least):
                least.append(min((choice.raised_gb for choice in self.choices(fabric, count)), default=math.inf))
            if least[position] <= limit_gb:
                return count
        return None

    def prepare(self, fabric_counts: Iterable[tuple[Fabric, int]]) -> None:
        """Compute what is not known yet of these counts, all at once."""
        for key in fabric_counts:
            if key not in self._layouts:
                self._layouts[key] = tuple(layouts(self._job, *key))
        self._compute(layout for key in fabric_counts for layout in self._layouts[key])

    def choices(self, fabric: Fabric, count: int) -> tuple[Choice, ...]:
        """All sensible layouts of a count with their needs, least exchange first."""
        key = (fabric, count)
        if key not in self._choices:
            self.prepare([key])
            needs = ((layout, self._raised[layout]) for layout in self._layouts[key])
            self._choices[key] = tuple(Choice(layout, raised) for layout, raised in needs if raised is not None)
        return self._choices[key]

    def raised_gb(self, layout: Layout) -> float | None:
        """Memory per GPU of the reference, raised by the safety factor."""
        if layout not in self._raised:
            self._compute([layout])
        return self._raised[layout]

    def _compute(self, wanted: Iterable[Layout]) -> None:
        new = [layout for layout in dict.fromkeys(wanted) if layout not in self._raised]
        if new:
            self._raised.update(zip(new, self._raised_of(new, batch_of(self._job)), strict=True))

    def _raised_of(self, wanted: Sequence[Layout], batch: int | Sequence[int]) -> list[float] | list[None]:
        found = memory_columns(
            self._job, rows_of(wanted, batch, context_gb(self._reference), is_small(self._reference))
        )
        if found is None:
            return [None] * len(wanted)
        raised: list[float] = (found.per_gpu_gb * safety_of(self._job, found.method, margin=self._margin)).tolist()
        return raised

    def prepare_batches(self, wanted: Iterable[Layout]) -> None:
        """Compute what ``most_batch`` asks for of these layouts, all at once."""
        # While serving, memory is a straight line from the first request on.
        probes = _PROBES if self._job.training else (1, 2)
        new = [layout for layout in dict.fromkeys(map(self._replica, wanted)) if layout not in self._lines]
        if new:
            each = [layout for layout in new for _ in probes]
            raised = self._raised_of(each, probes * len(new))
            for place, layout in enumerate(new):
                points = zip(probes, raised[place * len(probes) : (place + 1) * len(probes)], strict=True)
                self._lines[layout] = tuple((batch, need) for batch, need in points if need is not None)

    def _replica(self, layout: Layout) -> Layout:
        return layout if self._job.training else Layout(layout.tensor, layout.pipeline)

    def most_batch(self, layout: Layout, limit_gb: float) -> int | None:
        """The largest micro-batch in training, or number of requests per replica while serving, that fits the limit."""
        self.prepare_batches([layout])
        line = self._lines[self._replica(layout)]
        if not line:
            return None
        if line[0][1] > limit_gb:
            return 0
        for (batch, needed), (next_batch, next_needed) in pairwise(line):
            if next_needed > limit_gb:
                return batch + int((limit_gb - needed) / (next_needed - needed) * (next_batch - batch))
        (batch, needed), (last_batch, last_needed) = line[-2:]
        each = (last_needed - needed) / (last_batch - batch)
        return min(65536, last_batch + int((limit_gb - last_needed) / each)) if each > 0 else 65536

    @cached_property
    def _safety_of_context(self) -> float:
        one = estimate_memory(self._job, self._reference, Layout())
        return safety_of(self._job, one.method, margin=self._margin) if one is not None else 1.0


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
