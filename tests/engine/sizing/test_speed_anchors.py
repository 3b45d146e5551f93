"""Speed against published runs. Facts as published; where a page does not say, the usual value."""

from __future__ import annotations

import statistics

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.speed import JobSpeed


KNOWLEDGE = load_knowledge()

# kv-planner docs/validation_results: vLLM 0.19.1, Qwen2.5-7B, 2,048 tokens in, 256 out, 8 at a time; ms per token.
TPOT = {"nvidia-h100-80gb-sxm": 6.00, "nvidia-a100-80gb-pcie": 10.64, "nvidia-rtx-4090": 15.85}

# Qwen2 and Qwen2.5 speed reports: vLLM, batch 1, 2,048 tokens out, A100 80 GB; tokens per second.
QWEN_REPORT = [
    ("qwen2.5-7b", "bf16", 1, 1, 84.28),
    ("qwen2.5-7b", "gptq-int4", 1, 1, 154.05),
    ("qwen2.5-7b", "bf16", 1, 30720, 70.33),
    ("qwen2.5-7b", "gptq-int4", 1, 30720, 108.3),
    ("qwen2.5-32b", "bf16", 1, 1, 22.13),
    ("qwen2.5-32b", "gptq-int4", 1, 1, 55.83),
    ("qwen2.5-32b", "bf16", 2, 30720, 31.82),
    ("qwen2.5-32b", "gptq-int4", 1, 30720, 35.66),
    ("qwen2.5-1.5b", "bf16", 1, 1, 183.33),
    ("qwen2.5-1.5b", "gptq-int4", 1, 30720, 173.57),
    ("qwen2-7b", "bf16", 1, 6144, 76.41),
    ("qwen2-7b", "gptq-int8", 1, 14336, 89.72),
    ("qwen2-7b", "gptq-int8", 1, 129024, 27.73),
    ("qwen2-0.5b", "gptq-int4", 1, 1, 240.07),
]

# llm-foundry scripts/train/benchmarking/README.md and torchtune README; tokens per second over all GPUs.
TRAINING = [
    ("mpt-7b", "nvidia-h100-80gb-sxm", 8, {"seq_len_tokens": 8192, "batch_size_per_gpu": 8}, True, 55481),
    ("mpt-7b", "nvidia-a100-80gb-sxm", 8, {"seq_len_tokens": 8192, "batch_size_per_gpu": 8}, True, 25655),
    ("mpt-7b", "nvidia-a100-80gb-sxm", 8, {"seq_len_tokens": 2048, "batch_size_per_gpu": 6}, False, 37130),
    ("llama-3.2-3b", "nvidia-a100-80gb-sxm", 1, {"seq_len_tokens": 4096, "batch_size_per_gpu": 2}, False, 7075),
    ("llama-3.2-3b", "nvidia-a100-80gb-sxm", 1, {"seq_len_tokens": 4096, "batch_size_per_gpu": 2}, True, 7210),
    (
        "llama-3.2-3b",
        "nvidia-a100-80gb-sxm",
        1,
        {"seq_len_tokens": 4096, "batch_size_per_gpu": 2, "peft_method": "lora"},
        True,
        8210,
    ),
    (
        "llama-3.2-3b",
        "nvidia-a100-80gb-sxm",
        1,
        {"seq_len_tokens": 4096, "batch_size_per_gpu": 2, "peft_method": "qlora"},
        True,
        8035,
    ),
]


def tpot(gpu: str, version: str | None) -> tuple[float, float, float]:
    facts: dict[str, object] = {
        "task": "inference",
        "concurrency": 8,
        "input_tokens": 2048,
        "output_tokens": 256,
        "prefix_cache_hit_pct": 100,  # Measured once all eight prompts had passed, with none to follow.
        "weight_precision": "bf16",
        "serving_engine": "vllm",
    }
    if version:
        facts["serving_engine_version"] = version
    job = job_from_facts(facts, KNOWLEDGE.find_model("qwen2.5-7b").spec)
    speed = JobSpeed(job).estimate(KNOWLEDGE.gpus[gpu], Layout())
    assert speed is not None
    figure = speed.figures["tpot_ms"]
    return figure.low, figure.value, figure.high


@pytest.mark.parametrize("version", [None, "0.19.1"])
def test_time_per_token_lies_in_the_band_and_within_ten_percent_at_the_median(version: str | None) -> None:
    errors = []
    for gpu, measured in TPOT.items():
        low, value, high = tpot(gpu, version)
        assert low <= measured <= high
        errors.append(abs(value / measured - 1))
    assert statistics.median(errors) < 0.10


def served(model: str, precision: str, count: int, asked: int) -> tuple[float, float, float]:
    facts: Facts = {
        "task": "inference",
        "concurrency": 1,
        "input_tokens": asked,
        "output_tokens": 2048,
        "weight_precision": precision,
        "serving_engine": "vllm",
        "serving_engine_version": "0.6.1",
    }
    job = job_from_facts(facts, KNOWLEDGE.find_model(model).spec)
    link = "nvlink" if count > 1 else "none"
    speed = JobSpeed(job).estimate(KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"], Layout(count), link)
    assert speed is not None
    figure = speed.figures["tokens_per_s"]
    return figure.low, figure.value, figure.high


def test_tokens_per_second_of_the_qwen_reports() -> None:
    ratios, inside = [], 0
    for model, precision, count, asked, measured in QWEN_REPORT:
        low, value, high = served(model, precision, count, asked)
        ratios.append(max(value / measured, measured / value))
        inside += low <= measured <= high
    assert statistics.median(ratios) < 1.3
    assert max(ratios) < 2.0
    assert inside >= 0.8 * len(QWEN_REPORT)


def trained(model: str, gpu: str, count: int, facts: Facts, again: bool) -> tuple[float, float, float]:
    task = "peft_finetuning" if "peft_method" in facts else "full_finetuning"
    job = job_from_facts({"task": task, "gradient_checkpointing": again, **facts}, KNOWLEDGE.find_model(model).spec)
    layout = Layout(data=count, sharding="fsdp" if count > 1 else "none")
    speed = JobSpeed(job).estimate(KNOWLEDGE.gpus[gpu], layout, "nvlink" if count > 1 else "none")
    assert speed is not None
    figure = speed.figures["tokens_per_s"]
    return figure.low, figure.value, figure.high


@pytest.mark.parametrize(("model", "gpu", "count", "facts", "again", "measured"), TRAINING)
def test_training_speed_of_published_runs(
    model: str, gpu: str, count: int, facts: Facts, again: bool, measured: float
) -> None:
    low, value, high = trained(model, gpu, count, facts, again)
    assert low <= measured <= high
    assert 1 / 1.3 < value / measured < 1.3
