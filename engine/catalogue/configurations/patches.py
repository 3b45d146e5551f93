"""Vision transformers: images or clips as patches."""

from __future__ import annotations

import math

from whichgpu.engine.catalogue.configurations.network import Network
from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Vision transformers. Those after the first lines scale what each part of a layer adds.
TRANSFORMERS = frozenset(
    (
        *("vit", "vit_msn", "vit_mae", "deit", "ijepa", "clip_vision_model", "siglip_vision_model"),
        *("siglip2_vision_model", "yolos", "videomae", "timesformer", "vivit"),
        *("beit", "data2vec-vision", "dinov2", "dinov2_with_registers", "dinov3_vit"),
    )
)
_BEITS = frozenset(("beit", "data2vec-vision"))
_SCALED = _BEITS | {"dinov2", "dinov2_with_registers", "dinov3_vit"}
#: Widths that training keeps of each place and layer beside the two of the feed-forward part, and once for each place;
#: the same under autocast, which keeps what norms read in 32 bits too. Straight lines through the traces of ViT-S to H.
KEPT, KEPT_MIXED = (8.0, 5.1), (10.0, 8.4)


def vision_transformer(reader: ConfigReader, edge: int) -> Network:
    """A vision transformer. Source: Dosovitskiy et al. 2021; the classes of transformers for what differs."""
    kind = reader.word("model_type")
    width, layers = reader.count("hidden_size") or 0, reader.count("num_hidden_layers") or 0
    ratio = reader.maybe("mlp_ratio")
    inner = reader.maybe("intermediate_size") or (ratio or 4) * width
    gated = reader.flag("use_swiglu_ffn", "use_gated_mlp", default=False)
    if gated and not reader.maybe("intermediate_size"):  # DINOv2 giant: two thirds of it, in eights.
        inner = (int(inner * 2 / 3) + 7) // 8 * 8
    patch = (reader.numbers("tubelet_size") or [0])[-1] or reader.count("patch_size") or 16
    reader.finish()
    places = _places(reader, edge, patch)
    extra = _beside_places(reader, kind)
    matrices = 4 * width * width + (3 if gated else 2) * width * inner
    layer = matrices + 9 * width + inner + (2 * width if kind in _SCALED else 0)
    deep = reader.maybe("tubelet_size") or reader.first("tubelet_size") or 1  # pictures that a patch spans
    params = layers * layer + 3 * patch * patch * deep * width + (3 + extra) * width
    params += _positions(reader, kind, width, places, layers)
    if kind == "timesformer":  # Attention over pictures, and a layer that joins it, before that over places.
        params += layers * 5 * width * width + (reader.maybe("num_frames") or 8) * width
    if kind == "yolos":  # Two heads of three layers.
        params += 4 * width * width
    if kind.startswith("siglip") and reader.flag("vision_use_head", default=True):
        params += matrices + 9 * width  # One query attends to all places.
    tokens = places + extra
    macs = layers * (tokens * matrices + 2 * tokens * tokens * width) + places * 3 * patch * patch * width
    wide = ((3 if gated else 2) * inner) / width + (2 if kind in _SCALED else 0)
    each = [tokens * width * (layers * (body + wide) + ends) for body, ends in (KEPT, KEPT_MIXED)]
    joined = kind in _BEITS  # Their scores are kept too, as many as heads and pairs of places.
    return Network(params, macs, None if joined else each[0], None if joined else each[1])


def _places(reader: ConfigReader, edge: int, patch: int) -> int:
    """Patches of one image, or of one clip."""
    sides = reader.numbers("image_size")
    wide = sides[1] if len(sides) > 1 else edge
    stated = reader.maybe("num_patches")  # SigLIP 2: of images of any shape
    deep = reader.maybe("tubelet_size") or reader.first("tubelet_size")
    frames = (reader.maybe("num_frames") or 16) // deep if deep else 1
    return stated or (edge // patch) * (wide // patch) * frames


def _beside_places(reader: ConfigReader, kind: str) -> int:
    """Tokens that stand for no patch: of the class, registers, of what is to be found."""
    many = {"siglip_vision_model": 0, "siglip2_vision_model": 0, "ijepa": 0, "videomae": 0, "deit": 2}.get(kind, 1)
    found = (reader.maybe("num_detection_tokens") or 100) if kind == "yolos" else 0
    return many + found + (reader.maybe("num_register_tokens") or 0)


def _positions(reader: ConfigReader, kind: str, width: int, places: int, layers: int) -> int:
    """Tables of positions: of places, or of distances in each layer. DINOv3 rotates, VideoMAE adds waves instead."""
    if kind in {"dinov3_vit", "videomae"}:
        return 0
    if kind in _BEITS and not reader.flag("use_absolute_position_embeddings", default=False):
        if not reader.flag("use_relative_position_bias", "use_shared_relative_position_bias", default=False):
            return 0
        side = 2 * math.isqrt(places) - 1
        tables = 1 if reader.flag("use_shared_relative_position_bias", default=False) else layers
        return tables * (side * side + 3) * (reader.maybe("num_attention_heads") or 12)
    if kind == "yolos":  # Every layer but the last adds positions of its own.
        again = layers if reader.flag("use_mid_position_embeddings", default=True) else 1
        return again * (places + _beside_places(reader, kind)) * width
    return (places + _beside_places(reader, kind) - (reader.maybe("num_register_tokens") or 0)) * width
