"""Parameters of image encoders beside a language model, and of what leads from them into it.

Every formula is the shapes of the matrices as the classes of transformers, or a model's own code, make them; biases and
norms of less than a thousandth of a layer are left out.
"""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.projectors import lead_parameters
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.sound import SOUND_KEYS, sound_parameters


#: Encoders that a configuration names instead of describing them: parameters, and width of what comes out. CLIP ViT-L,
#: and SigLIP SO400M without its pooling head, as transformers counts their modules.
_NAMED_TOWERS = {
    "clip-vit-large-patch14-336": (303_507_456, 1024),
    "clip-vit-large-patch14": (303_179_776, 1024),
    "siglip-so400m-patch14-384": (412_987_248, 1152),
    "mobilenetv5_300m_enc": (300_000_000, 2048),  # Gemma 3n's, of the size that its name says
}
_TOWER_KEYS = ("mm_vision_tower", "vision_tower", "mm_tower")


def has_towers(reader: ConfigReader) -> bool:
    """Whether a configuration describes or names encoders of images or sound."""
    described = ("vision_config", "visual", "img_processor", "vision_tower_config", "projector_config", *SOUND_KEYS)
    return any(reader.nested(key).content for key in described) or _tower_named(reader) is not None


def tower_parameters(reader: ConfigReader, hidden: int) -> int:
    """Encoders of images and sound beside a language model of this width, with what leads into it; 0 for none."""
    total = _named(reader, hidden)
    for key, read in (("vision_config", _vision), ("visual", _vision), ("vision_tower_config", _vision)):
        if reader.nested(key).content:
            total += read(reader, reader.nested(key), hidden)
            break
    else:
        if reader.nested("img_processor").word("name") == "clip_vision_model":  # Phi-3 names CLIP ViT-L at 336 pixels.
            total += 303_507_456 + 4 * 1024 * hidden + hidden * hidden
    return total + sound_parameters(reader, hidden)


def _tower_named(reader: ConfigReader) -> str | None:
    """The encoder that a configuration names, as LLaVA's own code does (mm_vision_tower: openai/clip-vit-...)."""
    names = (reader.word(key).rsplit("/", 1)[-1].casefold() for key in _TOWER_KEYS)
    return next((name for name in names if name), None)


def _named(reader: ConfigReader, hidden: int) -> int:
    """A named encoder, and LLaVA's projector of one matrix or several with an activation between (mlp2x_gelu)."""
    known = _NAMED_TOWERS.get(_tower_named(reader) or "")
    if known is None:
        return 0
    parameters, width = known
    kind = reader.word("mm_projector_type")
    depth = int(kind[3]) if kind.startswith("mlp") and kind[3:4].isdigit() else 1 if kind == "linear" else 2
    return parameters + width * hidden + (depth - 1) * hidden * hidden


#: Tower and projector are made twice: for pictures, and for clips.
_TWICE = frozenset(("video_llava",))
_GLM_TOWERS = ("glm4v", "glm46v", "glm_ocr", "glmga")


def _vision(outer: ConfigReader, tower: ConfigReader, hidden: int) -> int:
    width = tower.maybe("hidden_size", "embed_dim", "width", "vt_hidden_size")
    layers = tower.maybe("num_hidden_layers", "depth", "layers", "vt_num_hidden_layers")
    named = _NAMED_TOWERS.get(tower.word("architecture"))
    if named is not None:
        return named[0] + named[1] * hidden
    if tower.numbers("depths") or not width or not layers:
        return _davit(tower)
    if (
        tower.maybe("embed_dim")
        and tower.word("model_type") in {"qwen2_vl", "qwen2_vl_vision", ""}
        and "mlp_ratio" in tower.content
    ):
        width = tower.maybe("embed_dim") or width
    inner = tower.maybe("intermediate_size", "vt_intermediate_size")
    inner = inner or int(width * tower.ratio("mlp_ratio", 4))
    merged = inner  # GLM-4V: the width of what joins places; the blocks' own is that of what comes out.
    if tower.word("model_type").startswith("glm_ocr"):
        merged = 3 * (tower.maybe("out_hidden_size") or inner)
    elif tower.word("model_type").startswith(_GLM_TOWERS):
        inner = tower.maybe("out_hidden_size") or inner
    patch = tower.maybe("patch_size") or 14
    kind = tower.word("model_type")
    gated = (
        kind in {"pixtral", "exaone4_5_vision", "gemma4_vision"}
        or kind.startswith((*_GLM_TOWERS, "qwen2_5_"))
        or ("fullatt_block_indexes" in tower.content and not kind)
    )
    inner_attention = tower.maybe("qkv_hidden_size") or (tower.maybe("head_dim") or 0) * (
        tower.maybe("num_attention_heads", "num_heads") or 0
    )
    heads = tower.maybe("num_attention_heads", "num_heads") or 1
    grouped = (tower.maybe("num_key_value_heads") or heads) / heads  # keys and values of so many of the query heads
    attention = int((2 + 2 * grouped) * width * (inner_attention or width))
    blocks = (layers + (tower.maybe("num_global_layers") or 0)) * (
        attention + (3 if gated else 2) * width * inner + 4 * width
    )
    places = tower.maybe("num_position_embeddings")
    image = tower.maybe("image_size")
    if places is None and image and kind not in {"pixtral", "qwen2_vl"} and not kind.startswith("qwen2_5_"):
        places = (image // patch) ** 2
    frames = tower.maybe("temporal_patch_size") or 1
    embeddings = 3 * patch * patch * frames * width + (places or 0) * width
    if kind.startswith(_GLM_TOWERS):
        out = tower.maybe("out_hidden_size") or hidden
        merge = tower.maybe("spatial_merge_size") or 2
        return blocks + embeddings + merge * merge * width * out + out * out + 3 * out * merged
    towers = (2 if outer.word("model_type") in _TWICE else 1) * (blocks + embeddings)
    return towers + lead_parameters(outer, tower, width, hidden)


def _davit(tower: ConfigReader) -> int:
    """Florence-2's DaViT: blocks that attend over places and over channels, a convolution before each; 0 for none.

    Source: Ding et al. 2022, "DaViT"; the class Florence2VisionBackbone.
    """
    depths, widths = tower.numbers("depths"), tower.numbers("embed_dim") or tower.numbers("dim_embed")
    sizes, before = tower.numbers("patch_size"), [3, *widths[:-1]]
    blocks = sum(depth * (24 * width * width + 60 * width) for depth, width in zip(depths, widths, strict=False))
    joins = sum(a * b * size * size for a, b, size in zip(before, widths, sizes, strict=False))
    return blocks + joins + (widths[-1] * (tower.maybe("projection_dim") or widths[-1]) if widths else 0)
