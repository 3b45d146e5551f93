"""A language model or encoder of text from its configuration, under any of the names that its keys have."""

from __future__ import annotations

from msgspec.structs import replace

from whichgpu.engine.catalogue.configurations.experts import experts_of
from whichgpu.engine.catalogue.configurations.kinds import (
    ALL_BIAS,
    CAPS_LOGITS,
    DROPS_OUT,
    ENCODER_DECODERS,
    ENCODERS,
    FALCONS,
    FUSED_GATES,
    GATED,
    JOINS_CACHES,
    JOINS_LAYERS,
    KNOWN,
    KNOWN_WHOLES,
    LEARNED_POSITIONS,
    NO_MLP,
    NOT_GATED,
    OWN_PLAIN_LOSSES,
    PLAIN_LOSSES,
    QK_NORMS,
    QKV_BIAS,
    STATES_BOTH_GATES,
    TIED,
    WITHOUT_GATE,
)
from whichgpu.engine.catalogue.configurations.layers import counted, draft_parameters
from whichgpu.engine.catalogue.configurations.quantisation import native_expert_precision, native_precision, unread
from whichgpu.engine.catalogue.configurations.reader import ATTENTION_FREE, ConfigReader, layer_kinds
from whichgpu.engine.catalogue.configurations.towers import has_towers, tower_parameters
from whichgpu.engine.catalogue.model import Mla, ModelKind, ModelSpec


#: The last two are of BART and its like, whose encoder and decoder each have their own.
HEADS = (
    *("num_attention_heads", "n_heads", "n_head", "num_heads", "attention_heads"),
    *("encoder_attention_heads", "decoder_attention_heads"),
)


def text_spec(reader: ConfigReader, identity: str, outer: ConfigReader) -> ModelSpec:
    """The model of a configuration, with its parameters counted where every layer's kind is known.

    Args:
        reader: of the language part.
        identity: the id that the model gets.
        outer: of the whole configuration; where that has encoders of images or sound, the model is multimodal and
            their parameters are part of its size.
    """
    towers = has_towers(outer)
    spec = _spec(reader, identity, multimodal=towers or reader.content is not outer.content)
    if reader.content is not outer.content:  # What the whole says of its head stands over what its text part says.
        spec = replace(spec, tied_embeddings=outer.flag("tie_word_embeddings", default=bool(spec.tied_embeddings)))
    reader.finish()
    kind = reader.word("model_type")
    if kind not in KNOWN:
        note = f"model_type {kind!r} is not known: read as a decoder with gated feed-forward parts from the usual keys"
        spec = replace(spec, notes=(note,))
    elif (towers or reader.content is not outer.content) and outer.word("model_type") not in KNOWN_WHOLES:
        whole = outer.word("model_type")
        note = f"model_type {whole!r} is not known: what is not its language model is read as encoders, or not seen"
        spec = replace(spec, notes=(note,))
    unread_format = unread(reader)
    if unread_format:
        spec = replace(spec, notes=(*spec.notes, unread_format))
    count = counted(reader, spec)
    if count is None:
        return spec
    beside = tower_parameters(outer, spec.hidden or 0) if towers else 0
    total = count.total + beside
    active = round((count.active + beside) / 1e9, 9) if spec.moe else None
    parts = {"language": count.total, "vision_and_projector": beside} if beside else {}
    drafting = draft_parameters(reader, spec, count)
    if drafting:
        parts = {"language": count.total, **parts, "multi_token_prediction": drafting}
    named = {name: round(size / 1e9, 6) for name, size in parts.items()}
    return replace(spec, params_b=round(total / 1e9, 9), active_params_b=active, components_b=named)


def _series(reader: ConfigReader) -> str:
    """The kind of model, or BERT for a kind that is not known but has BERT's segments of a text."""
    kind = reader.word("model_type")
    return "bert" if kind not in KNOWN and "type_vocab_size" in reader.content else kind


def _layer_count(reader: ConfigReader, kind: str) -> int | None:
    """Layers of a decoder, of an encoder or of each half; noted as missing where nothing gives them."""
    keys = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "layers")
    # Funnel's decoder comes behind the blocks that it counts apart.
    layers = reader.maybe(*keys) if "block_sizes" in reader.content else reader.maybe(*keys, "num_decoder_layers")
    layers = layers or reader.maybe("encoder_layers", "decoder_layers")
    if layers and kind == "longcat_flash":  # Each of its layers has two attentions and two feed-forward parts.
        return 2 * layers
    blocks = len(reader.blocks()) or sum(reader.numbers("block_sizes"))
    return layers or blocks or reader.count("num_hidden_layers", "n_layers", "n_layer")


