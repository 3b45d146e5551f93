"""Parameters of denoising transformers by how their blocks are made, for classes of diffusers beside the oldest ones.

Counted are the matrices, in most blocks a number of squares of the width; biases and norms of less than a thousandth of
a block are left out. A feed-forward part is of two matrices, or of three with a gate.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Numbers of a time step before it is embedded, and the rank of Cosmos' modulation.
_STEP, _RANK = 256, 256


def width_of(reader: ConfigReader) -> int:
    """The width of a transformer: of all its heads together."""
    heads = reader.maybe("num_attention_heads", "n_heads")
    dim = reader.maybe("attention_head_dim", "head_dim")
    return (heads or 0) * (dim or 0) or reader.maybe("hidden_size", "dim", "model_dim") or 0


def _layers(reader: ConfigReader) -> int:
    return reader.count("num_layers") or 0


def _embedded(channels: int, width: int) -> int:
    """Two matrices, into the width and within it."""
    return channels * width + width * width


def _two_thirds(width: int, multiple: int = 256) -> int:
    """The inner width of a gated part of as many parameters as a plain one of four widths, in whole blocks."""
    return -(-(8 * width // 3) // multiple) * multiple


def _ends(reader: ConfigReader, width: int) -> int:
    """Time steps, a distilled guidance and a pooled text on the way in; a modulation on the way out."""
    steps = 1 + reader.flag("guidance_embeds", default=False)
    pooled = reader.maybe("pooled_projection_dim")
    return steps * _embedded(_STEP, width) + (_embedded(pooled, width) if pooled else 0) + 2 * width * width


def _streams(reader: ConfigReader, *, gated: bool = False, modulated: bool = True) -> int:
    """FLUX's blocks: pictures and text side by side, then as one row whose two parts run at once."""
    width = width_of(reader)
    part = 12 if gated else 8
    doubles = 2 * (4 + part + 6 * modulated) * _layers(reader)
    singles = (3 + (8 if gated else 4) + 5 + 3 * modulated) * (reader.maybe("num_single_layers") or 0)
    text = reader.maybe("joint_attention_dim", "text_embed_dim") or 4096
    return (doubles + singles) * width * width + (text + (reader.maybe("in_channels") or 64)) * width


def _flux_like(reader: ConfigReader) -> int:
    return _streams(reader) + _ends(reader, width_of(reader))


def _ovis(reader: ConfigReader) -> int:
    return _streams(reader, gated=True) + _ends(reader, width_of(reader))


def _chroma(reader: ConfigReader) -> int:
    """Modulations come from one small network instead of a matrix in each block."""
    width, inner = width_of(reader), reader.maybe("approximator_hidden_dim") or 5120
    return (
        _streams(reader, modulated=False)
        + 2 * inner * inner * (reader.maybe("approximator_layers") or 5)
        + (inner * (width + (reader.maybe("approximator_num_channels") or 64)))
    )


def _hunyuan(reader: ConfigReader) -> int:
    """FLUX's blocks behind a refiner of the text (Kong et al. 2024)."""
    width, text = width_of(reader), reader.maybe("text_embed_dim") or 4096
    refiner = text * width + _embedded(_STEP, width) + _embedded(text, width)
    refiner += 14 * width * width * (reader.maybe("num_refiner_layers") or 2)
    second = reader.maybe("text_embed_2_dim")
    return _streams(reader) + refiner + _ends(reader, width) + (_embedded(second, width) if second else 0)


