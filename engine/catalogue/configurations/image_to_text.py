"""Pairs of an image encoder and a text decoder that attends to it: TrOCR, Donut, Nougat."""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.network import edge_of
from whichgpu.engine.catalogue.configurations.patches import TRANSFORMERS, vision_transformer
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.stages import swin
from whichgpu.engine.catalogue.model import ModelSpec


IMAGE_TO_TEXT = frozenset(("vision-encoder-decoder",))
_SWINS = frozenset(("donut-swin", "swin", "swinv2"))
#: Rows of the table of positions beyond those that are stated, in the manner of BART.
_OFFSET = {"mbart": 2, "bart": 2, "trocr": 2}


def image_to_text_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """The pair of a configuration; its layers and heads are the decoder's.

    Parameters are the shapes of the matrices as the classes of transformers make them.

    Raises:
        InputError: it lacks a dimension, or its encoder is not known.
    """
    encoder, decoder = reader.nested("encoder"), reader.nested("decoder")
    seen, width = _encoder(encoder)
    hidden = decoder.count("hidden_size", "d_model", "n_embd") or 0
    layers = decoder.count("decoder_layers", "num_hidden_layers", "n_layer") or 0
    heads = decoder.count("decoder_attention_heads", "num_attention_heads", "n_head")
    inner = decoder.maybe("decoder_ffn_dim", "intermediate_size", "n_inner") or 4 * hidden
    vocab, places = decoder.count("vocab_size") or 0, decoder.maybe("max_position_embeddings", "n_positions") or 512
    reader.finish()
    own = decoder.maybe("cross_attention_hidden_size")
    crossing = own or hidden
    joined = width * hidden if not own and width != hidden else 0  # enc_to_dec_proj
    kind = decoder.word("model_type")
    rows = vocab + places + _OFFSET.get(kind, 0) + (decoder.maybe("type_vocab_size") or 0)
    layer = 6 * hidden * hidden + 2 * hidden * crossing + 2 * hidden * inner + 15 * hidden + inner
    tied = decoder.flag("tie_word_embeddings", default=True)
    rows += 0 if tied else vocab
    written = rows * hidden + layers * layer + (hidden * hidden if kind in {"bert", "roberta"} else 0)
    return ModelSpec(
        id=identity,
        name=identity,
        kind="multimodal",
        params_b=round((seen + written + joined) / 1e9, 9),
        components_b={"language": round(written / 1e9, 6), "vision_and_projector": round((seen + joined) / 1e9, 6)},
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads if heads else None,
        intermediate=inner,
        vocab=vocab,
        max_context=places,
        gated_mlp=False,
        tied_embeddings=tied,
        bias="all",
        dims_partial=True,  # Its layers attend twice.
        sources=("config.json",),
    )


def _encoder(reader: ConfigReader) -> tuple[int, int]:
    """Parameters of an image encoder, and the width of what it gives."""
    kind = reader.word("model_type")
    if kind in _SWINS:
        wide = (reader.maybe("embed_dim") or 96) << max(0, len(reader.numbers("depths")) - 1)
        return swin(reader, edge_of(reader)).params, wide
    if kind in TRANSFORMERS:
        return vision_transformer(reader, edge_of(reader)).params, reader.maybe("hidden_size") or 0
    reader.required("encoder")
    return 0, 0
