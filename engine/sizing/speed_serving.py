"""Speed of serving a language model: roofline of prefill and decode, exchanges between GPUs, starts of kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import TURNED
from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.serving import version_numbers
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.sharing import cached_bytes_per_sequence
from whichgpu.engine.sizing.speed_constants import EngineSteps
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import LinkSpeed
from whichgpu.engine.sizing.speed_links import all_reduce_s
from whichgpu.engine.sizing.speed_peaks import bandwidth_use
from whichgpu.engine.sizing.speed_peaks import is_gguf
from whichgpu.engine.sizing.speed_peaks import peak_of
from whichgpu.engine.sizing.speed_peaks import serving_precisions


class Load(NamedTuple):
    """What one request and one decode step ask of a replica, whatever the GPU. Bytes and FLOPs are per tensor rank."""

    shared_bytes: float  # weights that every step reads
    expert_bytes: float  # routed experts, all of them
    expert_share: float  # of them, that one token reads
    cache_bytes: float  # per sequence, at the middle of its answer
    token_flops: float  # per generated token
    prefill_flops: float  # per request
    exchange_bytes: float  # per token and all-reduce
    layers: int


class Split(NamedTuple):
    """How a plan is spread and linked."""

    tensor: int
    pipeline: int
    data: int
    link: LinkSpeed  # inside a node
    node: LinkSpeed  # between nodes, per GPU
    over_all: LinkSpeed  # for collectives over all GPUs
    tensor_spans_nodes: bool


class Rates(NamedTuple):
    """What a GPU delivers to this job, per second, and the engine's own times in seconds."""

    bandwidth: float
    prefill: float
    decode: float
    launch_floor: float
    per_layer: float
    per_moe_layer: float  # on top, where tokens are routed to experts
    per_step: float


class Replica(NamedTuple):
    """One copy of the model at work."""

    load: Load
    rates: Rates
    split: Split
    output_tokens: int
    fill: float  # seconds of one prefill

    def requests_per_s(self, sequences: int) -> float:
        """Requests completed per second with ``sequences`` in flight: prefill and decode share the GPU."""
        stages = self.split.pipeline if sequences >= self.split.pipeline else 1
        decoding = self.output_tokens * step_s(self.load, self.rates, self.split, sequences)
        return sequences / (decoding + sequences * self.fill / stages)


class Targets(NamedTuple):
    """Stated limits on times, milliseconds."""

    ttft_ms: float | None
    tpot_ms: float | None
    latency_ms: float | None


def load_of(job: Job, shape: Shape, tensor: int) -> Load:
    """The load of a job on one of ``tensor`` ranks."""
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


