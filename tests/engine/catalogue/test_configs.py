"""Models from config.json content, as the hub has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.configs import model_from_config
from whichgpu.engine.core.errors import InputError


MODELS = load_knowledge().models

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False, "rope_scaling": {"factor": 8.0},
}  # fmt: skip
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_shared_experts": 1,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 129280, "max_position_embeddings": 163840, "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "fp8"},
}  # fmt: skip
GEMMA_3: dict[str, Any] = {
    "model_type": "gemma3", "tie_word_embeddings": True,
    "vision_config": {
        "model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
        "num_attention_heads": 16, "image_size": 896, "patch_size": 14, "vision_use_head": False,
    },
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
        "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "vocab_size": 262208,
        "sliding_window": 1024, "max_position_embeddings": 131072,
    },
}  # fmt: skip
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24, "head_dim": 64,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 201088, "num_local_experts": 32,
    "num_experts_per_tok": 4, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12,
    "quantization_config": {"quant_method": "mxfp4"}, "tie_word_embeddings": False, "max_position_embeddings": 131072,
}  # fmt: skip


def with_(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A configuration with some keys changed; None takes a key out."""
    return {key: value for key, value in {**base, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("config", "params", "rel"),
    [
        (LLAMA, 8_030_261_248, 1e-9),
        (DEEPSEEK, 671_026_419_200, 1e-5),
        (GPT_OSS, 20_914_757_184, 1e-3),
        (GEMMA_3, 27_432_406_640, 1e-3),
        (
            {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
             "n_positions": 1024},
            124_439_808,
            1e-9,
        ),
        (
            {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
             "multi_query": True, "new_decoder_architecture": False, "vocab_size": 65024},
            6_921_720_704,
            1e-3,
        ),
        (
            {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
             "num_kv_heads": 8, "new_decoder_architecture": True, "vocab_size": 65024},
            41_303_293_952,
            1e-3,
        ),
        (
            {"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4,
             "vocab_size": 50432, "max_seq_len": 2048, "attn_config": {"attn_type": "multihead_attention"}},
            6_649_286_656,
            1e-3,
        ),
        (
            {"model_type": "bert", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
             "num_attention_heads": 12, "vocab_size": 30522, "max_position_embeddings": 512},
            109_482_240,
            1e-3,
        ),
        (
            {"model_type": "t5", "d_model": 512, "d_ff": 2048, "d_kv": 64, "num_layers": 6, "num_decoder_layers": 6,
             "num_heads": 8, "vocab_size": 32128, "is_encoder_decoder": True},
            60_506_624,
            1e-3,
        ),
        (
            {"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
             "num_attention_heads": 32, "vocab_size": 51200, "tie_word_embeddings": False},
            2_779_683_840,
            1e-3,
        ),
        (
            {"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
             "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False,
             "sliding_window": 131072, "use_sliding_window": False},
            7_615_616_512,
            1e-9,
        ),
        (
            {"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
             "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
             "vocab_size": 32000, "sliding_window": None, "tie_word_embeddings": False},
            46_702_792_704,
            1e-9,
        ),
        (
            {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
             "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8},
             "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}},
            131_596_523_520,
            1e-3,
        ),
    ],
)  # fmt: skip
def test_published_counts_come_out(config: dict[str, Any], params: int, rel: float) -> None:
    spec = model_from_config(config)
    assert spec.params_b is not None
    assert spec.params_b * 1e9 == pytest.approx(params, rel=max(rel, 1e-7))


def test_a_configuration_gives_the_catalogues_dimensions() -> None:
    for config, key in ((LLAMA, "llama-3.1-8b"), (DEEPSEEK, "deepseek-v3"), (GPT_OSS, "gpt-oss-20b")):
        read, known = model_from_config(config), MODELS[key]
        for field in (
            *("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "gated_mlp", "moe", "mla"),
            *("tied_embeddings", "sliding_window", "full_attention_layers", "sliding_layers", "native_precision"),
        ):
            assert getattr(read, field) == getattr(known, field), (key, field)


def test_models_that_read_images_nest_their_language_model() -> None:
    spec = model_from_config(GEMMA_3)
    assert spec.kind == "multimodal"
    assert (spec.layers, spec.full_attention_layers, spec.sliding_layers, spec.sliding_window) == (62, 10, 52, 1024)
    assert spec.tied_embeddings


def test_kinds_of_layers() -> None:
    mistral = with_(LLAMA, model_type="mistral", sliding_window=4096)
    assert (model_from_config(mistral).sliding_layers, model_from_config(mistral).full_attention_layers) == (32, 0)
    wide = with_(LLAMA, sliding_window=131072)
    assert model_from_config(wide).sliding_window is None
    switched_off = with_(LLAMA, sliding_window=4096, use_sliding_window=False)
    assert model_from_config(switched_off).sliding_window is None
    next_ = with_(LLAMA, model_type="qwen3_next", full_attention_interval=4)
    assert (model_from_config(next_).full_attention_layers, model_from_config(next_).linear_layers) == (8, 24)
    assert model_from_config(next_).params_b is None
    linear = with_(LLAMA, layer_types=["linear_attention"] * 24 + ["full_attention"] * 8)
    assert (model_from_config(linear).linear_layers, model_from_config(linear).sliding_window) == (24, None)
    mamba = with_(LLAMA, model_type="nemotron_h", hybrid_override_pattern="MEM*EM*-")
    assert (model_from_config(mamba).full_attention_layers, model_from_config(mamba).linear_layers) == (2, 3)
    full = with_(LLAMA, layer_types=["full_attention"] * 32)
    assert model_from_config(full).full_attention_layers is None
    chunked = with_(LLAMA, layer_types=["chunked_attention", "full_attention"] * 16, attention_chunk_size=8192)
    assert model_from_config(chunked).sliding_window == 8192


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "awq", "bits": 4}, "awq-int4"),
        ({"quant_method": "gptq", "bits": 8}, "gptq-int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4-dq"),
        ({"quant_method": "auto-round", "bits": 4}, "int4"),
        ({"quant_method": "quanto", "weights": "float8"}, "fp8"),
        ({"quant_method": "eetq", "weights": "int8"}, "int8"),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, "int4"),
        ({"quant_method": "torchao", "quant_type": "int4_weight_only"}, "int4"),
        (
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8DynamicActivationInt4WeightConfig"}}},
            "int4",
        ),
        (
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}},
            "fp8",
        ),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "compressed-tensors"}, None),
        (None, None),
    ],
)
def test_quantization_is_read(quantization: object, expected: str | None) -> None:
    assert model_from_config({**LLAMA, "quantization_config": quantization}).native_precision == expected


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "aqlm"},
        {"quant_method": "modelopt", "quant_algo": "MIXED"},
    ],
)
def test_a_quantization_that_is_not_known_is_reported(quantization: object) -> None:
    spec = model_from_config({**LLAMA, "quantization_config": quantization})
    assert spec.native_precision is None
    assert "quantization block" in " ".join(spec.notes)
    assert not model_from_config(LLAMA).notes


