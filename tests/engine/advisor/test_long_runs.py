"""Runs that take longer than people tolerate: they count as costlier, and are warned of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize("objective", [None, "balanced", "cheapest"])
def test_nobody_waits_years_for_a_run(advisor: Advisor, objective: str | None) -> None:
    """70B on 15 trillion tokens took sixteen B200 for fourteen years, at the least cost by the piece."""
    run = {"task": "pretraining", "param_count_b": 70, "train_tokens_b": 15000}
    facts = run if objective is None else {**run, "objective": objective}
    outcome = advisor.decide(advisor.read(facts), decided_at=NOW).outcome
    assert outcome.chosen is not None
    tolerable = outcome.intake.facts["run_bearable_hours"]
    assert isinstance(tolerable, float | int)
    most = tolerable * (outcome.objective.patience if objective else 1)
    assert outcome.chosen.facts["plan.hours"] <= most
    assert outcome.intake.resolved["run_bearable_hours"].candidate.origin == "assumed"


def test_a_run_that_is_late_counts_as_costlier_and_is_warned_of(advisor: Advisor) -> None:
    run = {"task": "pretraining", "param_count_b": 13, "train_tokens_b": 1000, "objective": "cheapest"}
    decision = advisor.decide(advisor.read(run), decided_at=NOW)
    chosen = decision.outcome.chosen
    assert chosen is not None
    late = float(chosen.facts["plan.hours"]) / float(decision.outcome.intake.facts["run_bearable_hours"])
    assert late > 1  # Who asks for the cheapest waits longer: patience times that.
    assert chosen.facts["plan.lateness"] == pytest.approx(late)
    assert chosen.measures.lateness == 1.0
    assert "W-LONG-RUN" in {warning["code"] for warning in decision.to_dict()["warnings"]}
    patient = advisor.decide(advisor.read({**run, "objective": "balanced", "run_bearable_hours": 1}), decided_at=NOW)
    for entry in patient.outcome.judged:
        hours = entry.facts.get("plan.hours")
        if hours is not None:
            assert entry.measures.lateness == pytest.approx(max(1.0, float(hours)))


def test_a_deadline_takes_the_place_of_what_people_tolerate(advisor: Advisor) -> None:
    run = {"task": "pretraining", "param_count_b": 1, "train_tokens_b": 20, "deadline_hours": 5000}
    facts = advisor.decide(advisor.read(run), decided_at=NOW).outcome.intake.facts
    assert "run_bearable_hours" not in facts


def test_the_largest_published_run_is_planned_and_takes_about_as_long_as_it_did(advisor: Advisor) -> None:
    """Llama 3.1 405B: 30.84 million hours of H100 for 15.6 trillion tokens, by its model card, on up to 16,384."""
    run = {"task": "pretraining", "param_count_b": 405, "model_family": "llm", "train_tokens_b": 15600}
    asked = {**run, "gpu_candidates": ["nvidia-h100-80gb-sxm"], "deadline_hours": 2400}
    chosen = advisor.decide(advisor.read(asked), decided_at=NOW).outcome.chosen
    assert chosen is not None
    assert 10_000 < chosen.ranked.plan.count <= 16_384
    gpu_hours = float(chosen.facts["plan.hours"]) * chosen.ranked.plan.count
    assert gpu_hours == pytest.approx(30.84e6, rel=0.25)


def _layout(advisor: Advisor, **facts: Any) -> Any:
    run = {"task": "pretraining", "model_name": "llama-3.1-405b", "train_tokens_b": 15000, "seq_len_tokens": 8192}
    asked = {**run, "gpu_candidates": ["nvidia-h100-80gb-sxm"], **facts}
    chosen = advisor.decide(advisor.read(asked), decided_at=NOW).outcome.chosen
    assert chosen is not None
    return chosen.ranked.plan.layout


def test_thousands_of_gpus_split_layers_where_a_step_has_no_samples_for_so_many_ranks(advisor: Advisor) -> None:
    """Steps of published dense models have 16 million tokens at most, which are 2,048 samples of 8,192."""
    spread = _layout(advisor, num_gpus=16384)
    assert spread.tensor > 1
    assert spread.data * 8192 <= 16 * 1024**2


def test_no_more_ranks_than_a_stated_batch_has_samples(advisor: Advisor) -> None:
    assert _layout(advisor, num_gpus=8192, global_batch_size=1024).data <= 1024
