"""Parameters of encoders of sound beside a language model, and of what leads from them into it.

Every formula is the shapes of the matrices as the classes of transformers make them; biases and norms of less than a
thousandth of a layer are left out.
"""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Where configurations describe an encoder of sound.
SOUND_KEYS = ("audio_config", "sound_config")


def sound_parameters(outer: ConfigReader, hidden: int) -> int:
    """The encoder of sound beside a language model of this width, with what leads into it; 0 for none."""
    for key in SOUND_KEYS:
        if outer.nested(key).content:
            return _encoder(outer, outer.nested(key), hidden)
    if outer.nested("projector_config").content:  # Granite Speech
        former = outer.nested("projector_config")
        lead = query_former(former) + (former.maybe("hidden_size") or 0) * hidden
        return _conformer(outer.nested("encoder_config")) + lead
    return 0


def query_former(reader: ConfigReader) -> int:
    """A Q-Former: layers as BERT's, some of which also attend to what an encoder gives; words where it reads text.

    Source: Li et al. 2023, "BLIP-2"; the classes Blip2QFormerModel and InstructBlipQFormerModel.
    """
    width, layers = reader.maybe("hidden_size") or 768, reader.maybe("num_hidden_layers") or 12
    inner, seen = reader.maybe("intermediate_size") or 4 * width, reader.maybe("encoder_hidden_size") or 1408
    crossing = -(-layers // (reader.maybe("cross_attention_frequency") or 2))
    total = layers * (4 * width * width + 2 * width * inner) + crossing * 2 * width * (width + seen)
    if reader.word("model_type").startswith("instructblip"):  # Questions pass it too, by a feed-forward part of theirs.
        words = (reader.maybe("vocab_size") or 30522) + (reader.maybe("max_position_embeddings") or 512)
        total += words * width + layers * 2 * width * inner
    return total


def _encoder(outer: ConfigReader, tower: ConfigReader, hidden: int) -> int:
    kind = tower.word("model_type")
    if kind == "phi4_multimodal_audio":
        return _conformer_of_phi(tower, hidden)
    width = tower.maybe("d_model", "hidden_size")
    if kind == "gemma3n_audio":  # A conformer; its attention also projects distances.
        return 24 * (tower.maybe("conf_num_hidden_layers") or 12) * (width or 0) ** 2 + (width or 0) * hidden
    layers = tower.maybe("encoder_layers", "num_hidden_layers")
    if not width or not layers:
        return 0
    inner = tower.maybe("encoder_ffn_dim", "intermediate_size") or 4 * width
    mels, places = tower.maybe("num_mel_bins") or 128, tower.maybe("max_source_positions") or 1500
    front = 3 * width * (mels + width)
    if (
        kind == "voxtral_realtime_encoder"
    ):  # Rotated positions, a gate, and several places joined before the projection.
        heads = (tower.maybe("num_attention_heads") or 0) * (tower.maybe("head_dim") or 0) or width
        joined = (outer.maybe("downsample_factor") or 1) * width
        return front + layers * width * (4 * heads + 3 * inner) + joined * hidden + hidden * hidden
    # The others are built like Whisper's.
    blocks = front + layers * (4 * width * width + 2 * width * inner + 9 * width)
    if kind == "qwen2_5_omni_audio_encoder":
        return blocks + width * (tower.maybe("output_dim") or hidden)
    lead = inner * hidden if kind == "voxtral_encoder" else width * hidden
    return blocks + places * width + lead + hidden * hidden


def _conformer(tower: ConfigReader) -> int:
    """Two feed-forward parts around attention and a convolution (Gulati et al. 2020), as Granite Speech has it."""
    width, layers = tower.maybe("hidden_dim") or 0, tower.maybe("num_layers") or 0
    heads = (tower.maybe("num_heads") or 0) * (tower.maybe("dim_head") or 0) or width
    wide = (tower.maybe("conv_expansion_factor") or 2) * width
    kernel = tower.maybe("conv_kernel_size") or 15
    feed = 2 * 2 * (tower.maybe("feedforward_mult") or 4) * width * width
    places = (2 * (tower.maybe("max_pos_emb") or 512) + 1) * (tower.maybe("dim_head") or 0)
    block = feed + 4 * width * heads + places + 3 * width * wide + kernel * wide
    ends = width * ((tower.maybe("input_dim") or 160) + 2 * (tower.maybe("output_dim") or 0))
    return layers * block + ends


def _conformer_of_phi(tower: ConfigReader, hidden: int) -> int:
    """Phi-4 Multimodal's conformer: gated feed-forward parts, convolutions before, two projections into the text."""
    width, layers = tower.maybe("hidden_size") or 0, tower.maybe("num_blocks") or 0
    inner, front = tower.maybe("intermediate_size") or 0, tower.maybe("nemo_conv_channels") or width
    block = 2 * 3 * width * inner + 8 * width * width
    before = 2 * front * front + front * width * (tower.maybe("nemo_final_size") or 10)
    return layers * block + before + 2 * hidden * (width + hidden)
