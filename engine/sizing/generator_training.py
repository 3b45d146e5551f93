"""Memory of adapting or training an image or video generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.data_parallel_buffers import replica_buckets
from whichgpu.engine.sizing.generator_sizes import COMPONENTS, Generator, pixels_of, resident_share, tokens_of
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn, TermKind
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.states import shards, weights_stay
from whichgpu.engine.sizing.training import Block, overlap_gradients, step_part, trained_states
from whichgpu.engine.sizing.training_adapters import bytes_of_an_adapter
from whichgpu.engine.sizing.training_band import with_runtime_and_band
from whichgpu.engine.sizing.training_terms import ADAPTERS, CAST
from whichgpu.engine.sizing.zero import zero_buffers, zero_parts


_FROZEN_BESIDE = TermKind(
    "frozen_components",
    "text encoders and autoencoder in 16 bits, unless their outputs are cached beforehand, as full training of image"
    " generators above Stable Diffusion 1 and of video generators does",
    ("text_encoders_b", "vae_b", "cached"),
    "x-flux keeps all three loaded (44.9 GB); CogVideoX fine-tuning, the SDXL script of diffusers and sd-scripts cache"
    " embeddings and latents",
)
_TRAIN = TermKind(
    "activations",
    "batch x tokens x traced bytes x width x layers; checkpoints (2 bytes) and one layer under full checkpointing;"
    " of a UNet traced bytes a pixel",
    ("batch", "tokens", "width", "layers", "gradient_checkpointing"),
    "denoisers of diffusers traced without a GPU (docs/lab.md)",
)


def generator_training(job: Job, generator: Generator, rows: Rows) -> MemoryColumns:
    """Memory per GPU of training the denoiser, whole or under adapters, for each row."""
    known = sizing_constants().diffusion
    params = generator.network_b * 1e9
    parts: list[PartColumn] = []
    workspace: Any = 0.0
    released: Any = 0.0
    trained: Any
    if job.peft:
        trained = _under_adapters(job, generator, rows, parts)
    else:
        on_rank = params / rows.tensor / rows.pipeline
        layer = params / generator.layers / rows.tensor
        block = Block(on_rank, 0.0, layer, on_rank, layer, width=generator.width)
        trained = on_rank
        workspace, released = trained_states(job, block, rows, parts)
    # Trainers of models with large text encoders compute their outputs once, before training.
    large = generator.text_b > known.text_encoder_small_b.value + 0.3
    cached = job.encoders_cached
    if cached is None:
        cached = job.family == "diffusion_video" or job.cpu_offload or (large and not job.peft)
    encoders = (generator.text_b + generator.vae_b) * (4.0 if job.recipe == "fp32" else 2.0)
    beside = (0.0 if cached else 1.0) * encoders + np.zeros(len(rows.data))
    parts.append(PartColumn(_FROZEN_BESIDE, beside, (generator.text_b, generator.vae_b, cached)))
    tokens = tokens_of(job, generator) * rows.batch
    element = 2.0 if job.recipe == "fp32" else 1.0
    activations = _kept_gb(job, generator, rows) * element
    encoded = 0.0 if cached else rows.batch * pixels_of(job) * known.vae_bytes_per_pixel_encoded.value / 1e9
    activations = np.maximum(activations, encoded)
    # It is not stated whether encoders whose outputs are cached stay on the GPU.
    open_gb = encoders if cached and job.encoders_cached is None and not job.cpu_offload else 0.0
    settings = (rows.batch, tokens, generator.width, generator.layers, job.checkpointing)
    parts.append(PartColumn(_TRAIN, activations, settings))
    freed = overlap_gradients(job, params, released, activations, rows, parts)
    parts.append(step_part(workspace, freed))
    parts += zero_parts(zero_buffers(job, rows, trained, generator.width), trained, rows, np.maximum(freed, workspace))
    return with_runtime_and_band(job, parts, rows, known=job.model is not None, soft=activations, open_gb=open_gb)


def _under_adapters(job: Job, generator: Generator, rows: Rows, parts: list[PartColumn]) -> float:
    """Add the frozen denoiser and its adapters; parameters of the adapters."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    cast = defaults is not None and defaults.casts_fp8 and job.weight_precision == "fp8"
    scales = defaults.fp8_scales if defaults is not None and cast else 0.0
    whole = generator.network_b * (sizing_constants().weights[job.weight_precision].body + scales)
    waits = job.cpu_offload & ~weights_stay(job, rows)
    share = resident_share(job, generator) if job.blocks_offloaded else min(1.0, 2.0 / generator.layers)
    frozen = np.where(waits, whole * share, whole / shards(rows)[0])
    inputs = (generator.network_b, generator.text_b, generator.vae_b, job.weight_precision, job.cpu_offload)
    parts.append(PartColumn(COMPONENTS, frozen, inputs))
    every = np.zeros(len(rows.data))
    if cast:
        layer, kept = generator.network_b / generator.layers, 1 if job.checkpointing == "full" else generator.layers
        parts.append(PartColumn(CAST, layer * kept * 2.0 + every, (layer * 1e3, kept)))
    # Inputs and outputs of four attention matrices are 8 widths, of two feed-forward ones 10.
    attentions = generator.traced.attentions if generator.traced else 1
    sides = 8.0 * attentions + (10.0 if "up" in job.lora_targets else 0.0)
    trained = job.lora_rank * generator.layers * generator.width * sides
    per = bytes_of_an_adapter(job)
    parts.append(PartColumn(ADAPTERS, trained * per / 1e9 + every, (trained / 1e6, job.lora_rank, per)))
    parts += replica_buckets(job, rows, trained)
    return trained


def _kept_gb(job: Job, generator: Generator, rows: Rows) -> Any:
    """What the denoiser keeps for the backward pass of a step in 16 bits, in GB."""
    known = sizing_constants().diffusion
    traced = generator.traced
    kept = traced.kept if traced else known.kept
    # Adapters on the feed-forward matrices too need the inputs that full training keeps.
    adapts = bool(job.peft) and "up" not in job.lora_targets
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    adapts = adapts and not (job.cpu_offload and defaults and defaults.offload_keeps_inputs)
    autocasts = job.recipe == "mixed"
    each = (
        (kept.lora_autocast if autocasts else kept.lora) if adapts else kept.full_autocast if autocasts else kept.full
    )
    if traced is not None and traced.checkpointed:  # A UNet's maps have many widths: bytes a pixel.
        # A softmax in 32 bits and, in 16-bit training, its cast; what is counted here doubles in 32 bits.
        each_score = 2.0 if job.recipe == "fp32" else sizing_constants().training.attention_score_bytes.value
        pixels, anew = pixels_of(job), job.checkpointing == "full"
        per_pixel = traced.checkpointed if anew else each
        if not job.flash_attention:
            # Three of the five blocks that attend at the finest map are recomputed together.
            per_pixel += traced.scores * pixels * each_score * (0.6 if anew else 1.0)
        return rows.batch * pixels * per_pixel / 1e9
    tokens = tokens_of(job, generator) * rows.batch / 1e9
    if job.checkpointing == "full":
        # What a layer with adapters takes while it is recomputed is close to what one without keeps.
        return tokens * generator.width * (2.0 * generator.layers + kept.full)
    share = sizing_constants().diffusion.selective_share.value if job.checkpointing == "selective" else 1.0
    return tokens * generator.width * generator.layers * each * share
