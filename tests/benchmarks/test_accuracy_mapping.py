"""What the fields of a published run become in the facts of a workload."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))

from asking import sizes
from mapping import line_of


def line(**facts: Any) -> dict[str, Any]:
    return line_of({"id": "a run", "facts": {"model": "a model", **facts}})


@pytest.mark.parametrize(
    ("told", "weights"),
    [("NF4 + double quant", "nf4-dq"), ("NF4 nested", "nf4-dq"), ("nf4", "nf4"), ("GPTQ 4-bit", "gptq-int4")],
)
def test_what_a_frozen_model_is_quantised_to(told, weights):
    assert line(task="qlora", quantization=told)["weight_precision"] == weights


@pytest.mark.parametrize("precision", ["fp8 base", "fp8 scaled"])
def test_a_base_in_eight_bits_is_the_weights_under_adapters(precision):
    adapters = line(task="train_diffusion", task_detail="LoRA", precision=precision)
    assert (adapters["weight_precision"], adapters["compute_precision"]) == ("fp8", "fp8")
    assert "weight_precision" not in line(task="train_diffusion", task_detail="all weights", precision=precision)
    assert "weight_precision" not in line(task="lora", precision="fp8")


@pytest.mark.parametrize(
    ("told", "means"), [(True, "full"), (False, "none"), ("full", "full"), ("selective", "selective")]
)
def test_what_is_computed_again(told, means):
    assert line(task="pretrain", grad_checkpointing=told)["gradient_checkpointing"] == means


@pytest.mark.parametrize(
    ("told", "means"),
    [
        ("adamw_bnb_8bit", "adamw-8bit"),
        ("AdamW8bit", "adamw-8bit"),
        ("8-bit Adam", "adamw-8bit"),
        ("adamw_torch_fused", "adamw"),
        ("AdamW (default)", "adamw"),
        ("8-bit or Adafactor", "adafactor"),
        ("LAMB", "lamb"),
        ("Prodigy", None),
    ],
)
def test_optimisers_by_what_their_names_hold(told, means):
    assert line(task="full_finetune", optimizer=told).get("optimizer") == means


@pytest.mark.parametrize(
    ("told", "means"),
    [
        ("q_proj, v_proj", "qv"),
        ("query_key_value", "qkv"),
        ("to_q to_k to_v to_out.0", "attention"),
        ("q, k, v, up, gate, down", "all-linear"),
        ("all linear", "all-linear"),
        ("attention", "attention"),
        ("w1, w2", None),
    ],
)
def test_adapted_matrices_by_the_narrowest_choice_that_holds_them(told, means):
    assert line(task="lora", lora={"targets": told}).get("lora_targets") == means


@pytest.mark.parametrize(
    ("told", "means"),
    [
        ("AdamW (fused)", "fused"),
        ("torch.optim.AdamW", "foreach"),
        ("AdamW", None),
        ("adamw_torch_8bit", "one-by-one"),
        ("AdamW, one by one", "one-by-one"),
    ],
)
def test_how_an_optimiser_steps(told, means):
    assert line(task="full_finetune", optimizer=told).get("optimizer_step") == means


def test_code_of_ones_own_is_not_a_server():
    own = line(task="inference", framework="own code (plain PyTorch, KV cache)")
    assert own["serving_engine"] == "transformers"
    assert "serving_engine" not in line(task="inference", framework="gpt-fast (plain PyTorch, compiled)")


def test_adapters_and_releases():
    found = line(task="lora", framework="transformers 4.38, own loop", lora={"dropout": 0.1, "precision": "bf16"})
    facts = ("transformers_version", "lora_dropout", "adapter_precision")
    assert [found[fact] for fact in facts] == ["4.38", 0.1, "bf16"]


@pytest.mark.parametrize(
    ("software", "release"),
    [("LLaMA-Factory Unsloth 2024.4+FA2", "2024.4"), ("Unsloth v2026.1.2", "2026.1.2"), ("Unsloth, PEFT 0.13", None)],
)
def test_the_release_of_a_framework(software, release):
    found = line(task="qlora", framework=software)
    assert (found["training_framework"], found.get("training_framework_version")) == ("unsloth", release)


@pytest.mark.parametrize(("precision", "means"), [("fp32", "fp32"), ("bf16-true", "bf16")])
def test_a_loop_of_ones_own_takes_the_loss_in_its_own_format(precision, means):
    assert line(task="pretrain", precision=precision, framework="own loop")["loss_precision"] == means
    assert "loss_precision" not in line(task="pretrain", precision=precision, framework="transformers")


def test_a_loop_that_lets_its_logits_go():
    held, freed = (line(task="lora", framework=f"PEFT, own loop{end}") for end in ("", ", frees logits"))
    assert "holds_logits" not in held
    assert freed["holds_logits"] is False


@pytest.mark.parametrize(("told", "means"), [("full_shard", "fsdp"), ("yes", "fsdp"), ("no_shard", "none")])
def test_fsdp_that_shards_nothing(told, means):
    assert line(task="lora", parallelism={"dp": 2, "fsdp": told})["sharding"] == means


@pytest.mark.parametrize(("told", "means"), [("fp8_e4m3", "fp8"), ("int8", "int8"), ("fp16", "fp16")])
def test_the_format_of_a_cache(told, means):
    assert line(task="inference", kv_cache_dtype=told)["kv_cache_precision"] == means


def test_a_loss_in_chunks_is_said_in_words():
    assert line(task="full_finetune", task_detail="loss in chunks")["chunked_loss"] is True
    assert "chunked_loss" not in line(task="full_finetune", task_detail="all of it")


@pytest.mark.parametrize(
    ("told", "means"), [("transformers, holds logits", True), ("own loop, frees logits", False), ("transformers", None)]
)
def test_who_holds_what_a_model_answered(told, means):
    assert line(task="lora", framework=told).get("holds_logits") is means


def test_a_configuration_is_asked_for_as_a_file_and_says_the_size() -> None:
    config = {"model_type": "bloom", "n_layer": 70, "hidden_size": 14336, "n_head": 112, "vocab_size": 250880}
    told = line(task="pretrain", params_b=20, config=config)
    assert told["config"] == config
    assert "param_count_b" not in told
    answer = sizes([{"id": "one", "gpu": "nvidia-h100-80gb-sxm", "count": 1, **told}])[0]
    assert answer["method"] == "architecture"
    assert answer["breakdown"]["weights_gb"] / 2 == pytest.approx(176.2, rel=0.01)