def test_the_first_qwen_states_both_gates_together() -> None:
    config = with_(LLAMA, model_type="qwen", intermediate_size=22016, num_key_value_heads=None)
    spec = model_from_config(config)
    assert (spec.intermediate, spec.kv_heads, spec.bias) == (11008, 32, "qkv")


def test_llama_4_shares_an_expert_and_skips_layers() -> None:
    config = {
        "model_type": "llama4",
        "text_config": with_(
            LLAMA, model_type="llama4_text", num_local_experts=128, num_experts_per_tok=1, interleave_moe_layer_step=2
        ),
    }
    moe = model_from_config(config).moe
    assert moe is not None
    assert (moe.experts, moe.every, moe.shared_intermediate) == (128, 2, 14336)


def test_one_key_value_head() -> None:
    code = {
        "model_type": "gpt_bigcode",
        "n_embd": 2048,
        "n_layer": 24,
        "n_head": 16,
        "vocab_size": 49152,
        "n_positions": 8192,
    }
    assert model_from_config(code).kv_heads == 1
    assert model_from_config({**code, "multi_query": False}).kv_heads == 16
    old_falcon = {"model_type": "RefinedWeb", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 99}
    assert model_from_config({**old_falcon, "multi_query": False}).kv_heads == 4


# -------------------------------------------------------------------------------------------------------- errors


def problems(config: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        model_from_config(config)  # type: ignore[arg-type]
    return [problem.render() for problem in caught.value.problems]


def test_all_missing_keys_are_reported_at_once() -> None:
    found = problems({"model_type": "llama"})
    assert len(found) == 5
    assert any("'num_hidden_layers'" in text for text in found)
    assert any("'vocab_size'" in text for text in found)


def test_a_misspelt_key_is_suggested() -> None:
    found = problems(with_(LLAMA, num_hidden_layers=None, num_hiden_layers=32))
    assert len(found) == 1
    assert "num_hiden_layers" in found[0]


@pytest.mark.parametrize("value", ["many", True, -1, 1.5, 1e30])
def test_a_wrong_value_is_reported(value: object) -> None:
    found = problems({**LLAMA, "hidden_size": value})
    assert "hidden_size" in found[0]
    assert "not a whole number" in found[0]


def test_a_zero_is_named_and_not_called_missing() -> None:
    assert problems({**LLAMA, "num_attention_heads": 0}) == [
        "config.json: num_attention_heads is 0, and has to be 1 or more"
    ]


def test_missing_parts_of_experts_and_latent_attention() -> None:
    assert "num_experts_per_tok" in problems(with_(DEEPSEEK, num_experts_per_tok=None))[0]
    assert "qk_nope_head_dim" in problems(with_(DEEPSEEK, qk_nope_head_dim=None))[0]
    assert "intermediate_size" in problems(with_(LLAMA, intermediate_size=None))[0]


def test_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "My Llama_8B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert model_from_config(folder).id == "my-llama-8b"
    assert model_from_config(folder / "config.json").params_b == pytest.approx(8.030261)
    named = tmp_path / "acme-7b.json"
    named.write_text(json.dumps({**LLAMA, "hidden_size": "x"}, indent=1), encoding="utf-8")
    line = named.read_text(encoding="utf-8").splitlines().index(' "hidden_size": "x",') + 1
    assert f"acme-7b.json:{line}:2" in problems(named)[0]
    assert model_from_config({**LLAMA, "_name_or_path": "org/Some.Model"}).id == "some.model"


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"{", "not JSON"), (b"[1]", "no mapping"), (b"\xff\xfe\x00", "not JSON"), (b"[" * 100_000, "not JSON")],
)  # fmt: skip
def test_files_that_are_no_configuration(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert says in problems(path)[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no file" in problems(tmp_path / "none.json")[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted({*LLAMA, *DEEPSEEK, *GPT_OSS, "text_config", "attn_config"})), JSON))
def test_any_content_gives_a_model_or_an_input_error(content: dict[str, Any]) -> None:
    try:
        spec = model_from_config({**LLAMA, **content})
    except InputError:
        return
    assert spec.layers is not None
