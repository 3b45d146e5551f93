"""What GPUs and serving engines deliver to a job: bytes and products per second, and the engine's own times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import TURNED, Pick, named, remembered
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Ints
from whichgpu.engine.sizing.speed_constants import EngineSteps, speed_constants
from whichgpu.engine.sizing.speed_peaks import is_gguf, is_unpacked, serving_precisions
from whichgpu.engine.sizing.versions import entry_of, version_numbers


class Rates(NamedTuple):
    """What GPUs deliver to this job, per second, as columns, and the engine's own times in seconds."""

    bandwidth: Floats
    weights: Floats  # bandwidth at which weights are read: of the bus, where they wait in the memory of the host
    prefill: Floats
    decode: Floats
    launch_floor: float
    per_layer: float
    per_moe_layer: float  # on top, where tokens are routed to experts
    per_step: float
    per_sequence: float
    eager_floor: float  # of one layer, when a prompt passes through it: no captured graph is replayed
    alone: bool  # prompts pass in steps of their own
    exchange: Any  # how many times an all-reduce between the kernels of a step waits what it waits alone
    exchange_bytes: Any  # the same of the time that its bytes take

    def take(self, which: Ints) -> Rates:
        """The rates of some GPUs, by their positions in the table."""
        own = (self.bandwidth, self.weights, self.prefill, self.decode)
        bandwidth, weights, prefill, decode = (column[which] for column in own)
        return self._replace(bandwidth=bandwidth, weights=weights, prefill=prefill, decode=decode)


def beside(slow: Rates, fast: Rates) -> Rates:
    """The rates at both ends of the constants, a row for each: what is computed of them has two rows as well."""

    def both(one: Any, other: Any) -> Any:
        if np.ndim(one) or np.ndim(other):
            return np.stack(np.broadcast_arrays(one, other))
        return one if one == other else np.array([[one], [other]])

    return Rates(*map(both, slow, fast))


def rates_of(job: Job, table: GpuTable, pick: Pick = "value") -> Rates:
    """What each GPU delivers, at the slow, middle or fast end of the constants; NaN where its figures are unknown."""
    peaks = table.peaks(serving_precisions(job.weight_precision))
    serving = speed_constants().serving
    bandwidth = table.bandwidth_in_reach(pick)
    if is_gguf(job.weight_precision):
        bandwidth = bandwidth * serving.gguf_use.at(pick)
    products = peaks.flops * peaks.share * (table.unpacking(pick) if is_unpacked(job.weight_precision) else 1.0)
    steps = engine_steps(job)
    floor = steps.launch_floor_us
    if job.engine == "transformers" and job.fuses_modules:
        floor = min(floor, serving.fused_kernels.value * speed_constants().training.kernels.start_us.value)
    if steps.eager_beyond is not None:  # Those tokens of the answer that lie beyond.
        beyond = (job.input_tokens + job.output_tokens - steps.eager_beyond) / max(1, job.output_tokens)
        floor += min(1.0, max(0.0, beyond)) * (steps.eager_floor_us - steps.launch_floor_us)
    slower = {"value": 1.0, "low": steps.high, "high": steps.low}[pick]
    moe = job.shape is not None and job.shape.moe
    share = serving.prefill_share_moe if moe else serving.prefill_share
    eager = serving.eager_moe_layer_us if moe else serving.eager_layer_us
    found = Rates(
        bandwidth=bandwidth,
        weights=np.minimum(bandwidth, table.host_bandwidth(pick)) if job.cpu_offload else bandwidth,
        prefill=products * share.at(pick),
        decode=products * serving.decode_share.at(pick),
        launch_floor=floor * 1e-6 * (1.0 if pick == "value" else slower),
        per_layer=steps.per_layer_us * 1e-6 * slower,
        per_moe_layer=serving.moe_per_layer_us.at(TURNED[pick]) * 1e-6,
        per_step=steps.per_step_us * 1e-6 * slower,
        per_sequence=serving.per_sequence_us.at(TURNED[pick]) * 1e-6,
        eager_floor=max(eager.at(TURNED[pick]) * steps.prompt_floor, floor) * 1e-6,
        alone=steps.alone,
        exchange=serving.exchange.at(TURNED[pick]),
        exchange_bytes=serving.exchange_bytes.at(TURNED[pick]),
    )
    return named(found, "rates")


def engine_steps(job: Job) -> EngineSteps:
    """The step times of the job's engine and version; between the old and the new ones where no version is stated."""
    if not job.engine_stated and (job.family == "encoder" or job.engine == "vllm"):
        return _engine_steps("encoders" if job.family == "encoder" else "unstated", None)
    return _engine_steps(job.engine, job.engine_version)


def steps_of_engine(engine: str) -> EngineSteps:
    """The step times of an engine of which no version is known."""
    return _engine_steps(engine, None)


@remembered
def _engine_steps(engine: str, version: str | None) -> EngineSteps:
    engines = speed_constants().engines
    name = engine if engine in engines else "other"
    if name == "vllm" and version_numbers(version) is None:
        name = "unversioned"
    return entry_of(engines[name], version)
