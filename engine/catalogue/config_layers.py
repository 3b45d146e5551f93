"""Parameters of layers that a model's dimensions alone do not give: linear attention, state spaces, towers.

Every formula is the shapes of the layer's matrices as the classes of transformers make them; biases and norms of less
than a thousandth of a layer are left out.
"""

from __future__ import annotations

from msgspec.structs import replace

from whichgpu.engine.catalogue.config_attention import attention_change
from whichgpu.engine.catalogue.config_reader import ATTENTION_FREE, ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.parameters import ParameterCount, parameter_count


def counted(reader: ConfigReader, spec: ModelSpec) -> ParameterCount | None:
    """The parameters of the language part, or None where a dimension is missing or a layer's kind is not known."""
    kind = reader.word("model_type")
    if kind == "nemotron-nas":
        return _searched(reader, spec)
    if kind == "nemotron_h" or kind in ATTENTION_FREE:
        return _by_pattern(reader, spec, reader.blocks() or "M" * (spec.layers or 0))
    count = parameter_count(replace(spec, linear_layers=None, dims_partial=False))
    if count is None or not spec.layers:
        return None
    linear = spec.linear_layers or 0
    mixer = _mixer(reader, spec) if linear else 0
    if mixer is None:
        return None
    change = linear * mixer - linear * count.attention // spec.layers
    if reader.word("model_type") == "falcon_h1":  # A state space beside the attention of every layer.
        change += spec.layers * (_mamba2(reader, spec.hidden or 0) or 0)
    change += _second_experts(reader, count)
    change += attention_change(reader, spec, count) + _inputs(reader, spec) + _narrow_embedding(reader, spec)
    mlp = _second_mlp(reader, spec)
    return replace(
        count,
        total=count.total + change + mlp,
        active=count.active + change + mlp,
        attention=count.attention + change,
        mlp=count.mlp + mlp,
    )


def _second_experts(reader: ConfigReader, count: ParameterCount) -> int:
    """CogVLM: tokens of pictures have attention's matrices and a feed-forward part of their own in every layer."""
    return count.attention + count.mlp if reader.word("model_type").startswith("cogvlm") else 0


def _by_pattern(reader: ConfigReader, spec: ModelSpec, pattern: str) -> ParameterCount | None:
    """Each layer is one thing alone, by its letter: Mamba, attention, a feed-forward part or experts."""
    hidden, vocab, heads, dim = spec.hidden, spec.vocab, spec.heads or 0, spec.head_dim or 0
    mamba = _mixer(reader, spec)
    if not hidden or not vocab or mamba is None:
        return None
    attention = pattern.count("*") * 2 * hidden * dim * (heads + (spec.kv_heads or heads)) + pattern.count("M") * mamba
    dense = pattern.count("-") * 2 * hidden * (spec.intermediate or 0)
    total = active = dense
    moe = spec.moe
    if moe is not None:
        each = 2 * (moe.expert_hidden or hidden) * (moe.expert_intermediate or 0)
        always = 2 * hidden * (moe.shared_intermediate or 0) + hidden * moe.experts
        always += 2 * hidden * moe.expert_hidden if moe.expert_hidden else 0
        total += pattern.count("E") * (moe.experts * each + always)
        active += pattern.count("E") * (moe.experts_per_token * each + always)
    embedding = vocab * hidden
    head = 0 if spec.tied_embeddings else embedding
    norms = (len(pattern) + 1) * hidden
    rest = embedding + head + attention + norms
    return ParameterCount(rest + total, rest + active, embedding, head, attention, total, norms)


