"""Image networks from their configuration: vision transformers, Swin, ConvNeXt, ResNet, and CLIP's like.

Parameters and multiplications are the shapes of the layers as the classes of transformers make them. What training
keeps of a layer is counted likewise, in widths of the layer for each place: the inputs of its norms and linear layers,
queries, keys, values, the activation and the sums. Traces of such networks (knowledge/models) come within 3 % of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec


#: Transformers over patches. Those after the first line scale what each part of a layer adds.
_PATCHES = frozenset(
    (
        *("vit", "vit_msn", "vit_mae", "deit", "ijepa", "clip_vision_model", "siglip_vision_model"),
        *("beit", "data2vec-vision", "dinov2", "dinov2_with_registers", "dinov3_vit"),
    )
)
_BEITS = frozenset(("beit", "data2vec-vision"))
_SCALED = _BEITS | {"dinov2", "dinov2_with_registers", "dinov3_vit"}
#: Image and text encoders side by side, and what their classes take where a part states nothing.
_TEXT = {"vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12}
_VISION = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "image_size": 224}
_PAIRS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "clip": ({**_TEXT, "max_position_embeddings": 77}, {**_VISION, "patch_size": 32}),
    "siglip": (
        {**_VISION, "vocab_size": 32000, "max_position_embeddings": 64},
        {**_VISION, "patch_size": 16, "model_type": "siglip_vision_model"},
    ),
}
VISION = _PATCHES | _PAIRS.keys() | {"swin", "swinv2", "convnext", "convnextv2", "resnet"}
#: Widths that training keeps of each place and layer beside the two of the feed-forward part, and once for each place;
#: the same under autocast, which keeps what norms read in 32 bits too. Straight lines through the traces of ViT-S to H.
_KEPT, _KEPT_MIXED = (8.0, 5.1), (10.0, 8.4)
#: The same of ConvNeXt: a convolution, a norm, two linear layers and a scale; with a norm over responses (V2).
_KEPT_CONV, _KEPT_CONV_V2, _KEPT_CONV_MIXED = 12.0, 19.0, 1.5


class _Network(Struct, frozen=True):
    """Parameters, multiplications of one picture, and the numbers that training keeps of one."""

    params: int
    macs: float
    kept: float | None = None
    kept_mixed: float | None = None
    activations: float | None = None  # numbers that its layers give


def vision_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """The network of a configuration.

    Raises:
        InputError: it lacks a dimension.
    """
    kind = reader.word("model_type")
    if kind in _PAIRS:
        return _pair(reader, identity)
    edge = _edge(reader)
    network = _READERS.get(kind, _patches)(reader, edge)
    reader.finish()
    pixels = edge * edge
    return ModelSpec(
        id=identity,
        name=identity,
        kind="vision",
        params_b=round((network.params + _classes(reader, kind, _width(reader))) / 1e9, 9),
        gmacs_per_image=round(network.macs / 1e9, 3),
        macts_per_image=round(network.activations / 1e6, 2) if network.activations else None,
        kept_per_pixel=round(network.kept / pixels, 1) if network.kept else None,
        kept_per_pixel_mixed=round(network.kept_mixed / pixels, 1) if network.kept_mixed else None,
        resolution_px=edge,
        embedding_dim=_width(reader),
        sources=("config.json",),
    )


def network_of_size(reader: ConfigReader, identity: str, parameters: int) -> ModelSpec:
    """An image network whose layers are not read, by the parameters that its weights have."""
    return ModelSpec(
        id=identity,
        name=identity,
        kind="vision",
        params_b=round(parameters / 1e9, 9),
        resolution_px=_edge(reader),
        sources=("config.json",),
        notes=(f"the layers of a {reader.word('model_type')!r} are not read: its parameters are those of its weights",),
    )


def _edge(reader: ConfigReader) -> int:
    return reader.maybe("image_size") or reader.first("image_size") or 224


def _width(reader: ConfigReader) -> int:
    """Of what comes out."""
    widths = reader.numbers("hidden_sizes")
    if widths:
        return widths[-1]
    depths = reader.numbers("depths")
    if depths:
        return (reader.maybe("embed_dim") or 0) << (len(depths) - 1)
    return reader.maybe("hidden_size") or 0


def _classes(reader: ConfigReader, kind: str, width: int) -> int:
    """A last layer that names classes, where some are listed; DINOv2's reads the first place and the mean."""
    labels = len(reader.nested("id2label").content)
    return labels * ((2 if kind.startswith("dinov2") else 1) * width + 1)


