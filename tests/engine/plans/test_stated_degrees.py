"""Stated degrees of parallelism, and batches that fix the data ranks, bind the number of GPUs."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import Knowledge, load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.candidates import candidate_plans
from whichgpu.engine.plans.topology import counts_of
from whichgpu.engine.sizing import job_from_facts
from whichgpu.engine.sizing.job import Job


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


BATCHES: Facts = {
    "task": "pretraining",
    "seq_len_tokens": 8192,
    "batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 4,
    "global_batch_size": 128,
}


def job_of(knowledge: Knowledge, facts: Facts) -> Job:
    return job_from_facts(facts, knowledge.models["llama-3.1-8b"])


def counts(knowledge: Knowledge, facts: Facts) -> set[int]:
    facts = {**facts, "gpu_candidates": ("nvidia-h200-sxm",)}
    plans = candidate_plans(job_of(knowledge, facts), facts, knowledge)
    return {plan.count for plan in plans if plan.facts.get("plan.fits")}


def test_stated_batches_say_how_many_data_ranks_there_are(knowledge: Knowledge) -> None:
    assert job_of(knowledge, BATCHES).data_ranks == 8
    assert job_of(knowledge, {**BATCHES, "data_parallel": 4}).data_ranks == 4
    for name in ("batch_size_per_gpu", "gradient_accumulation_steps", "global_batch_size"):
        left = {key: value for key, value in BATCHES.items() if key != name}
        assert job_of(knowledge, left).data_ranks is None
    assert job_of(knowledge, {**BATCHES, "global_batch_size": 130}).data_ranks is None


def test_every_count_holds_the_stated_degrees(knowledge: Knowledge) -> None:
    assert min(counts(knowledge, BATCHES)) == 8
    assert min(counts(knowledge, {**BATCHES, "tensor_parallel": 2})) == 16
    assert all(count % 8 == 0 for count in counts(knowledge, BATCHES))
    assert min(counts(knowledge, {"task": "inference", "tensor_parallel": 4})) == 4


def test_counts_are_multiples_of_what_stays_together() -> None:
    assert counts_of(8, 64, 1) == (1, 2, 4, 8, 16, 32, 64)
    assert counts_of(8, 64, 4) == (4, 8, 16, 32, 64)
    assert counts_of(8, 64, 12) == (12,)
    assert counts_of(8, 64, 128) == counts_of(8, 64, 1)


@pytest.mark.parametrize(
    ("engine", "gpu", "context", "fewest"),
    [
        ("llama.cpp", "nvidia-a100-80gb-sxm", 131072, 3),
        ("vllm", "nvidia-a100-80gb-sxm", 131072, 4),
        # Three of a board would be filled by more than four fifths, and the fourth is paid anyway.
        ("llama.cpp", "nvidia-a100-80gb-sxm", 220000, 4),
        ("llama.cpp", "nvidia-a100-80gb-pcie", 220000, 3),
    ],
)
def test_layers_go_to_any_number_of_gpus(
    knowledge: Knowledge, engine: str, gpu: str, context: int, fewest: int
) -> None:
    facts: Facts = {
        "task": "inference",
        "weight_precision": "bf16",
        "context_tokens": context,
        "concurrency": 1,
        "serving_engine": engine,
        "gpu_candidates": (gpu,),
    }
    plans = candidate_plans(job_from_facts(facts, knowledge.models["llama-2-70b"]), facts, knowledge)
    assert min(plan.count for plan in plans if plan.facts.get("plan.fits")) == fewest


def test_which_jobs_are_split_by_layers(knowledge: Knowledge) -> None:
    serving: Facts = {"task": "inference", "serving_engine": "transformers"}
    assert job_of(knowledge, serving).split_by_layers
    assert not job_of(knowledge, {**serving, "serving_engine": "vllm"}).split_by_layers
    assert not job_of(knowledge, BATCHES).split_by_layers
