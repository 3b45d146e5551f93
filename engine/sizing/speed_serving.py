"""Speed of serving a language model: roofline of prefill and decode, exchanges between GPUs, starts of kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Ints, ceiling
from whichgpu.engine.sizing.serving import version_numbers
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.sharing import cached_bytes_per_sequence
from whichgpu.engine.sizing.speed_constants import EngineSteps, speed_constants
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s
from whichgpu.engine.sizing.speed_peaks import is_gguf, serving_precisions


class Load(NamedTuple):
    """What one request and one decode step ask of a replica, whatever the GPU: columns, per tensor rank.

    Bytes and FLOPs.
    """

    shared_bytes: Any  # weights that every step reads
    expert_bytes: Any  # routed experts, all of them
    expert_share: float  # of them, that one token reads
    cache_bytes: Any  # per sequence, at the middle of its answer
    token_flops: Any  # per generated token
    prefill_flops: Any  # per request
    exchange_bytes: float  # per token and all-reduce
    layers: int


class Rates(NamedTuple):
    """What GPUs deliver to this job, per second, as columns, and the engine's own times in seconds."""

    bandwidth: Floats
    prefill: Floats
    decode: Floats
    launch_floor: float
    per_layer: float
    per_moe_layer: float  # on top, where tokens are routed to experts
    per_step: float

    def take(self, which: Ints) -> Rates:
        """Those of some GPUs, by their positions."""
        return self._replace(bandwidth=self.bandwidth[which], prefill=self.prefill[which], decode=self.decode[which])


class Replicas(NamedTuple):
    """Copies of the model at work, a row for each plan."""

    load: Load
    rates: Rates
    split: Split
    output_tokens: int
    fill: Any  # seconds of one prefill

    def requests_per_s(self, sequences: Any) -> Any:
        """Requests completed per second with ``sequences`` in flight: prefill and decode share the GPU."""
        pipeline = self.split.rows.pipeline
        stages = np.where(sequences >= pipeline, pipeline, 1)
        decoding = self.output_tokens * step_s(self.load, self.rates, self.split, sequences)
        return sequences / (decoding + sequences * self.fill / stages)


class Targets(NamedTuple):
    """Stated limits on times, milliseconds."""

    ttft_ms: float | None
    tpot_ms: float | None
    latency_ms: float | None


def load_of(job: Job, shape: Shape, tensor: Any) -> Load:
    """The load of a job on one of ``tensor`` ranks, a number or a column."""
    constants = sizing_constants()
    weight = constants.weights[job.weight_precision]
    ends = 2.0 if weight.ends_16bit else weight.body
    routed, share = _routed(shape)
    # The input embedding is looked up, not read; a tied one is read as the head.
    read = (shape.body - routed) * weight.body + (shape.head or shape.embedding) * ends
    width = shape.heads * shape.head_dim
    asked = job.input_tokens
    context = asked + job.output_tokens // 2
    cached = cached_bytes_per_sequence(shape, context, constants.kv_cache[job.kv_precision], tensor, 1)
    if job.engine == "transformers":
        cached *= speed_constants().serving.cache_copies.value * (1.0 + shape.heads / shape.kv_heads)
    active = shape.active_params - shape.embedding
    attention = 2.0 * shape.full_layers * width * asked**2  # causal: half of 4 L w T^2
    if shape.sliding_layers:
        attention += 4.0 * shape.sliding_layers * width * asked * min(asked, shape.window)
    return Load(
        shared_bytes=max(0.0, read) / tensor,
        expert_bytes=routed * weight.body / tensor,
        expert_share=share,
        cache_bytes=cached,
        token_flops=2.0 * active / tensor,
        prefill_flops=(2.0 * active * asked + attention) / tensor,
        exchange_bytes=2.0 * shape.hidden,
        layers=shape.layers,
    )


