"""Detectors, segmenters and depth estimators that put transformers behind a vision network.

Every formula is the shapes of the matrices as the classes of transformers make them; norms of less than a thousandth of
the whole are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.network import Network, edge_of
from whichgpu.engine.catalogue.configurations.patches import TRANSFORMERS, vision_transformer
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.stages import convnext, resnet, swin
from whichgpu.engine.catalogue.model import ModelKind, ModelSpec


#: Residual networks that a configuration only names: how many layers each stage has, by their number.
_DEPTHS = {"18": [2, 2, 2, 2], "34": [3, 4, 6, 3], "50": [3, 4, 6, 3], "101": [3, 4, 23, 3], "152": [3, 8, 36, 3]}
#: Shorter side in pixels that the image processors of these classes resize to, whatever the backbone was trained on.
_DETECTED_PX = 800
_BACKBONES: dict[str, Callable[[ConfigReader, int], Network]] = {
    "swin": swin,
    "maskformer-swin": swin,
    "convnext": convnext,
    "convnextv2": convnext,
    "resnet": resnet,
}


def detector_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """The network of a configuration.

    Raises:
        InputError: it lacks a dimension, or its backbone is not known.
    """
    kind = reader.word("model_type")
    backbone, width = _backbone(reader)
    total = backbone + _HEADS[kind](reader, width)
    reader.finish()
    found: ModelKind = "vision" if kind in _DENSE else "detection"
    return ModelSpec(
        id=identity,
        name=identity,
        kind=found,
        params_b=round(total / 1e9, 9),
        components_b={"backbone": round(backbone / 1e9, 6)},
        resolution_px=edge_of(_described(reader)) if found == "vision" else _DETECTED_PX,
        sources=("config.json",),
        notes=("what it keeps of an image is estimated from its size: its layers are counted by parameters alone",),
    )


def _described(reader: ConfigReader) -> ConfigReader:
    inner = reader.nested("backbone_config")
    inner = inner if inner.content else reader.nested("vision_config")
    return inner if inner.content else reader


def _backbone(reader: ConfigReader) -> tuple[int, int]:
    """Parameters of what sees the image, and the width of what it gives."""
    inner = _described(reader)
    kind, named = inner.word("model_type"), reader.word("backbone") or inner.word("architecture")
    if not named and kind in {"timm_backbone", ""} and inner is reader:
        named = "resnet50"  # what the class of DETR takes
    if named:
        depth = named.casefold().removeprefix("resnet").split(".")[0].rstrip("cd")
        if depth not in _DEPTHS:
            reader.required("backbone_config")
            return 0, 0
        narrow = int(depth) >= 50
        widths = [256, 512, 1024, 2048] if narrow else [64, 128, 256, 512]
        layer = "bottleneck" if narrow else "basic"
        stated = {"depths": _DEPTHS[depth], "hidden_sizes": widths, "layer_type": layer}
        return resnet(ConfigReader(stated, reader.name), 224).params, widths[-1]
    if kind in _BACKBONES:
        widths = inner.numbers("hidden_sizes")
        stages = len(inner.numbers("depths"))
        last = widths[-1] if widths else (inner.maybe("embed_dim") or 96) << max(0, stages - 1)
        return _BACKBONES[kind](inner, edge_of(inner)).params, last
    if kind in TRANSFORMERS | _OWN_TRANSFORMERS or inner is reader:
        return vision_transformer(inner, edge_of(inner)).params, inner.maybe("hidden_size") or 0
    reader.required("backbone")
    return 0, 0


def _detr(reader: ConfigReader, width: int) -> int:
    """Encoder and decoder over the last map of a backbone. Source: Carion et al. 2020."""
    model, encoders, decoders, wide, inner = _sizes(reader)
    queries = (reader.maybe("num_queries") or 100) * model
    layers = encoders * (4 * model * model + 2 * model * wide) + decoders * (8 * model * model + 2 * model * inner)
    if reader.word("model_type") in {
        "conditional_detr",
        "dab-detr",
    }:  # Contents and places have projections of their own.
        layers += decoders * 5 * model * model
    return layers + _biases(encoders, decoders, model, wide, inner) + width * model + queries + 2 * model * model


def _deformable(reader: ConfigReader, width: int) -> int:
    """The same over several scales, where a query samples few places. Source: Zhu et al. 2021."""
    model, encoders, decoders, wide, inner = _sizes(reader)
    levels, queries = reader.maybe("num_feature_levels") or 4, reader.maybe("num_queries") or 300
    layers = encoders * (_sampled(reader, "encoder", model, levels) + 2 * model * wide)
    layers += decoders * (_sampled(reader, "decoder", model, levels) + 4 * model * model + 2 * model * inner)
    heads = 2 * model * model * (decoders if reader.flag("with_box_refine", default=False) else 1)
    inputs = (width + width // 2 + width // 4) * model + max(0, levels - 3) * 9 * width * model
    if reader.flag("two_stage", default=False):
        queries = 0
        heads += 2 * model * model + model * model + 4 * model * model
    return layers + _biases(encoders, decoders, model, wide, inner) + heads + inputs + 2 * queries * model


def _grounding(reader: ConfigReader, width: int) -> int:
    """Deformable layers that also read words: both streams attend to each other. Source: Liu et al. 2024."""
    model, encoders, decoders, wide, inner = _sizes(reader)
    text = reader.nested("text_config")
    words, levels = text.maybe("hidden_size") or 768, reader.maybe("num_feature_levels") or 4
    rows = (text.maybe("vocab_size") or 30522) + (text.maybe("max_position_embeddings") or 512) + 2
    deep, feed = text.maybe("num_hidden_layers") or 12, text.maybe("intermediate_size") or 4 * words
    reading = rows * words + deep * (4 * words * words + 2 * words * feed + 9 * words + feed) + 2 * words
    joined = 6 * model * (wide // 2)
    texts = 4 * model * model + 2 * model * (wide // 2)
    layers = encoders * (joined + texts + _sampled(reader, "encoder", model, levels) + 2 * model * wide)
    layers += decoders * (_sampled(reader, "decoder", model, levels) + 8 * model * model + 2 * model * inner)
    inputs = (width + width // 2 + width // 4) * model + max(0, levels - 3) * 9 * width * model
    ends = 7 * model * model + (reader.maybe("num_queries") or 900) * model + words * model
    return reading + layers + _biases(encoders, decoders, model, wide, inner) + inputs + ends


def _sizes(reader: ConfigReader) -> tuple[int, int, int, int, int]:
    """Width, layers of both halves, widths of their feed-forward parts."""
    model = reader.maybe("d_model", "hidden_size", "hidden_dim") or 256
    encoders, decoders = reader.maybe("encoder_layers") or 6, reader.maybe("decoder_layers") or 6
    wide = reader.maybe("encoder_ffn_dim") or 2048
    return model, encoders, decoders, wide, reader.maybe("decoder_ffn_dim") or wide


def _biases(encoders: int, decoders: int, model: int, wide: int, inner: int) -> int:
    return encoders * (9 * model + wide) + decoders * (15 * model + inner)


def _sampled(reader: ConfigReader, half: str, model: int, levels: int) -> int:
    heads = reader.maybe(f"{half}_attention_heads") or 8
    places = heads * levels * (reader.maybe(f"{half}_n_points") or 4)
    return 2 * model * model + 3 * model * places + 3 * places + 2 * model


def _sam(reader: ConfigReader, width: int) -> int:
    """A neck, a prompt encoder, and a decoder of masks. Source: Kirillov et al. 2023."""
    tower, decoder = reader.nested("vision_config"), reader.nested("mask_decoder_config")
    neck, model = tower.maybe("output_channels") or 256, decoder.maybe("hidden_size") or 256
    inner, layers = decoder.maybe("mlp_dim") or 2048, decoder.maybe("num_hidden_layers") or 2
    narrow = model // (decoder.maybe("attention_downsample_rate") or 2)
    masks = (decoder.maybe("num_multimask_outputs") or 3) + 1
    dim = width // (tower.maybe("num_attention_heads") or 12)
    side, window = edge_of(tower) // (tower.maybe("patch_size") or 16), tower.maybe("window_size") or 14
    whole = len(tower.numbers("global_attn_indexes")) or 4
    deep = tower.maybe("num_hidden_layers") or 12
    distances = 2 * dim * (whole * (2 * side - 1) + (deep - whole) * (2 * window - 1))
    streams = layers * (4 * model * model + 8 * model * narrow + 2 * model * inner) + 4 * model * narrow
    ends = model * model + model * model // 8 + masks * (2 * model * model + model * model // 8)
    found = (decoder.maybe("iou_head_depth") or 3) - 1
    return neck * width + 9 * neck * neck + distances + streams + ends + found * model * model


def _depth(reader: ConfigReader, width: int) -> int:
    """Maps of several layers, resized and joined by convolutions. Source: Ranftl et al. 2021; Yang et al. 2024."""
    widths = reader.numbers("neck_hidden_sizes") or [96, 192, 384, 768]
    fused = reader.maybe("fusion_hidden_size") or 256
    reads = reader.word("readout_type") == "project" and "backbone_config" not in reader.content
    into = len(widths) * 2 * width * width if reads else 0
    resized = sum(width * out for out in widths)
    factors = (16, 4, 0, 9)
    resized += sum(out * out * factor for out, factor in zip(widths, factors, strict=False))
    joins = 9 * sum(widths) * fused + len(widths) * (fused * fused + 4 * 9 * fused * fused)
    last = reader.maybe("head_hidden_size") or 32
    return into + resized + joins + 9 * fused * (fused // 2) + 9 * (fused // 2) * last


_HEADS: dict[str, Callable[[ConfigReader, int], int]] = {
    "conditional_detr": _detr,
    "deformable_detr": _deformable,
    "depth_anything": _depth,
    "detr": _detr,
    "dpt": _depth,
    "grounding-dino": _grounding,
    "mm-grounding-dino": _grounding,
    "sam": _sam,
    "table-transformer": _detr,
}
_DENSE = frozenset(("depth_anything", "dpt", "sam"))
_OWN_TRANSFORMERS = frozenset(("sam_vision_model",))
DETECTORS = frozenset(_HEADS)