def _searched(reader: ConfigReader, spec: ModelSpec) -> ParameterCount | None:
    """Nemotron models that were searched for: each layer has its own key-value heads and feed-forward width."""
    hidden, heads, vocab = spec.hidden or 0, spec.heads or 0, spec.vocab or 0
    dim = spec.head_dim or 0
    attention = mlp = 0
    for block in reader.mappings("block_configs"):
        shared, wide = block.nested("attention").maybe("n_heads_in_group"), block.nested("ffn").content.get("ffn_mult")
        if shared:
            attention += 2 * hidden * dim * (heads + heads // shared)
        elif block.nested("attention").flag("replace_with_linear", default=False):
            attention += hidden * hidden
        if isinstance(wide, int | float):
            mlp += 3 * hidden * -(-int(2 * wide * hidden / 3) // 256) * 256
        elif block.nested("ffn").flag("replace_with_linear", default=False):
            mlp += hidden * hidden
    if not attention:
        return None
    embedding = vocab * hidden
    norms = (2 * (spec.layers or 0) + 1) * hidden
    head = 0 if spec.tied_embeddings else embedding
    total = embedding + head + attention + mlp + norms
    return ParameterCount(total, total, embedding, head, attention, mlp, norms)


def draft_parameters(reader: ConfigReader, spec: ModelSpec, count: ParameterCount) -> int:
    """Layers beside the model for predicting several tokens: each as the model's last one, and a projection."""
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "_num_mtp_layers")
    layers = reader.maybe(*keys)
    if not layers or not spec.layers or not spec.hidden:
        return 0
    pattern = reader.blocks()
    blocks = 2 if pattern else 1  # An attention and an expert block make one layer there.
    sparse = len(pattern.replace("M", "").replace("*", "")) if pattern else spec.layers
    dense = spec.moe.first_dense_layers if spec.moe else 0
    mlp = (count.mlp - dense * 3 * spec.hidden * (spec.intermediate or 0)) // max(1, sparse - dense)
    attention = 2 * spec.hidden * (spec.head_dim or 0) * ((spec.heads or 0) + (spec.kv_heads or 0))
    return layers * (mlp + (attention if not spec.mla else count.attention // spec.layers) + blocks * spec.hidden**2)


def _mixer(reader: ConfigReader, spec: ModelSpec) -> int | None:
    """One layer of linear attention, state space or convolution."""
    hidden, kind = spec.hidden or 0, reader.word("model_type")
    kernel = reader.maybe("conv_L_cache")
    if kernel:  # LFM2: a gated short convolution.
        return hidden * (4 * hidden + kernel)
    if kind.startswith("minimax"):  # Lightning attention: a gate as wide as the queries.
        return 5 * hidden * (spec.heads or 0) * (spec.head_dim or 0)
    if reader.maybe("linear_num_value_heads"):
        return _delta_net(reader, hidden)
    if reader.content.get("linear_attn_config"):
        return _key_wise_delta(reader.nested("linear_attn_config"), hidden)
    if reader.maybe("linear_num_heads"):
        return _key_wise_delta(reader, hidden, "linear_")
    return _mamba1(reader, hidden) if kind in {"jamba", "mamba", "falcon_mamba"} else _mamba2(reader, hidden)


def _delta_net(reader: ConfigReader, hidden: int) -> int:
    """Gated DeltaNet (Qwen3-Next): queries, keys, values, gates, a short convolution."""
    keys = (reader.count("linear_num_key_heads") or 0) * (reader.count("linear_key_head_dim") or 0)
    value_heads = reader.count("linear_num_value_heads") or 0
    values = value_heads * (reader.count("linear_value_head_dim") or 0)
    convolution = (2 * keys + values) * (reader.maybe("linear_conv_kernel_dim") or 4)
    return hidden * (2 * keys + 3 * values + 2 * value_heads) + convolution


def _key_wise_delta(inner: ConfigReader, hidden: int, prefix: str = "") -> int:
    """Kimi Delta Attention: three projections with convolutions, gates of low or full rank, an output."""
    dim, heads = inner.count(f"{prefix}head_dim") or 0, inner.count(f"{prefix}num_heads") or 0
    wide = dim * heads
    gates = 2 * hidden * wide if inner.flag("use_full_rank_gate", default=False) else 2 * (hidden * dim + dim * wide)
    return 4 * hidden * wide + gates + hidden * heads + 3 * wide * (inner.maybe("short_conv_kernel_size") or 4)


def _mamba1(reader: ConfigReader, hidden: int) -> int:
    inner = reader.maybe("mamba_d_inner", "intermediate_size_ssm") or hidden * (
        reader.maybe("mamba_expand", "expand") or 2
    )
    state = reader.maybe("mamba_d_state", "state_size") or 16
    rank = reader.maybe("mamba_dt_rank", "time_step_rank") or -(-hidden // 16)
    kernel = reader.maybe("mamba_d_conv", "conv_kernel") or 4
    return inner * (3 * hidden + kernel + 1 + rank + 2 * state + rank + 1 + state + 1)


def _mamba2(reader: ConfigReader, hidden: int) -> int | None:
    alone = reader.word("model_type") in ATTENTION_FREE  # Then heads without a further name are its own.
    heads = reader.maybe("mamba_num_heads", "mamba_n_heads") or (reader.maybe("num_heads") if alone else None)
    dim = reader.maybe("mamba_head_dim", "mamba_d_head") or (reader.maybe("head_dim") if alone else None)
    if heads is None:
        return None
    inner = heads * dim if dim else hidden * (reader.maybe("mamba_expand", "expand") or 2)
    groups = reader.maybe("n_groups", "mamba_n_groups") or 1
    mixed = inner + 2 * groups * (reader.maybe("ssm_state_size", "mamba_d_state", "state_size") or 128)
    kernel = reader.maybe("conv_kernel", "mamba_d_conv") or 4
    return hidden * (inner + mixed + heads) + mixed * (kernel + 1) + 3 * heads + inner + inner * hidden


def _inputs(reader: ConfigReader, spec: ModelSpec) -> int:
    """Gemma 3n and 4: an embedding of each token for each layer."""
    width, layers, hidden = reader.maybe("hidden_size_per_layer_input"), spec.layers or 0, spec.hidden or 0
    if not width:
        return 0
    rows = reader.maybe("vocab_size_per_layer_input") or spec.vocab or 0
    return layers * width * (rows + hidden + 2 * hidden)


def _narrow_embedding(reader: ConfigReader, spec: ModelSpec) -> int:
    """ELECTRA: embeddings narrower than the layers, and a projection from one to the other."""
    width, hidden = reader.maybe("embedding_size"), spec.hidden or 0
    if not width or width == hidden:
        return 0
    return ((spec.vocab or 0) + (spec.learned_positions or 0)) * (width - hidden) + width * hidden


def _second_mlp(reader: ConfigReader, spec: ModelSpec) -> int:
    """Gemma 4 with experts: a dense feed-forward part beside them in every layer."""
    if not reader.flag("enable_moe_block", default=False) or spec.moe is None:
        return 0
    return 3 * (spec.layers or 0) * (spec.hidden or 0) * (spec.intermediate or 0)
