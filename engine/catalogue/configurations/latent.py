"""The space that an image or video generator works in, from the configurations of its autoencoder and denoiser."""

from __future__ import annotations

import math

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import Latent


def latent_of(autoencoder: ConfigReader, denoiser: ConfigReader) -> Latent | None:
    """Channels and places of the space, and how many places of an edge are one token; None where none are stated.

    Source: the classes of diffusers, which state a ratio or make one level of their layers after another.
    """
    channels = autoencoder.maybe("latent_channels", "z_dim")
    if channels is None:
        return None
    return Latent(
        channels=channels,
        spatial=_pixels_of_a_place(autoencoder),
        temporal=_frames_of_a_place(autoencoder),
        patch=_places_of_a_token(denoiser, channels),
    )


def _pixels_of_a_place(reader: ConfigReader) -> int:
    """Of an edge. Each level but the last halves it; LTX says which do, and joins patches before."""
    stated = reader.maybe("scale_factor_spatial", "spatial_compression_ratio")
    if stated:
        return stated
    expansions = reader.numbers("spatial_expansions")  # Mochi
    if expansions:
        return math.prod(expansions)
    halving = _flags(reader, "spatio_temporal_scaling")
    if halving:
        return int((reader.maybe("patch_size") or 1) * 2 ** sum(halving))
    names = ("block_out_channels", "encoder_block_out_channels", "dim_mult")
    levels = next((numbers for name in names if (numbers := reader.numbers(name))), [1])
    return int(2 ** (len(levels) - 1))


def _frames_of_a_place(reader: ConfigReader) -> int:
    stated = reader.maybe("scale_factor_temporal", "temporal_compression_ratio")
    if stated:
        return stated
    expansions = reader.numbers("temporal_expansions")
    halving = _flags(reader, "temperal_downsample") or _flags(reader, "spatio_temporal_scaling")
    joined = sum("SpatialTemporal" in word for word in reader.words("down_block_types")[:-1])  # EasyAnimate
    return math.prod(expansions) if expansions else int(2 ** (sum(halving) or joined))


def _flags(reader: ConfigReader, key: str) -> list[bool]:
    value = reader.content.get(key)
    return [flag is True for flag in value] if isinstance(value, list) else []


def _places_of_a_token(reader: ConfigReader, channels: int) -> int | None:
    """Of an edge: as stated, or two where the denoiser reads the channels of four places at once (FLUX)."""
    if reader.word("_class_name").startswith("UNet"):
        return None
    packed = reader.maybe("in_channels") == 4 * channels
    sizes = reader.numbers("patch_size") or reader.numbers("all_patch_size")
    return 2 if packed else reader.maybe("patch_size") or (sizes[-1] if sizes else None)
