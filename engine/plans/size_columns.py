"""Memory, fit and speed of one job's plans as columns: the GPUs of a table under whatever layouts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import Pick, known_or
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.layouts import OPTIMIZER_ALONE, WHOLE, Layouts, split_options_of
from whichgpu.engine.plans.links import LinkTable
from whichgpu.engine.plans.micro_batch import micro_batches, ranks_beyond_a_step
from whichgpu.engine.plans.needs import Choices, MemoryNeeds
from whichgpu.engine.plans.speed_cache import SpeedCache, SpeedRows
from whichgpu.engine.plans.topology import FabricTable
from whichgpu.engine.sizing import (
    Bools,
    Floats,
    GpuTable,
    Ints,
    Job,
    JobSpeed,
    MemoryColumns,
    Split,
    SustainedLoad,
    Targets,
    batch_of,
    card_columns,
    memory_columns,
    offloaded_gb,
)


#: Speed figures that are always there; NaN where a job has no such figure.
_READ = ("tokens_per_s", "samples_per_s", "qps", "ttft_ms", "tpot_ms", "latency_ms", "hours")


class UsualLayouts(NamedTuple):
    """The layout for each of several counts, and whether it fits."""

    layouts: Layouts
    fits: Bools
    speed: dict[str, Floats]  # in training, where something fits and speed decides; else empty


class SizeColumns:
    """What plans of a job take and deliver. A plan is a GPU, by its position in the table, and a layout."""

    def __init__(self, job: Job, gpus: GpuTable, links: LinkTable, needs: MemoryNeeds, speed: JobSpeed) -> None:
        """Prepare.

        Args:
            job: what runs.
            gpus: on what.
            links: how several of the same GPU are joined.
            needs: of the job.
            speed: of the job.
        """
        self.job = job
        self.gpus = gpus
        self.links = links
        self.needs = needs
        self.of_job = speed
        self._batch_free = job.training and "batch_size_per_gpu" in job.unstated
        #: Speed and largest batch of plans as ``speed`` has them, each computed once.
        self.speed_cache = SpeedCache(self._speed)
        most = plan_constants().most_gpus[job.kind].value
        split_stated = any((job.tensor_parallel, job.pipeline_parallel, job.data_ranks))
        splitting = split_stated or job.framework in plan_constants().tuning_split_by.value
        self._splits_last = job.peft and not splitting
        self._splits_for_speed = job.kind == "full" and not splitting
        self._divides_optimizer = split_options_of(job).divides_optimizer
        self.fabrics = FabricTable(links.fabrics, most, job.least_gpus, every=job.split_by_layers)

    def of_others(self, gpus: GpuTable, links: LinkTable) -> SizeColumns:
        """The same columns for other GPUs: same job, other table and links."""
        return SizeColumns(self.job, gpus, links, self.needs, self.of_job)

    @cached_property
    def limits_gb(self) -> Floats:
        """What each GPU can give, as the reference GPU of the needs would have to; NaN where it is not known."""
        return self.needs.limits_gb(self.gpus)

    @cached_property
    def smallest(self) -> Ints:
        """The smallest count of each GPU that fits, and whose machines hold what is offloaded; 0 where none does."""
        return self._smallest(np.ceil(self._hosts_needed - 1e-9)) if self.job.cpu_offload else self.held

    @cached_property
    def held(self) -> Ints:
        """The smallest count of each GPU whose own memory holds the job, of those worth trying; 0 where none does."""
        return self._smallest(np.zeros(len(self.gpus.gpus)))

    @property
    def _hosts_needed(self) -> Floats:
        """How many of each GPU come with as much system memory as is offloaded."""
        per_gpu = self.gpus.vram_gb() * plan_constants().host_memory.value
        needed: Floats = known_or(offloaded_gb(self.job) / np.where(per_gpu > 0, per_gpu, np.nan))
        return needed

    def _smallest(self, at_least: Floats) -> Ints:
        fabric, counts = self.links.fabric, self.fabrics.counts
        asked = np.nonzero(counts)
        choices = self.needs.choices(counts[asked], self.fabrics.tensor_most(asked[0], counts[asked]))
        least = np.full(counts.shape, np.inf)
        least[asked] = np.minimum.reduceat(choices.raised_gb, np.searchsorted(choices.query, np.arange(len(asked[0]))))
        limits = self.limits_gb[:, None] * self.usable_share(fabric[:, None], counts[fabric])
        fits = (least[fabric] <= limits) & (counts[fabric] >= at_least[:, None])
        return np.where(fits.any(1), counts[fabric, fits.argmax(1)], 0)

    def usable_share(self, fabric: Ints, counts: Ints) -> Floats:
        """What share of their memory so many GPUs may fill: where more are paid anyway, those that stay idle give room.

        Args:
            fabric: of each, by its position.
            counts: how many GPUs.
        """
        room = plan_constants().room_on_a_part_of_a_board.value
        share: Floats = np.where(self.fabrics.part_of_a_board(fabric, counts), 1 - room, 1.0)
        return share

    def choices(self, which: Ints, counts: Ints) -> Choices:
        """All sensible layouts of counts of GPUs, whether they fit or not.

        Adapters are split by layers only where neither replicas nor shards fit, or the framework does so anyway.
        The states of the optimizer alone are divided only where whole replicas do not fit.

        Args:
            which: the GPU of each query, by its position.
            counts: how many of it.
        """
        found = self.needs.choices(counts, self.fabrics.tensor_most(self.links.fabric[which], counts))
        if not (self._splits_last or self._divides_optimizer):
            return found
        fits = found.raised_gb <= self.limits_gb[which[found.query]]
        replicas, sharding = found.layouts.width == 1, found.layouts.sharding
        kept = np.ones(len(fits), np.bool_)
        if self._splits_last:
            kept &= replicas | ~_held(found.query, replicas & fits, len(counts))
        if self._divides_optimizer:
            divided = (sharding == OPTIMIZER_ALONE) & (found.layouts.pipeline == 1)
            kept &= ~(divided & _held(found.query, replicas & fits & (sharding == WHOLE), len(counts)))
        return found.take(kept)

    def fitting(self, which: Ints, counts: Ints) -> Choices:
        """The layouts of ``choices`` whose memory fits."""
        choices = self.choices(which, counts)
        return choices.take(choices.raised_gb <= self.limits_gb[which[choices.query]])

    def usual(self, which: Ints, counts: Ints) -> UsualLayouts:
        """The layout for each count, and whether it fits.

        In training the fastest of those that fit; while serving the one that exchanges least. Where none fits, the one
        that needs least memory.
        """
        choices = self.choices(which, counts)
        fit = choices.raised_gb <= self.limits_gb[which[choices.query]]
        fits = np.zeros(len(counts), np.bool_)
        fits[choices.query[fit]] = True
        choices = choices.take(fit | ~fits[choices.query])
        last: Floats = choices.raised_gb
        speed: dict[str, Floats] = {}
        if self.job.training and (fits.any() or not len(fits)):
            speed = self.speed_cache.of(which[choices.query], choices.layouts).figures
            pace = known_or(rate(speed)) / self._asked_of(which, choices)
            last = np.where(fits[choices.query], -np.round(pace, 6), last)
        else:
            last = np.where(fits[choices.query], 0.0, last)
        best = np.lexsort((last, choices.query))[np.searchsorted(choices.query, np.arange(len(counts)))]
        return UsualLayouts(choices.layouts.take(best), fits, {name: column[best] for name, column in speed.items()})

    def _asked_of(self, which: Ints, choices: Choices) -> Floats:
        """How many times as fast layouts of training have to be to be taken before shards of everything.

        Those that leave weights whole and little room, those that split layers where trainers rarely do, and those with
        more ranks than a step has samples for.
        """
        if not (self._divides_optimizer or self._splits_for_speed):
            return ranks_beyond_a_step(self.job, choices.layouts)
        constants, layouts = plan_constants(), choices.layouts
        whole = (layouts.data > 1) & (layouts.pipeline == 1) & (layouts.sharding <= OPTIMIZER_ALONE)
        roomy = self.limits_gb[which[choices.query]] * (1.0 - constants.room_for_whole_weights.value)
        asked = np.where(whole & (choices.raised_gb > roomy), constants.worth_whole_weights.value, 1.0)
        if self._splits_for_speed:
            asked = asked * np.where(layouts.width > 1, constants.worth_splitting.value, 1.0)
        return asked * ranks_beyond_a_step(self.job, layouts)

    def max_batch(self, which: Ints, layouts: Layouts) -> Floats:
        """The largest batch that fits: micro-batch in training, requests per replica while serving; NaN if unknown."""
        return self.needs.most_batch(layouts, self.limits_gb[which])

    def speed(
        self, which: Ints, layouts: Layouts, max_batch: Floats | None = None, pick: Pick = "value"
    ) -> dict[str, Floats]:
        """The named figures of speed of each plan, NaN where one is not known.

        Args:
            which: the GPU of each plan.
            layouts: of the plans.
            max_batch: the largest batch that fits each; computed where it is not given and matters.
            pick: the slow, middle or fast end of the constants.
        """
        return self._speed(which, layouts, max_batch, pick).figures

    def ends(self, which: Ints, layouts: Layouts, max_batch: Floats | None = None) -> list[dict[str, Floats]]:
        """The figures as ``speed`` gives them at the slow and at the fast end of the constants."""
        max_batch = self._known_max_batch(which, layouts, max_batch)
        found = (
            self.of_job.ends(self.gpus, which, self._split(which, layouts, max_batch), max_batch)
            if len(which)
            else ({}, {})
        )
        return [_completed(end, len(which)) for end in found]

    def _speed(self, which: Ints, layouts: Layouts, max_batch: Floats | None, pick: Pick = "value") -> SpeedRows:
        max_batch = self._known_max_batch(which, layouts, max_batch)
        if not len(which):
            return SpeedRows(max_batch, _completed({}, 0))
        found = self.of_job.columns(self.gpus, which, self._split(which, layouts, max_batch), max_batch, pick)
        return SpeedRows(max_batch, _completed(found, len(which)))

    def _known_max_batch(self, which: Ints, layouts: Layouts, max_batch: Floats | None) -> Floats:
        """The largest batch that fits; where replicas share their experts what one holds depends on the others."""
        if max_batch is not None and (self.job.training or not self.job.expert_parallel):
            return max_batch
        return self.max_batch(which, layouts) if self.batch_matters and len(which) else np.full(len(which), np.nan)

    def _split(self, which: Ints, layouts: Layouts, max_batch: Floats) -> Split:
        context, small = card_columns(self.gpus)
        return self.links.split(which, layouts.rows(self.batch(max_batch, layouts), context[which], small[which]))

    def load_of_a_replica(
        self, which: Ints, layouts: Layouts, max_batch: Floats, limits: Sequence[Targets]
    ) -> SustainedLoad | None:
        """The load that a replica sustains within limits on its times; None where it depends on how many there are."""
        return self.of_job.sustained_load(self.gpus, which, self._split(which, layouts, max_batch), max_batch, limits)

    @property
    def batch_matters(self) -> bool:
        """Whether speed depends on how large a batch fits."""
        return self._batch_free or not self.job.training

    def memory(self, which: Ints, layouts: Layouts) -> MemoryColumns | None:
        """Memory of each plan; None where neither model nor memory is known."""
        context, small = card_columns(self.gpus)
        usable = self.gpus.usable_gb()[which]
        return memory_columns(self.job, layouts.rows(batch_of(self.job), context[which], small[which], usable))

    def fits(self, which: Ints, memory: MemoryColumns) -> Floats:
        """Whether memory per GPU is within what is granted, and raised by its safety within what the GPU can give.

        Where both the GPUs and their number are stated, the best estimate decides, and a warning tells the little room.

        Returns:
            1 where a plan fits, 0 where not, NaN where the GPU's memory is not known.
        """
        usable, granted = self.gpus.usable_gb()[which], self.needs.granted_gb(self.gpus)[which]
        raised = self.needs.raised(memory.per_gpu_gb, memory.method)
        return np.where(np.isnan(usable), np.nan, (memory.per_gpu_gb <= granted) & (raised <= usable))

    def batch(self, max_batch: Floats, layouts: Layouts) -> Ints:
        """Requests in flight; in training the micro-batch, as large as fits up to a bound where none is stated.

        Args:
            max_batch: the largest batch that fits each plan; NaN where it is not known.
            layouts: of the plans.
        """
        if not self._batch_free:
            return np.full(len(max_batch), batch_of(self.job))
        return micro_batches(self.job, max_batch, layouts)


def _held(query: Ints, by: Bools, queries: int) -> Bools:
    """For each layout whether one of its query is among these."""
    held = np.zeros(queries, np.bool_)
    held[query[by]] = True
    return held[query]


def _completed(found: dict[str, Any], length: int) -> dict[str, Floats]:
    """Figures as columns, those that are always there among them."""
    unknown = np.full(length, np.nan)
    every = {name: column if np.ndim(column) else column + 0 * unknown for name, column in found.items()}
    return every | {name: unknown for name in _READ if name not in found}


def rate(speed: dict[str, Floats]) -> Floats:
    """Work per second: tokens, or samples where there are none; NaN where neither is known."""
    tokens = speed["tokens_per_s"]
    return np.where(tokens > 0, tokens, speed["samples_per_s"])


def capacity(speed: dict[str, Floats]) -> Floats:
    """Work per second at most: tokens of full replicas, samples of full batches; elsewhere the rate."""
    return speed.get("capacity_tokens_per_s", speed.get("capacity_samples_per_s", rate(speed)))


def mean_latency_ms(speed: dict[str, Floats]) -> Floats:
    """The mean time of an answer; where no queue is computed the usual one."""
    return speed.get("latency_mean_ms", speed["latency_ms"])
