"""Memory of training a transformer: states, adapters, activations, logits, and what the runtime adds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.data_parallel_buffers import cast_weights, replica_buckets
from whichgpu.engine.sizing.encoders import encoder_kept_gb, learns_encoders
from whichgpu.engine.sizing.experts import gathered_layer, layers_on_rank
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn
from whichgpu.engine.sizing.rank_shares import trained_stage
from whichgpu.engine.sizing.reinforcement import beside_the_actor, rollout_part, rollout_spare
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import drops_gradients, gradients_stay, shards, state_bytes, weights_stay
from whichgpu.engine.sizing.training_activations import activations_gb, forward_gb, in_pipeline, logits_gb, scored_gb
from whichgpu.engine.sizing.training_adapters import append_adapters, append_frozen_base, bytes_of_an_adapter
from whichgpu.engine.sizing.training_band import with_runtime_and_band
from whichgpu.engine.sizing.training_terms import (
    ACTIVATIONS,
    FROZEN_ENCODERS,
    GRADIENTS,
    LIVE_LAYER,
    LOGITS,
    OPTIMIZER,
    RELEASED,
    STEP,
    WEIGHTS,
)
from whichgpu.engine.sizing.zero import gathered_bytes, in_third_stage, zero_buffers, zero_parts


class Block(NamedTuple):
    """What lies on one rank before sharding: parameters, those of embeddings among them, and of the largest layer."""

    params: Any
    embeddings: Any
    largest: Any
    stepped: Any  # parameters whose optimiser state counts here
    layer: Any  # parameters of one layer
    ends: Any = 0.0  # of embedding and head
    width: float = 0.0  # of the stream between layers


def training_memory(job: Job, shape: Shape, rows: Rows) -> MemoryColumns:
    """Memory per GPU of one training step of ``job``, for each row."""
    tensor = rows.tensor
    parts: list[PartColumn] = []
    workspace = released = 0.0
    trained: Any
    layer_params, end_params = trained_stage(job, shape, rows.pipeline)
    if job.peft:
        append_frozen_base(job, shape, rows, parts)
        trained, released = append_adapters(job, shape, rows, parts)
        parts += replica_buckets(job, rows, trained)
    else:
        shape = _without_frozen_encoders(job, shape, rows, parts)
        layer_params, end_params = trained_stage(job, shape, rows.pipeline)
        trained = layers_on_rank(job, shape, rows, layer_params) + end_params / tensor
        block = Block(
            trained,
            np.minimum(end_params, shape.embedding) / tensor,
            shape.largest_layer / tensor,
            (layer_params + end_params) / tensor,
            gathered_layer(job, shape, rows),
            end_params / tensor,
            shape.hidden,
        )
        workspace, released = trained_states(job, block, rows, parts)
    on_rank = layers_on_rank(job, shape, rows, layer_params) + end_params / tensor
    parts += beside_the_actor(job, shape, rows, on_rank)
    one_layer, soft, apart = _passes(job, shape, rows, parts)
    cast = [] if job.peft else cast_weights(job, rows, trained - _looked_up(job, shape, rows), one_layer)
    parts += cast
    freed = soft + sum(part.gb for part in cast)
    if np.any(released):
        excess = np.maximum(0.0, released + one_layer - freed)
        freed = freed + excess - released  # Gradients are still there in the optimiser's step.
        each = 0.25 * bytes_of_an_adapter(job) if job.peft else state_bytes(job).gradients
        learnt = trained if job.peft else shape.params
        parts.append(PartColumn(RELEASED, excess, (learnt / 1e9, each, shards(rows)[1])))
    parts.append(step_part(workspace, freed))
    zero = zero_buffers(job, rows, trained, shape.hidden)
    parts += zero_parts(zero, trained, rows, np.maximum(freed, workspace))
    # Of a step whose peak is the optimiser's, what is never there together does not matter.
    apart = np.maximum(freed, workspace) - np.maximum(freed - apart, workspace)
    spare: Any = 0.0
    if job.rollout_here:
        parts.append(rollout_part(job, shape, rows, parts))
        spare = rollout_spare(job, shape, rows, parts)
    # No block that activations have left can hold the flat gradients, but all are given back where a card is full.
    held = np.minimum(freed, zero.flat)
    return with_runtime_and_band(
        job, parts, rows, known=shape.known, soft=soft, open_gb=held, less_gb=spare, apart=apart
    )


def _looked_up(job: Job, shape: Shape, rows: Rows) -> Any:
    """Parameters of an embedding that nothing is multiplied with: one that is the head too is not among them."""
    apart = shape.head or job.family == "encoder"
    return np.minimum(trained_stage(job, shape, rows.pipeline)[1], shape.embedding) / rows.tensor if apart else 0.0


def _without_frozen_encoders(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> Shape:
    """The shape that learns with the whole model; encoders that are said to be frozen lie beside it in 16 bits."""
    if not shape.encoders or learns_encoders(job):
        return shape
    frozen = shape.encoders / rows.tensor / shards(rows)[0]
    parts.append(PartColumn(FROZEN_ENCODERS, frozen * 2.0 / 1e9, (shape.encoders / 1e6, shards(rows)[0])))
    left = shape.params - shape.encoders
    each = (left - shape.embedding - shape.head) / shape.layers
    return replace(shape, params=left, layer_params=each, encoders=0.0)


def _passes(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any, Any]:
    """Append activations and logits; give one layer at work, what the step frees, and what is never there together, GB.

    The loss and the layer at work come one after the other. The backward pass of the layer uses what the loss leaves,
    unless lengths vary or FSDP gathers weights on streams of its own, for which the allocator keeps blocks apart: then
    both are held. The loss has no use for what the forward pass of the layer leaves.
    """
    micro_batch, accumulation = in_pipeline(job, rows)
    tensor, pipeline = rows.tensor, rows.pipeline
    kept, one_layer = activations_gb(job, shape, tensor, pipeline, micro_batch, accumulation)
    kept = kept + encoder_kept_gb(job, shape, micro_batch)
    # Logits arise on the last stage, where one micro-batch is in flight; the first stage holds them all.
    stages = np.minimum(pipeline, np.maximum(1, accumulation))
    over = np.maximum(0.0, logits_gb(job, shape, tensor, micro_batch) - kept * (1.0 - 1.0 / stages))
    logits = np.where(pipeline == 1, logits_gb(job, shape, tensor, micro_batch), over)
    logits = np.maximum(logits, scored_gb(job, shape, tensor, micro_batch) - kept)
    twice = np.minimum(logits, one_layer)
    left = np.minimum(twice, forward_gb(job, shape, tensor, micro_batch))
    again = np.minimum(twice, np.maximum(0.0, one_layer - left))
    reused = np.where((shards(rows)[0] == 1) & (not job.varying_lengths), again, 0.0)
    activations = kept + one_layer - reused
    settings = (micro_batch, job.seq_len_tokens, job.checkpointing, job.flash_attention, tensor, pipeline)
    parts.append(PartColumn(ACTIVATIONS, activations, settings))
    inputs = (micro_batch, job.seq_len_tokens, shape.vocab, job.chunked_loss)
    parts.append(PartColumn(LOGITS, logits, inputs, logits > 0))
    return one_layer, activations + logits, twice - reused


def step_part(workspace: Any, freed: Any) -> PartColumn:
    """The optimiser's workspace as far as it exceeds what the backward pass has freed by then, in GB."""
    more = workspace > freed
    return PartColumn(STEP, np.where(more, workspace - freed, 0.0), (workspace, freed), more)


