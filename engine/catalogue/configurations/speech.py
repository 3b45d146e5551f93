"""Speech models from their configuration: an encoder of sound, and a decoder that writes text where there is one.

Formulas are the shapes of the matrices as the classes of transformers make them.
"""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec


WHISPERS = frozenset(("whisper", "lite-whisper", "moonshine"))
WAVES = frozenset(("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio", "sew", "sew-d"))
#: Two feed-forward parts around attention and a convolution (Gulati et al. 2020); of squares of the width beside them:
#: attention, with distances but for w2v-BERT's, and the convolution.
_SQUARES = {"parakeet_ctc": 8, "parakeet_tdt": 8, "wav2vec2-bert": 7, "wav2vec2-conformer": 8}
CONFORMERS = frozenset(_SQUARES)


def speech_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """A Whisper, a Moonshine or a wav2vec2; parameters from the shapes of their layers."""
    encoder_only = reader.word("model_type") in WAVES
    width = reader.count("d_model", "hidden_size")
    layers = reader.count("encoder_layers", "encoder_num_hidden_layers", "num_hidden_layers")
    heads = reader.count("encoder_attention_heads", "encoder_num_attention_heads", "num_attention_heads")
    inner = reader.count("encoder_ffn_dim", "intermediate_size")
    vocab = reader.count("vocab_size")
    decoders = 0 if encoder_only else reader.count("decoder_layers", "decoder_num_hidden_layers") or 0
    reader.finish()
    if not width or not layers or not inner or not vocab:  # ``finish`` has raised.
        raise AssertionError(identity)
    decoder_inner = reader.maybe("decoder_ffn_dim") or inner
    block = 4 * width * width + 4 * width + 2 * width * inner + inner + width + 4 * width
    rotated = reader.word("model_type") == "moonshine"  # It reads the wave itself; its decoder has gates.
    decoder_block = 8 * width * width + (3 if rotated else 2) * width * decoder_inner + decoder_inner + 15 * width
    total = layers * block + decoders * decoder_block
    if encoder_only:
        # SEW works on fewer places, and gives all of them back.
        total += _wave_front(reader, width) + vocab * width + (reader.maybe("squeeze_factor") or 0) * width * width
    elif rotated:
        total += width * (127 + 2 * 7 * width + 2 * 3 * width) + vocab * width
    else:
        total += 3 * width * ((reader.maybe("num_mel_bins") or 80) + width)
        total += (reader.maybe("max_source_positions") or 1500) * width
        total += (vocab + (reader.maybe("max_target_positions") or 448)) * width
    return _spec(reader, identity, total, _Dims(layers, width, heads, inner, vocab, decoders))


def conformer_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """A conformer that names letters or tokens of what it hears, in a transducer with a small decoder (Parakeet)."""
    kind, inner_reader = reader.word("model_type"), reader.nested("encoder_config")
    encoder = inner_reader if inner_reader.content else reader
    width, layers = encoder.count("hidden_size") or 0, encoder.count("num_hidden_layers") or 0
    inner, heads = encoder.count("intermediate_size") or 0, encoder.count("num_attention_heads")
    reader.finish()
    vocab = reader.maybe("vocab_size") or 32
    total = layers * width * (4 * inner + _SQUARES[kind] * width)
    if kind == "wav2vec2-conformer":
        total += _wave_front(reader, width)
    elif inner_reader.content:  # Halved as often as its factor says, over mels and time.
        channels, factor = encoder.maybe("subsampling_conv_channels") or 256, encoder.maybe("subsampling_factor") or 8
        total += channels * (encoder.maybe("num_mel_bins") or 80) // factor * width
    small = reader.maybe("decoder_hidden_size")
    depth = (reader.maybe("num_decoder_layers") or 2) if small else 0
    if small:
        total += width * small + small * (2 * vocab + small * (8 * depth + 1))
    else:
        total += vocab * width
    return _spec(reader, identity, total, _Dims(layers, width, heads, inner, vocab, depth))


class _Dims(Struct, frozen=True):
    layers: int
    width: int
    heads: int | None
    inner: int
    vocab: int
    decoders: int


def _spec(reader: ConfigReader, identity: str, total: int, dims: _Dims) -> ModelSpec:
    return ModelSpec(
        id=identity,
        name=identity,
        kind="speech",
        params_b=round(total / 1e9, 9),
        layers=dims.layers,
        hidden=dims.width,
        heads=dims.heads,
        kv_heads=dims.heads,
        head_dim=dims.width // dims.heads if dims.heads else None,
        intermediate=dims.inner,
        vocab=dims.vocab,
        max_context=reader.maybe("max_target_positions"),
        gated_mlp=False,
        tied_embeddings=True,
        bias="all",
        decoder_layers=dims.decoders,
        sources=("config.json",),
    )


def _wave_front(reader: ConfigReader, width: int) -> int:
    """The convolutions over the wave, the projection behind them, and the convolution that gives positions."""
    sizes, kernels = reader.numbers("conv_dim"), reader.numbers("conv_kernel")
    before = [1, *sizes[:-1]]
    convolutions = sum(a * b * kernel for a, b, kernel in zip(before, sizes, kernels, strict=False))
    groups = reader.maybe("num_conv_pos_embedding_groups") or 16
    positions = width * (width // groups) * (reader.maybe("num_conv_pos_embeddings") or 128)
    positions *= reader.maybe("conv_pos_kernel_size") or 1  # data2vec has several narrow ones.
    return convolutions + (sizes[-1] * width if sizes else 0) + positions