def _routed(shape: Shape) -> tuple[float, float]:
    """Parameters in routed experts, and the share of them that one token reads."""
    if shape.expert_params and shape.experts:
        return shape.expert_params, shape.experts_per_token / shape.experts
    idle = shape.params - shape.active_params
    if not shape.moe or idle <= 0:
        return 0.0, 1.0
    # Only sizes are known: nine tenths of a sparse model are experts, as in published ones.
    routed = max(idle, 0.9 * shape.body)
    return routed, 1.0 - idle / routed


def rates_of(job: Job, table: GpuTable, pick: Pick = "value") -> Rates:
    """What each GPU delivers, at the slow, middle or fast end of the constants; NaN where its figures are unknown."""
    peaks = table.peaks(serving_precisions(job.weight_precision))
    serving = speed_constants().serving
    bandwidth = table.bandwidth_in_reach(pick)
    if is_gguf(job.weight_precision):
        bandwidth = bandwidth * serving.gguf_use.at(pick)
    steps = engine_steps(job)
    floor = steps.launch_floor_us
    if steps.eager_beyond is not None:  # Those tokens of the answer that lie beyond.
        beyond = (job.input_tokens + job.output_tokens - steps.eager_beyond) / max(1, job.output_tokens)
        floor += min(1.0, max(0.0, beyond)) * (steps.eager_floor_us - steps.launch_floor_us)
    slower = {"value": 1.0, "low": steps.high, "high": steps.low}[pick]
    return Rates(
        bandwidth=bandwidth,
        prefill=peaks.flops * peaks.share * serving.prefill_share.at(pick),
        decode=peaks.flops * peaks.share * serving.decode_share.at(pick),
        launch_floor=floor * 1e-6 * (1.0 if pick == "value" else slower),
        per_layer=steps.per_layer_us * 1e-6 * slower,
        per_moe_layer=serving.moe_per_layer_us.at(TURNED[pick]) * 1e-6,
        per_step=steps.per_step_us * 1e-6 * slower,
    )


def engine_steps(job: Job) -> EngineSteps:
    """The step times of the job's engine and version; between the old and the new ones where no version is stated."""
    return _engine_steps(job.engine, job.engine_version)


@lru_cache(maxsize=64)
def _engine_steps(engine: str, version: str | None) -> EngineSteps:
    engines = speed_constants().engines
    numbers = version_numbers(version)
    name = engine if engine in engines else "other"
    if name == "vllm" and numbers is None:
        name = "unversioned"
    entries = engines[name]
    if numbers is not None:
        for entry in entries:
            limit = version_numbers(entry.before)
            if limit is not None and numbers < limit:
                return entry
    return entries[-1]


def step_s(load: Load, rates: Rates, split: Split, sequences: Any) -> Any:
    """Seconds of one decode step of each replica with ``sequences`` in flight."""
    # Stages work on different micro-batches at a time.
    batch = np.maximum(1.0, sequences / split.rows.pipeline)
    read = load.shared_bytes + load.cache_bytes * batch
    per_layer = rates.per_layer
    if np.any(load.expert_bytes):
        read = load.shared_bytes + load.expert_bytes * (1.0 - (1.0 - load.expert_share) ** batch)
        read = read + load.cache_bytes * batch
        per_layer += rates.per_moe_layer
    arithmetic = load.token_flops * batch / rates.decode
    busy = np.maximum(np.maximum(read / rates.bandwidth, arithmetic), load.layers * rates.launch_floor)
    return busy + load.layers * per_layer + rates.per_step + _exchange_s(load, split, batch)


def _exchange_s(load: Load, split: Split, tokens: Any) -> Any:
    """Two all-reduces a layer over the tensor ranks, one hand-over per pipeline boundary."""
    tensor, pipeline = split.rows.tensor, split.rows.pipeline
    payload = load.exchange_bytes * tokens
    time = 2 * load.layers * all_reduce_s(payload, tensor, split.tensor_link)
    if np.any(pipeline > 1):
        latency = np.where(split.node.latency_s, split.node.latency_s, split.link.latency_s)
        gbs = np.where(split.node.latency_s, split.node.gbs, split.link.gbs)
        time = time + np.where(pipeline > 1, (pipeline - 1) * (latency + payload / (gbs * 1e9)), 0.0)
    return time


