"""Denoisers of diffusers: bytes that a token, of a UNet a pixel, keeps over all layers until the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import diffusers
import peft
import torch
from diffusers.models.unets.uvit_2d import UVit2DModel
from tracer import Step, fake_device, faked, trace


_HALF = torch.bfloat16
#: What adapters of published recipes change.
_TARGETS = ["to_q", "to_k", "to_v", "to_out.0"]


@dataclass(frozen=True)
class Denoiser:
    """A denoiser, what of it learns, its precision, and whether it computes its blocks anew."""

    denoiser: str
    learns: str = "all"  # all, adapters
    precision: str = "pure"  # pure, autocast
    checkpointing: str = "none"


@dataclass(frozen=True)
class _Kind:
    module: str
    settings: dict[str, Any]
    layers: dict[str, int]  # setting that counts the blocks of a kind, and its value
    inputs: Callable[[Any, int], Callable[[], torch.Tensor]]  # for a module and tokens


def _made(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, dtype=_HALF)


def _side(tokens: int) -> int:
    return round(tokens**0.5)


def _packed(channels: int, text: int, text_width: int, pooled: int | None, ids: int) -> Callable[..., Any]:
    """FLUX and Chroma: tokens made already, places of both streams."""

    def inputs(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
        def run() -> torch.Tensor:
            given = [_made(1, tokens, channels), _made(1, text, text_width)]
            given += [_made(1, pooled)] if pooled else []
            places = (
                (_made(tokens, ids), _made(text, ids)) if ids == 3 else (_made(1, tokens, ids), _made(1, text, ids))
            )
            guided = {"guidance": _made(1)} if getattr(module.config, "guidance_embeds", ids == 4) else {}
            return module(*given, _made(1), *places, return_dict=False, **guided)[0]

        return run

    return inputs


def _latent(channels: int, text: int, width: int, patch: int = 2, *, more: Callable[[], dict[str, Any]] = dict) -> Any:
    """A picture's latent, words, time."""

    def inputs(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
        edge = patch * _side(tokens)
        named = {"hidden_states": _made(1, channels, edge, edge), "encoder_hidden_states": _made(1, text, width)}
        return lambda: module(**named, timestep=_made(1), return_dict=False, **more())[0]

    return inputs


def _clip(channels: int, text: int, width: int, **more: Callable[[], torch.Tensor]) -> Any:
    """Four latent frames."""

    def inputs(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
        edge = 2 * _side(tokens // 4)
        named = {"hidden_states": _made(1, channels, 4, edge, edge), "encoder_hidden_states": _made(1, text, width)}
        return lambda: module(**named, return_dict=False, **{name: made() for name, made in more.items()})[0]

    return inputs


def _cogvideo(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
    edge = 2 * _side(tokens // 4)
    turned = None
    if module.config.use_rotary_positional_embeddings:
        turned = tuple(torch.empty(tokens, 64, dtype=torch.float32) for _ in range(2))
    given = (_made(1, 4, 16, edge, edge), _made(1, 226, 4096), _made(1))
    return lambda: module(*given, image_rotary_emb=turned, return_dict=False)[0]


def _ltx(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
    edge = _side(tokens // 4)
    given = (_made(1, tokens, 128), _made(1, 128, 4096), _made(1), torch.ones(1, 128, dtype=_HALF))
    places = {"num_frames": 4, "height": edge, "width": edge, "rope_interpolation_scale": (0.32, 32, 32)}
    return lambda: module(*given, **places, return_dict=False)[0]


def _qwen(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
    edge = _side(tokens)
    given = (_made(1, tokens, 64), _made(1, 256, 3584), torch.ones(1, 256, dtype=torch.bool), _made(1))
    return lambda: module(*given, img_shapes=[(1, edge, edge)], return_dict=False)[0]


def _z_image(module: Any, tokens: int) -> Callable[[], torch.Tensor]:
    edge = 2 * _side(tokens)
    return lambda: module([_made(16, 1, edge, edge)], _made(1), [_made(256, 2560)])[0][0]


def _stable(heads: int, **more: Any) -> dict[str, Any]:
    sizes = {"joint_attention_dim": 4096, "pooled_projection_dim": 2048, "pos_embed_max_size": 192, "sample_size": 128}
    width = {"num_attention_heads": heads, "attention_head_dim": 64, "caption_projection_dim": 64 * heads}
    return {**sizes, **width, "in_channels": 16, "out_channels": 16, **more}


_BLOCKS, _SINGLE = "num_layers", "num_single_layers"
_STABLE = _latent(16, 333, 4096, more=lambda: {"pooled_projections": _made(1, 2048)})
_WAN = _clip(16, 512, 4096, timestep=lambda: _made(1))
_HUNYUAN = _clip(
    16,
    256,
    4096,
    timestep=lambda: torch.zeros(1, dtype=torch.long),
    encoder_attention_mask=lambda: torch.ones(1, 256, dtype=_HALF),
    pooled_projections=lambda: _made(1, 768),
    guidance=lambda: _made(1),
)
_COGVIEW = ("original_size", "target_size", "crop_coords")
_KINDS: dict[str, _Kind] = {
    "flux": _Kind(
        "FluxTransformer2DModel", {"guidance_embeds": True}, {_BLOCKS: 19, _SINGLE: 38}, _packed(64, 512, 4096, 768, 3)
    ),
    "flux.2-dev": _Kind("Flux2Transformer2DModel", {}, {_BLOCKS: 8, _SINGLE: 48}, _packed(128, 512, 15360, None, 4)),
    "flux.2-klein-4b": _Kind(
        "Flux2Transformer2DModel",
        {"num_attention_heads": 24, "joint_attention_dim": 7680, "guidance_embeds": False},
        {_BLOCKS: 5, _SINGLE: 20},
        _packed(128, 512, 7680, None, 4),
    ),
    "flux.2-klein-9b": _Kind(
        "Flux2Transformer2DModel",
        {"num_attention_heads": 32, "joint_attention_dim": 12288, "guidance_embeds": False},
        {_BLOCKS: 8, _SINGLE: 24},
        _packed(128, 512, 12288, None, 4),
    ),
    "sd3-medium": _Kind("SD3Transformer2DModel", _stable(24), {_BLOCKS: 24}, _STABLE),
    "sd3.5-large": _Kind("SD3Transformer2DModel", _stable(38, qk_norm="rms_norm"), {_BLOCKS: 38}, _STABLE),
    "sd3.5-medium": _Kind(
        "SD3Transformer2DModel",
        _stable(24, qk_norm="rms_norm", dual_attention_layers=tuple(range(13))),
        {_BLOCKS: 24},
        _STABLE,
    ),
    "cogvideox-2b": _Kind("CogVideoXTransformer3DModel", {"num_attention_heads": 30}, {_BLOCKS: 30}, _cogvideo),
    "cogvideox-5b": _Kind(
        "CogVideoXTransformer3DModel",
        {"num_attention_heads": 48, "use_rotary_positional_embeddings": True},
        {_BLOCKS: 42},
        _cogvideo,
    ),
    "ltx": _Kind("LTXVideoTransformer3DModel", {}, {_BLOCKS: 28}, _ltx),
    "ltx-13b": _Kind(
        "LTXVideoTransformer3DModel",
        {"num_attention_heads": 32, "attention_head_dim": 128, "cross_attention_dim": 4096},
        {_BLOCKS: 48},
        _ltx,
    ),
    "wan2.1-1.3b": _Kind("WanTransformer3DModel", {"num_attention_heads": 12, "ffn_dim": 8960}, {_BLOCKS: 30}, _WAN),
    "wan2.1-14b": _Kind("WanTransformer3DModel", {"num_attention_heads": 40, "ffn_dim": 13824}, {_BLOCKS: 40}, _WAN),
    "hunyuanvideo": _Kind(
        "HunyuanVideoTransformer3DModel", {"guidance_embeds": True}, {_BLOCKS: 20, _SINGLE: 40}, _HUNYUAN
    ),
    "pixart": _Kind(
        "PixArtTransformer2DModel",
        {"sample_size": 128, "out_channels": 8, "caption_channels": 4096},
        {_BLOCKS: 28},
        _latent(
            4,
            300,
            4096,
            more=lambda: {"added_cond_kwargs": {"resolution": _made(1, 2), "aspect_ratio": _made(1, 1)}},
        ),
    ),
    "qwen-image": _Kind("QwenImageTransformer2DModel", {}, {_BLOCKS: 60}, _qwen),
    "auraflow": _Kind(
        "AuraFlowTransformer2DModel",
        {},
        {"num_mmdit_layers": 4, "num_single_dit_layers": 32},
        _latent(4, 256, 2048),
    ),
    "cogview4": _Kind(
        "CogView4Transformer2DModel",
        {"num_attention_heads": 32, "attention_head_dim": 128},
        {_BLOCKS: 28},
        _latent(16, 224, 4096, more=lambda: {name: _made(1, 2) for name in _COGVIEW}),
    ),
    "sana-1.6b": _Kind("SanaTransformer2DModel", {}, {_BLOCKS: 20}, _latent(32, 300, 2304, 1)),
    "sana-0.6b": _Kind(
        "SanaTransformer2DModel",
        {
            "num_attention_heads": 36,
            "num_cross_attention_heads": 16,
            "cross_attention_head_dim": 72,
            "cross_attention_dim": 1152,
        },
        {_BLOCKS: 28},
        _latent(32, 300, 2304, 1),
    ),
    "z-image": _Kind("ZImageTransformer2DModel", {}, {"n_layers": 30}, _z_image),
}
_STAGES = {"block_out_channels": (320, 640, 1280, 1280)}
_UNETS: dict[str, dict[str, Any]] = {
    "unet-sd1": {"sample_size": 64, "cross_attention_dim": 768, "attention_head_dim": 8, **_STAGES},
    "unet-sd2": {
        "sample_size": 96,
        "cross_attention_dim": 1024,
        "attention_head_dim": (5, 10, 20, 20),
        "use_linear_projection": True,
        **_STAGES,
    },
    "unet-sdxl": {
        "sample_size": 128,
        "cross_attention_dim": 2048,
        "attention_head_dim": (5, 10, 20),
        "block_out_channels": (320, 640, 1280),
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        "transformer_layers_per_block": (1, 2, 10),
        "use_linear_projection": True,
    },
}
#: aMUSEd fills in masked tokens of a picture; its class ignores that it should compute blocks anew up to diffusers 0.25
#: (uvit_2d.py, _set_gradient_checkpointing) and fails over it in 0.42. The side of its pictures, and its settings.
_MASKED: dict[str, tuple[int, dict[str, Any]]] = {
    "amused-256": (256, {"sample_size": 16}),
    "amused-512": (512, {"sample_size": 32, "downsample": True, "upsample": True}),
}
_WAYS = (("all", "pure"), ("all", "autocast"), ("adapters", "pure"), ("adapters", "autocast"))
DENOISERS: tuple[Denoiser, ...] = (
    *(Denoiser(name, *way) for name in (*_KINDS, *_UNETS, *_MASKED) for way in _WAYS),
    *(Denoiser(name, "adapters", "pure", "full") for name in (*_UNETS, *_MASKED)),
)


def denoiser_row(denoiser: Denoiser) -> dict[str, Any]:
    """Bytes a token over all layers (a pixel of a UNet), and how many tokens' worth is kept whatever the picture."""
    if denoiser.denoiser in _UNETS or denoiser.denoiser in _MASKED:
        side = _MASKED[denoiser.denoiser][0] if denoiser.denoiser in _MASKED else 512
        one, two = (_step(denoiser, {}, side, pictures) for pictures in (2, 4))
        whole = two.beside - one.beside if denoiser.checkpointing == "full" else two.kept - one.kept
        return {"kept": round(whole / 2 / side**2)}
    layers = _KINDS[denoiser.denoiser].layers
    once = dict.fromkeys(layers, 1)
    few, many = 1024, 4096
    base = {tokens: _step(denoiser, once, tokens).kept for tokens in (few, many)}
    each = fixed = 0.0
    for name, count in layers.items():
        more = {tokens: _step(denoiser, once | {name: 2}, tokens).kept - base[tokens] for tokens in (few, many)}
        per_token = (more[many] - more[few]) / (many - few)
        each += count * per_token
        fixed += count * (more[few] - few * per_token)
    return {"kept": round(each), "text_tokens": round(fixed / each)}


def _step(denoiser: Denoiser, layers: dict[str, int], size: int, pictures: int = 1) -> Step:
    autocasts = denoiser.precision == "autocast"
    torch.set_default_dtype(_HALF)
    try:
        with torch.device("meta"):
            module = _module(denoiser, layers)
        with fake_device():
            faked(module)
            module.train()
            if denoiser.checkpointing == "full" and denoiser.denoiser not in _MASKED:
                module.enable_gradient_checkpointing()
            own = _masked_run if denoiser.denoiser in _MASKED else _unet_run
            run = own(denoiser, module, size, pictures) if not layers else None
            run = run or _KINDS[denoiser.denoiser].inputs(module, size)

            def loss() -> torch.Tensor:
                with torch.autocast("cpu", _HALF) if autocasts else nullcontext():
                    return run().sum()

            return trace(module, loss)
    finally:
        torch.set_default_dtype(torch.float32)


def _module(denoiser: Denoiser, layers: dict[str, int]) -> torch.nn.Module:
    name, autocasts = denoiser.denoiser, denoiser.precision == "autocast"
    if name in _UNETS:
        module = diffusers.UNet2DConditionModel(**_UNETS[name])
    elif name in _MASKED:
        module = UVit2DModel(**_MASKED[name][1])
    else:
        kind = _KINDS[name]
        module = getattr(diffusers, kind.module)(**kind.settings, **layers)
    if denoiser.learns == "adapters":
        module.requires_grad_(False)
        module = peft.inject_adapter_in_model(peft.LoraConfig(r=16, target_modules=_TARGETS), module)
        for learned in module.parameters():
            if autocasts and learned.requires_grad:
                learned.data = learned.data.float()
    elif autocasts:
        module.float()
    return module


def _unet_run(denoiser: Denoiser, module: Any, side: int, pictures: int) -> Callable[[], torch.Tensor]:
    wide = denoiser.precision == "autocast" and denoiser.learns == "all"
    kind = torch.float32 if wide else _HALF
    width = _UNETS[denoiser.denoiser]["cross_attention_dim"]
    given = (torch.empty(pictures, 4, side // 8, side // 8, dtype=kind), torch.zeros(pictures, dtype=kind))
    words = torch.empty(pictures, 77, width, dtype=kind)
    return lambda: module(*given, words, return_dict=False)[0]


def _masked_run(denoiser: Denoiser, module: Any, side: int, pictures: int) -> Callable[[], torch.Tensor]:
    """Which of 8,192 words each place of the picture has; the loss is taken in 32 bits."""
    wide = denoiser.precision == "autocast" and denoiser.learns == "all"
    kind, edge = torch.float32 if wide else _HALF, side // 16
    places = torch.zeros(pictures, edge, edge, dtype=torch.long)
    words, pooled, sizes = (torch.empty(pictures, *shape, dtype=kind) for shape in ((77, 768), (768,), (5,)))

    def run() -> torch.Tensor:
        answered = module(places, words, pooled, sizes)
        answered = answered.reshape(pictures, answered.shape[1], -1).permute(0, 2, 1).reshape(-1, answered.shape[1])
        return torch.nn.functional.cross_entropy(answered.float(), places.reshape(-1))

    return run


def unet_settings(name: str) -> dict[str, Any]:
    """How a UNet is made, as its own file says."""
    return dict(_UNETS[name])
