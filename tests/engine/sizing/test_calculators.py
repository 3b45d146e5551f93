"""The guides' arithmetic, as facts."""

from __future__ import annotations

import pytest

import whichgpu.engine.sizing.calculators_required  # noqa: F401  (registers them)
from whichgpu.engine.core.calculators import registered


def value(output: str, **facts):
    found = registered()[output]
    assert set(found.needs) <= set(facts)
    return found.function(**{name: facts.get(name) for name in (*found.needs, *found.uses)})


@pytest.mark.parametrize(
    ("billions", "precision", "gb"),
    [
        (7, None, 14),
        (7, "fp16", 14),
        (13, "int8", 13),
        (70, "int4", 35),
        (70, "nf4", 35),
        (1, "fp32", 4),
        (8.03, "q4_k_m", 4.913),
    ],
)
def test_weights(billions, precision, gb):
    assert value("weights_gb", param_count_b=float(billions), weight_precision=precision) == pytest.approx(gb, rel=1e-3)


def test_serving_memory_is_compared_in_sixteen_bits_while_training():
    facts = {"param_count_b": 30.0, "weight_precision": "nf4"}
    assert value("inference_vram_gb", task="peft_finetuning", **facts) == 60.0
    assert value("inference_vram_gb", task="inference", **facts) == 15.0
    assert value("inference_vram_gb", **facts) == 15.0


@pytest.mark.parametrize(
    ("facts", "gb"),
    [
        ({"task": "inference", "param_count_b": 20.0, "weight_precision": "fp16"}, 40),
        ({"task": "inference", "param_count_b": 405.0, "weight_precision": "fp16"}, 810),
        ({"task": "pretraining", "param_count_b": 7.0}, 112),
        ({"task": "full_finetuning", "param_count_b": 70.0}, 1120),
        ({"task": "full_finetuning", "param_count_b": 70.0, "optimizer": "adamw-8bit"}, 700),
        ({"task": "peft_finetuning", "peft_method": "lora", "param_count_b": 30.0}, 90),
        ({"task": "experimentation", "param_count_b": 1.0}, 2),
    ],
)
def test_required_memory(facts, gb):
    assert value("required_vram_gb", **facts) == pytest.approx(gb)


@pytest.mark.parametrize(("billions", "low", "high"), [(7, 8, 16), (13, 12, 24), (20, 14, 24), (70, 40, 52)])
def test_required_memory_of_qlora_fits_the_cards_that_the_guides_name(billions, low, high):
    required = value("required_vram_gb", task="peft_finetuning", peft_method="qlora", param_count_b=float(billions))
    assert low <= required <= high


@pytest.mark.parametrize(
    ("billions", "method", "recommended"), [(7, "lora", 40), (1.5, "lora", 8), (7, "qlora", 24), (30, "lora", 160)]
)
def test_recommended_memory_of_adapters(billions, method, recommended):
    facts = {"task": "peft_finetuning", "peft_method": method, "param_count_b": float(billions)}
    required = value("required_vram_gb", **facts)
    base = value("inference_vram_gb", **facts)
    found = value("recommended_vram_gb", **facts, required_vram_gb=required, inference_vram_gb=base)
    assert found == recommended


def test_recommended_memory_leaves_room():
    assert value("recommended_vram_gb", task="inference", required_vram_gb=14.0) == 24.0
    assert value("recommended_vram_gb", task="pretraining", required_vram_gb=112.0) == 160.0


def test_parts_of_full_training_add_up_to_sixteen_bytes():
    facts = {"task": "full_finetuning", "param_count_b": 7.0}
    parts = [value(name, **facts) for name in ("weights_gb", "gradients_gb", "optimizer_gb")]
    assert sum(parts) == pytest.approx(112.0)


def test_parts_of_adapters():
    facts = {"task": "peft_finetuning", "param_count_b": 7.0, "peft_method": "lora", "lora_rank": 16}
    whole = value("adapters_gb", **facts)
    assert 0.2 < whole < 1.5
    assert value("gradients_gb", **facts) == pytest.approx(whole / 4)
    assert value("optimizer_gb", **facts) == pytest.approx(whole / 2)
    assert value("adapters_gb", **facts, lora_targets="attention") < whole
    assert value("adapters_gb", **{**facts, "peft_method": "none"}) is None


@pytest.mark.parametrize("name", ["gradients_gb", "optimizer_gb", "training_vram_gb"])
def test_serving_has_no_training_parts(name):
    assert value(name, task="inference", param_count_b=7.0, required_vram_gb=14.0) is None


def test_training_memory_is_what_is_required_then():
    assert value("training_vram_gb", task="pretraining", required_vram_gb=112.0) == 112.0


def test_activations_grow_with_the_batch():
    facts = {"task": "full_finetuning", "param_count_b": 7.0, "seq_len_tokens": 2048, "gradient_checkpointing": "full"}
    one = value("activations_gb", **facts, batch_size_per_gpu=1, flash_attention=True)
    assert value("activations_gb", **facts, batch_size_per_gpu=4) == pytest.approx(4 * one)
    assert value("activations_gb", **{**facts, "task": "inference"}, batch_size_per_gpu=1) is None
    assert value("activations_gb", **facts, batch_size_per_gpu=1, model_family="vision") is None


def test_the_cache_grows_with_context_and_requests():
    facts = {"task": "inference", "param_count_b": 8.0, "context_tokens": 4096}
    one = value("kv_cache_gb", **facts, concurrency=1)
    assert one == pytest.approx(4096 * 131072 / 1e9, rel=0.1)
    assert value("kv_cache_gb", **facts, concurrency=8) == pytest.approx(8 * one)
    assert value("kv_cache_gb", **facts, concurrency=8, kv_cache_precision="fp8") == pytest.approx(4 * one)
    assert value("kv_cache_gb", **{**facts, "task": "pretraining"}, concurrency=1) is None


def test_stated_trends_hold():
    facts = {
        "task": "full_finetuning", "param_count_b": 7.0, "peft_method": "lora", "lora_rank": 16, "seq_len_tokens": 1024,
        "batch_size_per_gpu": 2, "context_tokens": 1024, "concurrency": 2, "required_vram_gb": 112.0,
        "inference_vram_gb": 14.0, "gradient_checkpointing": "full",
    }  # fmt: skip
    for found in registered().values():
        if not found.function.__module__.startswith("whichgpu.engine.sizing.calculators"):
            continue
        task = "inference" if found.output == "kv_cache_gb" else "full_finetuning"
        for name, trend in found.trends.items():
            less = value(found.output, **{**facts, "task": task})
            more = value(found.output, **{**facts, "task": task, name: facts[name] * 3})
            assert trend == "rises"
            assert more >= less, (found.output, name)
