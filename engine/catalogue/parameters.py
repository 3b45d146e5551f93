"""How many parameters a network has, counted from its dimensions."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.catalogue.model import Mla, ModelSpec, Moe


class ParameterCount(Struct, frozen=True):
    """Parameters, as whole numbers. ``active`` are those that one token passes through, the embeddings included."""

    total: int
    active: int
    embedding: int  # input embedding and learned positions
    head: int  # output head of its own; 0 when it is the embedding
    attention: int  # all layers
    mlp: int  # all layers, experts and routers included
    norms: int


class _Dims(Struct, frozen=True):
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    gated: bool
    spec: ModelSpec


def parameter_count(spec: ModelSpec) -> ParameterCount | None:
    """Count parameters from dimensions, or None where a dimension is missing or the layout is not covered.

    Covered: decoders (MHA, GQA, MQA, MLA; dense, mixture of experts), BERT-like encoders, T5-like encoder-decoders.
    Source of the formula: the shapes of the layers; checked against published counts in the tests.
    """
    dims = _dims(spec)
    if (
        dims is None
        or spec.dims_partial
        or spec.linear_layers
        or spec.kind not in {"llm", "encoder", "encoder_decoder", "multimodal"}
    ):
        return None
    if spec.kind == "encoder_decoder":
        return _encoder_decoder(dims)
    mlp = _mlp(dims)
    if mlp is None:
        return None
    mlp_total, mlp_active = mlp
    width = spec.embedding_width or dims.hidden
    embedding = (dims.vocab + (spec.learned_positions or 0)) * width + (
        width * dims.hidden if width != dims.hidden else 0
    )
    head = 0 if spec.tied_embeddings else dims.vocab * dims.hidden
    own = spec.distinct_layers or dims.layers
    attention = own * _attention(dims, spec.mla)
    norm = dims.hidden * (2 if spec.bias == "all" else 1)
    norms = (2 * own + 1) * norm
    if spec.kind == "encoder":
        head = dims.hidden * dims.hidden + dims.hidden  # the pooler; the masked-word head is left off in use
    rest = embedding + head + attention + norms
    return ParameterCount(rest + mlp_total, rest + mlp_active, embedding, head, attention, mlp_total, norms)


def _dims(spec: ModelSpec) -> _Dims | None:
    layers, hidden, heads, vocab = spec.layers, spec.hidden, spec.heads, spec.vocab
    if layers is None or hidden is None or heads is None or vocab is None:
        return None
    kv_heads = spec.kv_heads if spec.kv_heads is not None else (heads if spec.mla else None)
    if kv_heads is None:
        return None
    gated = spec.gated_mlp if spec.gated_mlp is not None else spec.moe is not None
    return _Dims(layers, hidden, heads, kv_heads, spec.head_dim or hidden // heads, vocab, gated, spec)


def _attention(dims: _Dims, mla: Mla | None) -> int:
    hidden, heads = dims.hidden, dims.heads
    if mla is not None and mla.qk_nope_head_dim is not None and mla.v_head_dim is not None:
        query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
        down = mla.q_lora_rank
        queries = hidden * query if down is None else hidden * down + down + down * query
        latent = hidden * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank
        expand = mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim)
        return queries + latent + expand + heads * mla.v_head_dim * hidden
    inner, shared = heads * dims.head_dim, dims.kv_heads * dims.head_dim
    weights = 2 * hidden * inner + 2 * hidden * shared
    bias = dims.spec.bias
    return weights + (inner + 2 * shared if bias != "none" else 0) + (hidden if bias == "all" else 0)


def _mlp(dims: _Dims) -> tuple[int, int] | None:
    """All and active parameters of the MLPs of all layers."""
    spec, moe = dims.spec, dims.spec.moe
    if moe is None:
        dense = _dense(dims, spec.intermediate)
        own = spec.distinct_layers or dims.layers
        return None if dense is None else (own * dense, own * dense)
    sparse_layers = (dims.layers - moe.first_dense_layers) // moe.every
    dense_layers = dims.layers - sparse_layers
    dense = _dense(dims, spec.intermediate) if dense_layers else 0
    expert = _dense(dims, moe.expert_intermediate or spec.intermediate, moe.expert_hidden)
    if dense is None or expert is None:
        return None
    always = _always(dims, moe)
    total = dense_layers * dense + sparse_layers * (moe.experts * expert + always)
    return total, dense_layers * dense + sparse_layers * (moe.experts_per_token * expert + always)


def _always(dims: _Dims, moe: Moe) -> int:
    """Router and shared experts of one layer."""
    shared = _dense(dims, moe.shared_intermediate) if moe.shared_intermediate else 0
    router = dims.hidden * moe.experts + (moe.experts if dims.spec.bias == "all" else 0)
    projections = 2 * dims.hidden * moe.expert_hidden if moe.expert_hidden else 0  # into the experts' space and back
    return router + projections + (shared or 0)


def _dense(dims: _Dims, intermediate: int | None, hidden: int | None = None) -> int | None:
    if intermediate is None:
        return None
    hidden = hidden or dims.hidden
    matrices = 3 if dims.gated else 2
    bias = intermediate * (matrices - 1) + hidden if dims.spec.bias == "all" else 0
    return matrices * hidden * intermediate + bias


def _encoder_decoder(dims: _Dims) -> ParameterCount | None:
    dense = _dense(dims, dims.spec.intermediate)
    if dense is None:
        return None
    decoder = dims.spec.decoder_layers if dims.spec.decoder_layers is not None else dims.layers
    attention = _attention(dims, None) * (dims.layers + 2 * decoder)
    mlp = active = dense * (dims.layers + decoder)
    moe = dims.spec.moe
    if moe is not None:  # Switch Transformers, NLLB: one layer in so many of both halves.
        sparse = dims.layers // moe.every + decoder // moe.every
        mlp += sparse * ((moe.experts - 1) * dense + dims.hidden * moe.experts)
        active += sparse * ((moe.experts_per_token - 1) * dense + dims.hidden * moe.experts)
    embedding = (dims.vocab + (dims.spec.learned_positions or 0)) * dims.hidden
    head = 0 if dims.spec.tied_embeddings else embedding
    norms = dims.hidden * (2 * dims.layers + 3 * decoder + 2)
    rest = attention + embedding + head + norms
    return ParameterCount(rest + mlp, rest + active, embedding, head, attention, mlp, norms)
