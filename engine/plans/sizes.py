"""What a job takes and delivers on each GPU under each split: memory, fit, speed; computed together, and kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.ends import BandEnds, known_at
from whichgpu.engine.plans.layouts import Layouts, columns_of
from whichgpu.engine.plans.measured import timed_run
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.room import with_room
from whichgpu.engine.plans.serving_layouts import layout_for_load, most_capable
from whichgpu.engine.plans.size_columns import SizeColumns, UsualLayouts
from whichgpu.engine.plans.sizing_cache import Terms, sizing_cache_of
from whichgpu.engine.plans.targets import Goals, goals_of, work_of_run
from whichgpu.engine.plans.topology import Fabric, fabric_of
from whichgpu.engine.sizing import (
    Bools,
    Figure,
    Floats,
    Ints,
    Job,
    Layout,
    SpeedEstimate,
    demand_of,
    rows_of_values,
)


def _scattered(values: Floats, rows: Ints, unknown: Floats) -> Floats:
    """A column with values in some rows, unknown in the others."""
    if len(rows) == len(unknown):
        return values
    column = unknown.copy()
    column[rows] = values
    return column


class PlanSizes:
    """Memory, fit and speed of one job; its answers depend on the job, the facts and the catalogue alone."""

    def __init__(self, job: Job, facts: Facts, knowledge: Knowledge) -> None:
        self.job = job
        self.facts = facts
        self.knowledge = knowledge
        self._timed = timed_run(job, facts, knowledge)
        self.goals = goals_of(job, facts, timed=self._timed is not None)
        self._constants = plan_constants()
        number = facts.get("num_gpus")
        self.stated_count = number if isinstance(number, int) and not isinstance(number, bool) and number >= 1 else None
        self.batch = not job.training and facts.get("serving_mode") == "batch"
        self._desk = facts.get("deployment_site") == "workstation"
        self.afield = facts.get("deployment_site") == "edge"
        # Nothing else is left to choose then, so that the best estimate tells more than a refusal at the last gigabyte.
        self._margin = not (facts.get("num_gpus") and facts.get("gpu_candidates"))
        demand = demand_of(job, facts)
        self.rate = demand.rate  # requests a second that come; None where no rate is stated
        self.rate_stated = demand.rate is not None
        self.load_stated = self.rate_stated or not demand.capacity
        self.goals_with_room = with_room(self.goals, rate_stated=self.rate_stated, work=work_of_run(job))
        tolerable_hours = None if job.training else self.goals.tolerable_hours
        self.tolerable = Goals(self.goals.tolerable, None, None, tolerable_hours, self.goals.percentile)
        self._cache = sizing_cache_of(knowledge, Terms(job, demand, self._desk, margin=self._margin))
        self._layouts: dict[tuple[str, int], Layout] = {}

    @property
    def columns(self) -> SizeColumns:
        """Memory, fit and speed of the GPUs of the catalogue as columns."""
        return self._cache.columns

    @property
    def split_stated(self) -> bool:
        """Whether the user says how the job is split."""
        return (self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_ranks) != (None, None, None)

    @property
    def stated_degrees(self) -> tuple[int | None, int | None, int | None]:
        """Degrees of tensor, pipeline and data as the user states them."""
        return self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_parallel

    @property
    def least_gain(self) -> float:
        """By what factor twice the GPUs must be faster to be worth it."""
        return self._constants.least_gain_of_doubling.value

    @property
    def step_seconds(self) -> float:
        """How long a step of pre-training usually takes at most."""
        return self._constants.step_seconds.value

    @property
    def patience_hours(self) -> float:
        """How long people wait for a run without a deadline."""
        return self.goals.tolerable_hours or self._constants.patience_hours.value

    def fabric(self, gpu: Gpu) -> Fabric:
        """How several of a GPU are joined in this case."""
        return fabric_of(gpu, desk=self._desk)

    def most_gpus(self, gpu: Gpu) -> int:
        """The largest count that is planned."""
        return min(self._constants.most_gpus[self.job.kind].value, self.fabric(gpu).most)

    @property
    def most_apart(self) -> int:
        """The largest count that is planned of replicas that need no link between them."""
        return self._constants.most_gpus[self.job.kind].value

    def smallest_count(self, gpu: Gpu) -> int | None:
        """The smallest count of those worth trying that fits; None where none does or memory is not known."""
        results, place = self._cache.of(gpu)
        return int(results.columns.smallest[place]) or None

    def fitting(self, gpu: Gpu, count: int) -> tuple[Layout, ...]:
        """All layouts of a count that fit, least exchange first."""
        results, place = self._cache.of(gpu)
        return tuple(results.columns.fitting(np.array([place]), np.array([count])).layouts.each())

    def layout(self, gpu: Gpu, count: int) -> Layout:
        """The layout for a count, whether it fits or not: the usual of ``SizeColumns``, or that for the load."""
        key = (gpu.id, count)
        if key not in self._layouts:
            results, place = self._cache.of(gpu)
            found = Layout(data=count)
            if self.job.sized:
                columns = results.columns
                for_load = None
                if self.load_stated and not self.job.training:
                    for_load = layout_for_load(columns, place, count, rate_stated=self.rate_stated)
                found = for_load or columns.usual(np.array([place]), np.array([count])).layouts.each()[0]
            self._layouts[key] = found
        return self._layouts[key]

    def layout_at_hand(self, gpu: Gpu, count: int) -> Layout:
        """The layout of GPUs that stand there: of a served language model that with the largest capacity."""
        found = None
        if self.job.sized and self.job.shape is not None and not self.job.training:
            results, place = self._cache.of(gpu)
            found = most_capable(results.columns, place, count)
        return found or self.layout(gpu, count)

    def speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        """Speed of a layout, and the largest batch that fits it."""
        speed, batch = self._estimated_speed(gpu, layout)
        if speed is None or self._timed is None:
            return speed, batch
        return self._timed.elsewhere(speed, self._speed_in_use(self._timed.gpu)), batch

    def _speed_in_use(self, gpu: Gpu) -> Mapping[str, float]:
        """The speed on the GPU in use, taken for one of them, or for as many as the job needs."""
        layout = self.layout(gpu, self.smallest_count(gpu) or 1)
        speed, _ = self._estimated_speed(gpu, layout)
        return speed.values if speed is not None else {}

    def speed_columns(self, which: Ints, layouts: Layouts) -> dict[str, Floats]:
        """Speed of many plans as ``SizeColumns`` gives it, with the hours of a run that was timed."""
        return self._timed_elsewhere(self.columns.speed_cache.of(which, layouts).figures)

    def usual_columns(self, which: Ints, counts: Ints) -> UsualLayouts:
        """The usual layouts as ``SizeColumns`` gives them, with their speed, and the hours of a run that was timed."""
        usual = self.columns.usual(which, counts)
        speed = usual.speed or self.columns.speed_cache.of(which, usual.layouts).figures
        return usual._replace(speed=self._timed_elsewhere(speed))

    def _timed_elsewhere(self, speed: dict[str, Floats]) -> dict[str, Floats]:
        if self._timed is None:
            return speed
        return speed | {"hours": self._timed.hours_elsewhere(speed, self._speed_in_use(self._timed.gpu))}

    def columns_with(self, gpu: Gpu) -> tuple[SizeColumns, int]:
        """Columns that hold a GPU, of the catalogue or not, and its position there."""
        results, place = self._cache.of(gpu)
        return results.columns, place

    def found(
        self, columns: SizeColumns, gpu: Ints, layouts: Layouts, usual: Layouts, why: tuple[str, ...], timed: Bools
    ) -> PlannedRows:
        """Configurations with what they take and deliver.

        Args:
            columns: of the GPUs.
            gpu: of each configuration, by its position there.
            layouts: of each configuration.
            usual: the usual layouts of their counts.
            why: where their counts come from.
            timed: whether their speed is computed.
        """
        unknown = np.full(len(gpu), np.nan)
        memory, fits, max_batch, speed = None, unknown, unknown, dict[str, Floats]()
        if self.job.sized:
            memory = columns.memory(gpu, layouts)
            fits = unknown if memory is None else columns.fits(gpu, memory)
            rows = np.flatnonzero(timed)
            sped = columns.speed_cache.of(gpu[rows], layouts.take(rows))
            fitting = sped.max_batch if columns.batch_matters else columns.max_batch(gpu[rows], layouts.take(rows))
            max_batch = _scattered(fitting, rows, unknown)
            every = self._timed_elsewhere(sped.figures)
            speed = {name: _scattered(figure, rows, unknown) for name, figure in every.items()}
        return PlannedRows(gpu, layouts, why, usual, timed, columns.smallest[gpu], max_batch, speed, memory, fits)

    def speed_of(self, found: PlannedRows, row: int, gpu: Gpu, layout: Layout, ends: BandEnds) -> SpeedEstimate | None:
        """The speed of one configuration, its figures with bands and formulas on demand.

        Args:
            found: the configurations.
            row: of the one.
            gpu: its GPU.
            layout: its layout.
            ends: of all of them.
        """
        values = known_at(found.speed, row)
        if not values or not found.timed[row]:
            return None
        if self._timed is not None:
            values.pop("hours", None)  # They are those of the run that was timed, which says what they are made of.
        results, _ = self._cache.of(gpu)
        batch = int(results.columns.batch(found.max_batch[row : row + 1], columns_of([layout]))[0])

        @cache
        def build() -> dict[str, Figure]:
            slow, fast = ends.speeds(row)
            link = self.fabric(gpu).link_of(layout.count)
            return results.columns.of_job.figures(values, slow, fast, gpu, layout, link, batch)

        if self._timed is None:
            return SpeedEstimate(values, build)
        return self._timed.elsewhere(SpeedEstimate(values, build), self._speed_in_use(self._timed.gpu))

    def _estimated_speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        results, place = self._cache.of(gpu)
        key = gpu.id, layout
        if key not in results.speeds:
            which, layouts = np.array([place]), columns_of([layout])
            max_batch = results.columns.max_batch(which, layouts)
            (values,) = rows_of_values(results.columns.speed(which, layouts, max_batch))
            most = None if math.isnan(max_batch[0]) else int(max_batch[0])
            estimate = SpeedEstimate(values, partial(self._figures, gpu, layout, most)) if values else None
            results.speeds[key] = estimate, most
        return results.speeds[key]

    def _figures(self, gpu: Gpu, layout: Layout, max_batch: int | None) -> dict[str, Figure]:
        fabric, count = self.fabric(gpu), layout.count
        known = np.array([np.nan if max_batch is None else max_batch])
        found = self.columns.of_job.estimate(
            gpu,
            layout,
            fabric.link_of(count),
            fabric.node_link_of(count),
            nodes=fabric.nodes(count),
            max_batch=None if self.job.training else max_batch,
            batch=int(self.columns.batch(known, columns_of([layout]))[0]),
        )
        return {} if found is None else found.figures
