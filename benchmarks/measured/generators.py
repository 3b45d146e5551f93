"""Runs of image and video generators by diffusers, with random weights, and of their parts alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import peft
import torch
import transformers
from clock import DEVICE, mean_seconds, now


sys.path.append(str(Path(__file__).resolve().parents[1] / "lab"))

from denoisers import unet_settings


How = dict[str, Any]
_Run = Callable[[], dict[str, float]]
_Pipeline = tuple[Any, Callable[[], dict[str, Any]], dict[str, Any]]
_HALF = torch.bfloat16
#: What adapters of published recipes change.
_TARGETS = ["to_k", "to_q", "to_v", "to_out.0"]
_WORDS = 77
_T5_WORDS = 512


def generator(model: str, how: How, layers: int | None) -> _Run:
    """Pictures or clips from words: encoders, denoiser and decoder on the card, each timed."""
    kind = next(kind for start, kind in _PIPELINES.items() if model.startswith(start))
    pipe, encode, further = kind(how, layers)
    pipe.set_progress_bar_config(disable=True)
    sizes = {"height": how.get("short_px", how["px"]), "width": how["px"], "num_inference_steps": how["steps"]}
    if how.get("frames"):
        sizes["num_frames"] = how["frames"]

    @torch.no_grad()
    def run() -> dict[str, float]:
        encoding = mean_seconds(encode, 3)
        encoded = encode()
        call = lambda **more: pipe(**encoded, **sizes, **further, **more)  # noqa: E731
        call()
        begun = now()
        call()
        whole = now() - begun
        begun = now()
        call(output_type="latent")
        denoising = now() - begun
        return {
            "s_per_call": whole + encoding,
            "s_encoding": encoding,
            "s_denoising": denoising,
            "s_decoding": whole - denoising,
        }

    return run


def adapter(model: str, how: How, layers: int | None) -> _Run:
    """LoRA on a denoiser as the examples of diffusers train it: encoders and decoder stay on the card."""
    kind = next(kind for start, kind in _PIPELINES.items() if model.startswith(start))
    pipe, encode, _ = kind(how, layers)
    module = getattr(pipe, "unet", None) or pipe.transformer
    module.requires_grad_(False)
    pipe.vae.requires_grad_(False)
    module.add_adapter(peft.LoraConfig(r=16, lora_alpha=16, init_lora_weights="gaussian", target_modules=_TARGETS))
    learned = [weight for weight in module.parameters() if weight.requires_grad]
    for weight in learned:
        weight.data = weight.data.float()
    if how["checkpointing"]:
        module.enable_gradient_checkpointing()
    module.train()
    learner = torch.optim.AdamW(learned)
    picture = torch.rand(how["batch"], 3, how["px"], how["px"], device=DEVICE, dtype=_HALF)
    run = _denoised(module, how)

    def step() -> None:
        with torch.no_grad():
            encode()
            pipe.vae.encode(picture)
        with torch.autocast(DEVICE, _HALF):
            loss = run().float().pow(2).mean()
        loss.backward()
        learner.step()
        learner.zero_grad(set_to_none=True)

    return lambda: {"s_per_step": mean_seconds(step, 3)}


def component(part: str, how: How, layers: int | None) -> _Run:
    """One part of a generator, alone: words through an encoder, or a latent through a decoder."""
    batch, weights = how["batch"], torch.float32 if how.get("weights") == "fp32" else _HALF
    if part in {"t5-xxl", "clip-bigg"}:
        encoder = _t5(layers) if part == "t5-xxl" else _clip(1280, layers or 32, 20, projected=True, act="gelu")
        tokens = _tokens(batch, _T5_WORDS if part == "t5-xxl" else _WORDS)
        call = lambda: encoder(tokens)  # noqa: E731
    else:
        kind, latent = {
            "decoder-4": (None, (4, 128, 128)),
            "decoder-16": (None, (16, 128, 128)),
            "decoder-wan": (diffusers.AutoencoderKLWan, (16, 21, 60, 104)),
            "decoder-ltx": (diffusers.AutoencoderKLLTXVideo, (128, 16, 16, 24)),
            "decoder-cogvideox": (diffusers.AutoencoderKLCogVideoX, (16, 13, 60, 90)),
        }[part]
        decoder = (_made(kind) if kind else _vae(latent[0])).to(weights)
        if layers:
            latent = (*latent[:-2], 8, 8)
        given = torch.randn(batch, *latent, device=DEVICE, dtype=weights)
        call = lambda: decoder.decode(given)  # noqa: E731

    @torch.no_grad()
    def run() -> dict[str, float]:
        return {"s_per_call": mean_seconds(call, 3)}

    return run


def _denoised(module: Any, how: How) -> Callable[[], torch.Tensor]:
    edge, batch = how["px"] // 8, how["batch"]
    given = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=_HALF)  # noqa: E731
    if hasattr(module, "up_blocks"):
        more = {"text_embeds": given(batch, 1280), "time_ids": given(batch, 6)}
        words = given(batch, _WORDS, module.config.cross_attention_dim)
        times = torch.full((batch,), 500, device=DEVICE)
        return lambda: module(given(batch, 4, edge, edge), times, words, added_cond_kwargs=more, return_dict=False)[0]
    tokens = (edge // 2) ** 2
    places = {"img_ids": given(tokens, 3), "txt_ids": given(_T5_WORDS, 3)}
    conditions = {"encoder_hidden_states": given(batch, _T5_WORDS, 4096), "pooled_projections": given(batch, 768)}
    return lambda: module(
        hidden_states=given(batch, tokens, 64),
        timestep=given(batch),
        guidance=given(batch),
        **conditions,
        **places,
        return_dict=False,
    )[0]


def _made(kind: Any, /, *args: Any, **settings: Any) -> Any:
    """A module in 16 bits, made on the card; configurations of transformers come as they are."""
    torch.set_default_dtype(_HALF)
    try:
        with torch.device(DEVICE):
            return kind(*args, **settings).to(DEVICE, _HALF).eval()
    finally:
        torch.set_default_dtype(torch.float32)


def _clip(hidden: int, layers: int, heads: int, projected: bool = False, act: str = "quick_gelu") -> Any:
    kind = transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel
    settings = {"hidden_size": hidden, "intermediate_size": 4 * hidden, "num_hidden_layers": layers}
    config = transformers.CLIPTextConfig(**settings, num_attention_heads=heads, hidden_act=act, projection_dim=hidden)
    return _made(kind, config)


def _t5(layers: int | None, vocab: int = 32128, kind: str = "T5") -> Any:
    settings = {
        "d_model": 4096,
        "d_ff": 10240,
        "d_kv": 64,
        "num_heads": 64,
        "num_layers": layers or 24,
        "vocab_size": vocab,
    }
    config = getattr(transformers, f"{kind}Config")(
        **settings, feed_forward_proj="gated-gelu", is_encoder_decoder=False
    )
    return _made(getattr(transformers, f"{kind}EncoderModel"), config)


def _vae(channels: int) -> Any:
    stages = ["Encoder"] * 4
    return _made(
        diffusers.AutoencoderKL,
        latent_channels=channels,
        block_out_channels=(128, 256, 512, 512),
        layers_per_block=2,
        down_block_types=["DownEncoderBlock2D" for _ in stages],
        up_block_types=["UpDecoderBlock2D" for _ in stages],
        sample_size=1024,
        shift_factor=0.1,
    )


def _tokens(batch: int, words: int) -> torch.Tensor:
    return torch.randint(5, 30000, (batch, words), device=DEVICE)


def _stable_diffusion(how: How, _: int | None) -> _Pipeline:
    text = _clip(768, 12, 12)
    unet = _made(diffusers.UNet2DConditionModel, **unet_settings("unet-sd1"))
    pipe = diffusers.StableDiffusionPipeline(
        _vae(4), text, None, unet, diffusers.DDIMScheduler(), None, None, requires_safety_checker=False
    )

    def encode() -> dict[str, Any]:
        both = text(_tokens(2 * how["batch"], _WORDS)).last_hidden_state.chunk(2)
        return {"prompt_embeds": both[0], "negative_prompt_embeds": both[1]}

    return pipe, encode, {}


def _sdxl(how: How, _: int | None) -> _Pipeline:
    first, second = _clip(768, 12, 12), _clip(1280, 32, 20, projected=True, act="gelu")
    more = {
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2816,
    }
    unet = _made(diffusers.UNet2DConditionModel, **unet_settings("unet-sdxl"), **more)
    pipe = diffusers.StableDiffusionXLPipeline(
        _vae(4), first, second, None, None, unet, diffusers.EulerDiscreteScheduler(), add_watermarker=False
    )
    guided = how.get("steps", 30) > 4

    def encode() -> dict[str, Any]:
        sides = 2 if guided else 1
        tokens = _tokens(sides * how["batch"], _WORDS)
        hidden = first(tokens, output_hidden_states=True).hidden_states[-2]
        other = second(tokens, output_hidden_states=True)
        words = torch.cat([hidden, other.hidden_states[-2]], -1).chunk(sides)
        pooled = other.text_embeds.chunk(sides)
        embedded = {"prompt_embeds": words[0], "pooled_prompt_embeds": pooled[0]}
        if guided:
            embedded |= {"negative_prompt_embeds": words[1], "negative_pooled_prompt_embeds": pooled[1]}
        return embedded

    return pipe, encode, {} if guided else {"guidance_scale": 0.0}


def _flux(how: How, layers: int | None) -> _Pipeline:
    clip, t5 = _clip(768, 12, 12), _t5(layers)
    guided = "steps" not in how
    depth = {"num_layers": layers, "num_single_layers": layers} if layers else {}
    denoiser = _made(diffusers.FluxTransformer2DModel, guidance_embeds=guided, **depth)
    pipe = diffusers.FluxPipeline(diffusers.FlowMatchEulerDiscreteScheduler(), _vae(16), clip, None, t5, None, denoiser)

    def encode() -> dict[str, Any]:
        pooled = clip(_tokens(how["batch"], _WORDS)).pooler_output
        return {"prompt_embeds": t5(_tokens(how["batch"], _T5_WORDS)).last_hidden_state, "pooled_prompt_embeds": pooled}

    return pipe, encode, {}


def _sd3(how: How, layers: int | None) -> _Pipeline:
    first, second, t5 = _clip(768, 12, 12, projected=True), _clip(1280, 32, 20, projected=True, act="gelu"), _t5(layers)
    width = {
        "num_attention_heads": 24,
        "attention_head_dim": 64,
        "caption_projection_dim": 1536,
        "num_layers": layers or 24,
    }
    denoiser = _made(
        diffusers.SD3Transformer2DModel,
        **width,
        sample_size=128,
        in_channels=16,
        out_channels=16,
        joint_attention_dim=4096,
        pooled_projection_dim=2048,
        pos_embed_max_size=192,
    )
    pipe = diffusers.StableDiffusion3Pipeline(
        denoiser, diffusers.FlowMatchEulerDiscreteScheduler(), _vae(16), first, None, second, None, t5, None
    )

    def encode() -> dict[str, Any]:
        tokens = _tokens(2 * how["batch"], _WORDS)
        sides = [clip(tokens, output_hidden_states=True) for clip in (first, second)]
        words = torch.cat([side.hidden_states[-2] for side in sides], -1)
        words = torch.nn.functional.pad(words, (0, 4096 - words.shape[-1]))
        words = torch.cat([words, t5(_tokens(2 * how["batch"], 256)).last_hidden_state], 1).chunk(2)
        pooled = torch.cat([side.text_embeds for side in sides], -1).chunk(2)
        return {
            "prompt_embeds": words[0],
            "negative_prompt_embeds": words[1],
            "pooled_prompt_embeds": pooled[0],
            "negative_pooled_prompt_embeds": pooled[1],
        }

    return pipe, encode, {}


def _wan(how: How, layers: int | None) -> _Pipeline:
    text = _t5(layers, 256384, "UMT5")
    denoiser = _made(diffusers.WanTransformer3DModel, num_attention_heads=12, ffn_dim=8960, num_layers=layers or 30)
    vae = _made(diffusers.AutoencoderKLWan)
    scheduler = diffusers.UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True)
    pipe = diffusers.WanPipeline(None, text, vae, scheduler, denoiser)

    def encode() -> dict[str, Any]:
        both = text(_tokens(2 * how["batch"], _T5_WORDS)).last_hidden_state.chunk(2)
        return {"prompt_embeds": both[0], "negative_prompt_embeds": both[1]}

    return pipe, encode, {}


_PIPELINES: dict[str, Callable[[How, int | None], Any]] = {
    "stable-diffusion-1": _stable_diffusion,
    "sdxl": _sdxl,
    "flux": _flux,
    "sd3": _sd3,
    "wan": _wan,
}
