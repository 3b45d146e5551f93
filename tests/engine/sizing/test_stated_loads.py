"""What people say of a load that is not requests per second: streams of video, hours of sound, tokens that are read."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


CAMERAS = {"task": "inference", "model_name": "yolov8x", "video_streams": 8}
SOUND = {"task": "inference", "model_name": "whisper-large-v3", "serving_engine": "vllm"}


@pytest.fixture
def sized(advisor):
    def call(gpu="nvidia-l40s", count=1, **facts):
        return size_workload(advisor, advisor.read({**facts, "gpu": gpu, "count": count}))["speed"]

    return call


def test_frames_of_streams_are_the_load(sized):
    unstated, fewer = sized(**CAMERAS), sized(**CAMERAS, frames_per_second=15)
    assert unstated["requests_per_s"] == 8 * 30
    assert fewer["requests_per_s"] == 8 * 15
    assert fewer["max_streams"] == pytest.approx(2 * unstated["max_streams"], rel=0.01)
    assert unstated["max_streams"] * 30 == pytest.approx(unstated["qps"], rel=1e-4)


def test_stated_requests_are_shared_by_the_streams(sized):
    found = sized(**CAMERAS, peak_qps=100)
    assert found["requests_per_s"] == 100
    assert found["max_streams"] == pytest.approx(found["qps"] / 12.5, rel=1e-4)


def test_more_requests_than_frames_may_come_and_fewer_cannot(sized, decide):
    assert sized(**CAMERAS, frames_per_second=15, peak_qps=150)["requests_per_s"] == 150
    assert decide({**CAMERAS, "frames_per_second": 30, "peak_qps": 100}).outcome.no_answer.kind == "contradictory"


def test_streams_come_evenly_whatever_the_pattern(sized):
    assert sized(**CAMERAS, traffic_pattern="bursty") == sized(**CAMERAS)
    rate = {"task": "inference", "model_name": "yolov8x", "peak_qps": 240}
    assert sized(**rate, traffic_pattern="bursty")["latency_mean_ms"] > sized(**rate)["latency_mean_ms"]


@pytest.mark.parametrize("site", ["cloud", "edge"])
@pytest.mark.parametrize("streams", [1, 8, 64, 500])
def test_as_many_streams_are_borne_as_are_stated(sized, decide, site, streams):
    asked = {"task": "inference", "model_name": "yolov8n", "video_streams": streams, "deployment_site": site}
    chosen = decide(asked).outcome.chosen.ranked.plan
    assert chosen.speed.values["max_streams"] >= streams
    assert not chosen.speed.values["overloaded"]
    again = sized(chosen.gpu.id, chosen.layout.count, **asked)
    for name in ("qps", "max_streams", "latency_p95_ms"):
        assert again[name] == pytest.approx(chosen.speed.values[name], rel=0.01)


def test_maps_pass_the_memory_of_a_board_with_much_arithmetic(sized):
    """A Thor does four times the arithmetic for each byte of a card of its time, and no network sees all of it."""
    thor, orin = (
        sized(gpu, **{**CAMERAS, "model_name": "yolov8n"})
        for gpu in ("nvidia-jetson-thor-t5000", "nvidia-jetson-agx-orin-64gb")
    )
    assert 1 < thor["max_streams"] / orin["max_streams"] < 6


def test_hours_of_sound_are_windows(sized):
    found = sized(**SOUND, audio_hours_per_hour=240)
    assert found["requests_per_s"] == pytest.approx(8)
    assert found["audio_hours_per_hour"] == pytest.approx(240)
    assert found["capacity_audio_hours_per_hour"] > 240


def test_tokens_that_an_encoder_reads_are_its_load(sized, decide):
    asked = {"task": "inference", "model_name": "bge-m3", "input_tokens": 300, "min_tokens_per_s": 200001}
    found = sized("nvidia-b200-sxm-180gb", **asked)
    assert found["requests_per_s"] == pytest.approx(200001 / 300, rel=1e-4)
    assert found["input_tokens_per_s"] == pytest.approx(200001, rel=1e-5)
    outcome = decide(asked).outcome
    assert outcome.chosen.unverified == ()
    assert outcome.chosen.ranked.plan.speed.values["input_tokens_per_s"] >= 200001


@pytest.mark.parametrize(
    ("written", "per_s"),
    [("60/min", 1), ("60 images/min", 1), ("3600 per hour", 1), ("90 clips per hour", 0.025), ("2 frames/s", 2)],
)
def test_rates_are_written_as_people_speak(advisor, written, per_s):
    assert advisor.read({"task": "inference", "peak_qps": written}).given["peak_qps"] == pytest.approx(per_s)


def test_a_rate_of_something_else_is_refused(advisor):
    with pytest.raises(InputError, match="peak_qps"):
        advisor.read({"task": "inference", "peak_qps": "2 GB/min"})
