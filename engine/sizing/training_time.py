"""Speed of training a transformer: hardware FLOPs per token over the utilisation that published runs reach."""

from __future__ import annotations

import math
from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import all_reduce_s
from whichgpu.engine.sizing.speed_peaks import Peak
from whichgpu.engine.sizing.speed_peaks import peak_of
from whichgpu.engine.sizing.speed_peaks import training_precisions
from whichgpu.engine.sizing.speed_serving import Split


#: Multiples of a forward pass (2 N FLOPs a token): forward, gradient of the input, gradient of the weights.
_FULL_PASSES, _ADAPTER_PASSES = 3.0, 2.0
#: Share of the forward pass that is done again, before ``recompute_share``.
_RECOMPUTED = {"none": 0.0, "selective": 0.15, "full": 1.0}


class Work(NamedTuple):
    """What training asks of any GPU: precisions of the arithmetic, best first, and FLOPs per token."""

    precisions: tuple[str, ...]
    per_token: float  # in units of matrix-product time, with recomputation
    by_method: float  # that the method itself needs


def training_values(
    job: Job, shape: Shape, work: Work, gpu: Gpu, layout: Layout, split: Split, pick: Pick = "value"
) -> dict[str, float]:
    """Tokens and samples per second over all GPUs, seconds per step, hours of the stated run, share of peak reached.

    The run is 6 N D FLOPs for full training and 4 N D for adapters (no gradient of frozen weights), attention on top;
    recomputation adds up to 2 N D to what the hardware does. Empty where the GPU's rates are unknown.
    """
    peak = peak_of(gpu, work.precisions)
    if peak is None:
        return {}
    tokens = job.micro_batch * job.seq_len_tokens
    use = utilisation(job, gpu, peak, layout.count, tokens, pick=pick)
    ranks = split.tensor * split.pipeline
    micro = tokens * work.per_token / ranks / (peak.flops * use) + _tensor_exchange_s(job, shape, split, tokens)
    accumulation = accumulation_of(job, layout)
    bubble = 1.0 + (split.pipeline - 1) / accumulation
    step = micro * accumulation * bubble
    step += _unhidden_s(step, _data_exchange_s(job, shape, layout, split, accumulation), split, pick)
    step += _optimizer_s(job, shape, gpu, layout)
    batch = job.micro_batch * accumulation * layout.data
    tokens_per_s = batch * job.seq_len_tokens / step
    values = {
        "tokens_per_s": tokens_per_s,
        "samples_per_s": batch / step,
        "step_s": step,
        "mfu": tokens_per_s * work.by_method / (layout.count * peak.flops),
    }
    if job.train_tokens:
        values["hours"] = job.train_tokens / tokens_per_s / 3600
    elif job.train_steps:
        samples = (job.global_batch or batch) * job.train_steps
        values["hours"] = samples / values["samples_per_s"] / 3600
    return values


def work_of(job: Job, shape: Shape) -> Work:
    """The work of a job, whatever trains it."""
    return Work(training_precisions(job), flops_per_token(job, shape), model_flops_per_token(job, shape))


def accumulation_of(job: Job, layout: Layout) -> int:
    """Micro-batches per optimiser step: stated, else what the global batch needs, else enough to fill a pipeline."""
    if job.gradient_accumulation:
        return job.gradient_accumulation
    if job.global_batch:
        return max(1, round(job.global_batch / (job.micro_batch * layout.data)))
    return 4 * layout.pipeline if layout.pipeline > 1 else 1


def _passes(job: Job) -> float:
    return _ADAPTER_PASSES if job.peft else _FULL_PASSES


def _attention_flops(job: Job, shape: Shape) -> float:
    """Forward FLOPs of scores and values per token, the causal half counted in full."""
    width = shape.heads * shape.head_dim
    reach = shape.full_layers * job.seq_len_tokens
    reach += shape.sliding_layers * min(job.seq_len_tokens, shape.window or job.seq_len_tokens)
    return 4.0 * reach * width


def model_flops_per_token(job: Job, shape: Shape) -> float:
    """FLOPs that the method itself needs per token: passes x 2 N, plus attention."""
    dense = 2.0 * (shape.active_params - shape.embedding)
    # No weights, so no weight gradient: three forward equivalents whatever is frozen.
    return _passes(job) * dense + _FULL_PASSES * _attention_flops(job, shape)


