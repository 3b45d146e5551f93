"""Parameters of the language part where a model's dimensions alone do not give them.

Every formula is the shapes of the layer's matrices as the classes of transformers make them; biases and norms of less
than a thousandth of a layer are left out.
"""

from __future__ import annotations

from msgspec.structs import replace

from whichgpu.engine.catalogue.configurations.attention import attention_change
from whichgpu.engine.catalogue.configurations.encoders import encoder_change
from whichgpu.engine.catalogue.configurations.mixers import mamba2, mixer
from whichgpu.engine.catalogue.configurations.reader import ATTENTION_FREE, ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.parameters import ParameterCount, parameter_count


def counted(reader: ConfigReader, spec: ModelSpec) -> ParameterCount | None:
    """The parameters of the language part, or None where a dimension is missing or a layer's kind is not known."""
    kind = reader.word("model_type")
    if kind == "nemotron-nas":
        return _searched(reader, spec)
    if kind in {"zamba", "zamba2"}:
        return _shared_blocks(reader, spec)
    if kind == "nemotron_h" or kind in ATTENTION_FREE:
        return _by_pattern(reader, spec, reader.blocks() or "M" * (spec.layers or 0))
    count = parameter_count(replace(spec, linear_layers=None, dims_partial=False))
    if count is None or not spec.layers:
        return None
    linear = spec.linear_layers or 0
    mixed = mixer(reader, spec) if linear else 0
    if mixed is None:
        return None
    change = linear * mixed - linear * count.attention // spec.layers
    change += _beside_layers(reader, spec, count) + encoder_change(reader, spec, count)
    change += attention_change(reader, spec, count) + _inputs(reader, spec)
    mlp = _second_mlp(reader, spec)
    unseen = _experts_of_pictures(reader, spec) + _experts_of_attention(reader, spec)
    return replace(
        count,
        total=count.total + change + mlp + unseen,
        active=count.active + change + mlp,
        attention=count.attention + change,
        mlp=count.mlp + mlp + unseen,
    )


def _beside_layers(reader: ConfigReader, spec: ModelSpec, count: ParameterCount) -> int:
    """What a series has beside the parts that all layers have."""
    kind, layers, hidden = reader.word("model_type"), spec.layers or 0, spec.hidden or 0
    if kind == "falcon_h1":  # A state space beside the attention of every layer.
        return layers * (mamba2(reader, hidden) or 0)
    if kind.startswith("cogvlm"):  # Tokens of pictures have attention and a feed-forward part of their own.
        return count.attention + count.mlp
    if kind == "led":  # Tokens that see the whole text have queries, keys and values of their own.
        return 3 * layers * hidden * hidden
    return (spec.vocab or 0) * hidden if kind == "t5gemma" else 0  # Its encoder has words of its own.


def _by_pattern(reader: ConfigReader, spec: ModelSpec, pattern: str) -> ParameterCount | None:
    """Each layer is one thing alone, by its letter: Mamba, attention, a feed-forward part or experts."""
    hidden, vocab, heads, dim = spec.hidden, spec.vocab, spec.heads or 0, spec.head_dim or 0
    mamba = mixer(reader, spec)
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


def _inputs(reader: ConfigReader, spec: ModelSpec) -> int:
    """Gemma 3n and 4: an embedding of each token for each layer."""
    width, layers, hidden = reader.maybe("hidden_size_per_layer_input"), spec.layers or 0, spec.hidden or 0
    if not width:
        return 0
    rows = reader.maybe("vocab_size_per_layer_input") or spec.vocab or 0
    return layers * width * (rows + hidden + 2 * hidden)


def _second_mlp(reader: ConfigReader, spec: ModelSpec) -> int:
    """Gemma 4 and LongCat: a dense feed-forward part beside the experts of a layer."""
    beside = reader.flag("enable_moe_block", default=False) or reader.word("model_type") == "longcat_flash"
    if not beside or spec.moe is None:
        return 0
    return 3 * ((spec.layers or 0) // spec.moe.every) * (spec.hidden or 0) * (spec.intermediate or 0)


def _experts_of_pictures(reader: ConfigReader, spec: ModelSpec) -> int:
    """ERNIE 4.5 VL: as many experts again for the tokens of pictures, of a width of their own; no token meets both."""
    widths = reader.numbers("moe_intermediate_size")
    if len(widths) < 2 or spec.moe is None:
        return 0
    sparse, hidden = (spec.layers or 0) - spec.moe.first_dense_layers, spec.hidden or 0
    return sparse * spec.moe.experts * hidden * (3 * widths[1] + 1)


def _experts_of_attention(reader: ConfigReader, spec: ModelSpec) -> int:
    """JetMoE: queries and outputs of the experts that a token does not pass. Source: Shen et al. 2024."""
    if reader.word("model_type") != "jetmoe" or spec.moe is None:
        return 0
    left = spec.moe.experts - spec.moe.experts_per_token
    return (spec.layers or 0) * left * 2 * (spec.hidden or 0) * (spec.kv_heads or 0) * (spec.head_dim or 0)


def _shared_blocks(reader: ConfigReader, spec: ModelSpec) -> ParameterCount | None:
    """Zamba: a state space in every layer; some also pass one of a few shared blocks, of attention twice as wide.

    Each such layer has a projection of its own, in Zamba 2 adapters on the shared feed-forward part (or on attention).
    """
    hidden, vocab, heads, dim = spec.hidden or 0, spec.vocab or 0, spec.heads or 0, spec.head_dim or 0
    hybrids, inner, layers = spec.full_attention_layers or 0, spec.intermediate or 0, spec.layers or 0
    mixed = mixer(reader, spec)
    if not hidden or not vocab or mixed is None:
        return None
    wide = reader.maybe("attention_hidden_size") or 2 * hidden
    shared = reader.maybe("num_mem_blocks") or 1
    rank = reader.maybe("adapter_rank") or 128
    attention = layers * mixed + shared * heads * dim * (3 * wide + hidden) + hybrids * hidden * hidden
    if reader.flag("use_shared_attention_adapter", default=False):
        attention += hybrids * 3 * 2 * wide * rank
    mlp = shared * 3 * hidden * inner
    if reader.flag("use_shared_mlp_adapter", default=reader.word("model_type") == "zamba2"):
        mlp += hybrids * rank * (hidden + 2 * inner)
    embedding, norms = vocab * hidden, (layers + 4 * shared + 1) * hidden
    head = 0 if spec.tied_embeddings else embedding
    total = embedding + head + attention + mlp + norms
    return ParameterCount(total, total, embedding, head, attention, mlp, norms)
