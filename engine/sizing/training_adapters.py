"""Memory of training under adapters: the frozen base model, the adapters, and modules that learn whole beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.encoders import learns_encoders
from whichgpu.engine.sizing.experts import expert_adapters, expert_spread, gathered_layer, layers_on_rank
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import wide_ends
from whichgpu.engine.sizing.model import PartColumn
from whichgpu.engine.sizing.rank_shares import trained_stage
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.serving import layer_bytes
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import drops_gradients, shards, weights_stay
from whichgpu.engine.sizing.training_activations import adapter_params
from whichgpu.engine.sizing.training_terms import (
    ADAPTERS,
    AROUND_FROZEN,
    DEQUANT,
    FROZEN,
    LIVE_LAYER,
    TRAINED_ENCODERS,
    TRAINED_ENDS,
    UNPACKED,
)
from whichgpu.engine.sizing.zero import gathered_elements, in_third_stage


def append_frozen_base(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> None:
    """Append the base model under adapters, in its own format."""
    tensor = rows.tensor
    weight = sizing_constants().weights[job.weight_precision]
    over = shards(rows)[0]
    layer_params, end_params = trained_stage(job, shape, rows.pipeline)
    ends = (4.0 if wide_ends(job) else 2.0) if weight.ends_16bit else weight.body
    whole_body = layer_bytes(job, shape, weight, 1)
    # Scales are no parameters: they are neither sharded nor offloaded.
    body = layer_bytes(job, shape, replace(weight, body=weight.body - weight.scales), 1)
    in_layers = layers_on_rank(job, shape, rows, layer_params)
    scales = in_layers * (whole_body - body) / 1e9
    frozen = (in_layers * body + end_params * ends / tensor) / 1e9
    layer, root = gathered_layer(job, shape, rows) * body / 1e9, end_params * ends / tensor / 1e9
    # FSDP fetches the next layer while one runs, and keeps what is in no layer together all the time. Shards that wait
    # in host memory come before they are joined, through a stream whose blocks the others do not use.
    fetches, fetched = rows.sharded("fsdp"), 2.0 * layer + root
    waits = job.cpu_offload & ~weights_stay(job, rows)
    fetched = fetched + np.where(waits, (layer + root) / over, 0.0)
    one = max(shape.layer_params * body, shape.embedding * ends) / tensor
    # An element of what is packed is a byte of several parameters.
    element = max(1.0, body)
    whole = gathered_elements(job, frozen * 1e9 / element, one / element, shape.hidden) * element / 1e9
    deep = in_third_stage(job, rows)
    gathered = np.where(fetches, fetched, whole)
    spread = (over > 1) & ~waits
    few = np.where(fetches, fetched, np.where(deep, whole, 2.0 * one / 1e9))
    frozen = np.where(waits, np.minimum(frozen, few), frozen / over)
    on_rank = (in_layers + end_params / tensor) / 1e9
    inputs = (gathered_layer(job, shape, rows) / 1e9, weight.body, end_params / tensor / 1e9)
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


def append_adapters(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any]:
    """Append adapters and what is trained beside them; give how many parameters learn, and gradients that go, GB."""
    trained = adapter_params(shape, job.lora_rank, job.lora_targets) / (rows.tensor * rows.pipeline)
    trained = trained + expert_adapters(job, shape) / (expert_spread(job, shape, rows) * rows.pipeline)
    kept_here, gradients = _bytes_here(job, rows)
    releases = job.gradient_accumulation == 1 and drops_gradients(job)
    released = trained * gradients / 1e9 if releases else 0.0
    kept_here = kept_here + (0.0 if releases else gradients)
    parts.append(PartColumn(ADAPTERS, trained * kept_here / 1e9, (trained / 1e6, job.lora_rank, kept_here)))
    states = _whole_beside_adapters(job, rows)
    if job.trains_embeddings:
        # Copies beside the frozen originals, with gradients and moments.
        ends = trained_stage(job, shape, rows.pipeline)[1] / rows.tensor
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
    waits = job.cpu_offload and not job.weights_not_offloaded
    here = np.where(rows.sharded("fsdp"), 0.0 if waits else each / shards(rows)[0], each)
    return here + moments, here


def _whole_beside_adapters(job: Job, rows: Rows) -> Any:
    """Bytes of gradients and moments for each parameter of a module that is trained whole beside adapters.

    In the type of the base, as PEFT leaves such modules; ZeRO keeps moments and a master copy in 32 bits.
    """
    element = 4.0 if job.weight_precision == "fp32" else 2.0
    _, over_gradients, over_states = shards(rows)
    zero = rows.sharded("zero1", "zero2", "zero3") | (job.framework == "deepspeed")
    return element / over_gradients + np.where(zero, 12.0, 2.0 * element) / over_states
