"""Memory of training a transformer: states, adapters, activations, logits, and what the runtime adds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.encoders import kept_gb, learns_encoders
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import wide_ends
from whichgpu.engine.sizing.learning import activations_gb, adapter_params, forward_gb, in_pipeline, logits_gb
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn
from whichgpu.engine.sizing.reinforcement import beside_the_actor, rollout_part, rollout_spare
from whichgpu.engine.sizing.replicas import cast_weights, replica_buckets
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.serving import layer_bytes
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.sharing import stage_params
from whichgpu.engine.sizing.states import shards, splits_models, state_bytes, weights_stay
from whichgpu.engine.sizing.training_band import finished
from whichgpu.engine.sizing.training_terms import (
    ACTIVATIONS,
    ADAPTERS,
    AROUND_FROZEN,
    DEQUANT,
    FROZEN,
    FROZEN_ENCODERS,
    GRADIENTS,
    LIVE_LAYER,
    LOGITS,
    OPTIMIZER,
    RELEASED,
    STEP,
    TRAINED_ENCODERS,
    TRAINED_ENDS,
    UNPACKED,
    WEIGHTS,
)
from whichgpu.engine.sizing.zero import beside_zero, gathered_bytes, gathered_elements, in_third_stage, zero_parts


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
    layer_params, end_params = stage_params(shape, rows.pipeline)
    if job.peft:
        _frozen(job, shape, rows, parts)
        trained, released = _adapters(job, shape, rows, parts)
        parts += replica_buckets(job, rows, trained)
    else:
        shape = _without_frozen_encoders(job, shape, rows, parts)
        layer_params, end_params = stage_params(shape, rows.pipeline)
        trained = _on_rank(job, shape, rows, layer_params, end_params)
        block = Block(
            trained,
            np.minimum(end_params, shape.embedding) / tensor,
            shape.largest_layer / tensor,
            (layer_params + end_params) / tensor,
            _gathered_layer(job, shape, rows),
            end_params / tensor,
            shape.hidden,
        )
        workspace, released = trained_states(job, block, rows, parts)
    parts += beside_the_actor(job, shape, rows, _on_rank(job, shape, rows, layer_params, end_params))
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
    zero = beside_zero(job, rows, trained, shape.hidden)
    parts += zero_parts(zero, trained, rows, np.maximum(freed, workspace))
    # Of a step whose peak is the optimiser's, what is never there together does not matter.
    apart = np.maximum(freed, workspace) - np.maximum(freed - apart, workspace)
    spare: Any = 0.0
    if job.rollout_here:
        parts.append(rollout_part(job, shape, rows, parts))
        spare = rollout_spare(job, shape, rows, parts)
    # No block that activations have left can hold the flat gradients, but all are given back where a card is full.
    held = np.minimum(freed, zero.flat)
    return finished(job, parts, rows, known=shape.known, soft=soft, open_gb=held, less_gb=spare, apart=apart)


def _looked_up(job: Job, shape: Shape, rows: Rows) -> Any:
    """Parameters of an embedding that nothing is multiplied with: one that is the head too is not among them."""
    apart = shape.head or job.family == "encoder"
    return np.minimum(stage_params(shape, rows.pipeline)[1], shape.embedding) / rows.tensor if apart else 0.0


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
    kept = kept + kept_gb(job, shape, micro_batch)
    # Logits arise on the last stage, where one micro-batch is in flight; the first stage holds them all.
    stages = np.minimum(pipeline, np.maximum(1, accumulation))
    over = np.maximum(0.0, logits_gb(job, shape, tensor, micro_batch) - kept * (1.0 - 1.0 / stages))
    logits = np.where(pipeline == 1, logits_gb(job, shape, tensor, micro_batch), over)
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


def _on_rank(job: Job, shape: Shape, rows: Rows, layer_params: Any, end_params: Any) -> Any:
    """Parameters whose weights and gradients lie on one rank, before sharding by ZeRO.

    Routed experts are spread over tensor and data ranks where the job says so, or where its framework or a pipeline
    shows that it is trained in the manner of Megatron; sharded weights (ZeRO-3, FSDP) are spread already.
    """
    tensor = rows.tensor
    whole = (layer_params + end_params) / tensor
    if not shape.expert_params:
        return whole
    routed = layer_params * min(1.0, shape.expert_params / shape.body)
    spread = expert_spread(job, shape, rows)
    return np.where(rows.sharded("zero3", "fsdp"), whole, whole - routed / tensor + routed / spread)


def _gathered_layer(job: Job, shape: Shape, rows: Rows) -> Any:
    """Parameters of a layer that FSDP gathers: experts that a job spreads over its ranks stay where they are."""
    whole = shape.layer_params / rows.tensor
    if not job.expert_parallel or not shape.expert_params:
        return whole
    routed = shape.layer_params * min(1.0, shape.expert_params / shape.body)
    return whole - routed / rows.tensor + routed / expert_spread(job, shape, rows)


def expert_spread(job: Job, shape: Shape, rows: Rows) -> Any:
    """GPUs over which the routed experts of a layer are spread."""
    wanted = job.expert_parallel or np.where((rows.pipeline > 1) | splits_models(job), shape.experts, 1)
    return np.maximum(rows.tensor, np.minimum(np.minimum(wanted, rows.tensor * rows.data), max(1, shape.experts)))


def _frozen(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> None:
    """The base model under adapters, in its own format."""
    tensor = rows.tensor
    weight = sizing_constants().weights[job.weight_precision]
    over = shards(rows)[0]
    layer_params, end_params = stage_params(shape, rows.pipeline)
    ends = (4.0 if wide_ends(job) else 2.0) if weight.ends_16bit else weight.body
    whole_body = layer_bytes(job, shape, weight, 1)
    # Scales are no parameters: they are neither sharded nor offloaded.
    body = layer_bytes(job, shape, replace(weight, body=weight.body - weight.scales), 1)
    scales = layer_params * (whole_body - body) / tensor / 1e9
    frozen = (layer_params * body + end_params * ends) / tensor / 1e9
    layer, root = _gathered_layer(job, shape, rows) * body / 1e9, end_params * ends / tensor / 1e9
    # FSDP fetches the next layer while one runs, and keeps what is in no layer together all the time. Shards that wait
    # in host memory come before they are joined, through a stream whose blocks the others do not use.
    fetches, fetched = rows.sharded("fsdp"), 2.0 * layer + root
    if job.cpu_offload:
        fetched = fetched + (layer + root) / over
    one = max(shape.layer_params * body, shape.embedding * ends) / tensor
    # An element of what is packed is a byte of several parameters.
    element = max(1.0, body)
    whole = gathered_elements(job, frozen * 1e9 / element, one / element, shape.hidden) * element / 1e9
    deep = in_third_stage(job, rows)
    gathered = np.where(fetches, fetched, whole)
    spread = (over > 1) & (not job.cpu_offload)
    few = np.where(fetches, fetched, np.where(deep, whole, 2.0 * one / 1e9))
    waits = job.cpu_offload & ~weights_stay(job, rows)
    frozen = np.where(waits, np.minimum(frozen, few), frozen / over)
    on_rank = (layer_params + end_params) / tensor / 1e9
    inputs = (_gathered_layer(job, shape, rows) / 1e9, weight.body, end_params / tensor / 1e9)
    parts.append(PartColumn(LIVE_LAYER, np.where(spread, gathered, 0.0), inputs, spread))
    parts.append(PartColumn(FROZEN, frozen + scales, (on_rank, job.weight_precision, over, weight.scales)))
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    if defaults is not None and defaults.trains_around_frozen:
        around = np.where(spread, frozen + layer, 0.0)
        parts.append(PartColumn(AROUND_FROZEN, around, (on_rank, over), spread))
    if weight.body < 2.0:
        matrix = 1.0 * shape.hidden * shape.intermediate / tensor
        parts.append(PartColumn(DEQUANT, matrix * 2.0 / 1e9, (matrix / 1e6,)))
    if job.weight_precision.startswith("gptq"):
        unpacked = (shape.body - shape.encoders) / shape.layers / tensor
        kept_layers = shape.layers / rows.pipeline if job.checkpointing == "none" else 1.0
        parts.append(PartColumn(UNPACKED, unpacked * kept_layers * 2.0 / 1e9, (unpacked / 1e6, kept_layers)))


def _adapters(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any]:
    """Append adapters and what is trained beside them; give how many parameters learn, and gradients that go, GB."""
    trained = adapter_params(shape, job.lora_rank, job.lora_targets) / (rows.tensor * rows.pipeline)
    kept_here, gradients = _bytes_here(job, rows)
    # A step of one micro-batch has none of its gradients yet when the loss is taken.
    released = trained * gradients / 1e9 if job.gradient_accumulation == 1 else 0.0
    kept_here = kept_here + (0.0 if job.gradient_accumulation == 1 else gradients)
    parts.append(PartColumn(ADAPTERS, trained * kept_here / 1e9, (trained / 1e6, job.lora_rank, kept_here)))
    states = _whole_beside_adapters(job, rows)
    if job.trains_embeddings:
        # Copies beside the frozen originals, with gradients and moments.
        ends = stage_params(shape, rows.pipeline)[1] / rows.tensor
        copied = states + (4.0 if job.weight_precision == "fp32" else 2.0)
        parts.append(PartColumn(TRAINED_ENDS, ends * copied / 1e9, (ends / 1e6, copied)))
        trained = trained + ends
    if shape.encoders and learns_encoders(job):
        learnt = shape.encoders / (rows.tensor * rows.pipeline)
        parts.append(PartColumn(TRAINED_ENCODERS, learnt * states / 1e9, (learnt / 1e6, states)))
        trained = trained + learnt
    return trained, released


def bytes_of_an_adapter(job: Job) -> float:
    """Bytes of a parameter of an adapter with its gradient and moments, in its own type throughout."""
    training = sizing_constants().training
    if job.narrow_adapters is not None:
        return training.adapter_bytes.value * (0.5 if job.narrow_adapters else 1.0)
    defaults = training.frameworks.get(job.framework or "")
    return defaults.adapter_bytes if defaults and defaults.adapter_bytes else training.adapter_bytes.value


def _bytes_here(job: Job, rows: Rows) -> tuple[Any, Any]:
    """Bytes of an adapter's parameter on a rank: weight and moments, and its gradient.

    FSDP makes adapters units of their own (PEFT's fsdp_auto_wrap_policy) and shards all of them; where weights wait in
    host memory theirs and their moments do too. DeepSpeed's third stage leaves so small parameters whole
    (stage3_param_persistence_threshold); what it offloads are moments.
    """
    per = bytes_of_an_adapter(job)
    each = 0.25 * per  # as much for a gradient; two moments take the other half
    moments = 0.0 if job.cpu_offload else (2.0 if job.optimizer.endswith("8bit") else 0.5 * per) / shards(rows)[2]
    here = np.where(rows.sharded("fsdp"), 0.0 if job.cpu_offload else each / shards(rows)[0], each)
    return here + moments, here


def _whole_beside_adapters(job: Job, rows: Rows) -> Any:
    """Bytes of gradients and moments for each parameter of a module that is trained whole beside adapters.

    In the type of the base, as PEFT leaves such modules; ZeRO keeps moments and a master copy in 32 bits.
    """
    element = 4.0 if job.weight_precision == "fp32" else 2.0
    _, over_gradients, over_states = shards(rows)
    zero = rows.sharded("zero1", "zero2", "zero3") | (job.framework == "deepspeed")
    return element / over_gradients + np.where(zero, 12.0, 2.0 * element) / over_states


def trained_states(job: Job, block: Block, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any]:
    """Append weights, gradients and optimiser state; give the step's workspace and gradients released between steps."""
    training = sizing_constants().training
    per = state_bytes(job)
    over_weights, over_gradients, over_states = shards(rows)
    count = block.params / 1e9
    defaults = training.frameworks.get(job.framework or "")
    if job.cpu_offload:
        # Below the third stage only optimiser state and master weights wait in host memory. Above it two layers are on
        # the GPU at a time, with their weights and gradients.
        stay = weights_stay(job, rows)
        # DeepSpeed keeps further layers gathered.
        both = per.weights + per.gradients
        two = np.minimum(block.params, 2.0 * block.largest) * both
        deep = gathered_bytes(job, block.params, block.largest, block.width)
        live = np.where(in_third_stage(job, rows), deep, two) / 1e9
        weights = np.where(stay, count * per.weights, live)
        inputs = (count, np.where(stay, per.weights, both), np.where(stay, 1, over_weights))
        parts.append(PartColumn(WEIGHTS, weights, inputs))
        gradients = np.where(stay, count * per.gradients / over_gradients, 0.0)
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients), stay))
        return 0.0, 0.0
    # A step of one micro-batch sets its gradients to none at its end; over several they lie beside the next one's loss.
    once = job.gradient_accumulation == 1
    releases = once or job.optimizer_in_backward or (defaults is not None and defaults.releases_gradients)
    parts.append(PartColumn(WEIGHTS, count * per.weights / over_weights, (count, per.weights, over_weights)))
    gradients = (block.largest / 1e9 if job.optimizer_in_backward else count) * per.gradients / over_gradients
    if not releases:
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients)))
    parts += replica_buckets(job, rows, block.params)
    stepped = block.stepped / 1e9
    state = (stepped * per.optimizer + block.embeddings * per.embedding_extra / 1e9) / over_states
    parts.append(PartColumn(OPTIMIZER, state, (stepped, job.optimizer, per.optimizer, over_states)))
    gathers = over_weights > 1
    wide = 2.0 if job.recipe == "fp32" else 1.0
    # FSDP fetches the next layer while one has its gradients, and keeps what is in no layer together all the time.
    fetched = wide * (block.layer * training.fetched_layer_bytes.value + block.ends * 2.0) / 1e9
    live = np.where(rows.sharded("fsdp"), fetched, gathered_bytes(job, block.params, block.largest, block.width) / 1e9)
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
