"""Memory of image and video generators: denoiser, text encoders, autoencoder, and the maps between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from whichgpu.engine.sizing.constants import Denoiser, sizing_constants
from whichgpu.engine.sizing.generator_parts import (
    columns_gb,
    decoded_bytes,
    decodes_wide,
    frames_at_once,
    traced_denoiser,
)
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.replicas import replica_buckets
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.states import shards, weights_stay
from whichgpu.engine.sizing.training import Block, overlap_gradients, step_part, trained_states
from whichgpu.engine.sizing.training_adapters import bytes_of_an_adapter
from whichgpu.engine.sizing.training_band import finished
from whichgpu.engine.sizing.training_terms import ADAPTERS, ALLOCATOR, CONTEXT
from whichgpu.engine.sizing.zero import beside_zero, zero_parts


_COMPONENTS = TermKind(
    "weights",
    "denoiser, text encoders and autoencoder x their bytes, under offload the largest of them; what looks at pictures"
    " that come out",
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
    "batch x (larger of tokens x 12 x width x 2 bytes in the denoiser, with 16 bytes a score where a UNet does not fuse"
    " attention, and pixels x 2,560 bytes in the autoencoder, 4,096 where it decodes in 32 bits)",
    ("batch", "tokens", "width", "image_px", "frames"),
    "maps of the last decoder block by count; HunyuanVideo 720p x 129 frames within 5 %",
)
_TRAIN = TermKind(
    "activations",
    "batch x tokens x traced bytes x width x layers; checkpoints (2 bytes) and one layer under full checkpointing;"
    " of a UNet traced bytes a pixel",
    ("batch", "tokens", "width", "layers", "gradient_checkpointing"),
    "denoisers of diffusers traced without a GPU (docs/lab.md)",
)


#: Formats under which transformers keeps T5's output projections in 32 bits: fp16, and those of bitsandbytes.
_KEEPS_WIDE = frozenset({"fp16", "nf4", "nf4-dq"})


class Generator(Struct, frozen=True):
    """Sizes in billions; a denoiser of unknown dimensions as a transformer of typical shape."""

    denoiser_b: float
    text_b: float
    vae_b: float
    checker_b: float  # of what looks at the pictures that come out, which offload leaves on the GPU
    width: float
    layers: float
    patch_px: float  # pixels of an edge that become one token
    frames_per_latent: float
    traced: Denoiser | None = None


def generator_of(job: Job) -> Generator:
    """The components of the job's model; those that the catalogue does not list are taken by the denoiser's size."""
    constants = sizing_constants()
    known = constants.diffusion
    text = vae = denoiser = checker = 0.0
    parts = job.model.components_b if job.model else {}
    for name, size in sorted(parts.items()):
        if "vae" in name or "autoencoder" in name:
            vae += size
        elif "checker" in name:
            checker += size
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
        video = job.family == "diffusion_video"
        by_clip = denoiser <= known.text_encoder_clip_only_b.value if video else small
        text = (sizes[0] if by_clip else sizes[1] if medium else sizes[2]).value
    # h = 128 L and 12 h^2 parameters a layer, as in published transformers.
    ratio = constants.typical.hidden_per_layer
    width = (denoiser * 1e9 * ratio / 12.0) ** (1.0 / 3.0)
    traced = traced_denoiser(job.model, denoiser)
    native = job.model.resolution_px if job.model else None
    early = native is not None and native <= 768 and job.family == "diffusion_image"
    patch = known.patch_px_small.value if early else known.patch_px.value
    if traced is None and early and small:
        traced = known.denoisers["unet-sd1"]  # Its descendants have other names.
    depth, latent = width / ratio, job.model.latent if job.model else None
    for known_to in (job.model, traced):
        if known_to is not None and known_to.hidden and known_to.layers:
            width, depth = float(known_to.hidden), float(known_to.layers)
            break
    if latent is not None and latent.patch:
        patch = float(latent.spatial * latent.patch)
    compressed = latent.temporal if latent is not None and latent.temporal > 1 else known.frames_per_latent.value
    return Generator(denoiser, text, vae or known.vae_b.value, checker, width, depth, patch, compressed, traced)


def fetched_gb(job: Job) -> float:
    """GB that pass to the GPU for a batch of pictures while each part waits in the memory of the host for its turn."""
    generator, weights = generator_of(job), sizing_constants().weights
    denoiser = generator.denoiser_b * weights[job.weight_precision].body
    return denoiser + generator.text_b * _text_bytes(job, generator) + generator.vae_b * 2.0


def tokens_of(job: Job, generator: Generator) -> float:
    """Tokens that the denoiser sees for one sample: patches of latent frames and of given pictures, and the prompt."""
    frames = 1.0 + (job.model.pictures_read if job.model else 0)
    if job.family == "diffusion_video":
        frames += (job.frames - 1) / generator.frames_per_latent
    beside = generator.traced.text_tokens if generator.traced else sizing_constants().diffusion.text_tokens.value
    return frames * _pixels(job) / generator.patch_px**2 + beside


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
    # Prompts that were encoded before, or are encoded elsewhere, need no encoders here.
    text = 0.0 if job.encoders_cached else generator.text_b * text_bytes
    wide = decodes_wide(job, generator.denoiser_b)
    vae, checker = generator.vae_b * (4.0 if wide else 2.0), generator.checker_b * max(2.0, min(weight, 4.0))
    batch = ceiling(rows.batch, rows.data)
    tokens = tokens_of(job, generator)
    pixels = _pixels(job)
    whole = decoded_bytes(job, generator.vae_b, batch)
    decoded = pixels * (frames_at_once(job) if job.family == "diffusion_video" else 1.0)
    each = known.vae_bytes_per_pixel_wide.value if wide else known.vae_bytes_per_pixel.value
    element = max(2.0, min(weight, 4.0))
    in_denoiser = batch * tokens * _worked_elements(job, generator) * generator.width * element / 1e9
    in_denoiser = in_denoiser + batch * _scores_gb(job, generator, element)
    # Requests that wait for the GPU share its weights; their maps are alive together.
    in_decoder = np.where(job.sliced_decoding, 1, batch) * decoded * each / 1e9
    in_decoder = in_decoder if whole is None else pixels * whole / 1e9
    in_decoder = in_decoder + columns_gb(job, generator.vae_b, pixels, wide=wide)
    if job.cpu_offload:
        denoiser = denoiser * _resident_share(job, generator)
        # Each part is on the GPU with its own maps only.
        weights, activations = _largest_stage((text, 0.0), (denoiser, in_denoiser), (vae, in_decoder))
        weights = weights + checker  # diffusers, _exclude_from_cpu_offload: it stays once it has run.
    else:
        weights, activations = denoiser + text + vae + checker, np.maximum(in_denoiser, in_decoder)
    weights = weights * ceiling(job.models_served, rows.data)
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
    return generator.traced.scores_at_once * _pixels(job) ** 2 * each / 1e9


def _resident_share(job: Job, generator: Generator) -> float:
    """What is on the GPU of a denoiser some of whose blocks wait: the others, the one that computes and the next."""
    if job.blocks_offloaded is None:
        return 1.0
    return min(1.0, max(2.0, generator.layers - job.blocks_offloaded + 2.0) / generator.layers)


def _largest_stage(*stages: tuple[Any, Any]) -> tuple[Any, Any]:
    """Weights and maps of the stage that takes the most."""
    weights, maps = stages[0]
    for other_weights, other_maps in stages[1:]:
        larger = other_weights + other_maps > weights + maps
        weights, maps = np.where(larger, other_weights, weights), np.where(larger, other_maps, maps)
    return weights, maps


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
    # Pipelines of diffusers load every part in the type that is asked of them.
    if job.engine_stated and job.engine == "diffusers" and form == "fp32":
        return per
    # Large text encoders are published in 16 bits, whatever the denoiser is.
    return min(per, 2.0) if generator.text_b > 1.0 and job.text_encoder_precision is None else per


def _wide_text_gb(job: Job, generator: Generator) -> float:
    """What T5 takes less where it was quantised by hand, its output projections too, in GB."""
    form = job.text_encoder_precision or job.weight_precision
    per = sizing_constants().weights[form].body
    large = generator.text_b > sizing_constants().diffusion.t5_least_b.value and not job.encoders_cached
    known = job.cpu_offload or not large or per >= 2.0 or form in _KEEPS_WIDE
    return 0.0 if known else generator.text_b * (_text_bytes(job, generator) - per)


def _open_text_gb(job: Job, generator: Generator) -> float:
    """What text encoders may take beyond the denoiser's narrow format: most are left in 16 bits, in GB."""
    narrow = sizing_constants().weights[job.weight_precision].body < 2.0
    open_ = narrow and job.text_encoder_precision is None and not job.cpu_offload and not job.encoders_cached
    return 0.6 * generator.text_b if open_ else 0.0


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
        pixels, anew = _pixels(job), job.checkpointing == "full"
        per_pixel = traced.checkpointed if anew else each
        if not job.flash_attention:
            # Three of the five blocks that attend at the finest map are recomputed together.
            per_pixel += traced.scores * pixels * each_score * (0.6 if anew else 1.0)
        return rows.batch * pixels * per_pixel / 1e9
    tokens = tokens_of(job, generator) * rows.batch / 1e9
    if job.checkpointing == "full":
        # What a layer with adapters takes while it is recomputed is close to what one without keeps.
        return tokens * generator.width * (2.0 * generator.layers + kept.full)
    share = 0.6 if job.checkpointing == "selective" else 1.0
    return tokens * generator.width * generator.layers * each * share


