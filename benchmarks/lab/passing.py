"""What PyTorch's allocator holds of the tensors that pass through a generator's parts while pictures or clips are made.

Decoders and denoisers of diffusers run without gradients in 16 bits on tensors that have no content. Of each the peak
beside the weights is given, how many times it the allocator holds, and with how many times it would manage. Of a
denoiser a few layers do: what passes through one is gone when the next begins.

Usage: python benchmarks/lab/passing.py
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import diffusers
import torch


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

from allocated import Recorded, least, served
from coders import DECODERS, Decoder, decoding
from tracer import fake_device, faked


_HALF = torch.bfloat16
_PICTURE_PX, _CLIP_PX = 1024, 256
_LATENTS = (5, 13)  # frames of a clip


@dataclass(frozen=True)
class Denoiser:
    """A denoiser of a few layers, and the shapes of what it is given; those of ``whole`` are numbers of 32 bits."""

    name: str
    module: str
    settings: dict[str, Any]
    given: dict[str, tuple[int, ...]]
    whole: tuple[str, ...] = ("timestep",)


def _flux(places: int) -> Denoiser:
    given = {"hidden_states": (1, places, 64), "encoder_hidden_states": (1, 512, 4096), "pooled_projections": (1, 768)}
    given |= {"img_ids": (places, 3), "txt_ids": (512, 3), "timestep": (1,), "guidance": (1,)}
    settings = {"num_layers": 2, "num_single_layers": 4, "guidance_embeds": True}
    return Denoiser(f"flux-{places}", "FluxTransformer2DModel", settings, given, ("timestep", "guidance"))


def _wan(high: int, wide: int) -> Denoiser:
    given = {"hidden_states": (1, 16, 21, high, wide), "encoder_hidden_states": (1, 512, 4096), "timestep": (1,)}
    settings = {"num_attention_heads": 40, "num_layers": 4, "ffn_dim": 13824}
    return Denoiser(f"wan2.1-14b-{8 * high}", "WanTransformer3DModel", settings, given)


DENOISERS = (
    _flux(4096),
    _flux(16384),
    _wan(60, 104),
    _wan(90, 160),
    Denoiser(
        "cogvideox-5b",
        "CogVideoXTransformer3DModel",
        {"num_attention_heads": 48, "num_layers": 4, "use_rotary_positional_embeddings": False},
        {"hidden_states": (2, 13, 16, 60, 90), "encoder_hidden_states": (2, 226, 4096), "timestep": (2,)},
    ),
    Denoiser(
        "unet-sdxl",
        "UNet2DConditionModel",
        {
            "sample_size": 128,
            "block_out_channels": (320, 640, 1280),
            "cross_attention_dim": 2048,
            "transformer_layers_per_block": (1, 2, 10),
            "attention_head_dim": (5, 10, 20),
            "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            "use_linear_projection": True,
        },
        {"sample": (2, 4, 128, 128), "encoder_hidden_states": (2, 77, 2048), "timestep": (2,)},
    ),
)


def _ratios(run: Callable[[], Any], module: torch.nn.Module) -> tuple[float, float, float]:
    """GB at the peak beside the weights, and how many times it is held and needed."""
    seen = Recorded()
    for tensor in (*module.parameters(), *module.buffers()):
        seen.see(tensor)
    weights = seen.now
    with torch.no_grad(), seen:
        for _ in range(2):
            run()
    free, beside = served(seen.events), seen.peak - weights
    held, needed = ((size - weights) / beside for size in (free.most_reserved, least(seen.events, free)))
    return beside / 1e9, held, needed


def of_decoder(decoder: Decoder, latents: int | None) -> tuple[float, float, float]:
    """Of a picture, or of a clip of so many frames of a latent space."""
    module = decoder.in_16_bits()
    with fake_device():
        faked(module)
        px = _PICTURE_PX if latents in {None, 1} else _CLIP_PX
        run = decoding(decoder, module, px, latents, device="cpu")
        return _ratios(run, module)


def of_denoiser(denoiser: Denoiser) -> tuple[float, float, float]:
    """Of two passes."""
    with torch.device("meta"):
        torch.set_default_dtype(_HALF)
        try:
            module = getattr(diffusers, denoiser.module)(**denoiser.settings).eval()
        finally:
            torch.set_default_dtype(torch.float32)
    with fake_device():
        faked(module)
        given = {
            name: torch.empty(*shape, dtype=torch.float32 if name in denoiser.whole else _HALF)
            for name, shape in denoiser.given.items()
        }
        return _ratios(lambda: module(**given, return_dict=False), module)


def main() -> None:
    """Print a line for each part, and the middle and the ends."""
    found = {}
    for decoder in DECODERS:
        picture = decoder.module == "AutoencoderKLQwenImage"
        for latents in _LATENTS if decoder.frames > 1 else (1 if picture else None,):
            found[f"{decoder.decoder}, {latents or 1} latents"] = of_decoder(decoder, latents)
    for denoiser in DENOISERS:
        found[denoiser.name] = of_denoiser(denoiser)
    for name, (beside, held, needed) in found.items():
        print(f"{name}: {beside:.2f} GB, held {held:.2f} times, needed {needed:.2f}")
    for what, place in (("held", 1), ("needed", 2)):
        each = [ratios[place] for ratios in found.values()]
        print(f"{what}: {len(each)} parts, median {median(each):.2f}, {min(each):.2f} to {max(each):.2f}")


if __name__ == "__main__":
    main()
