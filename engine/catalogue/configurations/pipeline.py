"""A diffusion pipeline from its folder: ``model_index.json`` names the parts, each folder beside it configures one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from whichgpu.engine.catalogue.configurations.diffusion import (
    clip_text_parameters,
    denoiser_parameters,
    vae_parameters,
)
from whichgpu.engine.catalogue.configurations.dual_streams import width_of
from whichgpu.engine.catalogue.configurations.latent import latent_of
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.text import text_spec
from whichgpu.engine.catalogue.model import Latent, ModelSpec
from whichgpu.engine.catalogue.weights import weights_in
from whichgpu.engine.core import InputError, Problem


Read = Callable[[Path], ConfigReader]


def pipeline_spec(folder: Path, read: Read) -> ModelSpec:
    """The model of a pipeline: the size of its denoiser, and of every part.

    Raises:
        InputError: the index names no denoiser, or a part's configuration is missing or lacks a key.
    """
    index = read(folder / "model_index.json")
    parts = [key for key, value in index.content.items() if isinstance(value, list) and (folder / key).is_dir()]
    sizes: dict[str, float] = {}
    notes: list[str] = []
    denoisers = [key for key in parts if key.startswith(("transformer", "unet"))]
    if not denoisers:
        message = f"{index.name} names no transformer and no unet whose folder lies beside it"
        raise InputError(Problem("no-denoiser", message, fix="download the configurations of all parts"))
    for key in denoisers:
        reader = read(folder / key / "config.json")
        weighed = _weighed(folder / key)
        if weighed is not None:
            sizes[key] = weighed
            continue
        count, known = denoiser_parameters(reader)
        reader.finish()
        sizes[key] = round(count / 1e9, 9)
        if not known:
            name = reader.word("_class_name")
            notes.append(f"the layout of {name} is not known: 16 squares of its width a layer are assumed")
    for key in parts:
        if key.startswith(("text_encoder", "image_encoder")):
            sizes[key] = _weighed(folder / key) or _encoder(read(folder / key / "config.json"), key)
    vae = read(folder / "vae" / "config.json") if "vae" in parts else None
    found = vae_parameters(vae) if vae else None
    weighed = _weighed(folder / "vae") if vae else None
    if weighed or found:
        sizes["vae"] = weighed or round((found or 0) / 1e9, 9)
    elif vae:
        notes.append(f"the layout of {vae.word('_class_name')} is not known: it is taken to be of the usual size")
    video = re.search(r"3D|Video|Wan", read(folder / denoisers[0] / "config.json").word("_class_name"))
    reader = read(folder / denoisers[0] / "config.json")
    latent = latent_of(vae, reader) if vae else None
    total = sum(sizes[key] for key in denoisers)
    name = re.sub(r"[^a-z0-9.]+", "-", folder.resolve().name.casefold()).strip("-") or "pipeline"
    return ModelSpec(
        id=name,
        name=name,
        kind="diffusion_video" if video else "diffusion_image",
        params_b=round(total, 9),
        active_params_b=sizes[denoisers[0]] if len(denoisers) > 1 else None,
        layers=reader.maybe("num_layers"),
        hidden=width_of(reader) or None,
        heads=reader.maybe("num_attention_heads"),
        components_b=sizes,
        latent=latent,
        resolution_px=_resolution(reader, latent),
        sources=("config.json",),
        notes=tuple(notes),
    )


def _weighed(folder: Path) -> float | None:
    """The size of a part in billions, from its weights where they lie beside its configuration."""
    weights = weights_in(folder)
    return round(weights.parameters / 1e9, 9) if weights and weights.parameters else None


def _encoder(reader: ConfigReader, key: str) -> float:
    """An encoder of the prompt, in billions: CLIP's, T5's encoder half, or a language model."""
    kind = reader.word("model_type")
    if kind.startswith("clip_text") or (kind == "clip" and not reader.nested("text_config").content):
        count = clip_text_parameters(reader)
        reader.finish()
        return round(count / 1e9, 9)
    if kind in {"t5", "umt5", "mt5"}:
        return round(_t5_encoder(reader) / 1e9, 9)
    nested = reader.nested("text_config")
    inner = ConfigReader({**reader.content, **nested.content}, reader.name, reader.text) if nested.content else reader
    return text_spec(inner, key, reader).params_b or 0.0


def _t5_encoder(reader: ConfigReader) -> int:
    width, inner = reader.count("d_model") or 0, reader.count("d_ff") or 0
    heads, dim = reader.count("num_heads") or 0, reader.count("d_kv") or 0
    layers, vocab = reader.count("num_layers") or 0, reader.count("vocab_size") or 0
    reader.finish()
    gated = reader.word("feed_forward_proj").startswith("gated")
    buckets = (reader.maybe("relative_attention_num_buckets") or 32) * heads
    layer = 4 * width * heads * dim + (3 if gated else 2) * width * inner + 2 * width
    return vocab * width + layers * layer + width + buckets * (layers if reader.word("model_type") == "umt5" else 1)


def _resolution(reader: ConfigReader, latent: Latent | None) -> int | None:
    """The edge in pixels that a network was made for: its sample in latent places, times the edge of a place."""
    sample = reader.maybe("sample_size")
    return sample * latent.spatial if sample and latent else None
