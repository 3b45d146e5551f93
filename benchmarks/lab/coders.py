"""Decoders and text encoders of generators: arithmetic of a pixel and a token, bytes that pass between the products.

Modules of diffusers and transformers run without gradients on tensors that have a shape and no content. Products
(convolutions, linear layers, attention) are counted by PyTorch's own counter; of all other operators, which wait for
memory, the bytes that they read and write are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import diffusers
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode


_HALF = torch.bfloat16
_STAGES = {"block_out_channels": (128, 256, 512, 512), "layers_per_block": 2}
_PLAIN = {
    **_STAGES,
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "sample_size": 1024,
}


@dataclass(frozen=True)
class Decoder:
    """An autoencoder as published pipelines configure it; ``frames`` that one latent frame after the first holds."""

    decoder: str
    module: str
    settings: tuple[tuple[str, Any], ...] = ()
    channels: int = 16
    spatial: int = 8
    frames: int = 1
    named: tuple[tuple[str, Any], ...] = ()  # arguments of a decoding

    def in_16_bits(self) -> torch.nn.Module:
        """The module, without content, for decoding."""
        with torch.device("meta"):
            torch.set_default_dtype(_HALF)
            try:
                module: torch.nn.Module = getattr(diffusers, self.module)(**dict(self.settings))
            finally:
                torch.set_default_dtype(torch.float32)
        return module.eval()


def _plain(channels: int, **more: Any) -> tuple[tuple[str, Any], ...]:
    return tuple({**_PLAIN, "latent_channels": channels, **more}.items())


_LTX_NEW = {
    "latent_channels": 128,
    "block_out_channels": (128, 256, 512, 1024, 2048),
    "decoder_block_out_channels": (256, 512, 1024),
    "layers_per_block": (4, 6, 6, 2, 2),
    "decoder_layers_per_block": (5, 5, 5, 5),
    "spatio_temporal_scaling": (True, True, True, True),
    "decoder_spatio_temporal_scaling": (True, True, True),
    "decoder_inject_noise": (False, False, False, False),
    "downsample_type": ("spatial", "temporal", "spatiotemporal", "spatiotemporal"),
    "upsample_residual": (True, True, True),
    "upsample_factor": (2, 2, 2),
    "timestep_conditioning": True,
    "down_block_types": ("LTXVideo095DownBlock3D",) * 4,
    "encoder_causal": True,
    "decoder_causal": False,
}
_DEEP = {
    "latent_channels": 32,
    "attention_head_dim": 32,
    "encoder_block_types": ("ResBlock",) * 3 + ("EfficientViTBlock",) * 3,
    "decoder_block_types": ("ResBlock",) * 3 + ("EfficientViTBlock",) * 3,
    "encoder_block_out_channels": (128, 256, 512, 512, 1024, 1024),
    "decoder_block_out_channels": (128, 256, 512, 512, 1024, 1024),
    "encoder_layers_per_block": (2, 2, 2, 3, 3, 3),
    "decoder_layers_per_block": (3, 3, 3, 3, 3, 3),
    "encoder_qkv_multiscales": ((), (), (), (5,), (5,), (5,)),
    "decoder_qkv_multiscales": ((), (), (), (5,), (5,), (5,)),
    "upsample_block_type": "interpolate",
    "downsample_block_type": "Conv",
}
_COGVIEW = {
    "block_out_channels": (128, 512, 1024, 1024),
    "layers_per_block": 3,
    "mid_block_add_attention": False,
}
_NO_WORDS = (("temb", None),)
DECODERS: tuple[Decoder, ...] = (
    Decoder("kl-4", "AutoencoderKL", _plain(4), 4),
    Decoder("kl-16", "AutoencoderKL", _plain(16, use_quant_conv=False, use_post_quant_conv=False)),
    Decoder("kl-cogview", "AutoencoderKL", _plain(16, use_quant_conv=False, use_post_quant_conv=False, **_COGVIEW)),
    Decoder("kl-flux2", "AutoencoderKLFlux2", (), 32),
    Decoder("qwen-image", "AutoencoderKLQwenImage", (), 16),
    Decoder("dc-32", "AutoencoderDC", tuple(_DEEP.items()), 32, 32),
    Decoder("wan", "AutoencoderKLWan", (), 16, 8, 4),
    Decoder(
        "wan-48",
        "AutoencoderKLWan",
        (
            ("base_dim", 160),
            ("decoder_base_dim", 256),
            ("z_dim", 48),
            ("is_residual", True),
            ("patch_size", 2),
            ("in_channels", 12),
            ("out_channels", 12),
            ("latents_mean", [0.0] * 48),
            ("latents_std", [1.0] * 48),
        ),
        48,
        16,
        4,
    ),
    Decoder("hunyuanvideo", "AutoencoderKLHunyuanVideo", (), 16, 8, 4),
    Decoder(
        "cogvideox",
        "AutoencoderKLCogVideoX",
        (
            ("block_out_channels", (128, 256, 256, 512)),
            ("layers_per_block", 3),
            ("latent_channels", 16),
            ("down_block_types", ("CogVideoXDownBlock3D",) * 4),
            ("up_block_types", ("CogVideoXUpBlock3D",) * 4),
        ),
        16,
        8,
        4,
    ),
    Decoder("mochi", "AutoencoderKLMochi", (), 12, 8, 6),
    Decoder("ltx", "AutoencoderKLLTXVideo", (), 128, 32, 8, _NO_WORDS),
    Decoder("ltx-0.9.7", "AutoencoderKLLTXVideo", tuple(_LTX_NEW.items()), 128, 32, 8, (("temb", "time"),)),
    Decoder("cosmos-8", "AutoencoderKLCosmos", (), 16, 8, 8),
)


@dataclass(frozen=True)
class TextEncoder:
    """An encoder of prompts and the tokens that pipelines pad them to."""

    encoder: str
    module: str
    config: str
    settings: tuple[tuple[str, Any], ...]
    tokens: int


_T5 = (("d_model", 4096), ("d_kv", 64), ("d_ff", 10240), ("num_layers", 24), ("num_heads", 64))
_CLIP = (
    ("hidden_size", 1280),
    ("intermediate_size", 5120),
    ("num_hidden_layers", 32),
    ("num_attention_heads", 20),
    ("projection_dim", 1280),
)
_LARGE_CLIP = (
    ("hidden_size", 768),
    ("intermediate_size", 3072),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 12),
)
TEXT_ENCODERS: tuple[TextEncoder, ...] = (
    TextEncoder("t5-xxl", "T5EncoderModel", "T5Config", (*_T5, ("feed_forward_proj", "gated-gelu")), 512),
    TextEncoder("umt5-xxl", "UMT5EncoderModel", "UMT5Config", (*_T5, ("vocab_size", 256384)), 512),
    TextEncoder("clip-vit-l", "CLIPTextModel", "CLIPTextConfig", _LARGE_CLIP, 77),
    TextEncoder("openclip-vit-bigg", "CLIPTextModelWithProjection", "CLIPTextConfig", _CLIP, 77),
)


class _Passing(TorchDispatchMode):
    """Bytes that operators other than products read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1]
        if not func.is_view and not any(word in name for word in ("convolution", "mm", "attention", "empty")):
            tensors = [leaf for leaf in tree_leaves((args, kwargs, answer)) if isinstance(leaf, torch.Tensor)]
            self.bytes += sum(leaf.numel() * leaf.element_size() for leaf in tensors)
        return answer


