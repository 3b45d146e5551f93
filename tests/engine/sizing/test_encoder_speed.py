"""Encoders answer in one pass: no decoding, no cache."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


@pytest.fixture
def speed(advisor):
    def call(**facts):
        workload = advisor.read({"task": "inference", "model_name": "bert-base", "gpu": "nvidia-t4", **facts})
        return size_workload(advisor, workload)["speed"]

    return call


def test_one_small_card_answers_many_requests(speed):
    found = speed(peak_qps=20, context_tokens=128)
    assert found["qps"] > 200
    assert found["latency_ms"] < 100
    assert not {"tokens_per_s", "tpot_ms", "ttft_ms", "max_concurrency"} & found.keys()


def test_short_inputs_are_answered_faster(speed):
    short, long = speed(context_tokens=128), speed(context_tokens=512)
    assert short["qps"] > 3 * long["qps"]
    assert short["latency_ms"] <= long["latency_ms"]


def test_a_tight_limit_costs_throughput(speed):
    assert speed(latency_slo_ms=100)["qps"] <= speed(latency_slo_ms=2000)["qps"]
    assert "qps" not in speed(latency_slo_ms=1)


def test_an_unstated_input_is_no_longer_than_the_network_reads(speed):
    found = speed()
    assert found["input_tokens_per_s"] == pytest.approx(512 * found["requests_per_s"], rel=1e-4)


def test_more_requests_at_a_time_wait_longer_but_more_are_served(speed):
    one, many = speed(concurrency=1), speed(concurrency=32)
    assert many["latency_ms"] > one["latency_ms"]
    assert many["requests_per_s"] >= one["requests_per_s"]


def test_a_server_of_batches_adds_less_than_an_engine_that_generates(speed):
    """And how much it adds is in the band: nobody says which server it is."""
    open_, stated = speed(concurrency=1), speed(concurrency=1, serving_engine="vllm")
    assert stated["latency_mean_ms"] > open_["latency_mean_ms"] + 10
    assert open_["latency_ms_high"] > open_["latency_ms"] + 10


def test_tokens_are_those_that_are_read(speed):
    found = speed(context_tokens=256)
    assert found["input_tokens_per_s"] == pytest.approx(256 * found["requests_per_s"], rel=1e-4)