def rates_of(job: Job, gpu: Gpu, pick: Pick = "value") -> Rates | None:
    """What the GPU delivers, at the slow, middle or fast end of the constants; None where its figures are unknown."""
    peak = peak_of(gpu, serving_precisions(job.weight_precision))
    if peak is None or not gpu.mem_bw_tbs:
        return None
    serving = speed_constants().serving
    use = bandwidth_use(gpu).at(pick)
    if is_gguf(job.weight_precision):
        use *= serving.gguf_use.at(pick)
    steps = engine_steps(job)
    floor = steps.launch_floor_us
    if steps.eager_beyond is not None:  # Those tokens of the answer that lie beyond.
        beyond = (job.input_tokens + job.output_tokens - steps.eager_beyond) / max(1, job.output_tokens)
        floor += min(1.0, max(0.0, beyond)) * (steps.eager_floor_us - steps.launch_floor_us)
    slower = {"value": 1.0, "low": steps.high, "high": steps.low}[pick]
    return Rates(
        bandwidth=gpu.mem_bw_tbs * 1e12 * use,
        prefill=peak.flops * peak.share * serving.prefill_share.at(pick),
        decode=peak.flops * peak.share * serving.decode_share.at(pick),
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


def step_s(load: Load, rates: Rates, split: Split, sequences: int) -> float:
    """Seconds of one decode step of a replica with ``sequences`` in flight."""
    batch = max(1.0, sequences / split.pipeline)  # Stages work on different micro-batches at a time.
    experts = load.expert_bytes
    if experts:
        experts *= 1.0 - (1.0 - load.expert_share) ** batch
    memory = (load.shared_bytes + experts + load.cache_bytes * batch) / rates.bandwidth
    arithmetic = load.token_flops * batch / rates.decode
    busy = max(memory, arithmetic, load.layers * rates.launch_floor)
    per_layer = rates.per_layer + (rates.per_moe_layer if experts else 0.0)
    return busy + load.layers * per_layer + rates.per_step + _exchange_s(load, split, batch)


def _exchange_s(load: Load, split: Split, tokens: float) -> float:
    """Two all-reduces a layer over the tensor ranks, one hand-over per pipeline boundary."""
    time = 0.0
    payload = load.exchange_bytes * tokens
    if split.tensor > 1:
        speed = split.over_all if split.tensor_spans_nodes else split.link
        time += 2 * load.layers * all_reduce_s(payload, split.tensor, speed)
    if split.pipeline > 1:
        speed = split.node if split.node.latency_s else split.link
        time += (split.pipeline - 1) * (speed.latency_s + payload / (speed.gbs * 1e9))
    return time


def prefill_s(load: Load, rates: Rates, split: Split, input_tokens: int) -> float:
    """Seconds until a prompt has passed through a replica."""
    arithmetic = load.prefill_flops / rates.prefill
    memory = (load.shared_bytes + load.expert_bytes) / rates.bandwidth
    return max(arithmetic, memory, load.layers * rates.launch_floor) + _exchange_s(load, split, input_tokens)


def serving_values(
    job: Job, load: Load, rates: Rates, split: Split, *, room: int | None, targets: Targets, capacity: bool
) -> dict[str, float]:
    """The figures of serving: times of one request, and what the plan delivers.

    Args:
        job: what is served.
        load: of the job, on one tensor rank of the split.
        rates: of the GPU.
        split: of the plan.
        room: sequences whose cache fits one replica; None where memory is unknown.
        targets: stated limits.
        capacity: it is not stated how many requests are in flight: tokens per second are those of a full replica.
    """
    serving = speed_constants().serving
    answered = job.output_tokens
    replica = Replica(load, rates, split, answered, prefill_s(load, rates, split, job.input_tokens))
    most = int(serving.max_sequences.value) if room is None else min(room, int(serving.max_sequences.value))
    each = -(-job.concurrency // split.data)
    own = step_s(load, rates, split, each)
    overhead = serving.request_overhead_ms.value / 1e3
    ttft = replica.fill + own + overhead
    values = {"ttft_ms": ttft * 1e3, "tpot_ms": own * 1e3, "latency_ms": (ttft + answered * own) * 1e3}
    if room is not None:
        values["max_concurrency"] = float(room * split.data)
    held = sequences_within(replica, most, targets, overhead)
    if held:
        values["qps"] = serving.load_limit.value * split.data * replica.requests_per_s(held)
    if capacity:
        requests = split.data * replica.requests_per_s(max(1, most))
    else:
        requests = min(split.data, job.concurrency) * replica.requests_per_s(each)
    values["requests_per_s"] = requests
    values["tokens_per_s"] = requests * answered
    return values


def sequences_within(replica: Replica, most: int, targets: Targets, overhead_s: float) -> int:
    """The largest number of sequences in flight per replica that keeps every target; 0 where not even one does."""
    if most < 1 or targets == (None, None, None):
        return most
    if not _keeps(replica, 1, targets, overhead_s):
        return 0
    if _keeps(replica, most, targets, overhead_s):
        return most
    low, high = 1, most
    while high - low > 1 and high > low * 1.05:
        middle = (low + high) // 2
        low, high = (middle, high) if _keeps(replica, middle, targets, overhead_s) else (low, middle)
    return low


def _keeps(replica: Replica, sequences: int, targets: Targets, overhead_s: float) -> bool:
    step = step_s(replica.load, replica.rates, replica.split, sequences)
    first = replica.fill + step + overhead_s
    # While a request decodes, the prompts of those that follow it take their share of the GPU.
    token = step + sequences * replica.fill / max(1, replica.output_tokens) if sequences > 1 else step
    return (
        (targets.tpot_ms is None or token * 1e3 <= targets.tpot_ms)
        and (targets.ttft_ms is None or first * 1e3 <= targets.ttft_ms)
        and (targets.latency_ms is None or (first + replica.output_tokens * token) * 1e3 <= targets.latency_ms)
    )