def decoder_row(decoder: Decoder) -> dict[str, Any]:
    """Parameters; FLOPs and bytes for each pixel of a frame, and FLOPs of attention for each pixel and pixel."""
    module = decoder.in_16_bits()
    few, many = (_decoded(decoder, module, edge) for edge in (256, 512))
    small, large = 256.0**2, 512.0**2
    frames = decoder.frames  # Those of one more latent frame.
    attended = (many[0] / large - few[0] / small) / (large - small)
    flops = few[0] / small - attended * small
    decoding = [weight for name, weight in module.named_parameters() if not name.startswith(("encoder", "quant_conv"))]
    return {
        "params_b": round(sum(weight.numel() for weight in module.parameters()) / 1e9, 6),
        "decoder_b": round(sum(weight.numel() for weight in decoding) / 1e9, 6),
        "flops": round(flops / frames),
        "attended": round(attended / frames, 3),
        "bytes": round(many[1] / large / frames),
    }


def _decoded(decoder: Decoder, module: torch.nn.Module, edge: int) -> tuple[float, float]:
    """FLOPs and bytes of a picture, or of one more latent frame of a clip."""
    if decoder.frames == 1:
        # Qwen-Image's is one of clips.
        return _counted(decoding(decoder, module, edge, 1 if decoder.module == "AutoencoderKLQwenImage" else None))
    three, five = (_counted(decoding(decoder, module, edge, count)) for count in (3, 5))
    return (five[0] - three[0]) / 2.0, (five[1] - three[1]) / 2.0


def decoding(decoder: Decoder, module: Any, edge: int, frames: int | None, device: str = "meta") -> Callable[[], Any]:
    """A decoding of a square picture, or of so many latent frames, by a module on that device."""
    places = edge // decoder.spatial
    shape: tuple[int, ...] = (1, decoder.channels, places, places)
    named = dict(decoder.named)
    if frames is not None:
        shape = (1, decoder.channels, frames, places, places)
    if named.get("temb") == "time":
        named["temb"] = torch.empty(1, dtype=_HALF, device=device)
    latent = torch.empty(*shape, dtype=_HALF, device=device)
    return lambda: module.decode(latent, return_dict=False, **named)


def text_encoder_row(encoder: TextEncoder) -> dict[str, Any]:
    """Parameters with and without the table of words, and FLOPs for each token."""
    config = getattr(transformers, encoder.config)(**dict(encoder.settings))
    with torch.device("meta"):
        module = getattr(transformers, encoder.module)(config).to(_HALF).eval()
    words = torch.zeros(1, encoder.tokens, dtype=torch.long, device="meta")
    flops, _ = _counted(lambda: module(words))
    params = sum(weight.numel() for weight in module.parameters())
    table = module.get_input_embeddings().weight.numel()
    return {
        "params_b": round(params / 1e9, 6),
        "table_b": round(table / 1e9, 6),
        "flops": round(flops / encoder.tokens),
    }


def _counted(run: Callable[[], Any]) -> tuple[float, float]:
    with torch.no_grad(), FlopCounterMode(display=False) as products, _Passing() as passing:
        run()
    return float(products.get_total_flops()), float(passing.bytes)
