"""Memory of image and video generators: denoiser, text encoders, autoencoder, and the maps between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.states import shards
from whichgpu.engine.sizing.training import Block, step_part, trained_states
from whichgpu.engine.sizing.training_band import finished
from whichgpu.engine.sizing.training_terms import ADAPTERS, ALLOCATOR, CONTEXT


_COMPONENTS = TermKind(
    "weights",
    "denoiser, text encoders and autoencoder x their bytes; under offload the largest of them",
    ("denoiser_b", "text_encoders_b", "vae_b", "weight_precision", "offload"),
    "FLUX.1-dev in bf16 loads 31.45 GiB, as this gives",
)
_FROZEN_BESIDE = TermKind(
    "frozen_components",
    "text encoders and autoencoder in 16 bits, unless their outputs are cached beforehand, as full training of image"
    " generators above Stable Diffusion 1 and of video generators does",
    ("text_encoders_b", "vae_b", "cached"),
    "x-flux keeps all three loaded (44.9 GB); CogVideoX fine-tuning, the SDXL script of diffusers and sd-scripts cache"
    " embeddings and latents",
)
_INFER = TermKind(
    "activations",
    "batch x (larger of tokens x 12 x width x 2 bytes in the denoiser, pixels x 2,560 bytes in the autoencoder)",
    ("batch", "tokens", "width", "image_px", "frames"),
    "maps of the last decoder block by count; HunyuanVideo 720p x 129 frames within 5 %",
)
_TRAIN = TermKind(
    "activations",
    "batch x tokens x 34 bytes x width x layers; checkpoints (2 bytes) and one layer under full checkpointing",
    ("batch", "tokens", "width", "layers", "gradient_checkpointing"),
    "Korthikanti et al.; CogVideoX1.5-5B and Stable Diffusion 1.4 fine-tuning runs agree within their spread",
)


#: Formats under which transformers keeps T5's output projections in 32 bits: fp16, and those of bitsandbytes.
_KEEPS_WIDE = frozenset({"fp16", "nf4", "nf4-dq"})


class Generator(Struct, frozen=True):
    """Sizes in billions; the denoiser as a transformer of typical shape."""

    denoiser_b: float
    text_b: float
    vae_b: float
    width: float
    layers: float
    patch_px: float


def generator_of(job: Job) -> Generator:
    """The components of the job's model; those that the catalogue does not list are taken by the denoiser's size."""
    constants = sizing_constants()
    known = constants.diffusion
    text = vae = denoiser = 0.0
    parts = job.model.components_b if job.model else {}
    for name, size in sorted(parts.items()):
        if "vae" in name or "autoencoder" in name:
            vae += size
        elif any(word in name for word in ("text", "clip", "t5", "encoder", "guardrail")):
            text += size
        else:
            denoiser += size
    if not denoiser:
        denoiser = max((job.params_b or 0.0) - text - vae, 1e-3)
    small = denoiser <= known.denoiser_small_b.value
    if not text and "text_encoder" not in parts:  # One of size 0: the denoiser reads prompts itself.
        medium = denoiser <= known.denoiser_medium_b.value and job.family == "diffusion_image"
        sizes = known.text_encoder_small_b, known.text_encoder_medium_b, known.text_encoder_large_b
        text = (sizes[0] if small else sizes[1] if medium else sizes[2]).value
    # h = 128 L and 12 h^2 parameters a layer, as in published transformers.
    ratio = constants.typical.hidden_per_layer
    width = (denoiser * 1e9 * ratio / 12.0) ** (1.0 / 3.0)
    native = job.model.resolution_px if job.model else None
    early = native is not None and native <= 768 and job.family == "diffusion_image"
    patch = known.patch_px_small.value if early else known.patch_px.value
    return Generator(denoiser, text, vae or known.vae_b.value, width, width / ratio, patch)


def tokens_of(job: Job, generator: Generator) -> float:
    """Tokens that the denoiser sees for one sample: patches of the latent frames, and the prompt."""
    constants = sizing_constants().diffusion
    frames = 1.0
    if job.family == "diffusion_video":
        frames = 1.0 + (job.frames - 1) / constants.frames_per_latent.value
    return frames * _pixels(job) / generator.patch_px**2 + constants.text_tokens.value


def _pixels(job: Job) -> float:
    """Pixels of a picture or frame; where its long edge alone is stated video is 16:9, pictures are square."""
    return job.pixels(9.0 / 16.0 if job.family == "diffusion_video" else 1.0)


def generator_memory(job: Job, rows: Rows) -> MemoryColumns:
    """Memory per GPU of generating with, adapting or training an image or video generator, for each row."""
    generator = generator_of(job)
    return _training(job, generator, rows) if job.training else _inference(job, generator, rows)


def _inference(job: Job, generator: Generator, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    known = constants.diffusion
    weight = constants.weights[job.weight_precision].body
    text_bytes = _text_bytes(job, generator)
    denoiser = generator.denoiser_b * weight / (rows.tensor * rows.pipeline)
    text, vae = generator.text_b * text_bytes, generator.vae_b * 2.0
    weights = np.maximum(denoiser, max(text, vae)) if job.cpu_offload else denoiser + text + vae
    weights = weights * ceiling(job.models_served, rows.data)
    batch = ceiling(rows.batch, rows.data)
    tokens = tokens_of(job, generator)
    pixels = _pixels(job)
    decoded = pixels * (known.frames_per_latent.value / 2.0 if job.family == "diffusion_video" else 1.0)
    in_denoiser = tokens * known.infer_elements_per_hidden.value * generator.width * max(2.0, min(weight, 4.0))
    # Requests that wait for the GPU share its weights; their maps are alive together.
    in_decoder = np.where(job.sliced_decoding, 1, batch) * decoded * known.vae_bytes_per_pixel.value
    activations = np.maximum(batch * in_denoiser, in_decoder) / 1e9
    share = constants.allocator.one_gpu
    sizes = (generator.denoiser_b, generator.text_b, generator.vae_b)
    parts = (
        PartColumn(_COMPONENTS, weights, (*sizes, job.weight_precision, job.cpu_offload)),
        PartColumn(_INFER, activations, (batch, tokens, generator.width, job.image_px, job.frames)),
        PartColumn(ALLOCATOR, (weights + activations) * share, (share,)),
        PartColumn(CONTEXT, rows.context_gb, (rows.count,)),
    )
    return MemoryColumns(
        per_gpu_gb=total_gb(parts),
        low_gb=0.96 * weights + 0.2 * activations - _wide_text_gb(job, generator),
        high_gb=weights * 1.1 + 1.5 * activations + rows.context_gb * 1.5 + _open_text_gb(job, generator),
        allocated_gb=weights + activations,
        parts=parts,
        band_reason="slicing, tiling and the order of the steps change what is alive together",
        method="architecture" if job.model is not None else "rule of thumb",
    )


def _text_bytes(job: Job, generator: Generator) -> float:
    """Bytes per parameter of the text encoders: in their own format where one is stated, else in the denoiser's.

    T5's output projections stay in 32 bits where the rest is loaded in fp16 or by bitsandbytes; no other quantiser of
    transformers converts them either, so that they stay in 16.
    """
    constants = sizing_constants()
    form = job.text_encoder_precision or job.weight_precision
    per = constants.weights[form].body
    large = generator.text_b > constants.diffusion.t5_least_b.value
    if large and form in _KEEPS_WIDE:
        return per + constants.diffusion.t5_wide_share.value * (4.0 - per)
    if large and per < 2.0:
        return per + constants.diffusion.t5_wide_share.value * (2.0 - per)
    # Large text encoders are published in 16 bits, whatever the denoiser is.
    return min(per, 2.0) if generator.text_b > 1.0 and job.text_encoder_precision is None else per


def _wide_text_gb(job: Job, generator: Generator) -> float:
    """What T5 takes less where it was quantised by hand, its output projections too, in GB."""
    form = job.text_encoder_precision or job.weight_precision
    per = sizing_constants().weights[form].body
    large = generator.text_b > sizing_constants().diffusion.t5_least_b.value
    known = job.cpu_offload or not large or per >= 2.0 or form in _KEEPS_WIDE
    return 0.0 if known else generator.text_b * (_text_bytes(job, generator) - per)


def _open_text_gb(job: Job, generator: Generator) -> float:
    """What text encoders may take beyond the denoiser's narrow format: most are left in 16 bits, in GB."""
    narrow = sizing_constants().weights[job.weight_precision].body < 2.0
    return 0.6 * generator.text_b if narrow and job.text_encoder_precision is None and not job.cpu_offload else 0.0


