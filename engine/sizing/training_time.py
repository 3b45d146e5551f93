"""Speed of training a transformer: hardware FLOPs per token over the utilisation that published runs reach."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.core import TURNED, Pick, as_number
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.experts import expert_spread
from whichgpu.engine.sizing.gpu_table import GpuTable, Peaks
from whichgpu.engine.sizing.host_traffic import offloaded_s
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import layer_bytes_per_token
from whichgpu.engine.sizing.rollout_time import rollout_and_scoring_s
from whichgpu.engine.sizing.rows import Floats, Ints, Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_kernels import starting_s, with_starts
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s
from whichgpu.engine.sizing.speed_peaks import training_precisions
from whichgpu.engine.sizing.states import splits_models
from whichgpu.engine.sizing.training_activations import bytes_of_a_logit
from whichgpu.engine.sizing.training_exchange import TrainedWeights, between_exchanges, data_exchange_s, unhidden_s


#: Micro-batches of a step for each stage of a pipeline, where they are not stated: fewer leave it waiting.
BATCHES_OF_A_STAGE = 4
#: Multiples of a forward pass (2 N FLOPs a token): forward, gradient of the input, gradient of the weights.
_FULL_PASSES, _ADAPTER_PASSES = 3.0, 2.0
#: The same of attention by fused kernels, which keep no scores: the backward pass computes them again (five products).
_ATTENTION_PASSES = 3.5
#: Share of the forward pass that is done again, before ``recompute_share``.
_RECOMPUTED = {"none": 0.0, "selective": 0.15, "full": 1.0}


class Work(NamedTuple):
    """What training asks of any GPU: precisions of the arithmetic, best first, and FLOPs per token."""

    precisions: tuple[str, ...]
    dense: float  # products with weights, with recomputation
    attention: float  # scores and values, with recomputation
    kept: float  # bytes between the products, each of which passes through memory several times
    by_method: float  # that the method itself needs


def training_values(
    job: Job, shape: Shape, work: Work, table: GpuTable, which: Ints, split: Split, pick: Pick = "value"
) -> dict[str, Any]:
    """Tokens and samples per second over all GPUs, seconds per step, hours of the stated run, share of peak reached.

    The run is 6 N D FLOPs for full training and 4 N D for adapters (no gradient of frozen weights), attention on top;
    recomputation adds up to 2 N D to what the hardware does. Reinforcement learning writes and scores its samples
    first (``rollout_time``). NaN where the GPU's rates are unknown.
    """
    rows = split.rows
    peaks = table.peaks(work.precisions).take(which)
    tokens = rows.batch * job.seq_len_tokens
    # Attention is computed in 16 bits, whatever the products with weights are in.
    wide = peaks if work.precisions[0] != "fp8" else table.peaks(work.precisions[1:]).take(which)
    use = product_use(table, which, wide, pick)
    scores = work.attention / (wide.flops * use * speed_constants().training.attention_share.at(pick))
    passes = speed_constants().training.memory_passes.at(TURNED[pick])
    passing = np.nan_to_num(passes * work.kept / table.bandwidth_in_reach(pick)[which])
    each = work.dense / (peaks.flops * use) + scores + passing
    micro = tokens * each / (rows.tensor * rows.pipeline) / _filled(job, rows.count, tokens, pick)
    if not splits_models(job):  # Megatron's kernels are fused.
        adapted = shape.layers * len(job.lora_targets) if job.peft else 0
        micro = with_starts(micro, starting_s(job, shape.layers, adapted, pick) / rows.pipeline)
    micro = micro + _tensor_exchange_s(job, shape, split, tokens) + _expert_exchange_s(job, shape, split, tokens)
    accumulation_stated = _accumulation(job, rows)
    ranks = rows.data / job.context_parallel
    accumulation = between_exchanges(job, rows, ranks, accumulation_stated, _usual_sequences(job, pick))
    bubble = 1.0 + (rows.pipeline - 1) / (accumulation * _interleaved(job, shape, rows))
    step = micro * accumulation * bubble
    learning = TrainedWeights(shape.params, _trained_params(job, shape), shape.layers)
    step = step + unhidden_s(step, data_exchange_s(job, learning, split, accumulation), split, pick)
    if job.cpu_offload:
        step = step + offloaded_s(job, learning, split, accumulation, step, table.host_bandwidth(pick)[which], pick)
    else:
        step = step + _optimizer_s(job, shape, table.bandwidth()[which], rows)
    # A step is of what is stated; that it goes on for as long as is usual keeps exchanges apart, not steps together.
    step = step * accumulation_stated / accumulation
    batch = rows.batch * accumulation_stated * ranks
    forward_s = micro * accumulation_stated * bubble / (_passes(job) + _recomputed(job))
    step = step + rollout_and_scoring_s(job, shape, table, which, rows, batch, forward_s, pick)
    tokens_per_s = batch * job.seq_len_tokens * job.context_parallel / step
    values = {
        "tokens_per_s": tokens_per_s,
        "samples_per_s": batch / step,
        "step_s": step,
        "mfu": tokens_per_s * work.by_method / (rows.count * peaks.flops),
    }
    if job.train_tokens:
        values["hours"] = job.train_tokens / tokens_per_s / 3600
    elif job.train_steps:
        samples = batch if job.global_batch is None else job.samples_of_a_step(rows.batch * ranks)
        values["hours"] = samples * job.train_steps / values["samples_per_s"] / 3600
    elif job.train_samples:
        values["hours"] = job.train_samples / values["samples_per_s"] / 3600
    return values


def work_of(job: Job, shape: Shape) -> Work:
    """The work of a job, whatever trains it."""
    again = _recomputed(job) * speed_constants().training.recompute_share.value
    weights = 2.0 * (shape.active_params - shape.embedding + _grouped_params(shape))
    seen = 1.0 if job.family == "encoder" else 0.5  # A decoder's token sees half of the others on average.
    scores = seen * _attention_flops(job, shape)
    if not job.flash_attention:
        scores *= 2.0  # Scores go to memory and back.
    return Work(
        training_precisions(job),
        (_passes(job) + again) * weights,
        (_ATTENTION_PASSES + again) * scores,
        (1.0 + again / 3.0) * _kept_bytes(job, shape),
        # No weights in attention, so no weight gradient: three forward equivalents whatever is frozen.
        _passes(job) * 2.0 * (shape.active_params - shape.embedding) + _FULL_PASSES * _attention_flops(job, shape),
    )


def _grouped_params(shape: Shape) -> float:
    """What the experts of a token count beyond their parameters: products of small groups are slow.

    Experts as wide as the feed-forward part of a dense layer are as fast as it is, those no wider than the model slow.
    """
    if not shape.expert_params or not shape.sparse_layers:
        return 0.0
    products = 3.0 if shape.gated else 2.0
    width = shape.expert_params / (shape.sparse_layers * shape.experts * products * shape.hidden**2)
    narrow = min(1.0, max(0.0, 1.0 - (width - 1.0) / (sizing_constants().typical.intermediate_ratio - 1.0)))
    share = 1.0 - narrow * (1.0 - speed_constants().training.expert_share.value)
    routed = min(shape.active_params, shape.expert_params * shape.experts_per_token / shape.experts)
    return routed * (1.0 / share - 1.0)


def _accumulation(job: Job, rows: Rows) -> Any:
    """Micro-batches per optimiser step: stated, else what the global batch needs, else enough to fill a pipeline."""
    if job.gradient_accumulation:
        return job.gradient_accumulation
    if job.global_batch:
        return np.maximum(1, np.rint(job.global_batch / (rows.batch * rows.data / job.context_parallel)))
    return np.where(rows.pipeline > 1, BATCHES_OF_A_STAGE * rows.pipeline, 1)


def _usual_sequences(job: Job, pick: Pick) -> float:
    training = speed_constants().training
    if job.kind == "pretraining":
        return training.pretraining_step_tokens.at(pick) / (job.seq_len_tokens * job.context_parallel)
    return training.tuning_step_sequences.at(pick)


def _interleaved(job: Job, shape: Shape, rows: Rows) -> Any:
    """Stages that a pipeline rank holds: trainers in the manner of Megatron give it several, for a short bubble."""
    if not splits_models(job):
        return 1.0
    return np.clip(shape.layers / rows.pipeline, 1.0, speed_constants().training.interleaved_stages.value)


def _recomputed(job: Job) -> float:
    """Share of the forward pass that is done again. Who splits a model until it fits recomputes little."""
    unsaid = "gradient_checkpointing" in job.unstated and job.checkpointing == "full"
    return _RECOMPUTED["selective" if unsaid and splits_models(job) else job.checkpointing]


def _passes(job: Job) -> float:
    return _ADAPTER_PASSES if job.peft else _FULL_PASSES


def _kept_bytes(job: Job, shape: Shape) -> float:
    """Bytes per token that norms, activations, residuals and the loss work on: what memory is sized by.

    Whether they are kept or recomputed, they pass through memory; of networks whose layers differ only the widest is
    known, and what a token passes through bounds the average. Logits pass fewer times than what lies in the layers.
    """
    training = speed_constants().training
    products = 3.0 if shape.gated else 2.0
    body = shape.active_params - shape.embedding - shape.head
    narrow = min(shape.intermediate, body / shape.layers / (products * shape.hidden))
    plain = replace(job, checkpointing="none", flash_attention=True)
    each = layer_bytes_per_token(plain, replace(shape, intermediate=max(1, int(narrow))), 1)[1]
    words = shape.vocab * bytes_of_a_logit(job, shape) if job.family == "llm" else 0.0
    fewer = training.logit_passes.value / training.memory_passes.value
    return as_number(shape.layers * each + fewer * words)


def _attention_flops(job: Job, shape: Shape) -> float:
    """Forward FLOPs of scores and values per token, the causal half counted in full."""
    width = shape.heads * shape.head_dim
    tokens = job.seq_len_tokens * job.context_parallel
    reach = shape.full_layers * tokens
    reach += shape.sliding_layers * min(tokens, 2 * (shape.window or tokens))
    return 4.0 * reach * width


def product_use(table: GpuTable, which: Ints | slice, wide: Peaks, pick: Pick) -> Any:
    """Share of the peak that products with weights reach in a long run."""
    # Of others it is a part of what a large product reaches, which some cards do more of than is usual and some less.
    reached = np.minimum(1.0, wide.share) / speed_constants().matmul_share["default"].value
    return table.training_use(pick)[which] * np.where(table.of_a_known_generation()[which], 1.0, reached)


def _filled(job: Job, count: Ints, tokens: Ints, pick: Pick) -> Any:
    """What short micro-batches, quantised weights and great numbers of GPUs leave of the rate."""
    training = speed_constants().training
    unpacks = job.peft and sizing_constants().weights[job.weight_precision].body < 2.0
    half = training.half_tokens_qlora if unpacks else training.half_tokens
    filled = tokens / (tokens + {"value": half.value, "low": half.high, "high": half.low}[pick])
    if unpacks:
        filled = filled * training.qlora_share.at(pick)
    doublings = np.log2(np.maximum(1.0, count / training.scale_from_gpus.value))
    return filled * np.maximum(0.3, 1.0 - training.scale_loss_per_doubling.value * doublings)


def _tensor_exchange_s(job: Job, shape: Shape, split: Split, tokens: Ints) -> Any:
    """Four all-reduces a layer and micro-batch, six with recomputation; they stand in the way of the computation."""
    rounds = 4 + 2 * _recomputed(job)
    rows = split.rows
    once = all_reduce_s(2.0 * shape.hidden * tokens, rows.tensor, split.tensor_link)
    return rounds * shape.layers / rows.pipeline * once


def _expert_exchange_s(job: Job, shape: Shape, split: Split, tokens: Ints) -> Any:
    """Tokens go to their experts and back, forward and backward: four all-to-alls of k copies a layer."""
    if not shape.experts_per_token:
        return 0.0
    rows = split.rows
    spread = expert_spread(job, shape, rows)
    within = np.minimum(spread, split.per_node)
    nodes = spread / within
    copies = shape.experts_per_token
    near = within * (1.0 - (1.0 - 1.0 / within) ** copies) * (within - 1) / within
    far = (nodes - 1) * (1.0 - (1.0 - 1.0 / nodes) ** copies)
    sent = 2.0 * shape.hidden * tokens / rows.tensor / 1e9 * (near / split.link.gbs + far / split.node.gbs)
    return (4 + 2 * _recomputed(job)) * shape.sparse_layers / rows.pipeline * sent


def _trained_params(job: Job, shape: Shape) -> float:
    if not job.peft:
        return shape.params
    # Rank r on every linear layer: r x (inputs + outputs), about 18 r h a layer in a gated block.
    return job.lora_rank * shape.layers * 18.0 * shape.hidden


def _optimizer_s(job: Job, shape: Shape, bandwidth: Floats, rows: Rows) -> Any:
    """Time to read and write states once a step; none where the bandwidth is not known."""
    shards = np.where(rows.sharded("none"), 1, rows.data)
    share = _trained_params(job, shape) / (rows.tensor * rows.pipeline * shards)
    return np.nan_to_num(share * speed_constants().training.optimizer_bytes.value / (bandwidth * 0.8))