def _flux2(reader: ConfigReader) -> int:
    """One modulation for all blocks of a kind; gated parts of three widths; a single block has two matrices."""
    width, ratio = width_of(reader), reader.maybe("mlp_ratio") or 3
    blocks = 2 * (4 + 3 * ratio) * _layers(reader) + (4 + 3 * ratio) * (reader.maybe("num_single_layers") or 0)
    inputs = (reader.maybe("joint_attention_dim") or 15360) + 2 * (reader.maybe("in_channels") or 128)
    return (blocks + 15 + 2) * width * width + inputs * width + 2 * _embedded(_STEP, width)


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
    return _refined(reader, width, _layers(reader), -(-4 * width // multiple) * multiple, min(width, 1024))


def _z_image(reader: ConfigReader) -> int:
    width = reader.count("dim") or 0
    return _refined(reader, width, reader.count("n_layers") or 0, 8 * width // 3, _STEP)


def _aura(reader: ConfigReader) -> int:
    """Blocks of two streams and of one, each with six modulations and a gated part."""
    width = width_of(reader)
    block = 10 * width * width + 3 * width * _two_thirds(width)
    blocks = 2 * (reader.count("num_mmdit_layers") or 0) + (reader.count("num_single_dit_layers") or 0)
    places = (reader.maybe("pos_embed_max_size") or 1024) * width
    return blocks * block + (reader.maybe("joint_attention_dim") or 2048) * width + places + _ends(reader, width)


def _table_modulated(reader: ConfigReader) -> int:
    """PixArt's blocks: attention to itself and to the text, a plain part, a table of modulations (LTX, Allegro)."""
    width = width_of(reader)
    seen = reader.maybe("cross_attention_dim") or width
    block = 14 * width * width + 2 * seen * width + 6 * width
    inputs = _embedded(_STEP, width) + 6 * width * width + _embedded(reader.maybe("caption_channels") or 4096, width)
    return _layers(reader) * block + inputs + 2 * (reader.maybe("in_channels") or 128) * width


def _ltx2(reader: ConfigReader) -> int:
    """LTX's blocks for clips and for sound side by side, each also attending to the other."""
    width = width_of(reader)
    sound = (reader.maybe("audio_num_attention_heads") or 32) * (reader.maybe("audio_attention_head_dim") or 64)
    text = reader.maybe("caption_channels") or 3840
    block = 16 * (width * width + sound * sound) + 4 * width * sound + 4 * sound * sound
    inputs = sum(_embedded(text, each) + 3 * _embedded(_STEP, each) + 11 * each * each for each in (width, sound))
    return _layers(reader) * block + inputs + 256 * (width + sound)


def _cosmos(reader: ConfigReader) -> int:
    """Attention to itself and to the text, a plain part, three modulations of low rank in each block."""
    width, text = width_of(reader), reader.maybe("text_embed_dim") or 1024
    rank = reader.maybe("adaln_lora_dim") or _RANK
    block = (6 + 2 * (reader.maybe("mlp_ratio") or 4)) * width * width + 2 * text * width + 3 * 4 * rank * width
    return (
        _layers(reader) * block + 4 * width * width + 3 * rank * width + 4 * (reader.maybe("in_channels") or 16) * width
    )


def _cogview(reader: ConfigReader) -> int:
    """One stream with twelve modulations of a narrow time step."""
    width, step = width_of(reader), reader.maybe("time_embed_dim") or 512
    block = 12 * width * width + 12 * width * step
    text = (reader.maybe("text_embed_dim") or 4096) * width
    return _layers(reader) * block + text + 3 * width * step


def _mochi(reader: ConfigReader) -> int:
    """Two streams of which the text's is narrower; the last block has no further use of the text."""
    width, narrow = width_of(reader), reader.maybe("pooled_projection_dim") or 1536
    text = reader.maybe("text_embed_dim") or 4096
    own = 8 * width * width + 3 * width * (8 * width // 3)
    other = 8 * narrow * width + 3 * narrow * (8 * narrow // 3)
    unused = 3 * narrow * width + narrow * width + 3 * narrow * (8 * narrow // 3)
    pooled = 3 * text * text + text * (width + narrow)
    return _layers(reader) * (own + other) - unused + pooled + _ends_of(width)


def _ends_of(width: int) -> int:
    return _embedded(_STEP, width) + 2 * width * width


def _hidream(reader: ConfigReader) -> int:
    """Experts for pictures, one of them shared, in blocks of two streams and of one; each with a projection of text."""
    width, text = width_of(reader), reader.first("caption_channels") or 4096
    inner, experts = _two_thirds(width), reader.maybe("num_routed_experts") or 4
    parts = 3 * width * (_two_thirds(width // 2) + experts * inner)
    doubles, singles = _layers(reader), reader.maybe("num_single_layers") or 0
    blocks = doubles * (20 * width * width + parts + 3 * width * inner) + singles * (10 * width * width + parts)
    pooled = _embedded(reader.maybe("text_emb_dim") or 2048, width)
    return blocks + (doubles + singles + 1) * text * width + pooled + _ends_of(width)


def _kandinsky(reader: ConfigReader) -> int:
    """Blocks of text, then of pictures that attend to it, with modulations of a narrow time step."""
    width, inner, step = (reader.count(key) or 0 for key in ("model_dim", "ff_dim", "time_dim"))
    pictures = 8 * width * width + 2 * width * inner + 9 * width * step
    texts = 4 * width * width + 2 * width * inner + 6 * width * step
    blocks = (reader.count("num_visual_blocks") or 0) * pictures + (reader.maybe("num_text_blocks") or 2) * texts
    return blocks + (reader.maybe("in_text_dim") or 3584) * width + 3 * width * step


DENOISERS: dict[str, Callable[[ConfigReader], int]] = {
    "AllegroTransformer3DModel": _table_modulated,
    "AuraFlowTransformer2DModel": _aura,
    "BriaTransformer2DModel": _flux_like,
    "ChromaTransformer2DModel": _chroma,
    "CogView3PlusTransformer2DModel": _cogview,
    "CogView4Transformer2DModel": _cogview,
    "CosmosTransformer3DModel": _cosmos,
    "Flux2Transformer2DModel": _flux2,
    "HiDreamImageTransformer2DModel": _hidream,
    "HunyuanImageTransformer2DModel": _hunyuan,
    "HunyuanVideo15Transformer3DModel": _hunyuan,
    "HunyuanVideoFramepackTransformer3DModel": _hunyuan,
    "HunyuanVideoTransformer3DModel": _hunyuan,
    "Kandinsky5Transformer3DModel": _kandinsky,
    "LTX2VideoTransformer3DModel": _ltx2,
    "LTXVideoTransformer3DModel": _table_modulated,
    "LongCatImageTransformer2DModel": _flux_like,
    "Lumina2Transformer2DModel": _lumina,
    "MochiTransformer3DModel": _mochi,
    "OvisImageTransformer2DModel": _ovis,
    "ZImageTransformer2DModel": _z_image,
}