def _training(job: Job, generator: Generator, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    known = constants.diffusion
    params = generator.denoiser_b * 1e9
    parts: list[PartColumn] = []
    workspace: Any = 0.0
    released: Any = 0.0
    trained: Any
    if job.peft:
        weight = constants.weights[job.weight_precision].body
        whole = generator.denoiser_b * weight
        waits = job.cpu_offload & ~weights_stay(job, rows)
        share = _resident_share(job, generator) if job.blocks_offloaded else min(1.0, 2.0 / generator.layers)
        frozen = np.where(waits, whole * share, whole / shards(rows)[0])
        inputs = (generator.denoiser_b, generator.text_b, generator.vae_b, job.weight_precision, job.cpu_offload)
        parts.append(PartColumn(_COMPONENTS, frozen, inputs))
        # Inputs and outputs of four attention matrices are 8 widths, of two feed-forward ones 10.
        attentions = generator.traced.attentions if generator.traced else 1
        sides = 8.0 * attentions + (10.0 if "up" in job.lora_targets else 0.0)
        trained = job.lora_rank * generator.layers * generator.width * sides
        per = bytes_of_an_adapter(job)
        states = trained * per / 1e9 + np.zeros(len(rows.data))
        parts.append(PartColumn(ADAPTERS, states, (trained / 1e6, job.lora_rank, per)))
        parts += replica_buckets(job, rows, trained)
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
    encoded = 0.0 if cached else rows.batch * _pixels(job) * known.vae_bytes_per_pixel.value * element / 1e9
    activations = np.maximum(activations, encoded)
    # It is not stated whether encoders whose outputs are cached stay on the GPU.
    open_gb = encoders if cached and job.encoders_cached is None and not job.cpu_offload else 0.0
    settings = (rows.batch, tokens, generator.width, generator.layers, job.checkpointing)
    parts.append(PartColumn(_TRAIN, activations, settings))
    freed = overlap_gradients(job, params, released, activations, rows, parts)
    parts.append(step_part(workspace, freed))
    parts += zero_parts(beside_zero(job, rows, trained, generator.width), trained, rows, np.maximum(freed, workspace))
    return finished(job, parts, rows, known=job.model is not None, soft=activations, open_gb=open_gb)