def _patches(reader: ConfigReader, edge: int) -> _Network:
    """A vision transformer. Source: Dosovitskiy et al. 2021; the classes of transformers for what differs."""
    kind = reader.word("model_type")
    width, layers = reader.count("hidden_size") or 0, reader.count("num_hidden_layers") or 0
    ratio = reader.maybe("mlp_ratio")
    inner = reader.maybe("intermediate_size") or (ratio or 4) * width
    gated = reader.flag("use_swiglu_ffn", "use_gated_mlp", default=False)
    if gated and not reader.maybe("intermediate_size"):  # DINOv2 giant: two thirds of it, in eights.
        inner = (int(inner * 2 / 3) + 7) // 8 * 8
    patch = reader.count("patch_size") or 16
    reader.finish()
    places = (edge // patch) ** 2
    registers = reader.maybe("num_register_tokens") or 0
    extra = {"siglip_vision_model": 0, "ijepa": 0, "deit": 2}.get(kind, 1) + registers
    matrices = 4 * width * width + (3 if gated else 2) * width * inner
    layer = matrices + 9 * width + inner + (2 * width if kind in _SCALED else 0)
    params = layers * layer + 3 * patch * patch * width + (3 + extra) * width
    params += _positions(reader, kind, width, places, layers)
    if kind == "siglip_vision_model" and reader.flag("vision_use_head", default=True):
        params += matrices + 9 * width  # One query attends to all places.
    tokens = places + extra
    macs = layers * (tokens * matrices + 2 * tokens * tokens * width) + places * 3 * patch * patch * width
    wide = ((3 if gated else 2) * inner) / width + (2 if kind in _SCALED else 0)
    each = [tokens * width * (layers * (body + wide) + ends) for body, ends in (_KEPT, _KEPT_MIXED)]
    joined = kind in _BEITS  # Their scores are kept too, as many as heads and pairs of places.
    return _Network(params, macs, None if joined else each[0], None if joined else each[1])


def _positions(reader: ConfigReader, kind: str, width: int, places: int, layers: int) -> int:
    """Tables of positions: of places, or of distances in each layer; DINOv3 rotates instead."""
    if kind == "dinov3_vit":
        return 0
    if kind in _BEITS and not reader.flag("use_absolute_position_embeddings", default=False):
        if not reader.flag("use_relative_position_bias", "use_shared_relative_position_bias", default=False):
            return 0
        side = 2 * math.isqrt(places) - 1
        tables = 1 if reader.flag("use_shared_relative_position_bias", default=False) else layers
        return tables * (side * side + 3) * (reader.maybe("num_attention_heads") or 12)
    return (places + {"siglip_vision_model": 0, "ijepa": 0, "deit": 2}.get(kind, 1)) * width


def _stages(reader: ConfigReader, edge: int) -> list[tuple[int, int, int]]:
    """Depth, width and places of each stage: half the side and twice the width of the one before."""
    depths = reader.numbers("depths")
    if not depths:
        reader.required("depths")
    base = reader.maybe("embed_dim") or 96
    widths = reader.numbers("hidden_sizes") or [base << place for place in range(len(depths))]
    patch = reader.maybe("patch_size") or 4
    return [
        (depth, width, max(1, edge // patch >> place) ** 2)
        for place, (depth, width) in enumerate(zip(depths, widths, strict=False))
    ]


def _swin(reader: ConfigReader, edge: int) -> _Network:
    """Attention within windows, four places joined between stages. Source: Liu et al. 2021; V2: Liu et al. 2022."""
    stages, heads = _stages(reader, edge), reader.numbers("num_heads")
    window, second = reader.maybe("window_size") or 7, reader.word("model_type") == "swinv2"
    patch, ratio = reader.maybe("patch_size") or 4, reader.maybe("mlp_ratio") or 4
    params, macs, kept, mixed = 3 * patch * patch * stages[0][1] + 3 * stages[0][1] if stages else 0, 0.0, 0.0, 0.0
    for place, (depth, width, places) in enumerate(stages):
        many = heads[place] if place < len(heads) else max(1, width // 32)
        distances = 512 * (2 + many) + 512 if second else many * (2 * window - 1) ** 2
        matrices = (4 + 2 * ratio) * width * width
        params += depth * (matrices + (9 + ratio) * width + distances)
        macs += depth * places * (matrices + 2 * window * window * width)
        scores = depth * places * many * window * window
        # V2 norms queries and keys, and once more what each part adds.
        kept += depth * places * width * (_KEPT[0] + 2 * ratio + 3 * second) + scores * (1 + second)
        mixed += depth * places * width * (_KEPT_MIXED[0] + 2 * ratio + 4 * second) + scores * (3 + second)
        if place + 1 < len(stages):
            params += 8 * width * width + (4 if second else 8) * width
            macs += 2 * places * width * width
        kept, mixed = kept + 2 * places * width, mixed + 2 * places * width
    macs += stages[0][2] * 3 * patch * patch * stages[0][1] if stages else 0
    return _Network(params + (2 * stages[-1][1] if stages else 0), macs, kept, mixed)


def _convnext(reader: ConfigReader, edge: int) -> _Network:
    """Convolutions of seven places a channel, and two linear layers. Source: Liu et al. 2022; V2: Woo et al. 2023."""
    stages, second = _stages(reader, edge), reader.word("model_type") == "convnextv2"
    patch = reader.maybe("patch_size") or 4
    params = macs = activations = 0
    kept = 0.0
    before, size = 3, patch
    for depth, width, places in stages:
        params += depth * (8 * width * width + 49 * width + (17 if second else 10) * width)
        macs += depth * places * (8 * width * width + 49 * width)
        activations += depth * places * 6 * width + places * width
        kept += depth * places * width * (_KEPT_CONV_V2 if second else _KEPT_CONV) + 2 * places * width
        params += size * size * before * width + width + 2 * (width if before == 3 else before)  # colours
        macs += places * size * size * before * width
        before, size = width, 2
    mixed = kept + _KEPT_CONV_MIXED * sum(depth * width * places for depth, width, places in stages)
    return _Network(params + 2 * before, macs, kept or None, mixed or None, activations)


def _resnet(reader: ConfigReader, edge: int) -> _Network:
    """Residual convolutions. Source: He et al. 2016; the class ResNetModel, which halves places in the second one."""
    depths, widths = reader.numbers("depths"), reader.numbers("hidden_sizes")
    if not depths or not widths:
        reader.required("depths")
    stem, narrow = reader.maybe("embedding_size") or 64, reader.word("layer_type") != "basic"
    side = edge // 2
    params, macs, given = 49 * 3 * stem + 2 * stem, side * side * 49 * 3 * stem, side * side * stem
    side, before = side // 2, stem
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=False)):
        halves = stage > 0 or reader.flag("downsample_in_first_stage", default=False)
        for layer in range(depth):
            first = halves and layer == 0
            out = side // 2 if first else side
            inner = width // 4 if narrow else width
            convolutions = (
                [(before, inner, 1, side), (inner, inner, 3, out), (inner, width, 1, out)]
                if narrow
                else [(before, width, 3, out), (width, width, 3, out)]
            )
            if before != width or first:
                convolutions.append((before, width, 1, out))
            for channels, gives, size, edge_out in convolutions:
                params += size * size * channels * gives + 2 * gives
                macs += edge_out * edge_out * size * size * channels * gives
                given += edge_out * edge_out * gives
            before, side = width, out
    return _Network(params, macs, activations=given)


_READERS: dict[str, Callable[[ConfigReader, int], _Network]] = {
    "swin": _swin,
    "swinv2": _swin,
    "convnext": _convnext,
    "convnextv2": _convnext,
    "resnet": _resnet,
}


def _pair(reader: ConfigReader, identity: str) -> ModelSpec:
    """Image and text encoders that meet in one space. Source: Radford et al. 2021; Zhai et al. 2023."""
    kind = reader.word("model_type")
    texts, pictures = (
        ConfigReader({**defaults, **reader.nested(key).content}, reader.name, reader.text, reader.problems)
        for defaults, key in zip(_PAIRS[kind], ("text_config", "vision_config"), strict=True)
    )
    seen = _patches(pictures, _edge(pictures)).params
    width, inner = texts.count("hidden_size") or 0, texts.count("intermediate_size") or 0
    layers = texts.count("num_hidden_layers") or 0
    rows = (texts.count("vocab_size") or 0) + (texts.maybe("max_position_embeddings") or 0)
    read = rows * width + layers * (4 * width * width + 2 * width * inner + 9 * width + inner) + 2 * width
    out = pictures.maybe("hidden_size") or 0
    if kind == "siglip":
        joined = width * (texts.maybe("projection_size") or width)
        space = out
    else:  # CLIP norms what comes in as well.
        space = reader.maybe("projection_dim") or 512
        joined = (width + out) * space + 2 * out
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
