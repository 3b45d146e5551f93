"""The space that a generator works in, from configurations as diffusers writes them."""

from __future__ import annotations

from typing import Any

import pytest

from whichgpu.engine.catalogue.configurations.latent import latent_of
from whichgpu.engine.catalogue.configurations.reader import ConfigReader


FLUX = {"_class_name": "FluxTransformer2DModel", "in_channels": 64, "patch_size": 1}
PLAIN = {"_class_name": "SD3Transformer2DModel", "in_channels": 16, "patch_size": 2}
HALVING = [True, True, True, False]


@pytest.mark.parametrize(
    ("autoencoder", "denoiser", "expected"),
    [
        # Channels, pixels and frames of a place, places of a token: the ratios that the classes of diffusers have.
        ({"latent_channels": 16, "block_out_channels": [128, 256, 512, 512]}, FLUX, (16, 8, 1, 2)),
        ({"latent_channels": 16, "block_out_channels": [128, 256, 512, 512]}, PLAIN, (16, 8, 1, 2)),
        (
            {"latent_channels": 4, "block_out_channels": [8, 8, 8, 8]},
            {"_class_name": "UNet2DConditionModel"},
            (4, 8, 1, None),
        ),
        (  # AutoencoderDC under Sana
            {"latent_channels": 32, "encoder_block_out_channels": [128, 256, 512, 512, 1024, 1024]},
            {"in_channels": 32, "patch_size": 1},
            (32, 32, 1, 1),
        ),
        (  # Qwen-Image
            {"z_dim": 16, "dim_mult": [1, 2, 4, 4], "temperal_downsample": [False, True, True]},
            {"in_channels": 64, "patch_size": 2},
            (16, 8, 4, 2),
        ),
        (  # LTX-Video
            {
                "latent_channels": 128,
                "block_out_channels": [1, 1, 1, 1],
                "spatio_temporal_scaling": HALVING,
                "patch_size": 4,
            },
            {"in_channels": 128, "patch_size": 1},
            (128, 32, 8, 1),
        ),
        (  # Mochi
            {"latent_channels": 12, "spatial_expansions": [2, 2, 2], "temporal_expansions": [1, 2, 3]},
            {"in_channels": 12, "patch_size": 2},
            (12, 8, 6, 2),
        ),
        (  # Wan 2.2 5B
            {"z_dim": 48, "dim_mult": [1, 2, 4, 4], "scale_factor_spatial": 16, "scale_factor_temporal": 4},
            {"in_channels": 48, "patch_size": [1, 2, 2]},
            (48, 16, 4, 2),
        ),
        (  # EasyAnimate
            {
                "latent_channels": 16,
                "block_out_channels": [128, 256, 512, 512],
                "down_block_types": ["SpatialDownBlock3D", *3 * ["SpatialTemporalDownBlock3D"]],
            },
            PLAIN,
            (16, 8, 4, 2),
        ),
    ],
)
def test_the_space_of_a_generator(
    autoencoder: dict[str, Any], denoiser: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    latent = latent_of(ConfigReader(autoencoder, "vae"), ConfigReader(denoiser, "transformer"))
    assert latent is not None
    assert (latent.channels, latent.spatial, latent.temporal, latent.patch) == expected


def test_an_autoencoder_that_states_no_channels_has_no_space() -> None:
    assert latent_of(ConfigReader({"block_out_channels": [1, 2]}, "vae"), ConfigReader({}, "transformer")) is None
