"""Attention on data ranks beside experts on all of them, and requests that come together."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.sizing import GpuTable, Layout, job_from_facts, rows_of
from whichgpu.engine.sizing.speed_links import NO_LINK, split_of
from whichgpu.engine.sizing.speed_rates import rates_of
from whichgpu.engine.sizing.speed_serving import load_of, steps_of


@pytest.fixture
def size(advisor):
    def call(**facts):
        asked = {"task": "inference", "model_name": "deepseek-r1", "gpu": "nvidia-h200-sxm", "count": 8, **facts}
        return size_workload(advisor, advisor.read({"serving_engine": "vllm", "weight_precision": "fp8", **asked}))

    return call


def test_replicas_that_share_experts_fit_where_whole_ones_do_not(size):
    split = {"tensor_parallel": 1, "data_parallel": 8, "concurrency": 64}
    whole, shared = size(**split), size(**split, expert_parallel=8)
    assert not whole["fits"]
    assert shared["fits"]
    assert shared["per_gpu_gb"] < whole["per_gpu_gb"] / 4


def test_each_copy_has_its_own_cache(size):
    one, shared = size(tensor_parallel=8), size(tensor_parallel=1, data_parallel=8, expert_parallel=8)
    # The latent of each sequence lies on every tensor rank, but on one data rank alone.
    assert shared["speed"]["max_concurrency"] > 2 * one["speed"]["max_concurrency"]


def test_a_shared_expert_is_read_once_for_all_replicas(size):
    load = {"tensor_parallel": 1, "data_parallel": 8, "concurrency": 256, "input_tokens": 1024, "output_tokens": 1024}
    whole, shared = size(**load)["speed"], size(**load, expert_parallel=8)["speed"]
    assert shared["tpot_ms"] < whole["tpot_ms"]
    assert shared["in_flight"] == pytest.approx(256, rel=0.01)


def test_a_degree_no_wider_than_the_tensor_split_changes_nothing(size):
    load = {"tensor_parallel": 8, "concurrency": 16}
    assert size(**load)["speed"] == size(**load, expert_parallel=8)["speed"]


def test_requests_that_come_together_stand_before_one_another(size):
    load = {"tensor_parallel": 8, "concurrency": 32, "input_tokens": 1024, "output_tokens": 256}
    apart, together = (size(**load, requests_come=come)["speed"] for come in ("apart", "together"))
    assert together["ttft_ms"] > 2 * apart["ttft_ms"]
    assert together["tpot_ms"] < apart["tpot_ms"]
    assert together["tokens_per_s"] == pytest.approx(apart["tokens_per_s"], rel=0.1)
    alone = {**load, "concurrency": 1}
    assert size(**alone, requests_come="together")["speed"] == size(**alone)["speed"]


def test_an_overloaded_plan_is_not_refused_for_the_time_of_a_full_queue(advisor):
    asked = {"task": "inference", "model_name": "llama-3.1-70b", "input_tokens": 2000, "output_tokens": 500}
    asked |= {"peak_qps": 40, "ttft_slo_ms": 5000, "gpu_candidates": ["nvidia-a100-80gb-sxm"], "num_gpus": 2}
    answer = advisor.decide(asked, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).to_dict()
    said = {entry["rule"] for entry in answer["rejected"]}
    assert "target-missed/request-rate" in said
    assert "target-missed/time-to-first-token" not in said


def test_replicas_that_share_experts_are_recommended_where_that_is_stated(advisor):
    asked = {"task": "inference", "model_name": "deepseek-r1", "weight_precision": "fp8", "concurrency": 64}
    asked |= {"gpu_candidates": ["nvidia-h200-sxm"], "tensor_parallel": 1, "pipeline_parallel": 1, "expert_parallel": 8}
    plan = advisor.decide(asked, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).to_dict()["recommendation"]
    assert plan["parallelism"]["data"] >= 8
    assert plan["speed"]["max_concurrency"] >= 64


def served_in_lockstep(replicas: int, held: int, answer: int, base_s: float, dense_s: float, routed_s: float) -> float:
    """Answers a second of each replica, which step together as they share experts, each with its own prompts.

    A prompt of one step takes ``dense_s`` on its own replica and ``routed_s`` of all experts, which all replicas share.
    """
    chance = random.Random(1)
    left = [[chance.randint(1, answer) for _ in range(held)] for _ in range(replicas)]
    waiting, time, done = [0] * replicas, 0.0, 0
    for step in range(6000):
        if step == 1500:
            time, done = 0.0, 0
        passing = [min(1, each) for each in waiting]
        time += base_s + dense_s * max(passing) + routed_s / replicas * sum(passing)
        for replica in range(replicas):
            on = [each - 1 for each in left[replica]] + [answer] * passing[replica]
            waiting[replica] += on.count(0) - passing[replica]
            done += on.count(0)
            left[replica] = [each for each in on if each]
    return done / time / replicas


@pytest.mark.parametrize("replicas", [1, 2, 8, 16])
@pytest.mark.parametrize("held", [4, 16, 64])
@pytest.mark.parametrize(("dense_s", "routed_s"), [(0.04, 0.06), (0.02, 0.1), (0.08, 0.02)])
def test_prompts_of_replicas_that_share_experts_pass_side_by_side(
    advisor: Any, replicas: int, held: int, dense_s: float, routed_s: float
) -> None:
    job = job_from_facts({"task": "inference"}, advisor.knowledge.models["deepseek-r1"])
    answer, base_s = 300, 0.02
    alone_s = dense_s + routed_s / replicas
    table, one = GpuTable((advisor.knowledge.gpus["nvidia-h200-sxm"],)), rows_of([Layout()], 1)
    load = load_of(job, job.shape, one)
    steps = steps_of(load, rates_of(job, table), split_of(one, NO_LINK, NO_LINK, 1))
    steps = steps._replace(together=routed_s / replicas / alone_s, sharers=replicas)
    token_s = base_s + steps.lengthened_by((held - 1) / answer) * alone_s
    computed = held / (alone_s + base_s + (answer - 1) * token_s)
    assert computed == pytest.approx(served_in_lockstep(replicas, held, answer, base_s, dense_s, routed_s), rel=0.2)


def test_replicas_that_share_experts_take_a_machine_together(advisor: Any) -> None:
    asked = {"task": "inference", "model_name": "qwen3-235b-a22b", "weight_precision": "fp8", "concurrency": 64}
    asked |= {"gpu_candidates": ["nvidia-h100-80gb-sxm"], "tensor_parallel": 1, "expert_parallel": 8, "num_gpus": 8}
    asked |= {"deployment_site": "cloud"}
    plan = advisor.decide(asked, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).outcome.chosen.ranked.plan
    assert plan.layout == Layout(data=8)
    alone = advisor.decide(
        {"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["nvidia-h100-80gb-sxm"], "num_gpus": 1},
        decided_at=datetime(2026, 11, 20, tzinfo=UTC),
    ).outcome.chosen.ranked.plan
    assert plan.cost.usd_per_hour > 8 * alone.cost.usd_per_hour  # A whole machine costs more than its cards one by one.


def test_a_plan_has_as_many_replicas_as_share_the_experts_or_a_multiple(advisor: Any) -> None:
    asked = {"task": "inference", "model_name": "qwen3-30b-a3b", "concurrency": 10, "budget_usd_per_month": 500}
    decision = advisor.decide({**asked, "expert_parallel": 8}, decided_at=datetime(2026, 11, 20, tzinfo=UTC))
    layouts = [entry.ranked.plan.layout for entry in decision.outcome.judged]
    assert layouts
    assert {layout.data % max(1, 8 // layout.tensor) for layout in layouts} == {0}


@pytest.mark.parametrize("gpu", ["nvidia-rtx-4060-ti-16gb", "nvidia-h200-sxm"])
@pytest.mark.parametrize("concurrency", [1, 10, 40, 200])
def test_what_is_answered_is_within_the_capacity(size: Any, gpu: str, concurrency: int) -> None:
    asked = {"model_name": "qwen3-30b-a3b", "gpu": gpu, "weight_precision": "bf16", "context_tokens": 4096}
    speed = size(**asked, tensor_parallel=1, data_parallel=8, expert_parallel=8, concurrency=concurrency)["speed"]
    assert speed["tokens_per_s"] <= speed["capacity_tokens_per_s"] * (1 + 1e-9)


def test_a_place_for_fewer_gpus_than_share_the_experts_still_has_plans(advisor: Any) -> None:
    """Four cards are the most that a workstation takes: they share the experts among themselves."""
    asked = {"task": "inference", "model_name": "qwen3-30b-a3b", "concurrency": 20, "deployment_site": "workstation"}
    decision = advisor.decide({**asked, "expert_parallel": 8}, decided_at=datetime(2026, 11, 20, tzinfo=UTC))
    chosen = decision.outcome.chosen.ranked.plan
    assert chosen.count <= 4
    assert chosen.facts["plan.tokens_per_s"] > 0
