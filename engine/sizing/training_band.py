"""What the runtime adds to a training step, and how far its memory may lie from the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.band_formulas import band_formulas
from whichgpu.engine.sizing.communicators import collectives_gb, communicators, exchanging_peers
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import score_bytes_per_token
from whichgpu.engine.sizing.model import Band, MemoryColumns, PartColumn, total_gb
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.serving_reserve import GIB
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import allocator_share, shards
from whichgpu.engine.sizing.training_activations import activations_gb, in_pipeline, logits_gb
from whichgpu.engine.sizing.training_terms import (
    ACTIVATIONS,
    ADAPTERS,
    ALLOCATOR,
    COLLECTIVES,
    CONTEXT,
    FROZEN,
    GRADIENTS,
    OPTIMIZER,
    WEIGHTS,
)
from whichgpu.engine.sizing.versions import older


#: By which PyTorch's allocator takes memory for large blocks: 2 MiB.
_SEGMENT_GB = 2.0 / 1024.0 * GIB


def with_runtime_and_band(
    job: Job,
    parts: list[PartColumn],
    rows: Rows,
    *,
    known: bool,
    soft: Any,
    open_gb: Any = 0.0,
    less_gb: Any = 0.0,
    apart: Any = 0.0,
) -> MemoryColumns:
    """Append the summands of the runtime (allocator, context, collectives) and make the columns with their band.

    ``soft`` is the part that depends on the framework's defaults, ``open_gb`` what may come on top,
    ``less_gb`` what may be missing, ``apart`` what is held but never in use together, in GB.
    """
    constants = sizing_constants()
    tensors = total_gb(parts)
    fragmentation = constants.training.fragmentation.value * soft if job.varying_lengths else None
    share = allocator_share(rows)
    if fragmentation is not None:
        share = share + fragmentation / tensors
    groups, peers = communicators(job, rows), exchanging_peers(job, rows)
    collectives = collectives_gb(groups, peers)
    outside = rows.context_gb + collectives
    whole = tensors * (1.0 + share) + outside
    # A block that is held but not in use goes back where a card comes to its end (CUDACachingAllocator.cpp, which
    # releases cached segments and tries again where it can have no further one).
    spare = np.fmin(apart, np.fmax(0.0, whole + _SEGMENT_GB - rows.usable_gb) / (1.0 + share))
    if np.any(spare):
        parts[:] = [part._replace(gb=part.gb - spare) if part.kind is ACTIVATIONS else part for part in parts]
    parts.append(PartColumn(ALLOCATOR, (tensors - spare) * share, (share,)))
    parts.append(PartColumn(CONTEXT, rows.context_gb, (rows.count,)))
    parts.append(PartColumn(COLLECTIVES, collectives, (groups, peers), groups > 0))
    total = total_gb(parts)

    def band() -> Band:
        low, high, reason = _band(job, parts, rows, tensors, whole, soft, known=known)
        low, high = low - less_gb, high + open_gb
        if fragmentation is not None:
            # The ends of generators reach as far already.
            high = high + (0.0 if job.shape is None else constants.training.fragmentation_most.value * soft)
            reason += "; batches of varying length or shape fragment memory"
        return Band(np.maximum(0.0, np.minimum(low, total)), np.maximum(high, total), reason)

    return MemoryColumns(
        per_gpu_gb=total,
        find_band=band,
        allocated_gb=tensors - apart,
        parts=tuple(parts),
        method="architecture" if known else "rule of thumb",
    )


def _band(
    job: Job, parts: list[PartColumn], rows: Rows, tensors: Any, total: Any, soft: Any, *, known: bool
) -> tuple[Any, Any, str]:
    """From tensors alone, as allocators count, to the whole device; what is soft or left open widens both ends."""
    band = band_formulas().training
    ends = band.architecture if known else band.size_alone
    low, high = ends.low * tensors - ends.low_soft * soft, ends.high * total + ends.high_soft * soft
    reasons = ["frameworks keep different activations and workspaces"]
    if not known:
        reasons = ["only the size is known: activations are those of a typical model of that size"]
    elif job.kind == "qlora":
        high = high + band.quantised_high.value * total_gb(parts, FROZEN)
        reasons.append("quantised checkpoints differ")
    if job.master_open:
        low = low - band.no_master_low.value * total_gb(parts, WEIGHTS, GRADIENTS, OPTIMIZER)
        reasons.append("whether weights have a 32-bit copy is not stated")
    if job.shape is not None:
        for less, more, reason in _left_open(job, job.shape, parts, rows, soft):
            low, high = low - less, high + more
            reasons.append(reason)
    elif "batch_size_per_gpu" in job.unstated:
        low, high = low - band.batch_open.low * soft, high + band.batch_open.high * soft
        reasons.append("the micro-batch is not stated")
    if job.peft and not job.lora_rank_stated:
        # From 8 on ranks are usual: most often half or twice what is assumed.
        adapters, most = total_gb(parts, ADAPTERS), band.largest_rank.value
        low = low - (band.rank_low.value * adapters if job.lora_rank > 8 else 0.0)
        high = high + adapters * max(0.0, min(1.0, most / job.lora_rank - 1.0))
        reasons.append("the adapter rank is not stated")
    return low, high, "; ".join(reasons)


def _left_open(
    job: Job, shape: Shape, parts: list[PartColumn], rows: Rows, soft: Any
) -> Iterator[tuple[Any, Any, str]]:
    """What facts that are not stated may take from a transformer's low end and add to its high end, in GB, and why."""
    micro_batch, accumulation = in_pipeline(job, rows)
    band = band_formulas().training
    if job.unstated & {"seq_len_tokens", "batch_size_per_gpu"}:
        yield (
            band.lengths_open.low * soft,
            band.lengths_open.high * soft,
            "sequence length or micro-batch is not stated",
        )
    if job.steps_open and not job.peft and job.optimizer == "adamw" and not job.cpu_offload:
        # One further copy of the parameters, beside what the backward pass has left.
        copy = total_gb(parts, WEIGHTS) * (2.0 if job.recipe == "mixed" else 1.0)
        more = np.where(rows.sharded("none"), np.maximum(0.0, copy - soft), 0.0)
        yield 0.0, more, "whether the optimiser steps over all parameters at once is not stated"
    if job.checkpointing == "full" and "gradient_checkpointing" in job.unstated:
        plain = replace(job, checkpointing="none")
        kept = activations_gb(plain, shape, rows.tensor, rows.pipeline, micro_batch, accumulation)[0]
        share = band.kept_high_of_framework if job.framework else band.kept_high
        yield 0.0, kept * share.value, "whether activations are recomputed is not stated"
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    light = defaults is not None and defaults.checkpointing_lora and job.kind == "lora" and job.checkpointing == "none"
    if light and "gradient_checkpointing" in job.unstated:
        anew = replace(job, checkpointing="full")
        kept = activations_gb(job, shape, rows.tensor, rows.pipeline, micro_batch, accumulation)[0]
        least = activations_gb(anew, shape, rows.tensor, rows.pipeline, micro_batch, accumulation)[0]
        yield (
            np.maximum(0.0, band.recomputed_low.value * (kept - least)),
            0.0,
            "whether activations are recomputed is not stated",
        )
    fused = job.checkpointing == "selective" or (defaults is not None and defaults.fuses_attention)
    if job.flash_attention and "flash_attention" in job.open_facts and not fused:
        # Older code and some models' own holds the scores of the layer at work, which grow with the square of tokens.
        scores = micro_batch * job.seq_len_tokens * score_bytes_per_token(job, shape, rows.tensor) / 1e9
        yield 0.0, scores, "whether attention is fused is not stated"
    experts = _experts_open_gb(job, shape, rows)
    if experts is not None:
        yield 0.0, band.experts_high.value * experts, "whether experts are quantized too is not stated"
    if job.loss_assumed or (job.release_open and job.chunked_loss):
        # A chunked loss is the framework's default, from which a run may depart, or that of its later releases.
        whole = logits_gb(replace(job, chunked_loss=False), shape, rows.tensor, micro_batch)
        yield 0.0, band.loss_high.value * whole, "whether the loss is fused is not stated"


def _experts_open_gb(job: Job, shape: Shape, rows: Rows) -> Any:
    """What experts in 16 bits would take more on each GPU, where it is open whether they are quantised; else None."""
    constants = sizing_constants()
    defaults = constants.training.frameworks.get(job.framework or "")
    known = job.expert_precision is not None or (defaults is not None and defaults.quantizes_experts is not None)
    alone = job.model is not None and job.model.moe is not None and not job.model.moe.one_table
    # Of an older release they are linear layers.
    known = known or (alone and older(job.transformers_version, constants.fused_experts.since))
    if known or not job.peft or not shape.expert_params or job.weight_precision not in constants.fused_experts.formats:
        return None
    more = 2.0 - constants.weights[job.weight_precision].body
    return shape.expert_params * more / (rows.tensor * rows.pipeline * shards(rows)[0]) / 1e9
