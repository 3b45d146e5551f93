"""The dimensions of a decoder or encoder, from the catalogue or, for a model known only by its size, a typical one."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.sizing.constants import sizing_constants


#: A published size and the size computed from dimensions may differ by this share before the dimensions are doubted.
_AGREES = 0.08


class Shape(Struct, frozen=True):
    """What the formulas read of a transformer. Counts are of single parameters, not billions."""

    params: float
    active_params: float  # that a token passes through, each as often as it does
    embedding: float  # input embedding
    head: float  # output head; 0 where it is tied to the embedding
    layer_params: float  # in an average layer
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  # width of the feed-forward part that one token passes through
    vocab: int
    gated: bool
    full_layers: int  # KV grows with the context
    sliding_layers: int  # KV stops at the window
    full_kv_heads: int  # of layers whose KV grows with the context
    full_head_dim: int
    cached_share: float  # of the layers, the part that keeps keys and values of its own
    linear_layers: int  # fixed state per sequence
    window: int
    latent: int  # elements cached per token and layer under latent attention, else 0
    moe: bool
    experts: int
    experts_per_token: int
    expert_params: float  # in all routed experts of all layers
    sparse_layers: float  # that have routed experts
    known: bool  # dimensions come from the catalogue
    exact: bool  # the parameter count was computed from the dimensions
    qk_norm: bool = False  # query and keys are normalised, head by head
    fused_gate: bool = False  # gate and up are one matrix
    fused_qkv: bool = False  # query, key and value are one matrix
    parallel_branches: bool = False  # attention and the feed-forward part read the same input
    partial_rotary: bool = False  # some numbers of a head are rotated, and joined with the others
    capped_logits: bool = False  # through a hyperbolic tangent, whose output stays until the backward pass
    plain_loss: str | None = None  # whose class hands logits to the loss uncast: own, transformers
    drops_out: bool = False  # of scores, and of what each part of a layer adds, while it learns
    encoders: float = 0.0  # of pictures and sound beside the language model, with what leads into it

    @property
    def body(self) -> float:
        """Parameters inside the layers."""
        return self.params - self.embedding - self.head

    @property
    def largest_layer(self) -> float:
        """Parameters of the largest single block: a layer, or the embedding."""
        return max(self.layer_params, self.embedding)


def shape_of(
    model: ModelSpec | None,
    params_b: float | None,
    active_params_b: float | None = None,
    encoders_b: float | None = None,
) -> Shape | None:
    """The shape of a model; a typical decoder of that size where dimensions are not published; None without a size.

    Args:
        model: the catalogue record, if the model is known.
        params_b: parameters in billions, if stated or published. A statement that contradicts the record by more than
            8 % is believed over the record's dimensions.
        active_params_b: parameters that one token passes through, in billions.
        encoders_b: of encoders beside a language model whose record tells of none, in billions.
    """
    stated = params_b if params_b is not None else (model.params_b if model else None)
    if model is not None and model.hidden and model.layers and (model.heads or model.mla):
        shape = _published(model, stated, active_params_b)
        if shape is not None:
            return _with_encoders(shape, encoders_b, beside=model.kind == "llm")
    if stated is None or stated <= 0:
        return None
    active = active_params_b or (model.active_params_b if model else None)
    language = stated - min(encoders_b or 0.0, 0.5 * stated)
    shape = _typical(language * 1e9, min(active or language, language) * 1e9)
    return _with_encoders(shape, stated - language, beside=True)


def _with_encoders(shape: Shape, encoders_b: float | None, *, beside: bool) -> Shape:
    """The shape with encoders of that size, ``beside`` what it has or, where the size is that of both, among it."""
    if not encoders_b or shape.encoders:
        return shape
    size = encoders_b * 1e9
    more = size if beside else 0.0
    return replace(
        shape,
        params=shape.params + more,
        active_params=shape.active_params + more,
        layer_params=shape.layer_params + more / shape.layers,
        encoders=min(size, 0.5 * (shape.body + more)),
    )


def _published(model: ModelSpec, stated_b: float | None, active_b: float | None) -> Shape | None:
    hidden, layers, vocab = model.hidden or 0, model.layers or 0, model.vocab or 0
    heads = model.heads or 1
    kv_heads = model.kv_heads or heads
    head_dim = model.head_dim or max(1, hidden // heads)
    gated = model.gated_mlp is not False
    width = _feed_forward_width(model)
    computed = _computed_params(model, heads, head_dim, kv_heads, vocab, gated=gated)
    encoders = _beside_language(model)
    params, exact = _believed(None if computed is None else computed + encoders, stated_b)
    if params is None or params <= 0:
        return None
    embedding = float(vocab * (model.embedding_width or hidden))
    head = 0.0 if model.tied_embeddings else embedding
    if embedding + head >= 0.9 * params:  # A size that leaves no room for layers: the dimensions are not this model's.
        embedding = head = 0.0
    expert_params = _expert_params(model, hidden)
    active = (active_b or model.active_params_b or 0.0) * 1e9 or _computed_active(model, params, expert_params)
    full, sliding = _attending_layers(model, layers)
    latent = model.mla.kv_lora_rank + model.mla.qk_rope_head_dim if model.mla else 0
    moe = model.moe
    return Shape(
        params=params,
        active_params=min(active, params) + _passed_again(model, params - embedding - head),
        embedding=embedding,
        head=head,
        layer_params=(params - embedding - head) / layers,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate=width,
        vocab=vocab,
        gated=gated,
        full_layers=full,
        sliding_layers=sliding,
        full_head_dim=model.full_head_dim or head_dim,
        full_kv_heads=model.full_kv_heads or kv_heads,
        cached_share=1.0 - model.kv_shared_layers / layers,
        linear_layers=model.linear_layers or 0,
        window=model.sliding_window or 0,
        latent=latent,
        moe=moe is not None,
        experts=moe.experts if moe else 0,
        experts_per_token=moe.experts_per_token if moe else 0,
        expert_params=min(expert_params, params),
        sparse_layers=_sparse_layers(model, min(1.0, params / expert_params)) if expert_params else 0.0,
        known=True,
        exact=exact,
        qk_norm=model.qk_norm,
        fused_gate=model.fused_gate,
        fused_qkv=model.fused_qkv,
        parallel_branches=model.parallel_branches,
        partial_rotary=model.partial_rotary,
        capped_logits=model.capped_logits,
        plain_loss=model.plain_loss,
        drops_out=model.drops_out or _like_bert(model),
        encoders=min(encoders, params),
    )


def _believed(computed: float | None, stated_b: float | None) -> tuple[float | None, bool]:
    """The parameter count that is taken, and whether it is the one that was computed from the dimensions."""
    if stated_b is not None and (computed is None or abs(computed - stated_b * 1e9) > _AGREES * stated_b * 1e9):
        return stated_b * 1e9, False
    return computed, computed is not None


def _beside_language(model: ModelSpec) -> float:
    """Parameters of a multimodal model beside its language model, without what predicts further tokens."""
    if model.kind != "multimodal" or "language" not in model.components_b:
        return 0.0
    left_out = ("language", "multi_token_prediction")
    return 1e9 * sum(size for name, size in sorted(model.components_b.items()) if name not in left_out)


def _attending_layers(model: ModelSpec, layers: int) -> tuple[int, int]:
    """Layers whose cache grows with the whole context, and those whose cache stops at the window."""
    linear, sliding = model.linear_layers or 0, model.sliding_layers or 0
    if model.sliding_window and not sliding and not model.full_attention_layers:
        sliding = layers - linear
    full = model.full_attention_layers if model.full_attention_layers is not None else layers - linear - sliding
    return max(0, full), sliding


def _like_bert(model: ModelSpec) -> bool:
    """BERT and its relatives: configurations of the kind have a dropout of 0.1 by default."""
    return model.kind == "encoder" and model.bias == "all" and model.learned_positions is not None


def _feed_forward_width(model: ModelSpec) -> int:
    moe, hidden = model.moe, model.hidden or 0
    if moe and moe.expert_intermediate:
        return moe.experts_per_token * moe.expert_intermediate + (moe.shared_intermediate or 0)
    return model.intermediate or 4 * hidden


def _expert_params(model: ModelSpec, hidden: int) -> float:
    moe = model.moe
    if moe is None or not moe.expert_intermediate:
        return 0.0
    matrices = 3 if model.gated_mlp is not False else 2
    width = moe.expert_hidden or hidden
    return (
        float((model.layers or 0) - moe.first_dense_layers) * moe.experts * matrices * width * moe.expert_intermediate
    )


def _sparse_layers(model: ModelSpec, most: float) -> float:
    """Layers with experts: all but the first dense ones, and no more than the published size has room for."""
    first = model.moe.first_dense_layers if model.moe else 0
    return ((model.layers or 0) - first) * most


def _computed_active(model: ModelSpec, params: float, expert_params: float) -> float:
    moe = model.moe
    if moe is None or not expert_params or not moe.experts:
        return params
    return params - expert_params * (1.0 - moe.experts_per_token / moe.experts)


def _passed_again(model: ModelSpec, body: float) -> float:
    """Parameters of layers that share their weights, for each further time that a token passes them."""
    return ((model.layers or 0) / model.distinct_layers - 1.0) * body if model.distinct_layers else 0.0


def _computed_params(
    model: ModelSpec, heads: int, head_dim: int, kv_heads: int, vocab: int, *, gated: bool
) -> float | None:
    """Parameters from the dimensions, or None where a part is not published or has a form of its own."""
    hidden, layers = model.hidden or 0, model.layers or 0
    if model.linear_layers or not vocab or model.kind not in {"llm", "multimodal", "encoder", "other"}:
        return None
    if model.moe and not model.moe.expert_intermediate:
        return None
    if not model.moe and not model.intermediate:
        return None
    mla = model.mla
    if mla is None:
        attention = 2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim
    elif mla.qk_nope_head_dim and mla.v_head_dim:
        query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
        rank = mla.q_lora_rank
        attention = (hidden * rank + rank * query) if rank else hidden * query
        attention += hidden * (mla.kv_lora_rank + mla.qk_rope_head_dim)
        attention += (
            mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim) + heads * mla.v_head_dim * hidden
        )
    else:
        return None
    matrices = 3 if gated else 2
    own = model.distinct_layers or layers
    total = float(own * (attention + 2 * hidden))
    if model.moe is None:
        total += own * matrices * hidden * (model.intermediate or 0)
    else:
        sparse = layers - model.moe.first_dense_layers
        total += _expert_params(model, hidden)
        total += sparse * (matrices * hidden * (model.moe.shared_intermediate or 0) + hidden * model.moe.experts)
        total += model.moe.first_dense_layers * matrices * hidden * (model.intermediate or 0)
    return total + vocab * (model.embedding_width or hidden) * (1 if model.tied_embeddings else 2)


def _typical(params: float, active_params: float) -> Shape:
    """A dense decoder of the active size carries the dimensions; a sparse model of the same width only adds weights."""
    typical = sizing_constants().typical
    # With h = 128 L and 12 h^2 parameters a layer, params = 12 h^3 / 128.
    width = max(64.0, (active_params * typical.hidden_per_layer / 12.0) ** (1.0 / 3.0))
    layers = max(1, round(width / typical.hidden_per_layer))
    heads = max(1, round(width / typical.head_dim))
    ends = min(typical.vocab * width, 0.15 * active_params)
    return Shape(
        params=params,
        active_params=active_params,
        embedding=ends,
        head=ends,
        layer_params=(params - 2.0 * ends) / max(1.0, width / typical.hidden_per_layer),
        layers=layers,
        hidden=round(width),
        heads=heads,
        kv_heads=min(heads, typical.kv_heads),
        head_dim=typical.head_dim,
        intermediate=max(1, round(width * typical.intermediate_ratio)),
        vocab=max(1, round(ends / width)),
        gated=True,
        full_layers=layers,
        sliding_layers=0,
        full_head_dim=typical.head_dim,
        full_kv_heads=min(heads, typical.kv_heads),
        cached_share=1.0,
        linear_layers=0,
        window=0,
        latent=0,
        moe=active_params < params,
        experts=0,
        experts_per_token=0,
        expert_params=0.0,
        sparse_layers=0.0,
        known=False,
        exact=False,
    )
