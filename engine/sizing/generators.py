"""Memory of image and video generators: denoiser, text encoders, autoencoder, and the maps between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.band_formulas import band_formulas
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.generator_parts import (
    columns_gb,
    decoded_bytes,
    decoded_picture_bytes,
    decodes_wide,
    frames_at_once,
)
from whichgpu.engine.sizing.generator_sizes import (
    COMPONENTS,
    KEEPS_WIDE,
    Generator,
    encoders_gb,
    fetched_encoder_gb,
    generator_of,
    pixels_of,
    resident_share,
    tokens_of,
    waits_by_layers,
)
from whichgpu.engine.sizing.generator_training import generator_training
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import Band, MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.training_terms import ALLOCATOR, CONTEXT


_INFER = TermKind(
    "activations",
    "batch x (larger of tokens x 12 x width x 2 bytes in the denoiser, with 16 bytes a score where a UNet does not fuse"
    " attention, and pixels x 1,920 bytes in the autoencoder, 3,072 where it decodes in 32 bits, with 512 or 1,024"
    " bytes a pixel once)",
    ("batch", "tokens", "width", "image_px", "frames"),
    "autoencoders as traced and as run on an H100 (knowledge/sizing.yaml); HunyuanVideo 720p x 129 frames within 5 %",
)


def generator_memory(job: Job, rows: Rows) -> MemoryColumns:
    """Memory per GPU of generating with, adapting or training an image or video generator, for each row."""
    generator = generator_of(job)
    return generator_training(job, generator, rows) if job.training else _inference(job, generator, rows)


def _inference(job: Job, generator: Generator, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    weight = constants.weights[job.weight_precision].body
    denoiser = generator.denoiser_b * weight / (rows.tensor * rows.pipeline)
    # Prompts that were encoded before, or are encoded elsewhere, need no encoders here.
    text = 0.0 if job.encoders_cached else encoders_gb(job, generator)
    wide = decodes_wide(job, generator.denoiser_b)
    vae, checker = generator.vae_b * (4.0 if wide else 2.0), generator.checker_b * max(2.0, min(weight, 4.0))
    batch = ceiling(rows.batch, rows.data)
    tokens = tokens_of(job, generator)
    pixels = pixels_of(job)
    whole = decoded_bytes(job, generator.vae_b, batch)
    decoded = pixels * (frames_at_once(job) if job.family == "diffusion_video" else 1.0)
    element = max(2.0, min(weight, 4.0))
    in_denoiser = batch * tokens * _worked_elements(job, generator) * generator.width * element / 1e9
    in_denoiser = in_denoiser + batch * _scores_gb(job, generator, element)
    # Requests that wait for the GPU share its weights; their maps are alive together.
    together = np.where(job.sliced_decoding, 1, batch) * decoded / pixels
    in_decoder = pixels * (decoded_picture_bytes(together, wide=wide) if whole is None else whole) / 1e9
    in_decoder = in_decoder + columns_gb(job, generator.vae_b, pixels, wide=wide)
    if job.cpu_offload:
        if waits_by_layers(job, generator):
            text = min(text, fetched_encoder_gb(job, generator))
        denoiser = denoiser * resident_share(job, generator) * generator.network_b / generator.denoiser_b
        # Each part is on the GPU with its own maps only. Encoders are there together: for the empty prompt the first of
        # them takes its turn without letting go of the last (accelerate, CpuOffload.prev_module_hook).
        weights, activations = _largest_stage((text, 0.0), (denoiser, in_denoiser), (vae, in_decoder))
        weights = weights + checker  # diffusers, _exclude_from_cpu_offload: it stays once it has run.
    else:
        weights, activations = denoiser + text + vae + checker, np.maximum(in_denoiser, in_decoder)
    weights = weights * ceiling(job.models_served, rows.data)
    share = constants.allocator.one_gpu
    sizes = (generator.denoiser_b, generator.text_b, generator.vae_b)
    parts = (
        PartColumn(COMPONENTS, weights, (*sizes, job.weight_precision, job.cpu_offload)),
        PartColumn(_INFER, activations, (batch, tokens, generator.width, job.image_px, job.frames)),
        PartColumn(ALLOCATOR, (weights + activations) * share, (share,)),
        PartColumn(CONTEXT, rows.context_gb, (rows.count,)),
    )
    low_gb, high_gb = band_formulas().generators.ends(weights, activations, rows.context_gb)
    band = Band(
        low_gb=low_gb - _wide_text_gb(job, generator),
        high_gb=high_gb + _open_text_gb(job, generator),
        reason="slicing, tiling and the order of the steps change what is alive together",
    )
    return MemoryColumns(
        per_gpu_gb=total_gb(parts),
        find_band=lambda: band,
        allocated_gb=weights + activations,
        parts=parts,
        method="architecture" if job.model is not None else "rule of thumb",
    )


def _worked_elements(job: Job, generator: Generator) -> float:
    """Numbers of a token and width while a block computes; of some models their authors' own code was traced."""
    own = generator.traced.own_code if generator.traced else None
    if own is not None and job.engine_stated and job.engine == "transformers":  # Plain PyTorch.
        return own
    return sizing_constants().diffusion.infer_elements_per_hidden.value


def _scores_gb(job: Job, generator: Generator, element: float) -> float:
    """Scores of a picture in the block of a UNet that has most of them, where attention is not fused, in GB."""
    if job.flash_attention or generator.traced is None:
        return 0.0
    narrow = job.engine_stated and job.engine == "diffusers" and element < 4.0
    each = sizing_constants().diffusion.score_bytes.value * (0.5 if narrow else 1.0)
    return generator.traced.scores_at_once * pixels_of(job) ** 2 * each / 1e9


def _largest_stage(*stages: tuple[Any, Any]) -> tuple[Any, Any]:
    """Weights and maps of the stage that takes the most."""
    weights, maps = stages[0]
    for other_weights, other_maps in stages[1:]:
        larger = other_weights + other_maps > weights + maps
        weights, maps = np.where(larger, other_weights, weights), np.where(larger, other_maps, maps)
    return weights, maps


def _wide_text_gb(job: Job, generator: Generator) -> float:
    """What T5 takes less where it was quantised by hand, its output projections too, in GB."""
    form = job.text_encoder_precision or job.weight_precision
    per = sizing_constants().weights[form].body
    known = job.cpu_offload or job.encoders_cached or per >= 2.0 or form in KEEPS_WIDE
    return 0.0 if known else encoders_gb(job, generator) - generator.text_b * per


def _open_text_gb(job: Job, generator: Generator) -> float:
    """What text encoders may take beyond the denoiser's narrow format: most are left in 16 bits, in GB."""
    narrow = sizing_constants().weights[job.weight_precision].body < 2.0
    open_ = narrow and job.text_encoder_precision is None and not job.cpu_offload and not job.encoders_cached
    return band_formulas().generators.text_high.value * generator.text_b if open_ else 0.0
