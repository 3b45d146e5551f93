"""How long a batch job runs whose work is stated in all, whatever kind of model does it."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


SUMMARIES = {"task": "inference", "model_name": "llama-3.1-8b", "input_tokens": 3000, "output_tokens": 200}
JOBS = {
    "language": {**SUMMARIES, "requests_total": 10_000_000},
    "pictures": {"task": "inference", "model_name": "stable-diffusion-xl", "requests_total": 500_000},
    "clips": {"task": "inference", "model_name": "wan-2.1-t2v-14b", "requests_total": 800},
    "passages": {"task": "inference", "model_name": "bge-m3", "input_tokens": 256, "requests_total": 50_000_000},
    "photos": {"task": "inference", "model_name": "resnet-50", "requests_total": 10_000_000},
}


@pytest.fixture
def sized(advisor):
    def call(gpu="nvidia-b200", count=1, **facts):
        return size_workload(advisor, advisor.read({**facts, "gpu": gpu, "count": count}))["speed"]

    return call


@pytest.mark.parametrize("name", JOBS)
def test_a_run_is_the_work_over_the_rate(sized, name):
    job = JOBS[name]
    found = sized(**job)
    per_s = found.get("requests_per_s", found.get("samples_per_s"))
    assert found["hours"] == pytest.approx(job["requests_total"] / per_s / 3600, rel=1e-4)
    assert found["hours_low"] < found["hours"] < found["hours_high"]
    twice = sized(**{**job, "requests_total": 2 * job["requests_total"]})
    assert twice["hours"] == pytest.approx(2 * found["hours"], rel=1e-4)


def test_sound_and_video_are_counted_by_the_hour(sized):
    sound = sized(task="inference", model_name="whisper-large-v3", audio_hours_total=20_000)
    assert sound["hours"] == pytest.approx(20_000 / sound["audio_hours_per_hour"], rel=1e-3)
    video = {"task": "inference", "model_name": "yolov8x", "video_hours_total": 5_000}
    some, every = sized(**video, frames_per_second=2), sized(**video)
    assert some["hours"] == pytest.approx(5_000 * 3600 * 2 / some["images_per_s"] / 3600, rel=1e-3)
    assert every["hours"] == pytest.approx(15 * some["hours"], rel=1e-3)  # Thirty frames a second are usual.


def test_no_run_is_shorter_than_a_request(sized):
    one = sized(**{**JOBS["clips"], "requests_total": 1}, count=8)
    assert one["hours"] == pytest.approx(one["latency_ms"] / 3.6e6, rel=1e-4)


def test_what_has_no_end_has_no_length(sized):
    assert "hours" not in sized(**SUMMARIES, serving_mode="batch")


def test_a_length_that_no_formula_gives_is_withheld(advisor):
    asked = {"task": "inference", "model_family": "recommender", "param_count_b": 10, "requests_total": 1_000_000}
    found = size_workload(advisor, advisor.read({**asked, "gpu": "nvidia-b200", "count": 1}))
    assert found["speed"] in ({}, None)
    assert found["support"]["hours"]["level"] == "none"
