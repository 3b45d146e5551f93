"""Speech: how long a window takes is the engine's, and hangs on its kernels as much as on the reading of weights."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


@pytest.fixture
def speed(advisor):
    def call(**facts):
        asked = {"task": "inference", "model_name": "whisper-large-v3", "gpu": "nvidia-a100-80gb-sxm", **facts}
        return size_workload(advisor, advisor.read(asked))["speed"]

    return call


def test_a_server_is_several_times_as_quick_as_a_program_that_starts_kernels_one_by_one(speed):
    served, eager = speed(peak_qps=0.1), speed(peak_qps=0.1, serving_engine="transformers")
    assert eager["latency_ms"] > 3 * served["latency_ms"]
    assert speed(peak_qps=0.1, serving_engine="tensorrt-llm")["latency_ms"] < served["latency_ms"]


def test_the_program_of_the_authors_takes_one_window_after_the_other(speed):
    alone, batched = speed(serving_engine="openai-whisper"), speed(serving_engine="transformers")
    assert alone["samples_per_s"] < batched["samples_per_s"] / 4


@pytest.mark.parametrize("engine", ["vllm", "tensorrt-llm", "transformers"])
def test_the_most_it_can_do_hangs_on_no_load(speed, engine):
    not_stated, stated = speed(serving_engine=engine), speed(serving_engine=engine, peak_qps=1)
    assert not_stated["samples_per_s"] == pytest.approx(stated["capacity_samples_per_s"], rel=1e-4)


def test_few_cards_answer_few_windows_a_second(decide):
    asked = {"task": "inference", "model_name": "whisper-large-v3", "peak_qps": 8, "latency_slo_ms": 5000}
    outcome = decide({**asked, "lifecycle_stage": "production"}).outcome
    assert outcome.chosen.ranked.plan.layout.count <= 4
    assert "serving_engine" in {assumed.fact for assumed in outcome.assumed}