def overlap_gradients(
    job: Job, params: Any, released: Any, activations: Any, rows: Rows, parts: list[PartColumn]
) -> Any:
    """Append gradients that come as activations go, as far as they exceed them; give what their step can still use."""
    if not np.any(released):
        return activations
    excess = np.maximum(0.0, released - activations)
    parts.append(PartColumn(RELEASED, excess, (params / 1e9, state_bytes(job).gradients, shards(rows)[1])))
    return activations + excess - released


def _fetched_gb(job: Job, block: Block) -> Any:
    """What FSDP has gathered: the next layer while one has its gradients, and always what is in no layer together."""
    wide = 2.0 if job.recipe == "fp32" else 1.0
    layer = block.layer * sizing_constants().training.fetched_layer_bytes.value
    return wide * (layer + block.ends * 2.0) / 1e9


def trained_states(job: Job, block: Block, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any]:
    """Append weights, gradients and optimiser state; give the step's workspace and gradients released between steps."""
    training = sizing_constants().training
    per = state_bytes(job)
    over_weights, over_gradients, over_states = shards(rows)
    count = block.params / 1e9
    defaults = training.frameworks.get(job.framework or "")
    if job.cpu_offload:
        # Below the third stage only optimiser state and master weights wait in host memory. Above it two layers are on
        # the GPU at a time, with their weights and gradients, unless weights are said to stay.
        stay, lie = weights_stay(job, rows), gradients_stay(job, rows)
        # DeepSpeed keeps further layers gathered.
        both = per.weights + per.gradients
        two = np.minimum(block.params, 2.0 * block.largest) * both
        deep = gathered_bytes(job, block.params, block.largest, block.width)
        live = np.where(in_third_stage(job, rows), deep, two) / 1e9
        weights = np.where(stay, count * per.weights / over_weights, live)
        inputs = (count, np.where(stay, per.weights, both), over_weights)
        parts.append(PartColumn(WEIGHTS, weights, inputs))
        gradients = np.where(lie, count * per.gradients / over_gradients, 0.0)
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients), lie))
        gathered = stay & (over_weights > 1)
        layer_inputs = (block.layer / 1e9, per.weights, block.ends / 1e9)
        whole = np.where(rows.sharded("fsdp"), _fetched_gb(job, block), deep / 1e9)
        parts.append(PartColumn(LIVE_LAYER, np.where(gathered, whole, 0.0), layer_inputs, gathered))
        return 0.0, 0.0
    releases = drops_gradients(job)
    parts.append(PartColumn(WEIGHTS, count * per.weights / over_weights, (count, per.weights, over_weights)))
    gradients = (block.largest / 1e9 if job.optimizer_in_backward else count) * per.gradients / over_gradients
    if not releases:
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients)))
    parts += replica_buckets(job, rows, block.params)
    stepped = block.stepped / 1e9
    state = (stepped * per.optimizer + block.embeddings * per.embedding_extra / 1e9) / over_states
    parts.append(PartColumn(OPTIMIZER, state, (stepped, job.optimizer, per.optimizer, over_states)))
    gathers = over_weights > 1
    whole = gathered_bytes(job, block.params, block.largest, block.width) / 1e9
    live = np.where(rows.sharded("fsdp"), _fetched_gb(job, block), whole)
    layer_inputs = (block.layer / 1e9, per.weights, block.ends / 1e9)
    parts.append(PartColumn(LIVE_LAYER, np.where(gathers, live, 0.0), layer_inputs, gathers))
    workspace: Any = 0.0
    flat = defaults is not None and defaults.steps_flat  # What such a step holds is counted with its flat gradients.
    if job.steps_at_once and not flat and not job.optimizer_in_backward and job.optimizer in {"adamw", "lamb"}:
        copy = 2.0 if job.recipe == "pure" else 4.0
        workspace = count * copy * training.foreach_workspace.value / over_states
        # DeepSpeed steps by kernels of its own, which hold none, as do most frameworks that shard: where none is named
        # ranks are not taken to hold one. When FSDP's ranks step, nothing is gathered any more.
        fused = rows.sharded("zero1", "zero2", "zero3") | (rows.sharded("fsdp") & job.steps_assumed)
        workspace = np.where(fused & (over_states > 1), 0.0, workspace)
        workspace = np.maximum(0.0, workspace - np.where(rows.sharded("fsdp") & gathers, live, 0.0))
    return workspace, gradients if releases else 0.0
