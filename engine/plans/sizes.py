"""What a job takes and delivers on each GPU under each split: memory, fit, speed; computed together, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.measured import timed_run
from whichgpu.engine.plans.needs import safety_of
from whichgpu.engine.plans.targets import goals_of
from whichgpu.engine.plans.topology import Fabric, counts_of, fabric_of, rounded_up
from whichgpu.engine.plans.workings import Terms, workings_of
from whichgpu.engine.sizing import (
    Figure,
    Job,
    Layout,
    MemoryEstimate,
    SpeedEstimate,
    batch_of,
    capacity_asked,
    card_of,
    estimate_memories,
    granted_of,
    rows_of,
    rows_of_values,
)


def rate_of(speed: SpeedEstimate | None) -> float | None:
    """Work per second of a speed: tokens, or samples where there are none."""
    if speed is None:
        return None
    return speed.values.get("tokens_per_s") or speed.values.get("samples_per_s")


class PlanSizes:
    """Memory, fit and speed of one job; its answers depend on the job, the facts and the catalogue alone."""

    def __init__(self, job: Job, facts: Facts, knowledge: Knowledge) -> None:
        self.job = job
        self.facts = facts
        self.knowledge = knowledge
        self._timed = timed_run(job, facts, knowledge)
        self.goals = goals_of(job, facts, timed=self._timed is not None)
        self._constants = plan_constants()
        self._most = self._constants.most_gpus[job.kind].value
        self.batch = not job.training and facts.get("serving_mode") == "batch"
        self._desk = facts.get("deployment_site") == "workstation"
        # Nothing else is left to choose then, so that the best estimate tells more than a refusal at the last gigabyte.
        self._margin = not (facts.get("num_gpus") and facts.get("gpu_candidates"))
        self._batch_free = job.training and "batch_size_per_gpu" in job.unstated
        self._workings = workings_of(
            knowledge, Terms(job, self.goals.times, capacity_asked(job, facts), self._desk, margin=self._margin)
        )
        self._needs = self._workings.needs
        self._fabrics: dict[str, Fabric] = {}
        self._layouts: dict[tuple[str, int], tuple[Layout, bool]] = {}

    @property
    def split_stated(self) -> bool:
        """Whether the user says how the job is split."""
        return (self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_ranks) != (None, None, None)

    def as_stated(self, layout: Layout) -> bool:
        """Whether a layout has the degrees that the user states."""
        stated = (self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_parallel)
        degrees = (layout.tensor, layout.pipeline, layout.data)
        return all(want is None or want == have for want, have in zip(stated, degrees, strict=True))

    @property
    def least_gain(self) -> float:
        """By what factor twice the GPUs must be faster to be worth it."""
        return self._constants.least_gain_of_doubling.value

    def node_gpus(self, gpu: Gpu) -> int:
        """The GPUs of one server, as far as so many are planned."""
        return min(self.fabric(gpu).node_gpus, self.most_gpus(gpu))

    def counts(self, gpu: Gpu) -> tuple[int, ...]:
        """The counts worth trying, smallest first: of the ladder those that stated degrees of parallelism allow."""
        return counts_of(self.fabric(gpu).node_gpus, self.most_gpus(gpu), self.job.least_gpus)

    def rounded_up(self, gpu: Gpu, count: int) -> int | None:
        """The next count that one can have, from ``count`` on; None where there is none."""
        return rounded_up(count, self.fabric(gpu).node_gpus, self.most_gpus(gpu), self.job.least_gpus)

    @property
    def patience_hours(self) -> int:
        """How long people wait for a run without a deadline."""
        return self._constants.patience_hours.value

    def fabric(self, gpu: Gpu) -> Fabric:
        """How copies of a GPU are joined in this case."""
        if gpu.id not in self._fabrics:
            self._fabrics[gpu.id] = fabric_of(gpu, desk=self._desk)
        return self._fabrics[gpu.id]

    def most_gpus(self, gpu: Gpu) -> int:
        """The largest count that is planned."""
        return min(self._most, self.fabric(gpu).most)

    def memory(self, gpu: Gpu, layout: Layout) -> MemoryEstimate | None:
        """Memory of the job under a layout; None where neither model nor memory is known."""
        if not self.job.sized:
            return None
        key = (card_of(gpu), layout)
        if key not in self._workings.memories:
            self.prepare_memory([(gpu, layout)])
        return self._workings.memories[key]

    def prepare_memory(self, wanted: Iterable[tuple[Gpu, Layout]]) -> None:
        """Compute the memory of plans all at once, so that ``memory`` only has to look it up."""
        memories = self._workings.memories
        keyed = {(card_of(gpu), layout): (gpu, layout) for gpu, layout in wanted} if self.job.sized else {}
        new = {key: pair for key, pair in keyed.items() if key not in memories}
        if new:
            memories.update(zip(new, estimate_memories(self.job, list(new.values())), strict=True))

    def fits(self, gpu: Gpu, memory: MemoryEstimate | None) -> bool | None:
        """Memory per GPU, raised by the safety factor of its kind, is within what the GPU can give.

        Where both the GPUs and their number are stated, the best estimate decides, and a warning tells the little room.
        """
        granted = granted_of(self.job, gpu)
        if memory is None or gpu.usable_gb is None or granted is None:
            return None
        raised = memory.per_gpu_gb * safety_of(self.job, memory.method, margin=self._margin)
        return memory.per_gpu_gb <= granted and raised <= gpu.usable_gb

    def smallest_count(self, gpu: Gpu) -> int | None:
        """The smallest count of the ladder that fits; None where none does or memory is not known."""
        if gpu.id not in self._workings.smallest:
            self._workings.smallest[gpu.id] = self._find_smallest(gpu)
        return self._workings.smallest[gpu.id]

    def fitting(self, gpu: Gpu, count: int) -> tuple[Layout, ...]:
        """All layouts of a count that fit, least exchange first."""
        limit = self._limit(gpu)
        if self._needs is None or limit is None:
            return ()
        return self._needs.fitting(self.fabric(gpu), count, limit)

    def splits(self, gpu: Gpu, width: int) -> tuple[Layout, ...]:
        """The ways to split one replica over so many GPUs, whether it fits or not."""
        if self._needs is None:
            return ()
        choices = self._needs.choices(self.fabric(gpu), width)
        return tuple(choice.layout for choice in choices if choice.layout.data == 1)

    def holds(self, gpu: Gpu, layout: Layout) -> bool:
        """Whether a layout fits the GPU."""
        limit = self._limit(gpu)
        raised = self._needs.raised_gb(layout) if self._needs else None
        return limit is not None and raised is not None and raised <= limit

    def layout(self, gpu: Gpu, count: int) -> tuple[Layout, bool]:
        """The layout for a count and whether it fits.

        In training the fastest of those that fit; while serving the one that exchanges least. Where none fits, the one
        that needs least memory.
        """
        key = (gpu.id, count)
        if key not in self._layouts:
            self._layouts[key] = self._find_layout(gpu, count)
        return self._layouts[key]

    def _find_layout(self, gpu: Gpu, count: int) -> tuple[Layout, bool]:
        found = self.fitting(gpu, count)
        if not found:
            return (self._needs.leanest(self.fabric(gpu), count) if self._needs else Layout(data=count)), False
        if not self.job.training or len(found) == 1:
            return found[0], True
        self.evaluate((gpu, layout) for layout in found)
        rates = [rate_of(self._estimated_speed(gpu, layout)[0]) or 0.0 for layout in found]
        return found[max(range(len(found)), key=lambda index: (round(rates[index], 6), -index))], True

    def speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        """Speed of a layout, and the largest batch that fits it."""
        speed, batch = self._estimated_speed(gpu, layout)
        if speed is None or self._timed is None:
            return speed, batch
        return self._timed.elsewhere(speed, self._speed_in_use(self._timed.gpu)), batch

    def _speed_in_use(self, gpu: Gpu) -> Mapping[str, float]:
        """The speed on the GPU in use, taken for one of them, or for as many as the job needs."""
        layout, _ = self.layout(gpu, self.smallest_count(gpu) or 1)
        speed, _ = self._estimated_speed(gpu, layout)
        return speed.values if speed is not None else {}

    def prepare(self, gpus: Sequence[Gpu]) -> None:
        """Compute the memory of the usual splits of these GPUs inside a machine at once; few need more than one."""
        if self._needs is None:
            return
        counts = {(self.fabric(gpu), count) for gpu in gpus for count in self.counts(gpu)}
        self._needs.prepare([(fabric, count) for fabric, count in counts if count <= fabric.machine])

    def evaluate(self, wanted: Iterable[tuple[Gpu, Layout]]) -> None:
        """Compute the speed of plans all at once, so that ``speed`` only has to look it up."""
        speeds, table = self._workings.speeds, self._workings.table
        new: dict[tuple[str, Layout], Gpu] = {}
        for gpu, layout in wanted:
            place = table.position.get(gpu.id)
            if place is not None and table.gpus[place] is gpu and (gpu.id, layout) not in speeds:
                new[gpu.id, layout] = gpu
        if not new:
            return
        gpus, laid = list(new.values()), [layout for _, layout in new]
        if self._needs is not None:
            self._needs.prepare_batches(laid)
        rooms = [self._most_batch(gpu, layout) for gpu, layout in zip(gpus, laid, strict=True)]
        batches = [self._batch_at(room) for room in rooms]
        places = np.array([table.position[gpu.id] for gpu in gpus])
        split = self._workings.links.split(places, rows_of(laid, batches))
        room = np.array([np.nan if room is None else room for room in rooms], np.float64)
        columns = self._workings.speed.columns(table, places, split, room)
        for index, values in enumerate(rows_of_values(columns)):
            gpu, layout = gpus[index], laid[index]
            speed = None
            if values:
                speed = SpeedEstimate(values, partial(self._figures, gpu, layout, rooms[index], batches[index]))
            speeds[gpu.id, layout] = speed, rooms[index]

    def _estimated_speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        key, speeds = (gpu.id, layout), self._workings.speeds
        if key not in speeds:
            self.evaluate([(gpu, layout)])
        if key not in speeds:  # A slice of a card, or a changed one, is in no table.
            room = self._most_batch(gpu, layout)
            speeds[key] = self._single(gpu, layout, room, self._batch_at(room)), room
        return speeds[key]

    def _single(self, gpu: Gpu, layout: Layout, room: int | None, batch: int) -> SpeedEstimate | None:
        fabric, count = self.fabric(gpu), layout.count
        return self._workings.speed.estimate(
            gpu,
            layout,
            fabric.link_of(count),
            fabric.node_link_of(count),
            nodes=fabric.nodes(count),
            room=None if self.job.training else room,
            batch=batch,
        )

    def _figures(self, gpu: Gpu, layout: Layout, room: int | None, batch: int) -> dict[str, Figure]:
        found = self._single(gpu, layout, room, batch)
        return {} if found is None else found.figures

    def _find_smallest(self, gpu: Gpu) -> int | None:
        limit = self._limit(gpu)
        if self._needs is None or limit is None:
            return None
        return self._needs.smallest(self.fabric(gpu), self.counts(gpu), limit)

    def _limit(self, gpu: Gpu) -> float | None:
        limits = self._workings.limits
        if gpu.id not in limits:
            limits[gpu.id] = self._needs.limit_gb(gpu) if self._needs else None
        return limits[gpu.id]

    def _most_batch(self, gpu: Gpu, layout: Layout) -> int | None:
        limit = self._limit(gpu)
        return None if self._needs is None or limit is None else self._needs.most_batch(layout, limit)

    def _batch_at(self, most: int | None) -> int:
        """Requests in flight; in training the micro-batch, as large as fits up to a bound where none is stated."""
        job = self.job
        if not self._batch_free or not most:
            return batch_of(job)
        tokens = self._constants.tokens_per_micro_batch.value // job.seq_len_tokens
        bound = tokens if job.shape is not None else self._constants.images_per_micro_batch.value
        batch = max(1, min(most, bound))
        batch = 1 << (batch.bit_length() - 1)
        return min(batch, job.global_batch) if job.global_batch else batch
