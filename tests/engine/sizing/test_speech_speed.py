"""Speech: how long a window takes is the engine's, and hangs on its kernels as much as on the reading of weights."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.sizing.speed_constants import speed_constants


@pytest.fixture
def speed(advisor):
    def call(**facts):
        asked = {"task": "inference", "model_name": "whisper-large-v3", "gpu": "nvidia-a100-80gb-sxm", **facts}
        return size_workload(advisor, advisor.read(asked))["speed"]

    return call


def test_a_server_is_several_times_as_quick_as_a_program_that_starts_kernels_one_by_one(speed):
    engines = ("tensorrt-llm", "vllm", "faster-whisper", "transformers")
    best, served, compiled, eager = (speed(peak_qps=0.1, serving_engine=each)["latency_ms"] for each in engines)
    assert best < served < compiled < eager
    assert eager > 3 * served


def test_a_decoder_of_few_layers_writes_faster(speed):
    names = ("whisper-large-v3", "whisper-turbo", "distil-large-v3")
    whole, turbo, distilled = (speed(model_name=name, concurrency=1)["samples_per_s"] for name in names)
    assert 2 < turbo / whole < 4  # Eight times fewer layers, and the rest of a step.
    assert turbo < distilled


def test_what_writes_no_text_token_by_token_is_arithmetic_alone(speed):
    found = speed(model_name="wav2vec2-large", concurrency=1)
    assert "tokens_per_s" not in found
    # As large as Whisper small, which decodes.
    assert found["samples_per_s"] > 10 * speed(model_name="whisper-small", concurrency=1)["samples_per_s"]


def test_chunks_of_transformers_overlap(speed):
    # Both start their kernels one by one, and the times of those are all that a single window waits for.
    one, chunked = (speed(serving_engine=each, concurrency=1) for each in ("openai-whisper", "transformers"))
    shared = chunked["audio_hours_per_hour"] / one["audio_hours_per_hour"]
    assert shared == pytest.approx(speed_constants().speech.chunk_advance.value, rel=0.02)


def test_a_batch_waits_for_its_longest_text(speed):
    one, eight = (speed(serving_engine="faster-whisper", concurrency=size) for size in (1, 8))
    assert 1 < eight["latency_ms"] / one["latency_ms"] < 2
    assert 4 < eight["samples_per_s"] / one["samples_per_s"] < 8


def test_the_program_of_the_authors_takes_one_window_after_the_other(speed):
    alone, batched = speed(serving_engine="openai-whisper"), speed(serving_engine="transformers")
    assert alone["samples_per_s"] < batched["samples_per_s"] / 4


@pytest.mark.parametrize("engine", ["vllm", "tensorrt-llm", "transformers"])
def test_the_most_it_can_do_hangs_on_no_load(speed, engine):
    not_stated, stated = speed(serving_engine=engine), speed(serving_engine=engine, peak_qps=1)
    assert not_stated["samples_per_s"] == pytest.approx(stated["capacity_samples_per_s"], rel=1e-4)


def test_few_cards_answer_few_windows_a_second(decide):
    asked = {"task": "inference", "model_name": "whisper-large-v3", "peak_qps": 8, "latency_slo_ms": 5000}
    outcome = decide({**asked, "lifecycle_stage": "production", "serving_engine": "vllm"}).outcome
    assert outcome.chosen.ranked.plan.layout.count <= 4


@pytest.mark.parametrize(
    ("more", "engine"),
    [({}, "faster-whisper"), ({"latency_slo_ms": 2000}, "vllm"), ({"serving_mode": "realtime"}, "vllm")],
)
def test_what_recognises_speech_is_assumed_where_nobody_says(decide, more, engine):
    outcome = decide({"task": "inference", "model_name": "whisper-large-v3", "peak_qps": 1, **more}).outcome
    assert {assumed.fact: assumed.value for assumed in outcome.assumed}["serving_engine"] == engine
