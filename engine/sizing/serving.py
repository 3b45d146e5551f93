"""Memory of serving a language model: weights, key-value cache, and what the engine takes beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.band_formulas import band_formulas
from whichgpu.engine.sizing.constants import EngineReserve, WeightFormat, sizing_constants
from whichgpu.engine.sizing.encoders import encoder_working_gb
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import Band, MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.rank_shares import (
    cached_bytes_per_sequence,
    expert_sharers,
    fullest_stage,
    routed_params,
    stage_params,
)
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.serving_plain import (
    cache_twice,
    holds_two_caches,
    joined_held,
    joined_matrices_gb,
    passing_bytes,
    prompt_logits_gb,
    prompt_logits_left_open_gb,
    scores_gb,
)
from whichgpu.engine.sizing.serving_reserve import GIB, kept_ends, kept_free_gb, reserve_of
from whichgpu.engine.sizing.shape import Shape


#: Formats that several quantisers write, some of them for embedding and head too.
_OF_SEVERAL = frozenset({"int8", "int4", "nf4", "nf4-dq", "fp4"})

_WEIGHTS = TermKind(
    "weights",
    "(layers' parameters x bytes + embedding and head x their bytes) on the fullest stage / tensor ranks",
    ("parameters_b", "weight_precision", "bytes_per_parameter", "tensor", "pipeline", "models"),
    "exact counts from the architecture: 0.84 % mean error over 49 vLLM runs (llm-d-planner, vLLM 0.19 report)",
)
_WEIGHTS_RULE = TermKind(
    "weights",
    "parameters x bytes per parameter / (tensor ranks x stages)",
    _WEIGHTS.inputs,
    "thunder/model-size-calculations, gmi: bytes x parameters",
)
_CACHE = TermKind(
    "kv_cache",
    "sequences x 2 x KV heads on the rank x head size x bytes x (full layers x context + window layers x window);"
    " twice where a step joins old and new into another cache",
    ("sequences", "context_tokens", "kv_precision", "gb_per_sequence"),
    "vLLM pool / tokens agree to the byte (llm-d-planner); latents are copied on every tensor rank (KAITO, InferSim)",
)
_ACTIVATIONS = TermKind(
    "activations",
    "peak of the engine's largest step, which it keeps free: tokens x (3 x feed-forward width / tensor ranks + 3 x"
    " hidden) x 2 bytes, or sequences x vocabulary x bytes of its sampler; of engines that were not read, by version",
    ("engine", "version", "pipeline"),
    "vLLM profile_run and _dummy_sampler_run; see knowledge/sizing.yaml, engines",
)
_PREFILL = TermKind(
    "activations",
    "sequences x prompt tokens x (3 x feed-forward width + 3 x hidden) x 2 bytes / tensor ranks, and 10 bytes a score"
    " of eager attention; at least what a step holds of the cache twice; a third of it and of the cache where layers"
    " join a prompt's caches",
    ("sequences", "input_tokens", "hidden", "intermediate", "tensor"),
    "gate, up and product of one layer live at once, as traced, and as runs of transformers 5.17 on an H100 have it;"
    " up to 4.44 what the head answers for all tokens, where that is more",
)
_OUTSIDE = TermKind(
    "context",
    "driver context, libraries and, when split, collective buffers",
    ("engine", "ranks"),
    "see knowledge/sizing.yaml, engines",
)
_GRAPHS = TermKind("graphs", "captured CUDA graphs", ("engine",), "see knowledge/sizing.yaml, engines")


def serving_memory(job: Job, shape: Shape, rows: Rows) -> MemoryColumns:
    """Memory per GPU of serving ``job`` for each row; data ranks share the requests and the models."""
    tensor, pipeline = rows.tensor, rows.pipeline
    weight = sizing_constants().weights[job.weight_precision]
    models = ceiling(job.models_served, rows.data)
    weights = models * _weights_gb(job, shape, weight, rows)
    sequences = ceiling(rows.batch, rows.data) * _beams(job)
    reserve = reserve_of(job.engine, job.engine_version)
    ranks = tensor * pipeline
    talking = (ranks > 1) | (expert_sharers(job, rows) > 1)
    outside = np.where(talking, reserve.outside_split_gib, reserve.outside_gib) * GIB
    inputs: tuple[Any, ...] = (shape.params / 1e9, job.weight_precision, weight.body, tensor, pipeline, models)
    parts = [PartColumn(_WEIGHTS if shape.known else _WEIGHTS_RULE, weights, inputs)]
    may_be: Any = 0.0
    twice, cache = 0.0, np.zeros(len(tensor))  # An encoder reads its input once and caches nothing.
    if job.family != "encoder":
        # A whole second cache counts as cache; one layer's keys at another time than a prompt's peak.
        beside = holds_two_caches(job, shape)
        twice = 0.0 if beside else cache_twice(job, shape)
        per_sequence = _cache_of_a_sequence_gb(job, shape, rows) * (2.0 if beside else 1.0)
        cache = sequences * per_sequence
        parts.append(PartColumn(_CACHE, cache, (sequences, job.context_tokens, job.kv_precision, per_sequence)))
    if reserve.keeps_free:
        activation = kept_free_gb(job, shape, rows)
        parts.append(PartColumn(_ACTIVATIONS, activation, (job.engine, job.engine_version or "unstated", pipeline)))
    else:
        activation = np.maximum(_prompts_gb(job, shape, sequences, rows), cache * twice)
        held, further = joined_held(job)
        activation, may_be = activation + held * (cache + activation), further * (cache + activation)
        inputs = (sequences, job.input_tokens, shape.hidden, shape.intermediate, tensor)
        parts.append(PartColumn(_PREFILL, activation, inputs))
    parts.append(PartColumn(_OUTSIDE, outside, (job.engine, ranks)))
    if reserve.graphs_gib:
        parts.append(PartColumn(_GRAPHS, reserve.graphs_gib * GIB + np.zeros(len(tensor)), (job.engine,)))
    total = total_gb(parts)

    def band() -> Band:
        low, high, reason = _band(
            job,
            shape,
            reserve,
            kept=kept_ends(job, shape, rows, reserve),
            bytes_per=weight.body,
            weights=weights,
            cache=cache,
            activation=activation,
            most=np.maximum(activation + may_be, sequences * prompt_logits_left_open_gb(job, shape) / tensor),
            outside=outside,
            ends_in_16_bits=_ends_in_16_bits(job, shape, weight, rows),
        )
        return Band(np.minimum(low, total), np.maximum(high, total), reason)

    return MemoryColumns(
        per_gpu_gb=total,
        find_band=band,
        allocated_gb=weights + cache + activation,
        parts=tuple(parts),
        method="architecture" if shape.known else "rule of thumb",
    )


def _cache_of_a_sequence_gb(job: Job, shape: Shape, rows: Rows) -> Any:
    """Keys and values of a sequence of the whole context, on the stage that has most of them."""
    element, block = sizing_constants().kv_cache[job.kv_precision], 1 if job.engine == "transformers" else 16
    cached = cached_bytes_per_sequence(shape, job.context_tokens, element, rows.tensor, block)
    return cached * fullest_stage(shape, rows.pipeline)[0] / 1e9


def _prompts_gb(job: Job, shape: Shape, sequences: Any, rows: Rows) -> Any:
    """What lies on a GPU at the peak while prompts pass through, without an engine that keeps memory free for it."""
    tensor = rows.tensor
    found = sequences * job.input_tokens * passing_bytes(shape) / tensor / 1e9
    found = found + sequences * scores_gb(job, shape) / tensor
    found = np.maximum(found, sequences * prompt_logits_gb(job, shape) / tensor)
    found = np.maximum(found, joined_matrices_gb(job, shape) / (tensor * rows.pipeline))
    return np.maximum(found, encoder_working_gb(job, shape, sequences) / tensor) if shape.encoders else found


def _beams(job: Job) -> int:
    """Texts of a request whose caches lie side by side.

    transformers repeats the prompt for each beam (generation/utils.py, _expand_inputs_for_generation); engines of pages
    let the beams of a search share theirs.
    """
    return job.beams or 1 if job.engine == "transformers" else 1


def granted_gb(job: Job, usable_gb: Any) -> Any:
    """What a job may take of cards in GB: all that they offer, or the share to which a stated engine keeps by default.

    Captured graphs lie outside that share, as the engine captures them after it has divided the memory.
    """
    if (
        not job.engine_stated
        or job.training
        or job.shape is None
        or job.family == "encoder"
        or job.engine == "transformers"
    ):
        return usable_gb
    reserve = reserve_of(job.engine, job.engine_version)
    return np.minimum(usable_gb, reserve.card_share * usable_gb + reserve.graphs_gib * GIB)


def _weights_gb(job: Job, shape: Shape, weight: WeightFormat, rows: Rows) -> Any:
    tensor = rows.tensor
    layer_params, end_params = stage_params(shape, rows.pipeline)
    ends = 2.0 if weight.ends_16bit else weight.body
    gb = (
        (layer_params * layer_bytes(job, shape, weight, tensor, expert_sharers(job, rows)) + end_params * ends)
        / tensor
        / 1e9
    )
    if job.cpu_offload:  # Two layers pass over the GPU at a time, the rest waits in host memory.
        gb = np.minimum(gb, 2.0 * shape.largest_layer * max(ends, weight.body) / tensor / 1e9)
    return gb


def layer_bytes(job: Job, shape: Shape, weight: WeightFormat, tensor: Any, sharers: Any = 1) -> Any:
    """Bytes on a replica for each parameter in the layers. MXFP4 is a format of experts: the rest stays in 16 bits.

    Its kernels want the sides of the experts rounded up. Experts may have a format of their own, and so many
    ``sharers`` may hold them together.
    """
    routed = routed_params(shape)[0] / shape.body
    if shape.encoders and weight.ends_16bit and job.weight_precision not in sizing_constants().fused_experts.formats:
        share = min(1.0, shape.encoders / shape.body)  # Published checkpoints leave encoders in 16 bits.
        within = replace(shape, encoders=0.0)
        return share * 2.0 + (1.0 - share) * layer_bytes(job, within, weight, tensor, sharers)
    if job.expert_precision is not None and shape.expert_params:
        own = sizing_constants().weights[job.expert_precision].body
        return routed * own / sharers + (1.0 - routed) * weight.body
    moe = job.model.moe if job.model is not None else None
    if job.weight_precision != "mxfp4" or not shape.expert_params or moe is None or not moe.expert_intermediate:
        return weight.body * (1.0 - routed * (1.0 - 1.0 / sharers))
    padding = sizing_constants().mxfp4_padding
    width = ceiling(moe.expert_intermediate, tensor)
    grown = ceiling(shape.hidden, padding.hidden) * padding.hidden / shape.hidden
    grown = grown * (ceiling(width, padding.intermediate) * padding.intermediate / width)
    return routed * weight.body * grown / sharers + (1.0 - routed) * 2.0


def _band(
    job: Job,
    shape: Shape,
    reserve: EngineReserve,
    *,
    kept: tuple[Any, Any],
    bytes_per: float,
    weights: Any,
    cache: Any,
    activation: Any,
    most: Any,
    outside: Any,
    ends_in_16_bits: Any,
) -> tuple[Any, Any, str]:
    band = band_formulas().serving
    split = np.maximum(0.0, outside - reserve.outside_gib * GIB)
    if reserve.keeps_free:
        # An engine that is only assumed may be one that keeps nothing free.
        low_rest = kept[0] if job.engine_stated else 0.0
        high_rest = kept[1] + split
        if reserve.whole_prompts_to is not None:
            low_rest, high_rest = low_rest + band.prompts_low.value * activation, high_rest + activation
    else:
        # Where the version is known, so is most of what a prompt takes.
        low_rest = band.versioned_low.value * activation if job.engine_version is not None else 0.0
        high_rest = band.most_high.value * most + reserve.high_gib * GIB
    reason = "the engine's reserve varies by version, model family and settings"
    low_cache = cache
    if "context_tokens" in job.unstated:
        low_cache, reason = band.context_open_low.value * cache, f"no context length is stated; {reason}"
    if shape.known:
        spread = band.loaded.value + (band.exact if shape.exact else band.architecture).value
        spread += 0.0 if bytes_per >= 2.0 else band.quantised.value
        low = (weights - ends_in_16_bits) * (1.0 - spread) + low_cache + low_rest
        high = weights * (1.0 + spread) + cache * band.cache_high.value + high_rest
        return low, high, reason
    typical = sizing_constants().typical
    low = weights * typical.low_factor + band.size_alone_cache_low.value * low_cache + low_rest
    high = weights * typical.high_factor + band.size_alone_cache_high.value * cache + high_rest
    return low, high, "only the size is known: cache and reserve are those of a typical model of that size"


def _ends_in_16_bits(job: Job, shape: Shape, weight: WeightFormat, rows: Rows) -> Any:
    """What embedding and head take beyond the format of the layers, where the format is no one quantiser's, in GB.

    GPTQ, AWQ and FP8 checkpoints keep both in 16 bits; others that are called 8 or 4 bits may not.
    """
    if job.weight_precision not in _OF_SEVERAL or job.cpu_offload:
        return 0.0
    ends = stage_params(shape, rows.pipeline)[1]
    return ends * (2.0 - weight.body) / rows.tensor / 1e9
