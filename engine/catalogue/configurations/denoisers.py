"""Parameters of denoising transformers by how their blocks are made, for classes of diffusers beside the oldest ones.

Counted are the matrices, in most blocks a number of squares of the width; biases and norms of less than a thousandth of
a block are left out. A feed-forward part is of two matrices, or of three with a gate.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.dual_streams import (
    DUAL_STREAMS,
    STEP,
    embedded,
    ends_of,
    gated_block,
    layers_of,
    two_thirds,
    width_of,
)
from whichgpu.engine.catalogue.configurations.reader import ConfigReader


def _refined(reader: ConfigReader, width: int, layers: int, inner: int, step: int) -> int:
    """One stream of pictures and text with gated parts, behind refiners of each (Lumina 2, Z-Image)."""
    heads = reader.maybe("num_attention_heads", "n_heads") or 1
    shared = (reader.maybe("num_kv_heads", "n_kv_heads") or heads) / heads
    block = int((2 + 2 * shared) * width * width) + 3 * width * inner
    refiners = reader.maybe("num_refiner_layers", "n_refiner_layers") or 2
    text = (reader.maybe("cap_feat_dim") or 0) * width
    return (layers + 2 * refiners) * block + (layers + refiners) * 4 * width * step + text + step * width


def _lumina(reader: ConfigReader) -> int:
    width = reader.count("hidden_size") or 0
    multiple = reader.maybe("multiple_of") or 256
    return _refined(reader, width, layers_of(reader), -(-4 * width // multiple) * multiple, min(width, 1024))


def _z_image(reader: ConfigReader) -> int:
    width = reader.count("dim") or 0
    return _refined(reader, width, reader.count("n_layers") or 0, 8 * width // 3, STEP)


def _aura(reader: ConfigReader) -> int:
    """Blocks of two streams and of one, each with six modulations and a gated part."""
    width = width_of(reader)
    block = 10 * width * width + 3 * width * two_thirds(width)
    blocks = 2 * (reader.count("num_mmdit_layers") or 0) + (reader.count("num_single_dit_layers") or 0)
    places = (reader.maybe("pos_embed_max_size") or 1024) * width
    return blocks * block + (reader.maybe("joint_attention_dim") or 2048) * width + places + ends_of(reader, width)


def _table_modulated(reader: ConfigReader) -> int:
    """PixArt's blocks: attention to itself and to the text, a plain part, a table of modulations (LTX, Allegro)."""
    width = width_of(reader)
    seen = reader.maybe("cross_attention_dim") or width
    block = 14 * width * width + 2 * seen * width + 6 * width
    inputs = embedded(STEP, width) + 6 * width * width + embedded(reader.maybe("caption_channels") or 4096, width)
    return layers_of(reader) * block + inputs + 2 * (reader.maybe("in_channels") or 128) * width


def _ltx2(reader: ConfigReader) -> int:
    """LTX's blocks for clips and for sound side by side, each also attending to the other."""
    width = width_of(reader)
    sound = (reader.maybe("audio_num_attention_heads") or 32) * (reader.maybe("audio_attention_head_dim") or 64)
    text = reader.maybe("caption_channels") or 3840
    block = 16 * (width * width + sound * sound) + 4 * width * sound + 4 * sound * sound
    inputs = sum(embedded(text, each) + 3 * embedded(STEP, each) + 11 * each * each for each in (width, sound))
    return layers_of(reader) * block + inputs + 256 * (width + sound)


def _cosmos(reader: ConfigReader) -> int:
    """Attention to itself and to the text, a plain part, three modulations of low rank in each block."""
    width, text = width_of(reader), reader.maybe("text_embed_dim") or 1024
    rank = reader.maybe("adaln_lora_dim") or 256
    block = (6 + 2 * (reader.maybe("mlp_ratio") or 4)) * width * width + 2 * text * width + 3 * 4 * rank * width
    ends = 4 * width * width + 3 * rank * width + 4 * (reader.maybe("in_channels") or 16) * width
    return layers_of(reader) * block + ends


