"""What the page of a batch job says first: how long the run takes, and what it costs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest


Whichgpu = Callable[..., Any]
CALLS = ("task=inference", "model_name=whisper-large-v3", "audio_hours_total=20,000 hours", "deadline=3 days")


def stated(facts: tuple[str, ...]) -> list[str]:
    return [word for fact in facts for word in ("--set", fact)]


@pytest.fixture
def page(whichgpu: Whichgpu) -> str:
    return " ".join(whichgpu("recommend", *stated(CALLS)).out.split())


def test_the_price_is_that_of_the_run(page: str) -> None:
    found = re.search(
        r"Price: \$([\d.]+) an hour, \$([\d.]+) for the run \(([\d.]+) hours, and 10 minutes to set up\)", page
    )
    assert found, page
    hourly, run, hours = map(float, found.groups())
    assert run == pytest.approx(hourly * (hours + 1 / 6), rel=0.01)
    assert "a month" not in page.partition("Memory:")[0]


def test_the_time_is_that_of_the_work_beside_the_deadline(page: str) -> None:
    assert re.search(
        r"Time: 20,000 hours of sound take [\d.]+ hours, likely .*?; 3 days \(72 hours\) asked: met\.", page
    )
    assert "of 100 requests" not in page  # Nobody waits for one of them.


def test_a_line_has_the_run(whichgpu: Whichgpu) -> None:
    job = {"task": "inference", "model_name": "sdxl", "requests_total": "500,000 pictures"}
    line = json.loads(whichgpu("recommend", "--jsonl", "--compact", "-", stdin=json.dumps(job)).out)
    low, high = line["speed"]["hours"][1:]
    assert low < line["speed"]["hours"][0] < high
    assert line["price"]["usd_per_run"] > line["price"]["usd_per_hour"]


def test_a_total_of_a_service_is_refused_with_a_fix(whichgpu: Whichgpu) -> None:
    said = whichgpu("recommend", *stated((*CALLS[:3], "serving_mode=interactive")))
    assert said.code == 1
    assert "write serving_mode batch, or peak_qps" in " ".join(said.out.split())


def test_alternatives_are_told_by_their_runs(whichgpu: Whichgpu) -> None:
    job = ("task=inference", "model_name=llama-3.1-8b", "requests_total=10M", "objective=cheapest", "deadline=20 h")
    brief = " ".join(whichgpu("recommend", *stated(job)).out.split())
    assert re.search(r"- \d+ x [^:]* at \$[\d,.]+ for the run \(\$[\d.,]+ an hour\): ", brief)
    table = whichgpu("recommend", *stated(job), "--show", "alternatives").out
    assert re.search(r"The run +Per hour +Score", table)
    assert re.search(r"[\d.]+ h, \$\d+", table)


def test_a_run_is_named_only_where_runs_are_what_is_compared(whichgpu: Whichgpu) -> None:
    job = ("task=pretraining", "param_count_b=7", "train_tokens_b=140", "project_months=36", "utilization_pct=95")
    for place, by_runs in ("deployment_site=datacenter", False), ("deployment_site=cloud", True):
        page = " ".join(whichgpu("recommend", *stated((*job, place))).out.split())
        others = page.partition("Alternatives")[2].partition("What would change")[0]
        assert re.search(r"\d % c(heap|ostli)er", others), others
        assert bool(re.search(r"for the run \([^)]*\): \d", others)) is by_runs, others


def test_replicas_of_one_gpu_need_no_link_however_many(whichgpu: Whichgpu) -> None:
    job = ("task=inference", "model_name=llama-3.1-8b", "requests_total=100M", "objective=cheapest", "deadline=2 days")
    line = whichgpu("recommend", *stated(job), "--format", "json").out
    plan = json.loads(line)["recommendation"]
    assert plan["count"] > 8
    assert plan["parallelism"]["data"] == plan["count"]
    assert plan["node_link"] in (None, "none")
