"""Speed of training a transformer: hardware FLOPs per token over the utilisation that published runs reach."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.gpu_table import GpuTable, Peaks
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Ints, Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s
from whichgpu.engine.sizing.speed_peaks import training_precisions


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
    job: Job, shape: Shape, work: Work, table: GpuTable, which: Ints, split: Split, pick: Pick = "value"
) -> dict[str, Any]:
    """Tokens and samples per second over all GPUs, seconds per step, hours of the stated run, share of peak reached.

    The run is 6 N D FLOPs for full training and 4 N D for adapters (no gradient of frozen weights), attention on top;
    recomputation adds up to 2 N D to what the hardware does. NaN where the GPU's rates are unknown.
    """
    rows = split.rows
    peaks = table.peaks(work.precisions).take(which)
    tokens = rows.batch * job.seq_len_tokens
    use = _utilisation(job, table, which, peaks, rows.count, tokens, pick=pick)
    ranks = rows.tensor * rows.pipeline
    micro = tokens * work.per_token / ranks / (peaks.flops * use) + _tensor_exchange_s(job, shape, split, tokens)
    accumulation = _accumulation(job, rows)
    bubble = 1.0 + (rows.pipeline - 1) / accumulation
    step = micro * accumulation * bubble
    step = step + _unhidden_s(step, _data_exchange_s(job, shape, split, accumulation), split, pick)
    step = step + _optimizer_s(job, shape, table.bandwidth()[which], rows)
    batch = rows.batch * accumulation * rows.data
    tokens_per_s = batch * job.seq_len_tokens / step
    values = {
        "tokens_per_s": tokens_per_s,
        "samples_per_s": batch / step,
        "step_s": step,
        "mfu": tokens_per_s * work.by_method / (rows.count * peaks.flops),
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


def _accumulation(job: Job, rows: Rows) -> Any:
    """Micro-batches per optimiser step: stated, else what the global batch needs, else enough to fill a pipeline."""
    if job.gradient_accumulation:
        return job.gradient_accumulation
    if job.global_batch:
        return np.maximum(1, np.rint(job.global_batch / (rows.batch * rows.data)))
    return np.where(rows.pipeline > 1, 4 * rows.pipeline, 1)


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


def _utilisation(job: Job, table: GpuTable, which: Ints, peaks: Peaks, count: Ints, tokens: Ints, *, pick: Pick) -> Any:
    """Share of the dense peak that matrix products reach, for micro-batches of ``tokens`` on ``count`` GPUs."""
    constants = speed_constants()
    training = constants.training
    weaker = np.minimum(1.0, peaks.share / constants.matmul_share["default"].value)
    by_kind = table.training_use(pick)[which] * np.where(table.of_a_known_generation()[which], 1.0, weaker)
    top = np.where(peaks.of_fp8, constants.fp8_training_use.at(pick), by_kind)
    half = training.half_tokens_qlora if job.kind == "qlora" else training.half_tokens
    filled = tokens / (tokens + {"value": half.value, "low": half.high, "high": half.low}[pick])
    if job.kind == "qlora":
        filled = filled * training.qlora_share.at(pick)
    doublings = np.log2(np.maximum(1.0, count / training.scale_from_gpus.value))
    return top * filled * np.maximum(0.3, 1.0 - training.scale_loss_per_doubling.value * doublings)


def _tensor_exchange_s(job: Job, shape: Shape, split: Split, tokens: Ints) -> Any:
    """Four all-reduces a layer and micro-batch, six with recomputation; they stand in the way of the computation."""
    rounds = 4 + 2 * _RECOMPUTED[job.checkpointing]
    rows = split.rows
    once = all_reduce_s(2.0 * shape.hidden * tokens, rows.tensor, split.tensor_link)
    return rounds * shape.layers / rows.pipeline * once


def _data_exchange_s(job: Job, shape: Shape, split: Split, accumulation: Any) -> Any:
    """Gradients once a step; with sharded weights, those too, twice a micro-batch."""
    rows, speed = split.rows, split.over_all
    ranks = rows.tensor * rows.pipeline
    time = all_reduce_s(2.0 * _trained_params(job, shape) / ranks, rows.data, speed)
    body = sizing_constants().weights[job.weight_precision].body if job.peft else 2.0
    gathered = shape.params * body / ranks * (rows.data - 1) / rows.data
    gathering = 2 * accumulation * (speed.latency_s * shape.layers + gathered / (speed.gbs * 1e9))
    return time + np.where((rows.data > 1) & rows.sharded("zero3", "fsdp"), gathering, 0.0)


def _trained_params(job: Job, shape: Shape) -> float:
    if not job.peft:
        return shape.params
    # Rank r on every linear layer: r x (inputs + outputs), about 18 r h a layer in a gated block.
    return job.lora_rank * shape.layers * 18.0 * shape.hidden


def _unhidden_s(computing: Any, exchanging: Any, split: Split, pick: Pick) -> Any:
    """The part of the exchange that computation does not hide."""
    # Copies over PCIe share the bus with the loader and the host.
    on_the_bus = (split.link.latency_s > 2e-5) & (split.node.latency_s == 0)
    overlap = speed_constants().training.overlap.at(pick) * np.where(on_the_bus, 0.6, 1.0)
    return np.where(exchanging > 0, np.maximum(exchanging - computing, (1.0 - overlap) * exchanging), 0.0)


def _optimizer_s(job: Job, shape: Shape, bandwidth: Floats, rows: Rows) -> Any:
    """Time to read and write states once a step; none where the bandwidth is not known."""
    shards = np.where(rows.sharded("none"), 1, rows.data)
    share = _trained_params(job, shape) / (rows.tensor * rows.pipeline * shards)
    return np.nan_to_num(share * speed_constants().training.optimizer_bytes.value / (bandwidth * 0.8))
