"""Entry point of speed sizing: which formula applies, and the figures with their bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Pick, Value, made
from whichgpu.engine.sizing.batch_run import with_run
from whichgpu.engine.sizing.demand import Demand, Targets
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.memory import batch_of, is_small
from whichgpu.engine.sizing.model import Figure, SpeedEstimate
from whichgpu.engine.sizing.rows import Floats, Ints, rows_of
from whichgpu.engine.sizing.serving_load import SustainedLoad, load_values, sustained_load_of
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_encoders import encoder_values, pass_of
from whichgpu.engine.sizing.speed_formula_texts import BANDED, SERVING_WORDS, SOURCE, UNITS, words_of
from whichgpu.engine.sizing.speed_generators import generator_values
from whichgpu.engine.sizing.speed_images import image_values
from whichgpu.engine.sizing.speed_links import Split, link_speed, node_link_speed, split_of
from whichgpu.engine.sizing.speed_lookups import lookup_values
from whichgpu.engine.sizing.speed_rates import Rates, beside, rates_of
from whichgpu.engine.sizing.speed_serving import load_of, steps_of
from whichgpu.engine.sizing.speed_speech import speech_values
from whichgpu.engine.sizing.support import looks_up, speaks_of_speed, supported
from whichgpu.engine.sizing.training_time import training_values, work_of


class JobSpeed:
    """The speed of one job on whatever GPUs it is spread over. It depends on the job and the arguments alone."""

    def __init__(self, job: Job, demand: Demand | None = None) -> None:
        """Prepare.

        Args:
            job: what runs.
            demand: what is asked of a service; else as many requests in flight as the job has it.
        """
        self._job = job
        self._demand = demand or Demand()
        self._work = work_of(job, job.shape) if job.training and job.shape is not None else None

    def columns(
        self, table: GpuTable, which: Ints, split: Split, max_batch: Floats | None = None, pick: Pick = "value"
    ) -> dict[str, Any]:
        """The named figures over all GPUs of each row; NaN where one is not known.

        A figure of which nothing can be said for such a job is withheld (``support``).

        Args:
            table: the GPUs.
            which: the GPU of each row, by its position in the table.
            split: the rows, and the speeds of their links.
            max_batch: sequences whose cache fits one replica of each row; NaN where memory is unknown. For serving.
            pick: the slow, middle or fast end of the constants.
        """
        if not speaks_of_speed(self._job):
            return {}
        return supported(self._job, with_run(self._job, self._columns(table, which, split, max_batch, pick)))

    def _columns(
        self, table: GpuTable, which: Ints, split: Split, max_batch: Floats | None, pick: Pick
    ) -> dict[str, Any]:
        job, shape = self._job, self._job.shape
        if job.family == "speech":
            values = speech_values(job, table, which, split, self._demand, pick)
            return _with_audio(job, values)
        if looks_up(job):
            return lookup_values(job, table, which, split.rows, self._demand, pick)
        if shape is None:
            values_of = generator_values if job.family.startswith("diffusion") else image_values
            return values_of(job, table, which, split, self._demand, pick)
        if self._work is not None:
            return training_values(job, shape, self._work, table, which, split, pick)
        rates = rates_of(job, table, pick).take(which)
        if job.family == "encoder":
            return encoder_values(job, pass_of(job, shape, split.rows), rates, split, self._demand, pick)
        return self._served(shape, rates, split, max_batch)

    def _served(self, shape: Shape, rates: Rates, split: Split, max_batch: Floats | None) -> dict[str, Any]:
        known = np.full(len(split.rows.tensor), np.nan) if max_batch is None else max_batch
        steps = steps_of(load_of(self._job, shape, split.rows), rates, split)
        return load_values(self._job, steps, split.rows, max_batch=known, demand=self._demand)

    @property
    def _queued(self) -> bool:
        """Whether the job is a language model that is served."""
        job = self._job
        return not (job.training or job.shape is None or job.family in {"speech", "encoder"} or looks_up(job))

    def ends(self, table: GpuTable, which: Ints, split: Split, max_batch: Floats | None = None) -> list[dict[str, Any]]:
        """The figures as ``columns`` gives them at the slow and at the fast end of the constants."""
        job = self._job
        picks: tuple[Pick, Pick] = ("low", "high")
        if not self._queued or job.shape is None or not speaks_of_speed(job):
            return [self.columns(table, which, split, max_batch, pick) for pick in picks]
        # Both in one go: a queue takes as long to solve for one row as for many.
        slow, fast = (rates_of(job, table, pick).take(which) for pick in picks)
        values = supported(job, with_run(job, self._served(job.shape, beside(slow, fast), split, max_batch)))
        return [
            {name: column[end] if np.ndim(column) > 1 else column for name, column in values.items()}
            for end in range(len(picks))
        ]

    def sustained_load(
        self, table: GpuTable, which: Ints, split: Split, max_batch: Floats, limits: Sequence[Targets]
    ) -> SustainedLoad | None:
        """The load that a replica sustains, where those of a language model share a load but nothing else; else None.

        Args:
            table: the GPUs.
            which: the GPU of each row, by its position in the table.
            split: the rows, and the speeds of their links.
            max_batch: as to ``columns``.
            limits: on times.
        """
        job = self._job
        if not self._queued or job.shape is None or job.expert_parallel or not speaks_of_speed(job):
            return None
        if self._demand.at_hand and any(map(any, limits)):
            return None  # More replicas hold more requests then, and answer them no sooner.
        steps = steps_of(load_of(job, job.shape, split.rows), rates_of(job, table, "value").take(which), split)
        return sustained_load_of(job, steps, split.rows, max_batch=max_batch, demand=self._demand, limits=limits)

    def estimate(
        self,
        gpu: Gpu,
        layout: Layout,
        link: str = "none",
        node_link: str = "none",
        *,
        nodes: int = 1,
        max_batch: int | None = None,
        batch: int | None = None,
    ) -> SpeedEstimate | None:
        """Speed of one plan.

        Args:
            gpu: on what.
            layout: how the job is spread.
            link: between GPUs of a node.
            node_link: between nodes.
            nodes: how many.
            max_batch: sequences whose cache fits one replica; None where memory is unknown.
            batch: micro-batch in training, requests in flight while serving; by default as the job has it.

        Returns:
            Plain numbers at once, bands and formulas on demand; None where the model's size or the GPU's rates are
            unknown.
        """
        job = self._job
        batch = batch or batch_of(job)
        table, which = GpuTable((gpu,)), np.zeros(1, np.int64)
        per_node = -(-layout.count // max(1, nodes))
        ends = link_speed(gpu, link), node_link_speed(gpu, node_link, per_node)
        split = split_of(rows_of([layout], batch, small_card=is_small(gpu)), *ends, nodes)
        known = np.array([np.nan if max_batch is None else max_batch], np.float64)
        values = next(rows_of_values(self.columns(table, which, split, known)), {})
        if not values:
            return None

        def build() -> dict[str, Figure]:
            slow, fast = (next(rows_of_values(end)) for end in self.ends(table, which, split, known))
            return self.figures(values, slow, fast, gpu, layout, link, batch)

        return SpeedEstimate(values, build)

    def figures(
        self,
        values: Mapping[str, float],
        slow: Mapping[str, float],
        fast: Mapping[str, float],
        gpu: Gpu,
        layout: Layout,
        link: str,
        batch: int,
    ) -> dict[str, Figure]:
        """The figures of one plan with bands, formulas and inputs.

        Args:
            values: by name.
            slow: the same at the slow end of the constants.
            fast: at the fast end.
            gpu: on what.
            layout: how the job is spread.
            link: between GPUs of a node.
            batch: micro-batch in training, requests in flight while serving.
        """
        words, inputs = words_of(self._job), _inputs(self._job, gpu, layout, link, batch)
        figures: dict[str, Figure] = {}
        for name, value in values.items():
            low, high = self.band(name, value, slow.get(name, value), fast.get(name, value))
            figures[name] = Figure(value, low, high, UNITS[name], words[name], SOURCE, inputs)
        return figures

    def band(self, name: str, value: Any, slow: Any, fast: Any) -> tuple[Any, Any]:
        """The ends of a figure's band.

        Args:
            name: of the figure.
            value: of it.
            slow: the same at the slow end of the constants.
            fast: at the fast end.
        """
        if type(value) is type(slow) is type(fast) is float:  # As all are but where arithmetic is traced.
            low, high = min(value, slow, fast), max(value, slow, fast)
        else:
            low, high = (made(end, made(end, value, slow), fast) for end in ("min", "max"))
        bands = speed_constants().serving_bands if words_of(self._job) is SERVING_WORDS else {}
        band = bands.get(BANDED.get(name, ""))
        return (low, high) if band is None else band.ends(value, low, high)


def rows_of_values(columns: dict[str, Any]) -> Iterator[dict[str, float]]:
    """The figures of each row that are known, without those for judging alone (``_name``)."""
    unknown = {name: np.isnan(column) for name, column in columns.items() if not name.startswith("_")}
    names = tuple(name for name in unknown if not unknown[name].all())
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    if not names:
        yield from ({} for _ in next(iter(unknown.values()), ()))
    elif any(unknown[name].any() for name in names):
        for row in rows:
            yield {name: value for name, value in zip(names, row, strict=True) if value == value}  # noqa: PLR0124 - NaN.
    else:
        yield from (dict(zip(names, row, strict=True)) for row in rows)


def _with_audio(job: Job, values: dict[str, Any]) -> dict[str, Any]:
    """The figures of speech with the sound that passes, in multiples of real time."""
    if job.training or "samples_per_s" not in values:
        return values
    window_s = speed_constants().speech.window_seconds.value
    sound = {"audio_hours_per_hour": "samples_per_s", "capacity_audio_hours_per_hour": "capacity_samples_per_s"}
    return values | {name: values[per_s] * window_s for name, per_s in sound.items() if per_s in values}


def _inputs(job: Job, gpu: Gpu, layout: Layout, link: str, batch: int) -> dict[str, Value]:
    inputs: dict[str, Value | None] = {
        "param_count_b": job.params_b,
        "active_param_count_b": job.active_params_b,
        "weight_precision": job.weight_precision,
        "gpu.mem_bw_tbs": gpu.mem_bw_tbs,
        "plan.link": link,
        "plan.tensor_parallel": layout.tensor,
        "plan.pipeline_parallel": layout.pipeline,
        "plan.data_parallel": layout.data,
    }
    if job.training:
        inputs |= {"seq_len_tokens": job.seq_len_tokens, "batch_size_per_gpu": batch}
    elif looks_up(job):
        inputs |= {"concurrency": batch, "embedding_lookups": job.lookups, "embedding_width": job.lookup_width}
    elif job.shape is not None:
        inputs |= {"concurrency": batch, "input_tokens": job.input_tokens, "output_tokens": job.output_tokens}
        inputs["serving_engine"] = job.engine
    else:
        inputs |= {"image_px": job.image_px, "denoising_steps": job.denoising_steps}
    if not job.training:
        inputs["requests_total"] = job.requests_total
    return {name: value for name, value in inputs.items() if value is not None}
