"""Parameters of attention that heads and their width alone do not give: low ranks, kinds of layers, gates, indexers.

Every formula is the shapes of the matrices as the classes of transformers make them.
"""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.parameters import ParameterCount


def attention_change(reader: ConfigReader, spec: ModelSpec, count: ParameterCount) -> int:
    """By how much the layers with attention differ from ``count``, which has every layer alike."""
    layers = spec.layers or 0
    if not layers:
        return 0
    attended = layers - (spec.linear_layers or 0)
    grouped = _grouped_output(reader, spec)
    if grouped is not None:
        return attended * (grouped - count.attention // layers) + _compressors(reader, spec)
    return attended * _beside(reader, spec) + _kinds_of_layers(reader, spec) + _single_layers(reader, spec)


#: Every model of these has a gate on the output of attention, as wide as the queries.
_GATED_SERIES = ("qwen3_next", "qwen3_5")


def _beside(reader: ConfigReader, spec: ModelSpec) -> int:
    """What a layer with attention has beside its four matrices: a gate on its output, an indexer of keys."""
    hidden, inner = spec.hidden or 0, (spec.heads or 0) * (spec.head_dim or 0)
    gated = reader.flag("attn_output_gate", "attention_output_gate", "mla_use_output_gate", default=False)
    gate = hidden * inner if gated or reader.word("model_type").startswith(_GATED_SERIES) else 0
    if reader.flag("use_head_wise_attn_gate", default=False):
        gate += hidden * (spec.heads or 0)
    heads, dim = reader.maybe("index_n_heads"), reader.maybe("index_head_dim")
    if heads and dim and spec.mla:
        gate += (spec.mla.q_lora_rank or hidden) * heads * dim + hidden * (dim + heads)
    return gate


def _kinds_of_layers(reader: ConfigReader, spec: ModelSpec) -> int:
    """Layers with full attention and within a window that differ in heads, or in the width of keys and of values."""
    heads, hidden, layers = spec.heads or 0, spec.hidden or 0, spec.layers or 0
    if spec.mla is not None or not heads or not layers:
        return 0
    kv_heads, dim = spec.kv_heads or heads, spec.head_dim or 0
    value_dim = reader.maybe("v_head_dim") or dim
    full_dim = reader.maybe("global_head_dim") if spec.full_attention_layers is not None else None  # Gemma 4
    full_kv = reader.maybe("num_global_key_value_heads") or kv_heads
    shared = reader.flag("attention_k_eq_v", default=False)  # There keys serve as values too.
    full = _matrices(hidden, heads, full_kv, full_dim or dim, full_dim or value_dim, keys_only=shared)
    other = reader.nested("attention_other_setting")  # Step 3.5 and 3.7
    near_heads = other.maybe("num_attention_heads") or reader.maybe(
        "swa_num_attention_heads", "num_sliding_attention_heads"
    )
    near_kv = other.maybe("num_attention_groups") or reader.maybe("swa_num_key_value_heads") or kv_heads
    near_dim = reader.maybe("swa_head_dim") or dim
    near_value = reader.maybe("swa_v_head_dim") or value_dim
    near = _matrices(hidden, near_heads or heads, near_kv, near_dim, near_value)
    plain = _matrices(hidden, heads, kv_heads, dim, dim)
    windowed = spec.sliding_layers or 0
    attended = layers - (spec.linear_layers or 0)
    return (attended - windowed) * (full - plain) + windowed * (near - plain)


def _single_layers(reader: ConfigReader, spec: ModelSpec) -> int:
    """Layers for which the configuration states other heads by their number, as transformers 5 writes it."""
    hidden, heads, dim = spec.hidden or 0, spec.heads or 0, spec.head_dim or 0
    kv_heads = spec.kv_heads or heads
    plain = _matrices(hidden, heads, kv_heads, dim, dim)
    change = 0
    for own in reader.nested("per_layer_config").groups():
        own_dim = own.maybe("head_dim") or dim
        own_heads, own_kv = own.maybe("num_attention_heads") or heads, own.maybe("num_key_value_heads") or kv_heads
        change += _matrices(hidden, own_heads, own_kv, own_dim, own_dim) - plain
    return change


def _matrices(hidden: int, heads: int, kv_heads: int, dim: int, value_dim: int, *, keys_only: bool = False) -> int:
    """Query, key, value and output of one layer."""
    values = 0 if keys_only else hidden * kv_heads * value_dim
    return hidden * heads * (dim + value_dim) + hidden * kv_heads * dim + values


def _grouped_output(reader: ConfigReader, spec: ModelSpec) -> int | None:
    """DeepSeek V4: queries of low rank, keys that serve as values, an output of low rank by groups of heads."""
    rank, out, groups = reader.maybe("q_lora_rank"), reader.maybe("o_lora_rank"), reader.maybe("o_groups")
    hidden, inner = spec.hidden or 0, (spec.heads or 0) * (spec.head_dim or 0)
    if not rank or not out or not groups or spec.mla is not None:
        return None
    keys = hidden * (spec.kv_heads or 1) * (spec.head_dim or 0)
    return hidden * rank + rank * inner + keys + inner * out + groups * out * hidden


#: Tokens that become one entry of the cache under DeepSeek V4's sparse attention, which has an indexer.
_SPARSE_RATE = 4


def _compressors(reader: ConfigReader, spec: ModelSpec) -> int:
    """DeepSeek V4: what joins the keys of several tokens, by layer, and the indexer of those that are chosen from."""
    hidden, dim = spec.hidden or 0, spec.head_dim or 0
    index_heads, index_dim = reader.maybe("index_n_heads") or 0, reader.maybe("index_head_dim") or 0
    rates = reader.numbers("compress_ratios")[: spec.layers]
    named = reader.words("layer_types")[: spec.layers]
    sparse = rates.count(_SPARSE_RATE) or named.count("compressed_sparse_attention")
    dense = sum(rate > _SPARSE_RATE for rate in rates) or named.count("heavily_compressed_attention")
    indexer = index_heads * (index_dim * (reader.maybe("q_lora_rank") or 0) + hidden) + 4 * hidden * index_dim
    return sparse * (4 * hidden * dim + indexer) + dense * 2 * hidden * dim