def prefill_s(load: Load, rates: Rates, split: Split, input_tokens: Any) -> Any:
    """Seconds until a prompt has passed through each replica."""
    arithmetic = load.prefill_flops / rates.prefill
    memory = (load.shared_bytes + load.expert_bytes) / rates.bandwidth
    busy = np.maximum(np.maximum(arithmetic, memory), load.layers * rates.launch_floor)
    return busy + _exchange_s(load, split, input_tokens)


def serving_values(
    job: Job, load: Load, rates: Rates, split: Split, *, room: Floats, targets: Targets, capacity: bool
) -> dict[str, Any]:
    """The figures of serving: times of one request, and what the plan delivers. NaN is a figure that is not known.

    Args:
        job: what is served.
        load: of the job, on one tensor rank of the split.
        rates: of the GPU of each row.
        split: of the plans; the ``batch`` of a row is the requests in flight over all its replicas.
        room: sequences whose cache fits one replica; NaN where memory is unknown.
        targets: stated limits.
        capacity: it is not stated how many requests are in flight: tokens per second are those of a full replica.
    """
    serving = speed_constants().serving
    answered = job.output_tokens
    replicas = Replicas(load, rates, split, answered, prefill_s(load, rates, split, job.input_tokens))
    limit = int(serving.max_sequences.value)
    most = np.where(np.isnan(room), limit, np.minimum(room, limit))
    data, flight = split.rows.data, split.rows.batch
    each = ceiling(flight, data)
    own = step_s(load, rates, split, each)
    overhead = serving.request_overhead_ms.value / 1e3
    ttft = replicas.fill + own + overhead
    values = {"ttft_ms": ttft * 1e3, "tpot_ms": own * 1e3, "latency_ms": (ttft + answered * own) * 1e3}
    values["max_concurrency"] = np.where(np.isnan(own), np.nan, room * data)
    held = sequences_within(replicas, most, targets, overhead)
    at_most = replicas.requests_per_s(np.maximum(1, held))
    values["qps"] = np.where(held > 0, serving.load_limit.value * data * at_most, np.nan)
    if capacity:
        requests = data * replicas.requests_per_s(np.maximum(1, most))
    else:
        requests = np.minimum(data, flight) * replicas.requests_per_s(each)
    values["requests_per_s"] = requests
    values["tokens_per_s"] = requests * answered
    return values


def sequences_within(replicas: Replicas, most: Any, targets: Targets, overhead_s: float) -> Any:
    """The largest number of sequences in flight per replica that keeps every target; 0 where not even one does."""
    if targets == (None, None, None):
        return most
    first = _keeps(replicas, 1, targets, overhead_s)
    all_of_them = _keeps(replicas, most, targets, overhead_s)
    low, high = np.ones_like(most), most
    while True:
        open_ = (high - low > 1) & (high > low * 1.05) & first & ~all_of_them
        if not open_.any():
            break
        middle = (low + high) // 2
        kept = _keeps(replicas, middle, targets, overhead_s)
        low, high = np.where(open_ & kept, middle, low), np.where(open_ & ~kept, middle, high)
    return np.where(most < 1, most, np.where(first, np.where(all_of_them, most, low), 0))


def _keeps(replicas: Replicas, sequences: Any, targets: Targets, overhead_s: float) -> Any:
    step = step_s(replicas.load, replicas.rates, replicas.split, sequences)
    first = replicas.fill + step + overhead_s
    # While a request decodes, the prompts of those that follow it take their share of the GPU.
    shared = sequences * replicas.fill / max(1, replicas.output_tokens)
    token = step + np.where(np.asarray(sequences) > 1, shared, 0.0)
    kept = np.ones(np.shape(step), np.bool_)
    if targets.tpot_ms is not None:
        kept &= token * 1e3 <= targets.tpot_ms
    if targets.ttft_ms is not None:
        kept &= first * 1e3 <= targets.ttft_ms
    if targets.latency_ms is not None:
        kept &= (first + replicas.output_tokens * token) * 1e3 <= targets.latency_ms
    return kept