def flops_per_token(job: Job, shape: Shape) -> float:
    """FLOPs per token in units of matrix-product time: recomputation added, attention at its lower rate."""
    again = _RECOMPUTED[job.checkpointing] * speed_constants().training.recompute_share.value
    dense = 2.0 * (shape.active_params - shape.embedding)
    attention = _attention_flops(job, shape) / speed_constants().training.attention_share.value
    if not job.flash_attention:
        attention *= 2.0  # Scores go to memory and back.
    return (_passes(job) + again) * dense + (_FULL_PASSES + again) * attention


def utilisation(job: Job, gpu: Gpu, peak: Peak, count: int, tokens: int, *, pick: Pick) -> float:
    """Share of the dense peak that matrix products reach, for micro-batches of ``tokens`` on ``count`` GPUs."""
    constants = speed_constants()
    training = constants.training
    if peak.precision == "fp8":
        top = constants.fp8_training_use.at(pick)
    else:
        name = _generation(gpu)
        top = constants.training_use[name].at(pick)
        if name == "other":
            top *= min(1.0, peak.share / constants.matmul_share["default"].value)
    half = training.half_tokens_qlora if job.kind == "qlora" else training.half_tokens
    filled = tokens / (tokens + {"value": half.value, "low": half.high, "high": half.low}[pick])
    if job.kind == "qlora":
        filled *= training.qlora_share.at(pick)
    doublings = math.log2(count / training.scale_from_gpus.value) if count > training.scale_from_gpus.value else 0.0
    return top * filled * max(0.3, 1.0 - training.scale_loss_per_doubling.value * doublings)


def _generation(gpu: Gpu) -> str:
    if gpu.series == "nvidia-a100":
        return "a100"
    if gpu.vendor == "amd" and gpu.segment == "datacenter":
        return "amd"
    if gpu.segment == "datacenter" and gpu.architecture in {"hopper", "blackwell"}:
        return gpu.architecture
    return "other"


def _tensor_exchange_s(job: Job, shape: Shape, split: Split, tokens: int) -> float:
    """Four all-reduces a layer and micro-batch, six with recomputation; they stand in the way of the computation."""
    if split.tensor <= 1:
        return 0.0
    rounds = 4 + 2 * _RECOMPUTED[job.checkpointing]
    speed = split.over_all if split.tensor_spans_nodes else split.link
    return rounds * shape.layers / split.pipeline * all_reduce_s(2.0 * shape.hidden * tokens, split.tensor, speed)


def _data_exchange_s(job: Job, shape: Shape, layout: Layout, split: Split, accumulation: int) -> float:
    """Gradients once a step; with sharded weights, those too, twice a micro-batch."""
    if layout.data <= 1:
        return 0.0
    ranks = split.tensor * split.pipeline
    trained = _trained_params(job, shape) / ranks
    speed = split.over_all
    time = all_reduce_s(2.0 * trained, layout.data, speed)
    if layout.sharding in {"zero3", "fsdp"}:
        body = sizing_constants().weights[job.weight_precision].body if job.peft else 2.0
        gathered = shape.params * body / ranks * (layout.data - 1) / layout.data
        time += 2 * accumulation * (speed.latency_s * shape.layers + gathered / (speed.gbs * 1e9))
    return time


def _trained_params(job: Job, shape: Shape) -> float:
    if not job.peft:
        return shape.params
    # Rank r on every linear layer: r x (inputs + outputs), about 18 r h a layer in a gated block.
    return job.lora_rank * shape.layers * 18.0 * shape.hidden


def _unhidden_s(computing: float, exchanging: float, split: Split, pick: Pick) -> float:
    """The part of the exchange that computation does not hide."""
    if not exchanging:
        return 0.0
    overlap = speed_constants().training.overlap.at(pick)
    if split.link.latency_s > 2e-5 and not split.node.latency_s:
        overlap *= 0.6  # Copies over PCIe share the bus with the loader and the host.
    return max(exchanging - computing, (1.0 - overlap) * exchanging)


def _optimizer_s(job: Job, shape: Shape, gpu: Gpu, layout: Layout) -> float:
    """Time to read and write states once a step."""
    if not gpu.mem_bw_tbs:
        return 0.0
    shards = layout.data if layout.sharding != "none" else 1
    share = _trained_params(job, shape) / (layout.tensor * layout.pipeline * shards)
    return share * speed_constants().training.optimizer_bytes.value / (gpu.mem_bw_tbs * 1e12 * 0.8)
