"""Sizing a stated configuration: fit, memory and speed, or what is missing."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


JOB = {"task": "inference", "model_name": "llama-3.1-8b", "weight_precision": "bf16"}


def size(advisor: Advisor, facts: dict[str, Any], **options: Any) -> dict[str, Any]:
    return size_workload(advisor, advisor.read(facts), **options)


def problem(advisor: Advisor, facts: dict[str, Any], **options: Any) -> Any:
    with pytest.raises(InputError) as caught:
        size(advisor, facts, **options)
    return caught.value.problems[0]


def test_an_answer_keeps_its_contract_and_adds_up(advisor: Advisor) -> None:
    answer = size(advisor, {**JOB, "id": "a"}, gpu="L40S", count=2)
    jsonschema_rs.validate(schema_of("size_answer", closed=True), answer)
    assert (answer["id"], answer["gpu"], answer["count"], answer["fits"]) == ("a", "nvidia-l40s", 2, True)
    assert answer["needed_gb"] == pytest.approx(2 * answer["per_gpu_gb"], rel=1e-4)
    assert sum(term["gb"] for term in answer["terms"]) == pytest.approx(answer["per_gpu_gb"], rel=1e-4)
    assert all(term["formula"] and term["source"] for term in answer["terms"])


def test_what_does_not_fit_is_sized_all_the_same(advisor: Advisor) -> None:
    answer = size(advisor, JOB, gpu="T4")
    assert answer["fits"] is False
    assert answer["per_gpu_gb"] > answer["available_per_gpu_gb"]
    assert answer["headroom_pct"] < 0


@pytest.mark.parametrize(
    ("facts", "options", "gpu", "count"),
    [
        ({"gpu": "T4", "count": 2, "current_gpu": "L4", "num_gpus": 4}, {"gpu": "L40S", "count": 8}, "nvidia-l40s", 8),
        ({"gpu": "T4", "count": 2, "current_gpu": "L4", "num_gpus": 4}, {}, "nvidia-t4", 2),
        ({"current_gpu": "L4", "num_gpus": 4}, {}, "nvidia-l4", 4),
        ({"gpu_candidates": ["L40S"]}, {}, "nvidia-l40s", 1),
    ],
)
def test_where_the_configuration_comes_from(
    advisor: Advisor, facts: dict[str, Any], options: dict[str, Any], gpu: str, count: int
) -> None:
    answer = size(advisor, {**JOB, **facts}, **options)
    assert (answer["gpu"], answer["count"]) == (gpu, count)


def test_more_cards_need_less_each(advisor: Advisor) -> None:
    training = {"task": "full_finetuning", "model_name": "llama-3.1-8b", "sharding": "zero3"}
    each = [size(advisor, training, gpu="H100", count=count)["per_gpu_gb"] for count in (1, 2, 4, 8)]
    assert each == sorted(each, reverse=True)
    assert each[0] > each[-1]


def test_without_a_gpu_there_is_nothing_to_size_on(advisor: Advisor) -> None:
    assert problem(advisor, JOB).code == "no-gpu"
    assert problem(advisor, {**JOB, "gpu_candidates": ["T4", "L4"]}).code == "no-gpu"


def test_an_unknown_gpu_is_shown_the_nearest(advisor: Advisor) -> None:
    found = problem(advisor, JOB, gpu="nvidia-l40z")
    assert found.code == "unknown-gpu"
    assert "nvidia-l40s" in found.nearest


def test_without_the_size_of_the_model_nothing_is_computed(advisor: Advisor) -> None:
    found = problem(advisor, {"task": "inference", "model_family": "llm"}, gpu="T4")
    assert found.code == "size-unknown"
    assert "param_count_b" in found.fix


@pytest.mark.parametrize(
    ("model", "precision", "count", "tensor"),
    [
        ("llama-3.1-70b", "fp8", 2, 2),  # Each card would hold the weights, and then few requests.
        ("llama-3.1-70b", "bf16", 8, 4),
        ("llama-3.1-8b", "bf16", 8, 1),  # Replicas answer more than a split that talks.
    ],
)
def test_cards_at_hand_are_split_so_that_they_answer_most(advisor, model, precision, count, tensor):
    facts = {"task": "inference", "model_name": model, "weight_precision": precision}
    facts |= {"input_tokens": 1000, "output_tokens": 300}
    answer = size_workload(advisor, advisor.read(facts), gpu="nvidia-h100-80gb-sxm", count=count)
    assert answer["parallelism"]["tensor"] == tensor


def test_a_stated_split_is_kept(advisor):
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "tensor_parallel": 8}
    answer = size_workload(advisor, advisor.read(facts), gpu="nvidia-h100-80gb-sxm", count=8)
    assert answer["parallelism"]["tensor"] == 8


def test_plain_transformers_in_32_bits_caches_in_32_bits(advisor: Advisor) -> None:
    """Its layers answer keys and values as they compute; servers cache in 16 bits however they load."""
    told = {"task": "inference", "model_name": "llama-2-7b", "context_tokens": 4096, "concurrency": 1}

    def cache_gb(engine: str, weights: str, **facts: str) -> float:
        stated = {**told, "serving_engine": engine, "weight_precision": weights, **facts}
        answer = size(advisor, stated, gpu="nvidia-h100-80gb-sxm")
        return sum(float(term["gb"]) for term in answer["terms"] if term["name"] == "kv_cache")

    narrow = cache_gb("transformers", "bf16")
    assert cache_gb("transformers", "fp32") == pytest.approx(2 * narrow, rel=1e-2)
    assert cache_gb("transformers", "fp32", kv_cache_precision="fp16") == pytest.approx(narrow, rel=1e-2)
    assert cache_gb("vllm", "fp32") == pytest.approx(cache_gb("vllm", "bf16"), rel=1e-2)
