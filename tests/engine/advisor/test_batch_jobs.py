"""Batch jobs whose work is stated in all: chosen by what the run costs, over by the deadline, paid by the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor import Decision


Decide = Callable[..., Decision]
SUMMARIES: dict[str, Any] = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "input_tokens": 3000,
    "output_tokens": 200,
    "requests_total": 10_000_000,
}
CALLS: dict[str, Any] = {"task": "inference", "model_name": "whisper-large-v3", "audio_hours_total": 20_000}
SETUP_HOURS = 0.17


def chosen_of(decision: Decision) -> Any:
    assert decision.outcome.chosen is not None
    return decision.outcome.chosen.ranked.plan


@pytest.mark.parametrize("objective", ["cheapest", "balanced", "fastest"])
@pytest.mark.parametrize("job", [SUMMARIES, CALLS], ids=["summaries", "calls"])
def test_a_run_costs_its_hours(decide: Decide, job: dict[str, Any], objective: str) -> None:
    decision = decide({**job, "objective": objective})
    plan, facts = chosen_of(decision), decision.outcome.intake.facts
    assert facts["serving_mode"] == "batch"
    speed = plan.speed.values
    rate = speed.get("requests_per_s", speed.get("samples_per_s"))
    assert speed["hours"] == pytest.approx(facts["requests_total"] / rate / 3600)
    assert plan.cost.usd_per_run == pytest.approx(plan.cost.usd_per_hour * (speed["hours"] + SETUP_HOURS), rel=1e-3)


def test_the_cheapest_run_is_the_cheapest(decide: Decide) -> None:
    found = decide({**SUMMARIES, "objective": "cheapest"}).outcome
    assert found.chosen is not None
    assert found.round is not None
    runs = [entry.ranked.plan.cost.usd_per_run for entry in found.round.judged if not entry.fallbacks]
    assert found.chosen.ranked.plan.cost.usd_per_run <= 1.1 * min(run for run in runs if run is not None)


@pytest.mark.parametrize("hours", [12, 6, 3])
def test_a_deadline_takes_as_many_gpus_as_it_needs(decide: Decide, hours: float) -> None:
    plan = chosen_of(decide({**SUMMARIES, "objective": "cheapest", "deadline_hours": hours}))
    free = chosen_of(decide({**SUMMARIES, "objective": "cheapest"}))
    assert free.speed.values["hours"] > hours
    assert plan.speed.values["hours"] <= hours
    assert plan.count > free.count


def test_owned_cards_that_miss_the_deadline_are_passed_over(decide: Decide) -> None:
    owned = {**SUMMARIES, "objective": "cheapest", "gpus_owned": "4 x rtx 4090"}
    assert chosen_of(decide(owned)).cost.origin == "owned"
    assert chosen_of(decide({**owned, "deadline_hours": 48})).cost.origin == "offer"


def test_a_batch_of_each_day_is_over_within_the_day(decide: Decide) -> None:
    decision = decide({**SUMMARIES, "runs_cadence": "daily"})
    plan = chosen_of(decision)
    assert decision.outcome.intake.facts["deadline_hours"] == 24
    assert plan.speed.values["hours"] <= 24
    assert plan.cost.usd_per_month == pytest.approx(plan.cost.usd_per_run * 365 / 12)
    assert decision.outcome.final.facts["procurement"] != "undecided"


def test_a_budget_of_a_month_spreads_a_job_over_several(decide: Decide) -> None:
    """$300 a month took a card for $1,173 in eight months, where one that costs $634 works for two of them."""
    free = chosen_of(decide({**SUMMARIES, "objective": "cheapest"}))
    asked = {**SUMMARIES, "objective": "cheapest", "budget_usd_per_month": 300}
    decision = decide(asked)
    plan = chosen_of(decision)
    assert plan.cost.usd_per_run <= free.cost.usd_per_run
    assert plan.cost.usd_per_month == pytest.approx(300)
    assert any("spread over several months" in warning["text"] for warning in decision.to_dict()["warnings"])
    due = chosen_of(
        decide({**SUMMARIES, "requests_total": 1_000_000, "budget_usd_per_month": 300, "deadline_hours": 24})
    )
    assert due.cost.usd_per_run <= 300


def test_a_service_within_a_monthly_budget_is_proven(decide: Decide) -> None:
    """How many hours the budget pays for is a matter of jobs alone, and was missing of every service."""
    service = {"task": "inference", "model_name": "llama-3.1-8b", "budget_usd_per_month": 2000}
    decision = decide(service)
    assert decision.outcome.chosen is not None
    assert decision.outcome.chosen.unverified == ()


def test_a_job_that_the_budget_pays_around_the_clock_is_verified(decide: Decide) -> None:
    pictures = {"task": "inference", "model_name": "sdxl", "requests_total": 500_000, "objective": "cheapest"}
    free, within = decide(pictures), decide({**pictures, "budget_usd_per_month": 1000})
    assert chosen_of(within).id == chosen_of(free).id


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"serving_mode": "interactive"}, "a-service-has-no-total"),
        ({"peak_qps": 5}, "requests-of-a-batch-have-no-rate"),
        ({"requests_total": None, "audio_hours_total": 100}, "hours-of-sound-are-of-speech"),
        ({"requests_total": None, "video_hours_total": 100}, "hours-of-video-are-of-image-networks"),
    ],
)
def test_what_cannot_hold_together_is_told(decide: Decide, more: dict[str, Any], rule: str) -> None:
    no_answer = decide({**SUMMARIES, **more}).outcome.no_answer
    assert no_answer is not None
    assert no_answer.kind == "contradictory"
    assert [each.id for each in no_answer.rules] == [rule]


def test_a_deadline_without_the_work_asks_for_it(decide: Decide) -> None:
    asked = {"task": "inference", "model_name": "llama-3.1-8b", "deadline_hours": 48}
    answer = decide(asked).to_dict()
    assert answer["facts"]["serving_mode"]["value"] == "batch"
    assert answer["recommendation"]["unverified"][0]["limit"] == "deadline_hours"
    assert answer["open_questions"][0]["fact"] == "requests_total"
