from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor import launch_file
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.answer.launch import launch_of


def _decided(facts: dict[str, Any]) -> Any:
    return shipped_advisor().decide(facts, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).outcome


def _launch(**facts: Any) -> Any:
    return launch_of(_decided(facts))


SERVED = {"task": "inference", "model_name": "llama-3.1-70b", "weight_precision": "bf16", "context_tokens": 4096}
WORKLOADS: list[dict[str, Any]] = [
    SERVED | {"gpu_candidates": ["nvidia-h100-80gb-sxm"], "num_gpus": 8, "concurrency": 64},
    SERVED | {"serving_engine": "sglang", "weight_precision": "fp8", "kv_cache_precision": "fp8"},
    SERVED | {"serving_engine": "llama.cpp", "weight_precision": "q4_k_m", "concurrency": 2},
    {"task": "inference", "model_name": "llama-3.1-8b", "weight_precision": "awq-int4"},
    {"task": "pretraining", "param_count_b": 70, "model_family": "llm", "train_tokens_b": 1000, "num_gpus": 64},
    {"task": "peft_finetuning", "peft_method": "lora", "model_name": "llama-3.1-8b"},
]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_launch_line_uses_documented_options_alone(workload: dict[str, Any]) -> None:
    launch = _launch(**workload)
    words = shlex.split(launch["command"])
    options = {word for word in words if word.startswith("--")}
    program = launch_file().programs[launch["program"]]
    assert options <= set(program.options)
    assert launch["version"] == program.version


def test_a_line_has_the_split_of_the_plan() -> None:
    outcome = _decided(WORKLOADS[0])
    plan = outcome.chosen.ranked.plan
    launch: Any = launch_of(outcome)
    words = shlex.split(launch["command"])
    tensor = int(words[words.index("--tensor-parallel-size") + 1]) if plan.layout.tensor > 1 else 1
    assert tensor == plan.layout.tensor
    assert words[words.index("--max-model-len") + 1] == "4096"
    assert int(words[words.index("--max-num-seqs") + 1]) * plan.layout.data >= 64
    assert (plan.layout.data > 1) == any("load balancer" in text for text in launch["says"])


def test_nodes_meet_at_the_first_one() -> None:
    launch = _launch(**WORKLOADS[4])
    words = shlex.split(launch["command"])
    nodes, each = (int(words[words.index(option) + 1]) for option in ("--nnodes", "--nproc_per_node"))
    assert nodes * each == 64
    assert "run it on every node" in launch["says"]


def test_weights_that_are_not_published_so_are_named() -> None:
    launch = _launch(**WORKLOADS[3])
    assert shlex.split(launch["command"])[2] == "MODEL"
    assert any("awq-int4" in text for text in launch["says"])


@pytest.mark.parametrize(
    "workload",
    [{"task": "inference", "model_name": "whisper-large"}, SERVED | {"serving_engine": "tensorrt-llm"}],
)
def test_what_no_described_program_runs_has_no_line(workload: dict[str, Any]) -> None:
    assert _launch(**workload) is None


@pytest.mark.parametrize("stated", [{"framework": "jax"}, {"vendor_preference": "google"}])
def test_what_torch_does_not_start_gets_no_line(stated: dict[str, Any]) -> None:
    pretraining = {"task": "pretraining", "param_count_b": 8, "model_family": "llm", "train_tokens_b": 500}
    assert _launch(**pretraining)["program"] == "torchrun"
    outcome = _decided(pretraining | stated)
    assert outcome.chosen is not None
    assert launch_of(outcome) is None


def test_vllm_is_given_the_share_of_the_card_that_the_plan_counts_on() -> None:
    tight = _launch(**SERVED, gpu_candidates=["nvidia-b200"], num_gpus=1, concurrency=30)
    words = shlex.split(tight["command"])
    assert "--gpu-memory-utilization" in words
    assert 0.9 < float(words[words.index("--gpu-memory-utilization") + 1]) < 1
    roomy = _launch(**SERVED, gpu_candidates=["nvidia-h100-80gb-sxm"], num_gpus=8, concurrency=4)
    assert "--gpu-memory-utilization" not in roomy["command"]


def test_to_state_the_engine_that_is_assumed_changes_no_answer() -> None:
    agents = {"task": "inference", "model_name": "kimi-k2", "concurrency": 20, "context_tokens": 32768}
    assumed, stated = (_decided(agents | more).chosen.ranked.plan for more in ({}, {"serving_engine": "vllm"}))
    assert stated.id == assumed.id
