"""Encoders of images and of texts that meet in one space: CLIP, SigLIP and what is built on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.catalogue.configurations.network import edge_of
from whichgpu.engine.catalogue.configurations.patches import vision_transformer
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec


#: Encoders of images and of texts side by side, and what their classes take where a part states nothing.
_TEXT = {"vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12}
_VISION = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 224}
_CLIP = ({**_TEXT, "max_position_embeddings": 77}, {**_VISION, "patch_size": 32})
_SIGLIP_TEXT = {**_VISION, "vocab_size": 32000, "max_position_embeddings": 64}
PAIRS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "clip": _CLIP,
    "clipseg": _CLIP,
    "metaclip_2": _CLIP,
    "owlv2": ({**_TEXT, "max_position_embeddings": 16}, {**_VISION, "image_size": 768, "patch_size": 16}),
    "owlvit": ({**_TEXT, "max_position_embeddings": 16}, {**_VISION, "image_size": 768, "patch_size": 32}),
    "siglip": (_SIGLIP_TEXT, {**_VISION, "patch_size": 16, "model_type": "siglip_vision_model"}),
    "siglip2": (
        _SIGLIP_TEXT,
        {**_VISION, "patch_size": 16, "num_patches": 256, "model_type": "siglip2_vision_model"},
    ),
}


def pair_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """Image and text encoders that meet in one space. Source: Radford et al. 2021; Zhai et al. 2023."""
    kind = reader.word("model_type")
    texts, pictures = (
        ConfigReader({**defaults, **reader.nested(key).content}, reader.name, reader.text, reader.problems)
        for defaults, key in zip(PAIRS[kind], ("text_config", "vision_config"), strict=True)
    )
    seen = vision_transformer(pictures, edge_of(pictures)).params
    width, inner = texts.count("hidden_size") or 0, texts.count("intermediate_size") or 0
    layers = texts.count("num_hidden_layers") or 0
    rows = (texts.count("vocab_size") or 0) + (texts.maybe("max_position_embeddings") or 0)
    read = rows * width + layers * (4 * width * width + 2 * width * inner + 9 * width + inner) + 2 * width
    out = pictures.maybe("hidden_size") or 0
    if kind.startswith("siglip"):
        joined = width * (texts.maybe("projection_size") or width)
        space = out
    else:  # CLIP norms what comes in as well.
        space = reader.maybe("projection_dim") or 512
        joined = (width + out) * space + 2 * out + _heads(reader, kind, out)
    reader.finish()
    return ModelSpec(
        id=identity,
        name=identity,
        kind="encoder",
        params_b=round((seen + read + joined) / 1e9, 9),
        components_b={"vision": round(seen / 1e9, 6), "text": round(read / 1e9, 6)},
        embedding_dim=space,
        sources=("config.json",),
    )


def _heads(reader: ConfigReader, kind: str, width: int) -> int:
    """What finds boxes or areas behind a CLIP: OWL-ViT's heads of three layers, CLIPSeg's narrow decoder."""
    if kind.startswith("owl"):
        boxes = 3 if kind == "owlv2" else 2  # The second version also says whether there is anything.
        return (boxes - 1) * 2 * width * width + 512 * width + 2 * width
    if kind != "clipseg":
        return 0
    narrow, inner = reader.maybe("reduce_dim") or 64, reader.maybe("decoder_intermediate_size") or 2048
    layers = len(reader.numbers("extract_layers")) or 3
    return layers * (width * narrow + 4 * narrow * narrow + 2 * narrow * inner) + 2 * 512 * narrow
