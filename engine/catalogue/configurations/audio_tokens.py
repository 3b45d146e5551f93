"""Models that hear or speak in the tokens of an audio codec: CSM, Dia, Moshi, Bark, Qwen2.5-Omni.

Every formula is the shapes of the matrices as the classes of transformers make them; biases and norms of less than a
thousandth of a layer are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec


#: Parameters of the codecs as transformers makes them, all of one published size.
_CODECS = {"mimi": 79_308_609, "encodec": 14_851_810}


def audio_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """A model that speaks alone: its own layers, and the codec.

    Raises:
        InputError: it lacks a dimension.
    """
    spec = _ALONE[reader.word("model_type")](reader, identity)
    reader.finish()
    return spec


def with_audio_tokens(spec: ModelSpec, outer: ConfigReader) -> ModelSpec:
    """A language model with what turns its answers into sound, or sound into its tokens."""
    count = _BESIDE.get(outer.word("model_type"))
    if count is None or spec.params_b is None:
        return spec
    more = count(outer)
    parts = spec.components_b or {"language": round(spec.params_b, 6)}
    return replace(
        spec,
        kind="multimodal",
        params_b=round(spec.params_b + more / 1e9, 9),
        components_b={**parts, "audio": round(more / 1e9, 6)},
    )


def _csm(outer: ConfigReader) -> int:
    """Words, a table for each codebook, and a small decoder that fills in the codebooks of a step."""
    width, rows, books = (
        outer.maybe("hidden_size") or 0,
        outer.maybe("vocab_size") or 0,
        outer.maybe("num_codebooks") or 32,
    )
    depth = outer.nested("depth_decoder_config")
    narrow = depth.maybe("hidden_size") or 1024
    words = (outer.maybe("text_vocab_size") or 0) * width
    tied = outer.flag("tie_word_embeddings", default=True)
    tables = (books - 1) * rows * width + (rows * width if tied else 0)
    small = _decoder(depth) + width * narrow + (books - 1) * narrow * rows
    return words + tables + small + _codec(outer, "codec_config")


def _moshi(outer: ConfigReader) -> int:
    """Tables of audio, the codec, and a small decoder that has weights of its own for each codebook."""
    width, books = outer.maybe("hidden_size") or 0, outer.maybe("num_codebooks") or 8
    depth = outer.nested("depth_decoder_config")
    narrow, rows = depth.maybe("hidden_size") or 1024, depth.maybe("audio_vocab_size") or 2048
    each = (depth.maybe("num_hidden_layers") or 6) * (
        4 * narrow**2 + 3 * narrow * ((depth.maybe("ffn_dim") or 5632) // 2)
    )
    small = books * (each + width * narrow + narrow * rows)
    small += (books - 1) * (rows + 1) * narrow + (depth.maybe("vocab_size") or 32000) * narrow
    return books * (rows + 1) * width + small + _codec(outer, "audio_encoder_config")


def _kyutai(outer: ConfigReader) -> int:
    books, rows = outer.maybe("num_codebooks") or 32, outer.maybe("codebook_vocab_size") or 2049
    return books * rows * (outer.maybe("hidden_size") or 0) + _codec(outer, "codec_config")


def _talker(outer: ConfigReader) -> int:
    """Qwen2.5-Omni: a second language model that writes audio, a diffusion transformer and a vocoder behind it."""
    talker, sound = outer.nested("talker_config"), outer.nested("token2wav_config")
    if not talker.content or not outer.flag("enable_audio_output", default=True):
        return 0
    width, rows = talker.maybe("hidden_size") or 0, talker.maybe("vocab_size") or 8448
    seen = talker.maybe("embedding_size") or width
    speaking = _decoder(talker) + rows * (seen + width) + seen * width
    blocks = sound.nested("dit_config")
    wide, layers = blocks.maybe("hidden_size") or 1024, blocks.maybe("num_hidden_layers") or 22
    block = (4 + 2 * (blocks.maybe("ff_mult") or 2) + 6) * wide * wide
    ends = (blocks.maybe("num_embeds") or 8193) * (blocks.maybe("emb_dim") or 512) + 6 * wide * wide
    return speaking + layers * block + ends + _vocoder(sound.nested("bigvgan_config"))


def _vocoder(reader: ConfigReader) -> int:
    """BigVGAN: halves its channels as it lengthens the wave, three branches of six convolutions at each length.

    Source: Lee et al. 2023.
    """
    channels = reader.maybe("upsample_initial_channel") or 1536
    kernels = reader.numbers("upsample_kernel_sizes") or [11, 7, 4, 4, 4, 4]
    branches = reader.numbers("resblock_kernel_sizes") or [3, 7, 11]
    total = 7 * (reader.maybe("mel_dim") or 80) * channels
    for place, kernel in enumerate(kernels):
        before, after = channels >> place, channels >> (place + 1)
        total += kernel * before * after + 6 * sum(branches) * after * after
    return total


def _decoder(reader: ConfigReader) -> int:
    """Layers with gates, and heads that share keys."""
    width, layers = reader.maybe("hidden_size") or 0, reader.maybe("num_hidden_layers") or 0
    heads = reader.maybe("num_attention_heads") or 1
    dim = reader.maybe("head_dim") or width // heads
    shared = reader.maybe("num_key_value_heads") or heads
    return layers * (2 * width * dim * (heads + shared) + 3 * width * (reader.maybe("intermediate_size") or 0))


def _codec(outer: ConfigReader, key: str) -> int:
    return _CODECS.get(outer.nested(key).word("model_type") or "mimi", 0)


def _bark(reader: ConfigReader, identity: str) -> ModelSpec:
    """Three decoders in a row: meaning, coarse and fine audio. Source: the classes of Bark."""
    total = _codec(reader, "codec_config") or _CODECS["encodec"]
    meaning = reader.nested("semantic_config")
    for key in ("semantic_config", "coarse_acoustics_config", "fine_acoustics_config"):
        part = reader.nested(key)
        width, layers = part.count("hidden_size") or 0, part.count("num_layers") or 0
        books = part.maybe("n_codes_total") or 1
        heads = 1 if books == 1 else 0  # Those of the fine decoder are its tables.
        rows = books * (part.maybe("input_vocab_size") or 10048) + (part.maybe("block_size") or 1024)
        rows += heads * (part.maybe("output_vocab_size") or 10048)
        total += layers * 12 * width * width + rows * width
    return ModelSpec(
        id=identity,
        name=identity,
        kind="llm",
        params_b=round(total / 1e9, 9),
        layers=meaning.maybe("num_layers"),
        hidden=meaning.maybe("hidden_size"),
        heads=meaning.maybe("num_heads"),
        kv_heads=meaning.maybe("num_heads"),
        vocab=meaning.maybe("input_vocab_size"),
        gated_mlp=False,
        max_context=meaning.maybe("block_size"),
        dims_partial=True,
        sources=("config.json",),
    )


def _dia(reader: ConfigReader, identity: str) -> ModelSpec:
    """An encoder of bytes and a decoder of nine channels. Source: the classes of Dia."""
    encoder, decoder = reader.nested("encoder_config"), reader.nested("decoder_config")
    width, layers = decoder.count("hidden_size") or 0, decoder.count("num_hidden_layers") or 0
    seen, heads = encoder.maybe("hidden_size") or 1024, decoder.maybe("num_attention_heads") or 16
    crossing = (decoder.maybe("cross_num_attention_heads") or heads) * (decoder.maybe("cross_head_dim") or 128)
    keys = (decoder.maybe("cross_num_key_value_heads") or heads) * (decoder.maybe("cross_head_dim") or 128)
    rows = (decoder.maybe("num_channels") or 9) * (decoder.maybe("vocab_size") or 1028)
    total = _decoder(encoder) + (encoder.maybe("vocab_size") or 256) * seen + _decoder(decoder)
    total += layers * (2 * width * crossing + 2 * seen * keys) + 2 * rows * width
    return ModelSpec(
        id=identity,
        name=identity,
        kind="encoder_decoder",
        params_b=round(total / 1e9, 9),
        layers=encoder.maybe("num_hidden_layers"),
        decoder_layers=layers,
        hidden=width,
        heads=heads,
        kv_heads=decoder.maybe("num_key_value_heads"),
        head_dim=decoder.maybe("head_dim"),
        intermediate=decoder.maybe("intermediate_size"),
        vocab=rows,
        gated_mlp=True,
        max_context=decoder.maybe("max_position_embeddings"),
        dims_partial=True,
        sources=("config.json",),
    )


_ALONE: dict[str, Callable[[ConfigReader, str], ModelSpec]] = {"bark": _bark, "dia": _dia}
_BESIDE: dict[str, Callable[[ConfigReader], int]] = {
    "csm": _csm,
    "kyutai_speech_to_text": _kyutai,
    "moshi": _moshi,
    "qwen2_5_omni": _talker,
}
SPEAKERS = frozenset(_ALONE)