def _training(job: Job, generator: Generator, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    known = constants.diffusion
    params = generator.denoiser_b * 1e9
    parts: list[PartColumn] = []
    workspace: Any = 0.0
    if job.peft:
        weight = constants.weights[job.weight_precision].body
        whole = generator.denoiser_b * weight
        if job.cpu_offload:
            frozen = min(whole, 2.0 * whole / generator.layers) + np.zeros(len(rows.data))
        else:
            frozen = whole / shards(rows)[0]
        inputs = (generator.denoiser_b, generator.text_b, generator.vae_b, job.weight_precision, job.cpu_offload)
        parts.append(PartColumn(_COMPONENTS, frozen, inputs))
        # Inputs and outputs of four attention matrices are 8 widths, of two feed-forward ones 10.
        sides = 8.0 + (10.0 if "up" in job.lora_targets else 0.0)
        trained = job.lora_rank * generator.layers * generator.width * sides
        per = constants.training.adapter_bytes.value
        states = trained * per / 1e9 + np.zeros(len(rows.data))
        parts.append(PartColumn(ADAPTERS, states, (trained / 1e6, job.lora_rank, per)))
    else:
        on_rank = params / rows.tensor / rows.pipeline
        layer = params / generator.layers / rows.tensor
        block = Block(on_rank, 0.0, layer, on_rank, layer)
        workspace, _ = trained_states(job, block, rows, parts)
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
    one_layer = tokens * known.train_bytes_per_hidden.value * generator.width * element / 1e9
    if job.checkpointing == "full":
        activations = tokens * 2.0 * generator.width * generator.layers * element / 1e9 + one_layer
    else:
        activations = one_layer * generator.layers * (0.6 if job.checkpointing == "selective" else 1.0)
    encoded = 0.0 if cached else rows.batch * _pixels(job) * known.vae_bytes_per_pixel.value * element / 1e9
    activations = np.maximum(activations, encoded)
    # Nobody states whether encoders whose outputs are cached stay on the GPU.
    open_gb = encoders if cached and job.encoders_cached is None and not job.cpu_offload else 0.0
    settings = (rows.batch, tokens, generator.width, generator.layers, job.checkpointing)
    parts.append(PartColumn(_TRAIN, activations, settings))
    parts.append(step_part(workspace, activations))
    return finished(job, parts, rows, known=job.model is not None, soft=activations, open_gb=open_gb)