def _cogview(reader: ConfigReader) -> int:
    """One stream with twelve modulations of a narrow time step."""
    width, step = width_of(reader), reader.maybe("time_embed_dim") or 512
    block = 12 * width * width + 12 * width * step
    text = (reader.maybe("text_embed_dim") or 4096) * width
    return layers_of(reader) * block + text + 3 * width * step


def _mochi(reader: ConfigReader) -> int:
    """Two streams of which the text's is narrower; the last block has no further use of the text."""
    width, narrow = width_of(reader), reader.maybe("pooled_projection_dim") or 1536
    text = reader.maybe("text_embed_dim") or 4096
    own = 8 * width * width + 3 * width * (8 * width // 3)
    other = 8 * narrow * width + 3 * narrow * (8 * narrow // 3)
    unused = 3 * narrow * width + narrow * width + 3 * narrow * (8 * narrow // 3)
    pooled = 3 * text * text + text * (width + narrow)
    return layers_of(reader) * (own + other) - unused + pooled + _plain_ends(width)


def _plain_ends(width: int) -> int:
    return embedded(STEP, width) + 2 * width * width


def _hidream(reader: ConfigReader) -> int:
    """Experts for pictures, one of them shared, in blocks of two streams and of one; each with a projection of text."""
    width, text = width_of(reader), reader.first("caption_channels") or 4096
    inner, experts = two_thirds(width), reader.maybe("num_routed_experts") or 4
    parts = 3 * width * (two_thirds(width // 2) + experts * inner)
    doubles, singles = layers_of(reader), reader.maybe("num_single_layers") or 0
    blocks = doubles * (20 * width * width + parts + 3 * width * inner) + singles * (10 * width * width + parts)
    pooled = embedded(reader.maybe("text_emb_dim") or 2048, width)
    return blocks + (doubles + singles + 1) * text * width + pooled + _plain_ends(width)


def _kandinsky(reader: ConfigReader) -> int:
    """Blocks of text, then of pictures that attend to it, with modulations of a narrow time step."""
    width, inner, step = (reader.count(key) or 0 for key in ("model_dim", "ff_dim", "time_dim"))
    pictures = 8 * width * width + 2 * width * inner + 9 * width * step
    texts = 4 * width * width + 2 * width * inner + 6 * width * step
    blocks = (reader.count("num_visual_blocks") or 0) * pictures + (reader.maybe("num_text_blocks") or 2) * texts
    return blocks + (reader.maybe("in_text_dim") or 3584) * width + 3 * width * step


def _qwen_image_2(reader: ConfigReader) -> int:
    """Prompt and image in one row; one modulation for all blocks."""
    width = width_of(reader)
    block = gated_block(width, (reader.maybe("mlp_ratio") or 3) * width)
    text = embedded(reader.maybe("context_in_dim") or width, width)
    return layers_of(reader) * block + 5 * width * width + text + embedded(STEP, width)


def _ernie(reader: ConfigReader) -> int:
    """The same with a time step as wide as the blocks."""
    width = width_of(reader)
    block = gated_block(width, reader.maybe("ffn_hidden_size") or 4 * width)
    return layers_of(reader) * block + 10 * width * width + (reader.maybe("text_in_dim") or 2560) * width


def _krea(reader: ConfigReader) -> int:
    """Heads that share keys, a gate on what attention gives, and blocks that join the layers of a text encoder."""
    width, heads = width_of(reader), reader.maybe("num_attention_heads") or 1
    shared = (reader.maybe("num_key_value_heads") or heads) / heads
    block = gated_block(width, reader.maybe("intermediate_size") or 4 * width)
    block += int((2 * shared - 1) * width * width)
    text = reader.maybe("text_hidden_dim") or 2560
    joins = (reader.maybe("num_layerwise_text_blocks") or 2) + (reader.maybe("num_refiner_text_blocks") or 2)
    joined = joins * (gated_block(text, reader.maybe("text_intermediate_size") or 4 * text) + text * text)
    return layers_of(reader) * block + joined + 6 * width * width + embedded(STEP, width) + embedded(text, width)


def _ideogram(reader: ConfigReader) -> int:
    """Gated blocks with four modulations of a narrow time step, behind a wide language model."""
    width, step = width_of(reader), reader.maybe("adaln_dim") or 512
    block = gated_block(width, reader.maybe("intermediate_size") or 4 * width) + 4 * step * width
    return layers_of(reader) * block + (reader.maybe("llm_features_dim") or 4096) * width + 2 * width * (width + step)


def _glm_image(reader: ConfigReader) -> int:
    """CogView 4's blocks, with tokens of a draft beside the glyphs of the prompt."""
    width = width_of(reader)
    drafts = (reader.maybe("prior_vq_quantizer_codebook_size") or 16384) * width + 2 * width * width
    return _cogview(reader) + drafts + width * width


def _sana(reader: ConfigReader) -> int:
    """Linear attention, attention to the prompt, and a gated part of convolutions; for clips also one over time."""
    width = width_of(reader)
    inner = int(reader.ratio("mlp_ratio", 2.5) * width)
    seen = reader.maybe("cross_attention_dim") or width
    over_time = 3 * width * width if "Video" in reader.word("_class_name") else 0
    block = 6 * width * width + 2 * seen * width + 3 * width * inner + 18 * inner + over_time
    text = embedded(reader.maybe("caption_channels") or 2304, width)
    return layers_of(reader) * block + text + embedded(STEP, width) + 6 * width * width


def _dit(reader: ConfigReader) -> int:
    """Every block embeds time step and class anew. Source: Peebles and Xie 2023."""
    width, classes = width_of(reader), (reader.maybe("num_embeds_ada_norm") or 1000) + 1
    return layers_of(reader) * (18 * width * width + embedded(STEP, width) + classes * width) + 2 * width * width


def _stable_audio(reader: ConfigReader) -> int:
    """Attention to itself and to a narrow prompt, gated parts of four widths."""
    width, seen = width_of(reader), reader.maybe("cross_attention_dim") or 768
    heads = reader.maybe("num_attention_heads") or 1
    keys = width * (reader.maybe("num_key_value_attention_heads") or heads) // heads
    block = 6 * width * width + 2 * seen * keys + 12 * width * width
    inputs = embedded(reader.maybe("global_states_input_dim") or 1536, width) + 2 * seen * seen
    return layers_of(reader) * block + inputs + embedded(reader.maybe("time_proj_dim") or 256, width)


def _ace_step(reader: ConfigReader) -> int:
    """Gated blocks of heads that share keys, each also attending to the words; two time steps."""
    width, heads = reader.maybe("hidden_size") or 0, reader.maybe("num_attention_heads") or 1
    dim = reader.maybe("head_dim") or width // heads
    shared = reader.maybe("num_key_value_heads") or heads
    block = 4 * width * dim * (heads + shared) + 3 * width * (reader.maybe("intermediate_size") or 0)
    steps = 2 * (embedded(STEP, width) + 6 * width * width)
    ends = (reader.maybe("in_channels") or 192) * 2 * width + width * width
    return (reader.count("num_hidden_layers") or 0) * block + steps + ends


DENOISERS: dict[str, Callable[[ConfigReader], int]] = {
    **DUAL_STREAMS,
    "StableAudioDiTModel": _stable_audio,
    "SanaVideoTransformer3DModel": _sana,
    "SanaTransformer2DModel": _sana,
    "QwenImage21Transformer2DModel": _qwen_image_2,
    "Krea2Transformer2DModel": _krea,
    "Ideogram4Transformer2DModel": _ideogram,
    "GlmImageTransformer2DModel": _glm_image,
    "ErnieImageTransformer2DModel": _ernie,
    "DiTTransformer2DModel": _dit,
    "AceStepTransformer1DModel": _ace_step,
    "AllegroTransformer3DModel": _table_modulated,
    "AuraFlowTransformer2DModel": _aura,
    "CogView3PlusTransformer2DModel": _cogview,
    "CogView4Transformer2DModel": _cogview,
    "CosmosTransformer3DModel": _cosmos,
    "HiDreamImageTransformer2DModel": _hidream,
    "Kandinsky5Transformer3DModel": _kandinsky,
    "LTX2VideoTransformer3DModel": _ltx2,
    "LTXVideoTransformer3DModel": _table_modulated,
    "Lumina2Transformer2DModel": _lumina,
    "MochiTransformer3DModel": _mochi,
    "ZImageTransformer2DModel": _z_image,
}
