"""Which traced part a generator's own is: by latent space, dimensions and size, which siblings share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_generators import Denoiser
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.versions import older


#: Parts of one architecture are as large to this share, where nothing else tells them apart.
SAME_SIZE = 0.01
#: Further trained, but of one release.
SAME_WEIGHTS = 0.001
#: Of the same dimensions, one may hold two of another (experts by noise), or further blocks.
_SAME_DIMENSIONS = math.log(2.1)


class _HasSize(Protocol):
    @property
    def params_b(self) -> float: ...


_Sized = TypeVar("_Sized", bound=_HasSize)


def traced_denoiser(model: ModelSpec | None, denoiser_b: float) -> Denoiser | None:
    """The denoiser that was traced and has the architecture of the model's; None where none has."""
    if model is None:
        return None
    space = latent_space(model)
    alike = [one for one in sizing_constants().diffusion.denoisers.values() if space in {None, one.latent}]
    if model.hidden and model.layers:
        same = [one for one in alike if (one.hidden, one.layers) == (model.hidden, model.layers)]
        return nearest(same, denoiser_b, _SAME_DIMENSIONS)
    return nearest(alike, denoiser_b, SAME_SIZE)


def latent_space(model: ModelSpec) -> tuple[int, int, int] | None:
    """Channels, and the pixels of an edge and frames that become one place."""
    latent = model.latent
    return (latent.channels, latent.spatial, latent.temporal) if latent is not None else None


def decodes_wide(job: Job, denoiser_b: float) -> bool:
    """Whether pictures are decoded in 32 bits: with all parts in them, or where the autoencoder overflows in fp16."""
    if job.weight_precision in {"fp32", "bf16"} or job.model is None:
        return job.weight_precision == "fp32"
    traced = traced_denoiser(job.model, denoiser_b)
    # Kolors has SDXL's denoiser, a little wider, and an autoencoder that does not overflow.
    return traced is not None and traced.decodes_wide and abs(denoiser_b / traced.params_b - 1.0) < SAME_WEIGHTS


def frames_at_once(job: Job) -> float:
    """Frames of a clip that are decoded together where its decoder was not traced as a whole.

    An image autoencoder takes as many frames as its pipeline gives it at a time; one of clips decodes a frame of
    its latent space, of which half the frames are at full size together.
    """
    known = sizing_constants().diffusion
    space = latent_space(job.model) if job.model is not None else None
    if space is not None and space[2] == 1:
        return 1.0 if job.sliced_decoding else min(float(job.frames), known.pictures_at_once.value)
    return known.frames_per_latent.value / 2.0


def decoded_picture_bytes(pictures: Any, *, wide: bool) -> Any:
    """Bytes for each pixel of a picture while so many are decoded together, in 16 or 32 bits."""
    known = sizing_constants().diffusion
    if wide:
        return pictures * known.vae_bytes_per_pixel_wide.value + known.vae_bytes_per_pixel_wide_once.value
    return pictures * known.vae_bytes_per_pixel.value + known.vae_bytes_per_pixel_once.value


def decoded_bytes(job: Job, vae_b: float, batch: Any) -> Any:
    """Bytes for each pixel of a frame while clips are decoded whole; None where their decoder was not traced."""
    space = latent_space(job.model) if job.model is not None else None
    whole = job.engine_stated and job.engine == "diffusers" and not job.sliced_decoding
    if not whole or job.family != "diffusion_video" or space is None:
        return None
    alike = [one for one in sizing_constants().diffusion.clip_decoders.values() if one.latent == space]
    decoder = nearest(alike, vae_b, SAME_SIZE)
    if decoder is None:
        return None
    latents = 1.0 + (job.frames - 1.0) / space[2]
    held = np.array(decoder.held)
    slope = (held[-1, 1] - held[-2, 1]) / (held[-1, 0] - held[-2, 0])
    return batch * (np.interp(latents, held[:, 0], held[:, 1]) + slope * max(0.0, latents - held[-1, 0]))


def columns_gb(job: Job, vae_b: float, pixels: float, *, wide: bool) -> float:
    """Columns that PyTorch's convolutions in three dimensions write out where they are kept from cuDNN, in GB."""
    known = sizing_constants().diffusion.columns
    there = job.pytorch_version is not None and not older(job.pytorch_version, known.since)
    if wide or not there or not older(job.pytorch_version, known.before) or abs(vae_b / known.params_b - 1) > SAME_SIZE:
        return 0.0
    return pixels * known.bytes_per_pixel * (known.frames if job.family == "diffusion_video" else 1) / 1e9


def nearest(parts: Iterable[_Sized], size_b: float, within: float) -> _Sized | None:
    """The part whose size is nearest, if it is within so much in logarithms."""
    by_size = [(abs(math.log(part.params_b / size_b)), place, part) for place, part in enumerate(parts) if size_b > 0]
    found = min(by_size, default=None)
    return found[2] if found is not None and found[0] <= within else None
