"""Time of an image or clip outside the denoising steps: encoding the prompt and decoding the latent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.generator_parts import SAME_SIZE, decodes_wide, latent_space, nearest
from whichgpu.engine.sizing.generator_sizes import generator_of
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Ints
from whichgpu.engine.sizing.speed_constants import Decoder, speed_constants
from whichgpu.engine.sizing.speed_peaks import serving_precisions


_ANY = math.inf
#: Words in the names of components that encode prompts.
_PROMPTS = ("text", "clip", "t5")
#: Of a model that is not known.
_USUAL = {"diffusion_image": "kl-16", "diffusion_video": "wan"}


class _Encoder(NamedTuple):
    flops: Any  # of the prompts of one picture
    weights: Any  # bytes that a batch reads
    starting: Any  # seconds in which its kernels start one by one


def encode_and_decode_s(
    job: Job, table: GpuTable, which: Ints, passes: Any, pixels: Any, frames: int, pick: Pick
) -> Callable[[Any], Any]:
    """Seconds in which a batch of so many pictures is encoded and decoded, a function for the rows.

    Args:
        job: what is generated with.
        table: of all GPUs.
        which: the GPU of each row.
        passes: evaluations a step; two come from two prompts, of which one says what is not wanted.
        pixels: of a frame.
        frames: of a clip, 1 of a picture.
        pick: the estimate or an end of its band.
    """
    decoding = decoding_s(job, table, pixels, frames, pick)[which]
    encoding = encoding_s(job, table, which, passes, pick)
    return lambda batch: batch * decoding + encoding(batch)


def encoding_s(job: Job, table: GpuTable, which: Ints, passes: Any, pick: Pick) -> Callable[[Any], Any]:
    """Seconds in which the prompts of so many pictures are encoded, a function for the rows."""
    encoders = _encoders_of(job, passes, pick)
    peaks = table.peaks(serving_precisions("fp32" if job.weight_precision == "fp32" else "bf16"))
    rate, reading = (peaks.flops * peaks.share)[which], table.bandwidth_in_reach(pick)[which]

    def seconds(batch: Any) -> Any:
        whole: Any = 0.0 * rate
        for encoder in encoders:
            once = np.maximum(encoder.weights / reading, encoder.starting)
            whole = whole + np.maximum(batch * encoder.flops / rate, once)
        return whole

    return seconds


def decoding_s(job: Job, table: GpuTable, pixels: Any, frames: int, pick: Pick) -> Floats:
    """Seconds in which each GPU decodes one picture or clip: products, then what passes memory between them."""
    decoder = decoder_of(job)
    wide = decodes_wide(job, generator_of(job).denoiser_b)
    peaks = table.peaks(serving_precisions("fp32" if wide else "bf16"))
    constants = speed_constants()
    known = constants.diffusion
    use = np.where(peaks.of_fp32, known.decoder_use_fp32.at(pick), known.decoder_use.at(pick))
    rate = peaks.flops * use * np.minimum(1.0, peaks.share / constants.matmul_share["default"].value)
    products = (decoder.flops + decoder.attended * pixels) / rate
    passing = (2.0 if wide else 1.0) * decoder.bytes / table.bandwidth_in_reach(pick)
    found: Floats = frames * pixels * (products + passing)
    return found


def decoder_of(job: Job) -> Decoder:
    """The traced decoder with the model's latent space, of several the one nearest in size; else the usual one."""
    known, model = speed_constants().diffusion.decoders, job.model
    space = latent_space(model) if model is not None else None
    if space is not None:
        size = generator_of(job).vae_b
        alike = [one for one in known.values() if one.latent == space]
        # The same compression is decoded by networks much alike, whatever the channels.
        alike = alike or [one for one in known.values() if one.latent[1:] == space[1:]]
        found = nearest(alike, size, _ANY)
        if found is not None:
            return found
    return known[_USUAL[job.family]]


def _encoders_of(job: Job, passes: Any, pick: Pick) -> list[_Encoder]:
    """Every text encoder of the model; of one that was not traced 2 FLOPs a parameter and token."""
    diffusion = speed_constants().diffusion
    prompts = 1.0 * min(2.0, passes)
    parts = job.model.components_b if job.model else {}
    named = [(name, size) for name, size in sorted(parts.items()) if "image" not in name]
    sizes = [size for name, size in named if any(word in name for word in _PROMPTS)]
    if not sizes and "text_encoder" not in parts:
        sizes = [generator_of(job).text_b]
    found = []
    for size in sizes:
        traced = nearest(diffusion.text_encoders.values(), size, SAME_SIZE)
        if traced is not None:
            starting = traced.layers * diffusion.launch_us_per_layer.at(TURNED[pick]) * 1e-6
            found.append(_Encoder(prompts * traced.flops * traced.tokens, 2e9 * size, starting))
        else:
            flops = 2e9 * size * diffusion.prompt_tokens.at(TURNED[pick])
            found.append(_Encoder(prompts * flops, 2e9 * size, 0.0))
    return found
