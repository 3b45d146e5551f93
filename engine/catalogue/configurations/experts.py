"""A mixture of experts from a configuration, under any of the names that its keys have."""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import Moe


#: Classes of transformers 4 (models/*/modeling_*.py of 4.57) that hold the experts of a layer in one parameter already.
ONE_TABLE = frozenset(
    (
        *("dbrx", "gpt_oss", "granitemoe", "granitemoehybrid", "granitemoeshared"),
        *("jetmoe", "llama4_text", "qwen3_vl_moe_text"),
    )
)


#: How many experts a token passes where no key says so: their classes choose no other number.
CHOSEN = {"switch_transformers": 1, "nllb-moe": 2}


def experts_of(reader: ConfigReader, layers: int | None) -> Moe | None:
    """The experts of a model of so many layers; None where it has none."""
    inner = reader.nested("ffn_config")
    keys = ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "num_moe_experts")
    experts = reader.maybe(*keys) or inner.maybe("moe_num_experts") or reader.first("moe_num_experts")
    if not experts or experts == 1:
        return None
    per_token = reader.maybe(
        "num_experts_per_tok",
        "num_experts_per_token",
        "moe_topk",
        "moe_top_k",
        "experts_per_token",
        "top_k_experts",
        "moe_k",
        "num_selected_experts",
    )
    per_token = per_token or inner.maybe("moe_top_k") or reader.first("moe_topk")
    stated = reader.maybe("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size")
    width = stated or reader.first("moe_intermediate_size") or inner.maybe("ffn_hidden_size")
    width = width or reader.maybe("intermediate_size")
    per_token = per_token or CHOSEN.get(reader.word("model_type"))
    if per_token is None:
        reader.required("num_experts_per_tok")
    idle = reader.maybe("zero_expert_num")  # LongCat: experts that do nothing are among those chosen.
    if per_token and idle:
        per_token = max(1, round(per_token * experts / (experts + idle)))
    dense, every = _dense_layers(reader, layers)
    return Moe(
        experts=experts,
        experts_per_token=per_token or 1,
        expert_intermediate=width,
        expert_hidden=reader.maybe("moe_latent_size", "routed_expert_hidden_size"),
        shared_intermediate=_shared_experts(reader, width),
        first_dense_layers=dense,
        every=every,
        one_table=reader.word("model_type") in ONE_TABLE,
    )


def _shared_experts(reader: ConfigReader, width: int | None) -> int | None:
    """The width of all shared experts together."""
    if reader.word("model_type") == "llama4_text":
        return width
    whole = ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim")
    stated = reader.maybe(*whole, "shared_intermediate_size")
    if stated is not None or not width:
        return stated
    keys = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
    return (reader.maybe(*keys) or reader.first("num_shared_expert") or 0) * width or None


def _dense_layers(reader: ConfigReader, layers: int | None) -> tuple[int, int]:
    """How many layers have no experts, and one in how many of the others has them."""
    named = reader.words("mlp_layer_types")  # As transformers 5 writes it: dense or sparse, one for each layer.
    if named:
        return named.count("dense"), 1
    flags = reader.numbers("moe_layer_freq")
    if flags and layers:  # One figure for each layer.
        return layers - sum(flags[:layers]), 1
    listed = reader.numbers("moe_layers") or reader.numbers("moe_layers_enum")
    split = [int(part) for part in reader.word("moe_layers_enum").split(",") if part.strip().isdigit()]
    if layers and (listed or split):
        return layers - len(listed or split), 1
    first = reader.maybe("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers") or 0
    first = first or reader.first("moe_layer_start_index") or len(reader.numbers("mlp_only_layers"))
    if reader.word("model_type") == "longcat_flash":  # Beside the first of the two halves of each layer.
        return 0, 2
    return first, reader.maybe(
        "interleave_moe_layer_step", "decoder_sparse_step", "expert_layer_period", "moe_every_n_layers"
    ) or 1