def _spec(reader: ConfigReader, identity: str, *, multimodal: bool) -> ModelSpec:
    kind = _series(reader)
    layers = _layer_count(reader, kind)
    hidden = reader.count("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "emb_dim")
    heads = None if kind in ATTENTION_FREE else reader.maybe(*HEADS) or _chosen_heads(reader) or reader.count(*HEADS)
    vocab = reader.count("vocab_size", "padded_vocab_size", "n_vocab")
    mla = _mla(reader)
    kv_heads = _kv_heads(reader, kind, heads)
    spread = layer_kinds(reader, kind, layers)
    qkv_keys = ("attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias")
    has_qkv_bias = reader.flag(*qkv_keys, default=kind in QKV_BIAS)
    return ModelSpec(
        id=identity,
        name=identity,
        kind=_model_kind(reader, kind, multimodal=multimodal),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_head_dim(reader, hidden, heads, has_mla=mla is not None),
        intermediate=_intermediate(reader, kind, hidden),
        vocab=vocab,
        max_context=reader.maybe("max_position_embeddings", "max_seq_len", "n_positions", "n_ctx", "seq_length"),
        gated_mlp=_gated(reader, kind),
        tied_embeddings=reader.flag("tie_word_embeddings", default=kind in TIED),
        qk_norm=reader.flag("use_qk_norm", "qk_layernorm", default=kind in QK_NORMS),
        bias="all" if kind in ALL_BIAS else "qkv" if has_qkv_bias else "none",
        learned_positions=_learned_positions(reader, kind),
        embedding_width=_embedding_width(reader, hidden),
        distinct_layers=_distinct_layers(reader, kind),
        decoder_layers=reader.maybe("num_decoder_layers", "decoder_layers")
        or (layers if kind in ENCODER_DECODERS else None),
        sliding_window=spread.window,
        full_attention_layers=spread.full,
        sliding_layers=spread.sliding,
        full_kv_heads=reader.maybe("num_global_key_value_heads") if spread.full is not None else None,
        full_head_dim=reader.maybe("global_head_dim") if spread.full is not None else None,  # Gemma 4
        kv_shared_layers=reader.maybe("num_kv_shared_layers") or 0,
        linear_layers=spread.linear,
        concatenates_cache=kind in JOINS_CACHES,
        joins_layers=_joins_layers(reader, kind),
        fused_gate=kind in FUSED_GATES,
        fused_qkv=kind == "gpt_neox",
        parallel_branches=kind == "gpt_neox" and reader.flag("use_parallel_residual", default=True),
        partial_rotary=kind == "gpt_neox" and _rotated_share(reader) < 1.0,
        capped_logits=_caps_logits(reader, kind),
        drops_out=kind in DROPS_OUT and reader.content.get("attn_pdrop") != 0,
        plain_loss="own" if kind in OWN_PLAIN_LOSSES else "transformers" if kind in PLAIN_LOSSES else None,
        moe=experts_of(reader, layers),
        mla=mla,
        native_precision=native_precision(reader),
        native_expert_precision=native_expert_precision(reader),
        dims_partial=spread.unclear,
        sources=("config.json",),
    )


def _caps_logits(reader: ConfigReader, kind: str) -> bool:
    """Whether logits pass through a hyperbolic tangent; by default in the classes that have one."""
    names = ("final_logit_softcapping", "logits_soft_cap")
    stated = [reader.content[name] for name in names if name in reader.content]
    return any(stated) if stated else kind in CAPS_LOGITS


def _rotated_share(reader: ConfigReader) -> float:
    """The share of a head that is rotated; a quarter by default in GPT-NeoX's class."""
    share = reader.content.get("rotary_pct", reader.content.get("partial_rotary_factor", 0.25))
    return float(share) if isinstance(share, int | float) else 1.0


def _joins_layers(reader: ConfigReader, kind: str) -> bool:
    """ChatGLM's code for long prompts, whose configurations have a ratio of rotary positions; not that for pictures."""
    return kind in JOINS_LAYERS and "rope_ratio" in reader.content and not reader.nested("vision_config").content


def _model_kind(reader: ConfigReader, kind: str, *, multimodal: bool) -> ModelKind:
    if kind in ENCODER_DECODERS or reader.flag("is_encoder_decoder", default=False):
        return "encoder_decoder"
    if kind in ENCODERS:
        return "encoder"
    return "multimodal" if multimodal else "llm"


def _chosen_heads(reader: ConfigReader) -> int | None:
    """JetMoE states key-value heads, and how many experts give each its queries."""
    if reader.word("model_type") != "jetmoe":
        return None
    return (reader.maybe("num_key_value_heads") or 0) * (reader.maybe("num_experts_per_tok") or 0) or None


def _kv_heads(reader: ConfigReader, kind: str, heads: int | None) -> int | None:
    stated = reader.maybe("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "n_kv_heads")
    stated = stated or reader.maybe("num_multi_query_heads")  # CogVLM2
    stated = stated or reader.maybe("num_attention_groups", "num_query_groups")
    stated = stated or reader.nested("attn_config").maybe("kv_n_heads")
    new_falcon = reader.flag("new_decoder_architecture", default=False)
    if kind in FALCONS and not new_falcon:
        return 1 if reader.flag("multi_query", default=True) else heads
    if kind == "gpt_bigcode" and reader.flag("multi_query", default=True):
        return 1
    return stated or heads


def _head_dim(reader: ConfigReader, hidden: int | None, heads: int | None, *, has_mla: bool) -> int | None:
    stated = reader.maybe("head_dim", "attention_head_dim", "kv_channels", "d_kv")
    if has_mla:
        return None
    return stated or (hidden // heads if hidden and heads else None)


def _intermediate(reader: ConfigReader, kind: str, hidden: int | None) -> int | None:
    stated = reader.maybe("intermediate_size_mlp", "dense_intermediate_size")  # Beside the experts' intermediate_size.
    keys = (
        "intermediate_size",
        "ffn_hidden_size",
        "n_inner",
        "d_ff",
        "ffn_dim",
        "dff",
        "ffn_hidden_dim",
        "block_ff_dim",
        "d_inner",
    )
    stated = stated or reader.maybe(*keys, "encoder_ffn_dim", "decoder_ffn_dim")
    stated = stated or reader.first("intermediate_size")  # Gemma 3n: one for each layer
    if stated is not None:
        if reader.flag("block_auto_adjust_ff_dim", default=False):  # LFM2: two thirds of it, in whole blocks.
            block = reader.maybe("block_multiple_of") or 256
            stated = -(-(2 * stated // 3) // block) * block
        return stated // 2 if kind in STATES_BOTH_GATES else stated
    nested = reader.nested("ffn_config").maybe("ffn_hidden_size")
    if nested is not None:
        return nested
    ratio = reader.maybe("expansion_ratio") or 4
    if kind in NOT_GATED and hidden:
        return ratio * hidden
    if reader.maybe("moe_intermediate_size", "expert_ffn_hidden_size") is None and kind not in NO_MLP:
        reader.required("intermediate_size")
    return None


def _gated(reader: ConfigReader, kind: str) -> bool:
    projection = reader.word("feed_forward_proj")
    if projection:
        return projection.startswith("gated")
    if kind in GATED:
        return True
    if reader.word("hidden_act") in WITHOUT_GATE:
        return False
    if kind == "nomic_bert" and reader.word("activation_function").startswith("gelu"):
        return False
    return kind not in NOT_GATED and kind not in ENCODER_DECODERS


def _learned_positions(reader: ConfigReader, kind: str) -> int | None:
    if kind not in LEARNED_POSITIONS or reader.word("position_embedding_type").startswith("rotary"):
        return None
    rows = reader.maybe("max_position_embeddings", "n_positions", "n_ctx")
    if kind in ENCODER_DECODERS:  # Encoder and decoder have a table each.
        halves = ("max_encoder_position_embeddings", "max_decoder_position_embeddings")
        tables = [reader.maybe(key) or rows or 0 for key in halves]
        return sum(tables) + 2 * LEARNED_POSITIONS[kind] or None
    return rows + LEARNED_POSITIONS[kind] if rows else None


def _embedding_width(reader: ConfigReader, hidden: int | None) -> int | None:
    """Of embeddings that a projection widens (ELECTRA, ALBERT, RemBERT); Molmo calls its rows so."""
    width = reader.maybe("embedding_size", "input_embedding_size")
    return width if width and hidden and width < hidden else None


def _distinct_layers(reader: ConfigReader, kind: str) -> int | None:
    """Layers that share their weights. Source: Lan et al. 2020, "ALBERT"."""
    if kind != "albert":
        return None
    return (reader.maybe("num_hidden_groups") or 1) * (reader.maybe("inner_group_num") or 1)


def _mla(reader: ConfigReader) -> Mla | None:
    rank = reader.maybe("kv_lora_rank")
    if rank is None:
        return None
    return Mla(
        kv_lora_rank=rank,
        qk_rope_head_dim=reader.count("qk_rope_head_dim") or 0,
        q_lora_rank=reader.maybe("q_lora_rank"),
        qk_nope_head_dim=reader.count("qk_nope_head_dim"),
        v_head_dim=reader.count("v_head_dim"),
    )
