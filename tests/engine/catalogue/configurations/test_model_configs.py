"""Models by their configuration alone: text, pictures, sound, hybrids, pipelines, weights beside them, the hub.

``model_configs.jsonl`` holds the dimensions of published configurations, the public collection that copies each, and
the published count. Those marked ``held_out`` were first read when the formulas were done. ``module_defaults.jsonl``
holds the configuration that each class of transformers makes by itself. Where transformers has the class, ``modules_b``
is how many parameters its module has (benchmarks/lab/counted.py); ``denoiser_defaults.jsonl`` the same of diffusers.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import ModelSpec, model_from_config
from whichgpu.engine.catalogue.configurations.diffusion import denoiser_parameters
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.core import InputError
from whichgpu.engine.sizing.shape import shape_of


def _rows(name: str) -> list[dict[str, Any]]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


ROWS = _rows("model_configs.jsonl")
#: transformers makes a pooling head for its encoder that the checkpoint has not.
POOLED = {"LFM2.5-VL-1.6B"}


def off(spec: ModelSpec, published_b: float) -> float:
    """The share by which a size misses the published one, which counts layers for several tokens or does not."""
    assert spec.params_b is not None
    drafting = spec.components_b.get("multi_token_prediction", 0.0)
    return min(abs(size / published_b - 1) for size in (spec.params_b, spec.params_b + drafting))


def test_published_models_are_sized_within_a_hundredth() -> None:
    assert len(ROWS) >= 100
    missed = {row["name"]: off(model_from_config(row["config"]), row["published_b"]) for row in ROWS}
    assert {name: share for name, share in missed.items() if share > 0.01} == {}


def test_what_is_counted_is_what_the_modules_have() -> None:
    counted = [row for row in ROWS if "modules_b" in row and row["name"] not in POOLED]
    assert len(counted) >= 90
    apart = {
        row["name"]: abs((model_from_config(row["config"]).params_b or 0) / row["modules_b"] - 1) for row in counted
    }
    assert {name: share for name, share in apart.items() if share > 0.006} == {}


def _read(config: dict[str, Any]) -> ModelSpec | None:
    try:
        return model_from_config(config)
    except InputError:
        return None


def test_kinds_that_are_known_have_what_their_modules_have_and_others_say_so() -> None:
    """Models that were not chosen: the configuration that each class makes by itself."""
    rows = [(row, spec) for row in _rows("module_defaults.jsonl") if (spec := _read(row["config"])) and spec.params_b]
    off_by = {row["kind"]: abs((spec.params_b or 0) / row["modules_b"] - 1) for row, spec in rows}
    silent = {row["kind"] for row, spec in rows if not spec.notes}
    assert len(silent) >= 110
    # LongCat's module has weights also for the experts that do nothing; what was published has not (562 B).
    # Moshi's module here only writes text; what was published also speaks.
    assert {kind for kind in silent if off_by[kind] > 0.01} <= {"longcat_flash", "moshi"}
    assert sum(share <= 0.01 for share in off_by.values()) >= 0.8 * len(off_by)


#: Dimensions as papers and model cards give them, and the size that they publish.
PUBLISHED: dict[str, tuple[dict[str, Any], float]] = {
    "NLLB-MoE": (
        {
            "model_type": "nllb-moe", "is_encoder_decoder": True, "vocab_size": 256206, "d_model": 2048,
            "encoder_layers": 24, "decoder_layers": 24, "encoder_ffn_dim": 8192, "decoder_ffn_dim": 8192,
            "encoder_attention_heads": 16, "num_experts": 128, "encoder_sparse_step": 4, "decoder_sparse_step": 4,
        },
        54.5,
    ),
    "Switch base 128": (
        {
            "model_type": "switch_transformers", "is_encoder_decoder": True, "vocab_size": 32128, "d_model": 768,
            "d_ff": 3072, "d_kv": 64, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12, "num_experts": 128,
            "encoder_sparse_step": 2, "decoder_sparse_step": 2,
        },
        7.42,
    ),
    "LED large": (
        {
            "model_type": "led", "is_encoder_decoder": True, "vocab_size": 50265, "d_model": 1024,
            "encoder_layers": 12, "decoder_layers": 12, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
            "encoder_attention_heads": 16, "max_encoder_position_embeddings": 16384,
            "max_decoder_position_embeddings": 1024,
        },
        0.46,
    ),
    "RecurrentGemma 2B": (
        {
            "model_type": "recurrent_gemma", "hidden_size": 2560, "lru_width": 2560, "intermediate_size": 15360,
            "num_hidden_layers": 26, "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256,
            "vocab_size": 256000, "attention_window_size": 2048, "block_types": ["recurrent", "recurrent", "attention"],
        },
        2.68,
    ),
    "Bamba 9B": (
        {
            "model_type": "bamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "mamba_n_heads": 128,
            "mamba_d_head": 64, "mamba_d_state": 128, "attn_layer_indices": [9, 18, 27],
        },
        9.78,
    ),
    "Zamba2 7B": (
        {
            "model_type": "zamba2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 81,
            "num_attention_heads": 32, "attention_head_dim": 224, "vocab_size": 32000, "n_mamba_heads": 112,
            "mamba_ngroups": 2, "mamba_d_state": 64, "num_mem_blocks": 2, "tie_word_embeddings": True,
            "hybrid_layer_ids": [6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77],
        },
        7.36,
    ),
    "RWKV-4 14B": (
        {
            "model_type": "rwkv", "hidden_size": 5120, "num_hidden_layers": 40, "vocab_size": 50277,
            "attention_hidden_size": 5120, "intermediate_size": 20480,
        },
        14.15,
    ),
    "LongCat-Flash": (
        {
            "model_type": "longcat_flash", "hidden_size": 6144, "num_layers": 28, "num_attention_heads": 64,
            "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048, "n_routed_experts": 512, "zero_expert_num": 256,
            "moe_topk": 12, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 131072,
        },
        562.0,
    ),
    "BLIP-2 with OPT 2.7B": (
        {
            "model_type": "blip-2",
            "text_config": {
                "model_type": "opt", "vocab_size": 50272, "hidden_size": 2560, "ffn_dim": 10240,
                "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048,
            },
            "vision_config": {
                "hidden_size": 1408, "intermediate_size": 6144, "num_hidden_layers": 39, "image_size": 224,
                "patch_size": 14,
            },
        },
        3.74,
    ),
    "w2v-BERT 2.0": (
        {
            "model_type": "wav2vec2-bert", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
            "intermediate_size": 4096,
        },
        0.5805,
    ),
    "Parakeet TDT 0.6B v2": (
        {
            "model_type": "parakeet_tdt", "vocab_size": 1025, "decoder_hidden_size": 640, "num_decoder_layers": 2,
            "encoder_config": {
                "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 8, "intermediate_size": 4096,
                "num_mel_bins": 128,
            },
        },
        0.6178,
    ),
    "Gemma 3n E4B": (
        {
            "model_type": "gemma3n",
            "text_config": {
                "model_type": "gemma3n_text", "vocab_size": 262400, "hidden_size": 2048,
                "intermediate_size": [16384] * 35, "num_hidden_layers": 35, "num_attention_heads": 8,
                "num_key_value_heads": 2, "head_dim": 256, "hidden_size_per_layer_input": 256,
                "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 15,
            },
            "vision_config": {"model_type": "gemma3n_vision", "architecture": "mobilenetv5_300m_enc"},
            "audio_config": {"model_type": "gemma3n_audio", "hidden_size": 1536, "conf_num_hidden_layers": 12},
        },
        7.85,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_models_of_rarer_kinds_have_their_published_size(name: str) -> None:
    config, published_b = PUBLISHED[name]
    spec = model_from_config(config)
    assert spec.params_b == pytest.approx(published_b, rel=0.01)
    assert not spec.notes


@pytest.mark.parametrize("row", _rows("published_sizes.jsonl"), ids=lambda row: row["name"])
def test_models_of_other_kinds_have_the_size_that_is_published(row: dict[str, Any]) -> None:
    """Text encoders, detectors, readers of text in images, speakers: dimensions and size as cards and papers say."""
    assert model_from_config(row["config"]).params_b == pytest.approx(row["published_b"], rel=0.015)


def test_shared_layers_work_as_often_as_they_are_passed() -> None:
    spec = model_from_config(
        next(row["config"] for row in _rows("published_sizes.jsonl") if row["name"] == "ALBERT base")
    )
    shape = shape_of(spec, None)
    assert shape is not None
    assert (spec.layers, spec.distinct_layers, spec.embedding_width) == (12, 1, 128)
    own = shape.params - shape.embedding - shape.head
    assert shape.active_params - shape.embedding - shape.head == pytest.approx(12 * own)


def test_experts_that_do_nothing_are_not_passed() -> None:
    spec = model_from_config(PUBLISHED["LongCat-Flash"][0])
    assert spec.active_params_b == pytest.approx(27.0, rel=0.05)  # As its report says, on average.
    assert (spec.layers, spec.full_attention_layers) == (56, None)  # Two attentions in each of its layers.


def test_hybrids_keep_a_cache_only_where_they_attend() -> None:
    kinds = {name: model_from_config(PUBLISHED[name][0]) for name in ("Bamba 9B", "Zamba2 7B", "RecurrentGemma 2B")}
    assert {name: (spec.full_attention_layers, spec.sliding_layers) for name, spec in kinds.items()} == {
        "Bamba 9B": (3, None),
        "Zamba2 7B": (13, None),
        "RecurrentGemma 2B": (0, 8),
    }


#: What people and programs write by mistake.
ODD = (None, 0, -1, 1, 2.5, "x", "12", True, 10**14, 10**30, 1e308, [], {}, [0], [None], ["a"], [1, 2, 3], {"a": 1})


@st.composite
def damaged(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """A configuration that a class makes, with some keys taken away or given odd values."""
    config = json.loads(json.dumps(draw(st.sampled_from(_rows(name)))["config"]))
    for _ in range(draw(st.integers(1, 3))):
        part = config
        key = draw(st.sampled_from(sorted(part))) if part else None
        while key is not None and isinstance(part[key], dict) and part[key] and draw(st.booleans()):
            part = part[key]
            key = draw(st.sampled_from(sorted(part)))
        if key is not None and draw(st.booleans()):
            part.pop(key)
        elif key is not None:
            part[key] = draw(st.sampled_from(ODD))
    return config


@given(damaged("module_defaults.jsonl"))
def test_a_damaged_configuration_gives_a_model_or_says_what_is_wrong(config: dict[str, Any]) -> None:
    try:
        spec = model_from_config(config)
    except InputError:
        return
    assert spec.params_b is None or 0 < spec.params_b < math.inf


@given(damaged("denoiser_defaults.jsonl"))
def test_a_damaged_denoiser_gives_a_size_or_says_what_is_wrong(config: dict[str, Any]) -> None:
    reader = ConfigReader(config, "config.json")
    size, _ = denoiser_parameters(reader)
    assert size > 0 or reader.problems


def named(name: str) -> ModelSpec:
    return model_from_config(next(row["config"] for row in ROWS if row["name"] == name))


def test_what_sees_or_hears_is_multimodal_and_has_parts() -> None:
    spec = named("Qwen2.5-VL-7B-Instruct")
    assert spec.kind == "multimodal"
    assert spec.components_b["language"] + spec.components_b["vision_and_projector"] == pytest.approx(spec.params_b)
    assert named("whisper-large-v3").kind == "speech"
    assert named("bert-base-uncased").kind == "encoder"


def test_layers_of_hybrids_are_distinguished() -> None:
    assert (named("Qwen3.5-9B").full_attention_layers, named("Qwen3.5-9B").linear_layers) == (8, 24)
    assert (named("LFM2.5-VL-1.6B").full_attention_layers, named("LFM2.5-VL-1.6B").linear_layers) == (6, 10)
    assert (named("Kimi-K3").full_attention_layers, named("Kimi-K3").linear_layers) == (24, 69)


def test_caches_of_layers_that_attend_everything() -> None:
    text = {
        "model_type": "gemma4_text", "hidden_size": 1536, "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6144, "vocab_size": 262144,
        "num_global_key_value_heads": 2, "global_head_dim": 512, "num_kv_shared_layers": 20, "sliding_window": 512,
        "layer_types": ["sliding_attention"] * 28 + ["full_attention"] * 7,
    }  # fmt: skip
    spec = _read(text)
    assert spec is not None
    assert (spec.full_attention_layers, spec.sliding_layers, spec.kv_shared_layers) == (7, 28, 20)
    assert (spec.full_kv_heads, spec.full_head_dim) == (2, 512)


MAMBA = {"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280, "state_size": 16}


def test_a_model_of_state_spaces_alone() -> None:
    spec = model_from_config({**MAMBA, "expand": 2, "conv_kernel": 4, "time_step_rank": 48})
    assert spec.params_b == pytest.approx(0.12913536)
    assert (spec.full_attention_layers, spec.linear_layers) == (0, 24)


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


@pytest.mark.parametrize(
    ("block", "precision"),
    [
        ({"quant_method": "gptq", "bits": 8}, "gptq-int8"),
        ({"quant_method": "awq", "bits": 4}, "awq-int4"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "bitsandbytes", "_load_in_4bit": True}, "nf4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"}, "mxfp4"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}}},
            "int4",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        ({"quant_method": "unheard-of"}, None),
    ],
)
def test_quantization_blocks(block: dict[str, Any], precision: str | None) -> None:
    assert model_from_config({**LLAMA, "quantization_config": block}).native_precision == precision


def test_an_unknown_kind_is_read_from_its_dimensions_and_says_so() -> None:
    spec = model_from_config({**LLAMA, "model_type": "brand_new"})
    assert spec.params_b == model_from_config(LLAMA).params_b
    assert "'brand_new' is not known" in spec.notes[0]
    assert not model_from_config(LLAMA).notes


@pytest.mark.parametrize(
    ("config", "capped"),
    [
        ({"model_type": "gemma2"}, True),
        ({"model_type": "gemma2", "final_logit_softcapping": None}, False),
        ({"model_type": "gemma4_text", "final_logit_softcapping": 30.0}, True),
        ({"model_type": "recurrent_gemma", "logits_soft_cap": 30.0}, True),
        ({"model_type": "llama"}, False),
    ],
)
def test_logits_that_pass_a_hyperbolic_tangent(config: dict[str, Any], capped: bool) -> None:
    dims = {"hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4}
    dims |= {"head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000}
    assert model_from_config({**dims, **config}).capped_logits is capped


@pytest.mark.parametrize("gib", [2.0, 2048.0])
def test_the_index_of_the_weights_tells_their_bytes(tmp_path: Path, gib: float) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    index = {"metadata": {"total_size": int(gib * 2**30)}, "weight_map": {}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}', encoding="utf-8")
    spec = model_from_config(tmp_path)
    assert (spec.published_file_gib, spec.native_precision) == (gib, "fp8")


SD_UNET = {
    "_class_name": "UNet2DConditionModel",
    "block_out_channels": [320, 640, 1280, 1280],
    "cross_attention_dim": 768,
    "down_block_types": ["CrossAttnDownBlock2D"] * 3 + ["DownBlock2D"],
    "up_block_types": ["UpBlock2D"] + ["CrossAttnUpBlock2D"] * 3,
    "layers_per_block": 2,
    "in_channels": 4,
    "out_channels": 4,
    "sample_size": 64,
}
SD_VAE = {
    "_class_name": "AutoencoderKL",
    "block_out_channels": [128, 256, 512, 512],
    "layers_per_block": 2,
    "latent_channels": 4,
}
CLIP_L = {
    "model_type": "clip_text_model",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "vocab_size": 49408,
}
T5_XXL = {"model_type": "t5", "d_model": 4096, "d_ff": 10240, "d_kv": 64, "num_heads": 64, "num_layers": 24}
T5_XXL |= {"vocab_size": 32128, "feed_forward_proj": "gated-gelu"}
FLUX = {
    "_class_name": "FluxTransformer2DModel",
    "attention_head_dim": 128,
    "num_attention_heads": 24,
    "num_layers": 19,
    "num_single_layers": 38,
    "in_channels": 64,
    "joint_attention_dim": 4096,
    "pooled_projection_dim": 768,
    "guidance_embeds": True,
}


def pipeline(folder: Path, **parts: dict[str, Any]) -> Path:
    index = {"_class_name": "Pipeline", **{part: ["library", "Class"] for part in parts}}
    (folder / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    for part, config in parts.items():
        (folder / part).mkdir()
        (folder / part / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_a_pipeline_has_the_published_size_of_every_part(tmp_path: Path) -> None:
    spec = model_from_config(pipeline(tmp_path, unet=SD_UNET, vae=SD_VAE, text_encoder=CLIP_L))
    assert spec.kind == "diffusion_image"
    assert spec.components_b == {"unet": 0.859520964, "vae": 0.083653863, "text_encoder": 0.12306048}
    assert (spec.params_b, spec.resolution_px) == (0.859520964, 512)


def test_a_pipeline_of_transformers(tmp_path: Path) -> None:
    parts = {"transformer": FLUX, "text_encoder": CLIP_L, "text_encoder_2": T5_XXL}
    spec = model_from_config(pipeline(tmp_path, **parts))
    assert spec.components_b["transformer"] == 11.90140832
    assert spec.components_b["text_encoder_2"] == pytest.approx(4.762310656)


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (
            {"_class_name": "SD3Transformer2DModel", "attention_head_dim": 64, "num_attention_heads": 24,
             "num_layers": 24, "pos_embed_max_size": 384, "pooled_projection_dim": 2048,
             "dual_attention_layers": list(range(13)), "qk_norm": "rms_norm", "in_channels": 16},
            2.469663936,
        ),
        (
            {"_class_name": "WanTransformer3DModel", "attention_head_dim": 128, "num_attention_heads": 12,
             "ffn_dim": 8960, "num_layers": 30, "in_channels": 16, "text_dim": 4096},
            1.4189968,
        ),
        (
            {"_class_name": "CogVideoXTransformer3DModel", "attention_head_dim": 64, "num_attention_heads": 30,
             "num_layers": 30, "in_channels": 16, "text_embed_dim": 4096, "time_embed_dim": 512, "patch_size": 2},
            1.693783872,
        ),
    ],
)  # fmt: skip
def test_denoisers_have_their_published_size(tmp_path: Path, config: dict[str, Any], published: float) -> None:
    assert model_from_config(pipeline(tmp_path, transformer=config)).params_b == pytest.approx(published, rel=1e-6)


def test_known_denoisers_have_what_their_modules_have() -> None:
    """The configuration that each class of diffusers makes by itself."""
    rows = {row["config"]["_class_name"]: row for row in _rows("denoiser_defaults.jsonl")}
    counted = {name: denoiser_parameters(ConfigReader(row["config"], name)) for name, row in rows.items()}
    off_by = {name: size / 1e9 / rows[name]["modules_b"] - 1 for name, (size, known) in counted.items() if known}
    assert len(off_by) >= 40
    # Its table of positions is no parameter of the module, but lies in the weights.
    off_by.pop("SD3Transformer2DModel")
    assert {name: share for name, share in off_by.items() if abs(share) > 0.01} == {}


def test_experts_of_a_denoiser() -> None:
    config = {
        "_class_name": "HiDreamImageTransformer2DModel",
        "num_layers": 16,
        "num_single_layers": 32,
        "attention_head_dim": 128,
        "num_attention_heads": 20,
        "caption_channels": [4096, 4096],
        "text_emb_dim": 2048,
        "num_routed_experts": 4,
    }
    size, known = denoiser_parameters(ConfigReader(config, "config.json"))
    assert known
    assert size == pytest.approx(17.1057e9, rel=0.002)  # As diffusers makes it with these dimensions.


def test_a_denoiser_of_an_unknown_class_is_assumed_and_said_to_be(tmp_path: Path) -> None:
    config = {"_class_name": "New3DModel", "attention_head_dim": 64, "num_attention_heads": 16, "num_layers": 10}
    spec = model_from_config(pipeline(tmp_path, transformer=config))
    assert (spec.kind, spec.params_b) == ("diffusion_video", pytest.approx(16 * 10 * 1024**2 / 1e9))
    assert "New3DModel is not known" in spec.notes[0]


def refused(source: Any) -> str:
    with pytest.raises(InputError) as caught:
        model_from_config(source)
    return "\n".join(problem.render() for problem in caught.value.problems)


def test_parts_that_cannot_be_sized_are_refused_with_what_to_do(tmp_path: Path) -> None:
    assert "model_index.json" in refused(SD_UNET)
    (tmp_path / "model_index.json").write_text("{}", encoding="utf-8")
    assert "names no transformer and no unet" in refused(tmp_path)
    (tmp_path / "confg.json").write_text("{}", encoding="utf-8")
    assert "confg.json" in refused(tmp_path / "config.json")
    assert "block_out_channels" in refused(pipeline(tmp_path, unet={"_class_name": "UNet2DConditionModel"}))


def test_a_name_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    asked: list[tuple[str, str | None]] = []

    def download(repo: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((repo, revision))
        assert not any("safetensors" in pattern and "index" not in pattern for pattern in allow_patterns)
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
    spec = model_from_config("hf:acme/Tiny-1B@main")
    assert (asked, spec.id) == ([("acme/Tiny-1B", "main")], "tiny-1b")


def test_what_the_hub_refuses_is_shown_with_the_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError("Cannot reach the hub\nlong trace")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
    assert "Cannot reach the hub" in refused("hf:acme/Tiny-1B")
    assert "download its config.json" in refused("hf:acme/Tiny-1B")
    assert "hf:ORG/NAME" in refused("hf:tiny")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "pip install 'whichgpu[hub]'" in refused("hf:acme/Tiny-1B")


@pytest.mark.parametrize(
    ("kind", "whose"), [("gpt_bigcode", "transformers"), ("falcon", "transformers"), ("qwen", "own"), ("llama", None)]
)
def test_whose_class_does_not_cast_its_answers(kind: str, whose: str | None) -> None:
    sides = {"hidden_size": 2048, "num_attention_heads": 16, "num_hidden_layers": 24, "vocab_size": 49280}
    assert model_from_config({"model_type": kind, "intermediate_size": 8192, **sides}).plain_loss == whose


@pytest.mark.parametrize(
    ("kind", "told", "drops"), [("gpt2", {}, True), ("gpt2", {"attn_pdrop": 0.0}, False), ("llama", {}, False)]
)
def test_whose_configuration_drops_scores(kind: str, told: dict[str, float], drops: bool) -> None:
    sides = {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 50257}
    assert model_from_config({"model_type": kind, "intermediate_size": 3072, **sides, **told}).drops_out is drops


@pytest.mark.parametrize("place", ["beside", "within"])
def test_experts_may_be_narrower_than_the_rest(place: str) -> None:
    block: dict[str, Any] = {"quant_method": "fp8"}
    named = {"expert_dtype": "fp4"}
    config = {**LLAMA, "quantization_config": block | (named if place == "within" else {})}
    spec = model_from_config(config | (named if place == "beside" else {}))
    assert (spec.native_precision, spec.native_expert_precision) == ("fp8", "mxfp4")
    assert model_from_config({**LLAMA, "quantization_config": block}).native_expert_precision is None
