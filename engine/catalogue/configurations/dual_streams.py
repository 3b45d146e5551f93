"""Denoising transformers whose image and prompt have streams of their own: FLUX and what is built like it.

Counted are the matrices, in most blocks a number of squares of the width; biases and norms of less than a thousandth of
a block are left out. A feed-forward part is of two matrices, or of three with a gate.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Numbers of a time step before it is embedded.
STEP = 256


def width_of(reader: ConfigReader) -> int:
    """The width of a transformer: of all its heads together."""
    heads = reader.maybe("num_attention_heads", "n_heads")
    dim = reader.maybe("attention_head_dim", "head_dim")
    return (heads or 0) * (dim or 0) or reader.maybe("hidden_size", "dim", "model_dim") or 0


def layers_of(reader: ConfigReader) -> int:
    """Its blocks; noted as missing where they are not stated."""
    return reader.count("num_layers") or 0


def embedded(channels: int, width: int) -> int:
    """Two matrices, into the width and within it."""
    return channels * width + width * width


def two_thirds(width: int, multiple: int = 256) -> int:
    """The inner width of a gated part of as many parameters as a plain one of four widths, in whole blocks."""
    return -(-(8 * width // 3) // multiple) * multiple


def ends_of(reader: ConfigReader, width: int) -> int:
    """Time steps, a distilled guidance and a pooled text on the way in; a modulation on the way out."""
    steps = 1 + reader.flag("guidance_embeds", default=False)
    pooled = reader.maybe("pooled_projection_dim")
    return steps * embedded(STEP, width) + (embedded(pooled, width) if pooled else 0) + 2 * width * width


def _streams(reader: ConfigReader, *, gated: bool = False, modulated: bool = True) -> int:
    """FLUX's blocks: pictures and text side by side, then as one row whose two parts run at once."""
    width = width_of(reader)
    part = 12 if gated else 8
    doubles = 2 * (4 + part + 6 * modulated) * layers_of(reader)
    singles = (3 + (8 if gated else 4) + 5 + 3 * modulated) * (reader.maybe("num_single_layers") or 0)
    text = reader.maybe("joint_attention_dim", "text_embed_dim") or 4096
    return (doubles + singles) * width * width + (text + (reader.maybe("in_channels") or 64)) * width


def _flux_like(reader: ConfigReader) -> int:
    return _streams(reader) + ends_of(reader, width_of(reader))


def _ovis(reader: ConfigReader) -> int:
    return _streams(reader, gated=True) + ends_of(reader, width_of(reader))


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
    refiner = text * width + embedded(STEP, width) + embedded(text, width)
    refiner += 14 * width * width * (reader.maybe("num_refiner_layers") or 2)
    second = reader.maybe("text_embed_2_dim")
    return _streams(reader) + refiner + ends_of(reader, width) + (embedded(second, width) if second else 0)


def _flux2(reader: ConfigReader) -> int:
    """One modulation for all blocks of a kind; gated parts of three widths; a single block has two matrices."""
    width, ratio = width_of(reader), reader.maybe("mlp_ratio") or 3
    blocks = 2 * (4 + 3 * ratio) * layers_of(reader) + (4 + 3 * ratio) * (reader.maybe("num_single_layers") or 0)
    inputs = (reader.maybe("joint_attention_dim") or 15360) + 2 * (reader.maybe("in_channels") or 128)
    return (blocks + 15 + 2) * width * width + inputs * width + 2 * embedded(STEP, width)


def gated_block(width: int, inner: int) -> int:
    """Attention, and a feed-forward part with a gate."""
    return 4 * width * width + 3 * width * inner


def _flux3(reader: ConfigReader) -> int:
    """Blocks of their own for the image, for what it is made from and for the prompt, then blocks that all share."""
    width, ratio = width_of(reader), reader.maybe("mlp_ratio") or 3
    blocks = 3 * layers_of(reader) + (reader.maybe("num_single_layers") or 0)
    text = (reader.maybe("joint_attention_dim") or 4096) * width
    return blocks * gated_block(width, ratio * width) + (18 + 2) * width * width + text + embedded(STEP, width)


#: By the class that diffusers has for each.
DUAL_STREAMS: dict[str, Callable[[ConfigReader], int]] = {
    "Flux3Transformer2DModel": _flux3,
    "BriaTransformer2DModel": _flux_like,
    "ChromaTransformer2DModel": _chroma,
    "Flux2Transformer2DModel": _flux2,
    "HunyuanImageTransformer2DModel": _hunyuan,
    "HunyuanVideo15Transformer3DModel": _hunyuan,
    "HunyuanVideoFramepackTransformer3DModel": _hunyuan,
    "HunyuanVideoTransformer3DModel": _hunyuan,
    "LongCatImageTransformer2DModel": _flux_like,
    "OvisImageTransformer2DModel": _ovis,
}
