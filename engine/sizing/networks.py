"""Memory of vision networks, speech recognisers, and networks known only by their size."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.band_formulas import band_formulas
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import Band, MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.network_maps import SHARE, feature_maps, training_activation
from whichgpu.engine.sizing.network_scores import scores_and_matching
from whichgpu.engine.sizing.rows import Floats, Ints, Rows, ceiling
from whichgpu.engine.sizing.speech_memory import loads_in_32_bits, speech_cache
from whichgpu.engine.sizing.states import shards
from whichgpu.engine.sizing.training import Block, overlap_gradients, step_part, trained_states
from whichgpu.engine.sizing.training_adapters import bytes_of_an_adapter
from whichgpu.engine.sizing.training_band import with_runtime_and_band
from whichgpu.engine.sizing.training_terms import ADAPTERS, ALLOCATOR, CONTEXT, FROZEN


_WEIGHTS = TermKind(
    "weights",
    "parameters x bytes",
    ("parameters_b", "bytes_per_parameter", "models"),
    "thunder, gmi: bytes x parameters",
)


def network_memory(job: Job, rows: Rows) -> MemoryColumns:
    """Memory per GPU of a vision, speech or other network, for each row."""
    params_b = job.params_b or 0.0
    return _training(job, params_b, rows) if job.training else _inference(job, params_b, rows)


def _inference(job: Job, params_b: float, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    stated_bytes = per = constants.weights[job.weight_precision].body
    if loads_in_32_bits(job):
        per = constants.other.speech_weight_bytes.value
    # A program may keep 32 bits whatever precision is stated: openai/whisper does.
    most = constants.other.speech_weight_bytes.value if job.family == "speech" and not job.engine_stated else per
    models = ceiling(job.models_served, rows.data)
    weights = params_b * per * models / (rows.tensor * rows.pipeline)
    activation = _inference_activation(job, params_b, weights, ceiling(rows.batch, rows.data))
    tensors = weights + activation.gb
    parts = (
        PartColumn(_WEIGHTS, weights, (params_b, per, models)),
        activation,
        PartColumn(ALLOCATOR, constants.allocator.one_gpu * tensors, (constants.allocator.one_gpu,)),
        PartColumn(CONTEXT, rows.context_gb, (rows.count,)),
    )
    shares = band_formulas().networks
    low_gb, _ = shares.ends(weights * min(1.0, stated_bytes / per), activation.gb, rows.context_gb)
    _, high_gb = shares.ends(weights * max(1.0, most / per), activation.gb, rows.context_gb)
    band = Band(low_gb, high_gb, "feature maps and workspaces differ between networks of one size")
    return MemoryColumns(
        per_gpu_gb=total_gb(parts),
        find_band=lambda: band,
        allocated_gb=tensors,
        parts=parts,
        method="architecture" if job.model is not None else "rule of thumb",
    )


def _inference_activation(job: Job, params_b: float, weights: Floats, requests: Ints) -> PartColumn:
    constants = sizing_constants()
    if job.family == "vision":
        size = 4.0 if job.weight_precision == "fp32" else 2.0
        share = constants.vision.live_share.value
        return feature_maps(job).part(np.maximum(requests, 1), job.image_px, share, size)
    if job.family == "speech":
        return speech_cache(job, params_b, requests)
    share = constants.other.activations_share.value
    return PartColumn(SHARE, weights * share * requests, (requests, share))


def _training(job: Job, params_b: float, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    parts: list[PartColumn] = []
    workspace: Any = 0.0
    released: Any = 0.0
    params = params_b * 1e9 / rows.tensor / rows.pipeline
    if job.peft:
        weight, over = constants.weights[job.weight_precision], shards(rows)[0]
        per = (weight.body - weight.scales) / over + weight.scales
        inputs = (params_b, job.weight_precision, over, weight.scales)
        parts.append(PartColumn(FROZEN, params * per / 1e9, inputs))
        trained = 0.01 * params * job.lora_rank / 16.0
        states = bytes_of_an_adapter(job)
        parts.append(PartColumn(ADAPTERS, trained * states / 1e9, (trained / 1e6, job.lora_rank, states)))
    else:
        block = Block(params, 0.0, params / 24.0, params, params / 24.0)
        workspace, released = trained_states(job, block, rows, parts)
    activation = training_activation(job, params_b, rows.batch)
    parts.append(activation)
    parts += scores_and_matching(job, params_b, rows.batch)
    parts.append(step_part(workspace, overlap_gradients(job, params, released, activation.gb, rows, parts)))
    band = band_formulas().training
    plain = replace(job, checkpointing="none")
    unsure = job.family == "speech" and "gradient_checkpointing" in job.unstated
    kept = training_activation(plain, params_b, rows.batch).gb if unsure else 0.0
    known = job.model is not None
    # Of pictures that a segmenter sees whole only the long edge may be known.
    found = composed_network(job.model.name) if job.model is not None else None
    soft = activation.gb
    less_gb = band.short_edge_low.value * soft if found is not None and found.dense and not job.image_short_px else 0.0
    open_gb = band.kept_high_of_framework.value * kept
    return with_runtime_and_band(job, parts, rows, known=known, soft=soft, open_gb=open_gb, less_gb=less_gb)
