"""Parameters of one layer that mixes tokens by a fixed state: linear attention, state spaces, recurrences.

Every formula is the shapes of the layer's matrices as the classes of transformers make them; biases and norms of less
than a thousandth of a layer are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.reader import ATTENTION_FREE, ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec


def mixer(reader: ConfigReader, spec: ModelSpec) -> int | None:
    """One layer of linear attention, state space, recurrence or convolution; None for a kind that is not known."""
    kind, hidden = reader.word("model_type"), spec.hidden or 0
    if kind.startswith("minimax"):  # Lightning attention: a gate as wide as the queries.
        return 5 * hidden * (spec.heads or 0) * (spec.head_dim or 0)
    own = _time_mixing if kind == "rwkv" else next((own for key, own in _BY_KEY if reader.content.get(key)), None)
    if own is not None:
        return own(reader, spec)
    return _mamba1(reader, hidden) if kind in _MAMBA1 else mamba2(reader, hidden)


def _short_convolution(reader: ConfigReader, spec: ModelSpec) -> int:
    """LFM2: a gated convolution over a few tokens."""
    hidden = spec.hidden or 0
    return hidden * (4 * hidden + (reader.maybe("conv_L_cache") or 0))


def _delta_net(reader: ConfigReader, spec: ModelSpec) -> int:
    """Gated DeltaNet (Qwen3-Next): queries, keys, values, gates, a short convolution."""
    hidden = spec.hidden or 0
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


def _time_mixing(reader: ConfigReader, spec: ModelSpec) -> int:
    """RWKV: tokens are mixed by four matrices, channels by two and a gate (Peng et al. 2023)."""
    hidden, inner = spec.hidden or 0, reader.maybe("intermediate_size") or 4 * (spec.hidden or 0)
    return hidden * (4 * (reader.maybe("attention_hidden_size") or hidden) + hidden + 2 * inner)


def _gated_recurrence(reader: ConfigReader, spec: ModelSpec) -> int:
    """RG-LRU of RecurrentGemma: two branches, a convolution, two gates of a block for each head, an output."""
    hidden, width, heads = spec.hidden or 0, reader.maybe("lru_width") or 0, spec.heads or 1
    return 3 * hidden * width + width * ((reader.maybe("conv1d_width") or 4) + 2 * (width // heads) + 4)


def _mamba1(reader: ConfigReader, hidden: int) -> int:
    inner = reader.maybe("mamba_d_inner", "intermediate_size_ssm") or hidden * (
        reader.maybe("mamba_expand", "expand") or 2
    )
    state = reader.maybe("mamba_d_state", "state_size") or 16
    rank = reader.maybe("mamba_dt_rank", "time_step_rank") or -(-hidden // 16)
    kernel = reader.maybe("mamba_d_conv", "conv_kernel") or 4
    return inner * (3 * hidden + kernel + 1 + rank + 2 * state + rank + 1 + state + 1)


def mamba2(reader: ConfigReader, hidden: int) -> int | None:
    """A state space by heads (Dao and Gu 2024); None where the configuration states no heads."""
    alone = reader.word("model_type") in ATTENTION_FREE  # Then heads without a further name are its own.
    heads = reader.maybe("mamba_num_heads", "mamba_n_heads", "n_mamba_heads")
    heads = heads or (reader.maybe("num_heads") if alone else None)
    dim = reader.maybe("mamba_head_dim", "mamba_d_head") or (reader.maybe("head_dim") if alone else None)
    if heads is None:
        return None
    inner = heads * dim if dim else hidden * (reader.maybe("mamba_expand", "expand") or 2)
    groups = reader.maybe("n_groups", "mamba_n_groups", "mamba_ngroups") or 1
    mixed = inner + 2 * groups * (reader.maybe("ssm_state_size", "mamba_d_state", "state_size") or 128)
    kernel = reader.maybe("conv_kernel", "mamba_d_conv") or 4
    return hidden * (inner + mixed + heads) + mixed * (kernel + 1) + 3 * heads + inner + inner * hidden


#: Keys that only configurations of one kind of layer have.
_BY_KEY: tuple[tuple[str, Callable[[ConfigReader, ModelSpec], int]], ...] = (
    ("conv_L_cache", _short_convolution),
    ("lru_width", _gated_recurrence),
    ("linear_num_value_heads", _delta_net),
    ("linear_attn_config", lambda reader, spec: _key_wise_delta(reader.nested("linear_attn_config"), spec.hidden or 0)),
    ("linear_num_heads", lambda reader, spec: _key_wise_delta(reader, spec.hidden or 0, "linear_")),
)
_MAMBA1 = frozenset(("falcon_mamba", "jamba", "mamba", "zamba"))
