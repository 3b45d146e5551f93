"""Attention on data ranks beside experts on all of them, and requests that come together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


@pytest.fixture
def size(advisor):
    def call(**facts):
        asked = {"task": "inference", "model_name": "deepseek-r1", "gpu": "nvidia-h200-sxm", "count": 8, **facts}
        return size_workload(advisor, advisor.read({"serving_engine": "vllm", "weight_precision": "fp8", **asked}))

    return call


def test_copies_that_share_experts_fit_where_whole_copies_do_not(size):
    split = {"tensor_parallel": 1, "data_parallel": 8, "concurrency": 64}
    whole, shared = size(**split), size(**split, expert_parallel=8)
    assert not whole["fits"]
    assert shared["fits"]
    assert shared["per_gpu_gb"] < whole["per_gpu_gb"] / 4


def test_each_copy_has_its_own_cache(size):
    one, shared = size(tensor_parallel=8), size(tensor_parallel=1, data_parallel=8, expert_parallel=8)
    # The latent of each sequence lies on every tensor rank, but on one data rank alone.
    assert shared["speed"]["max_concurrency"] > 2 * one["speed"]["max_concurrency"]


def test_a_shared_expert_is_read_once_for_all_copies(size):
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


def test_copies_that_share_experts_are_recommended_where_that_is_stated(advisor):
    asked = {"task": "inference", "model_name": "deepseek-r1", "weight_precision": "fp8", "concurrency": 64}
    asked |= {"gpu_candidates": ["nvidia-h200-sxm"], "tensor_parallel": 1, "pipeline_parallel": 1, "expert_parallel": 8}
    plan = advisor.decide(asked, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).to_dict()["recommendation"]
    assert plan["parallelism"]["data"] >= 8
    assert plan["speed"]["max_concurrency"] >= 64
