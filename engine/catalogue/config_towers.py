"""Parameters of encoders of pictures and sound beside a language model, and of what leads from them into it.

Every formula is the shapes of the matrices as the classes of transformers, or a model's own code, make them; biases and
norms of less than a thousandth of a layer are left out.
"""

from __future__ import annotations

from whichgpu.engine.catalogue.config_reader import ConfigReader


#: Encoders that a configuration names instead of describing them: parameters, and width of what comes out. CLIP ViT-L,
#: and SigLIP SO400M without its pooling head, as transformers counts their modules.
_NAMED_TOWERS = {
    "clip-vit-large-patch14-336": (303_507_456, 1024),
    "clip-vit-large-patch14": (303_179_776, 1024),
    "siglip-so400m-patch14-384": (412_987_248, 1152),
}
_TOWER_KEYS = ("mm_vision_tower", "vision_tower", "mm_tower")


def has_towers(reader: ConfigReader) -> bool:
    """Whether a configuration describes or names encoders of pictures or sound."""
    described = ("vision_config", "visual", "audio_config", "sound_config", "img_processor", "vision_tower_config")
    return any(reader.nested(key).content for key in described) or _tower_named(reader) is not None


def tower_parameters(reader: ConfigReader, hidden: int) -> int:
    """Encoders of pictures and sound beside a language model of this width, with what leads into it; 0 for none."""
    total = _named(reader, hidden)
    for key, read in (("vision_config", _vision), ("visual", _vision), ("vision_tower_config", _vision)):
        if reader.nested(key).content:
            total += read(reader, reader.nested(key), hidden)
            break
    else:
        if reader.nested("img_processor").word("name") == "clip_vision_model":  # Phi-3 names CLIP ViT-L at 336 pixels.
            total += 303_507_456 + 4 * 1024 * hidden + hidden * hidden
    for key in ("audio_config", "sound_config"):
        if reader.nested(key).content:
            total += _audio(reader.nested(key), hidden)
            break
    return total


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


_GLM_TOWERS = ("glm4v", "glm46v", "glm_ocr", "glmga")


def _vision(outer: ConfigReader, tower: ConfigReader, hidden: int) -> int:
    width = tower.maybe("hidden_size", "embed_dim", "width", "vt_hidden_size")
    layers = tower.maybe("depth", "num_hidden_layers", "layers", "vt_num_hidden_layers")
    if not width or not layers:
        return 0
    if (
        tower.maybe("embed_dim")
        and tower.word("model_type") in {"qwen2_vl", "qwen2_vl_vision", ""}
        and "mlp_ratio" in tower.content
    ):
        width = tower.maybe("embed_dim") or width
    ratio = tower.content.get("mlp_ratio")
    inner = tower.maybe("intermediate_size", "vt_intermediate_size")
    inner = inner or int(width * (ratio if isinstance(ratio, int | float) else 4))
    merged = inner  # GLM-4V: the width of what joins places; the blocks' own is that of what comes out.
    if tower.word("model_type").startswith(_GLM_TOWERS):
        inner = tower.maybe("out_hidden_size") or inner
    patch = tower.maybe("patch_size") or 14
    kind = tower.word("model_type")
    gated = (
        kind in {"pixtral", "qwen2_5_vl", "exaone4_5_vision", "gemma4_vision"}
        or kind.startswith(_GLM_TOWERS)
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
    if places is None and image and kind not in {"pixtral", "qwen2_vl", "qwen2_5_vl"}:
        places = (image // patch) ** 2
    frames = tower.maybe("temporal_patch_size") or 1
    embeddings = 3 * patch * patch * frames * width + (places or 0) * width
    if kind.startswith(_GLM_TOWERS):
        out = tower.maybe("out_hidden_size") or hidden
        merge = tower.maybe("spatial_merge_size") or 2
        return blocks + embeddings + merge * merge * width * out + out * out + 3 * out * merged
    lead = _resampler(outer, tower, width, hidden)
    return blocks + embeddings + (_projector(outer, tower, width, hidden) if lead is None else lead)


def _projector(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int:
    """From the encoder's width to the language model's."""
    kind = outer.word("model_type")
    merge = tower.maybe("spatial_merge_size", "merge_size") or outer.maybe("spatial_merge_size") or 1
    merged = width * merge * merge
    if kind in {"mistral3", "ministral3"}:
        return merged * width + hidden * (width + hidden)
    if kind.startswith("gemma"):
        return width * hidden
    if kind.startswith("step3"):  # Two convolutions of three places, each to half the side and twice the width.
        return 9 * (2 + 8) * width * width + 4 * width * hidden
    if kind in {"mllama", "internvl", "internvl_chat"}:
        twice = kind != "mllama"
        return (tower.maybe("vision_output_dim") or (4 if twice else 1) * width) * hidden + twice * hidden * hidden
    if merge > 1:
        deep = tower.content.get("deepstack_visual_indexes")
        times = 1 + (len(deep) if isinstance(deep, list) else 0)
        return times * (merged * merged + merged * (tower.maybe("out_hidden_size") or hidden))
    return width * hidden + hidden * hidden


def _resampler(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int | None:
    """What turns places into few queries by attention, or a gated part behind a convolution; None for plain projectors.

    Qwen-VL and MiniCPM-V attend once (a key-value projection, attention, a last projection), Idefics2 in a perceiver of
    several layers behind a gated part. CogVLM and GLM-4V join four places by a convolution, then pass a gated part.
    """
    out = tower.maybe("output_dim") or hidden
    if outer.maybe("query_num") or (tower.maybe("output_dim") and tower.maybe("layers")):
        return width * out + 5 * out * out
    perceiver = outer.nested("perceiver_config")
    if perceiver.content:
        wide = outer.nested("text_config").maybe("intermediate_size") or 4 * hidden
        heads, dim = perceiver.maybe("resampler_n_heads") or 16, perceiver.maybe("resampler_head_dim") or 96
        shared = perceiver.maybe("num_key_value_heads") or heads
        layer = 2 * hidden * dim * (heads + shared) + 3 * 4 * hidden * hidden
        return width * 2 * wide + wide * hidden + (perceiver.maybe("resampler_depth") or 3) * layer
    if tower.maybe("num_positions") and not tower.word("model_type"):
        gated = outer.maybe("ffn_hidden_size", "intermediate_size") or 4 * hidden
        return 4 * width * hidden + hidden * hidden + 3 * hidden * gated
    return None


def _audio(tower: ConfigReader, hidden: int) -> int:
    """An encoder built like Whisper's, and a projection of two layers."""
    width = tower.maybe("d_model", "hidden_size")
    layers = tower.maybe("encoder_layers", "num_hidden_layers")
    if not width or not layers:
        return 0
    inner = tower.maybe("encoder_ffn_dim", "intermediate_size") or 4 * width
    mels, places = tower.maybe("num_mel_bins") or 128, tower.maybe("max_source_positions") or 1500
    convolutions = 3 * width * (mels + width) + places * width
    lead = inner * hidden if tower.word("model_type") == "voxtral_encoder" else width * hidden
    return convolutions + layers * (4 * width * width + 2 * width * inner + 9 * width) + lead + hidden * hidden
