"""How long hardware that is bought is paid for, where it is said how busy it is and not how much work there is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.outcome import Judged


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BATCH: dict[str, Any] = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "serving_mode": "batch",
    "deployment_site": "datacenter",
    "objective": "cheapest",
}


def plans(advisor: Advisor, use: float) -> dict[str, Judged]:
    outcome = advisor.decide(advisor.read({**BATCH, "utilization_pct": use}), decided_at=NOW).outcome
    assert outcome.round is not None
    return {entry.ranked.plan.id: entry for entry in outcome.round.judged}


@pytest.mark.parametrize("use", [5, 50, 100])
def test_work_comes_in_as_fast_as_what_is_cheap_by_the_piece_does_it_in_that_share(
    advisor: Advisor, use: float
) -> None:
    """Of what is as cheap the smallest purchase tells it, the more so the less it is busy."""
    found = plans(advisor, use)
    figures = {name: (entry.ranked.plan.cost.usd_per_hour, entry.measures.time) for name, entry in found.items()}
    known = {name: (hourly, time) for name, (hourly, time) in figures.items() if hourly and time}
    share = advisor.objectives["cheapest"].preference_share * (1 - use / 100)
    least = min(hourly * time for hourly, time in known.values()) * (1 + share)
    _, first = min((hourly, time) for hourly, time in known.values() if hourly * time <= least)
    for name, (hourly, time) in known.items():
        assert found[name].measures.cost == pytest.approx(hourly * max(time, first / (use / 100))), name


def test_little_use_asks_for_less_hardware(advisor: Advisor) -> None:
    spent = []
    for use in (0, 5, 90):
        first = next(iter(plans(advisor, use).values())).ranked.plan
        assert first.cost.usd_per_hour is not None
        spent.append(first.cost.usd_per_hour)
    idle, little, much = spent
    assert idle <= little
    assert little * 2 < much


def test_a_run_is_no_reason_to_buy_what_stands_idle_between_runs(advisor: Advisor) -> None:
    """Eight B200 for half a million do a run of four hours for as much as two cards that take days for it."""
    run = {
        "task": "full_finetuning",
        "model_name": "llama-3.1-8b",
        "train_tokens_b": 2,
        "deployment_site": "datacenter",
    }
    spent = []
    for use in (30, 100):
        chosen = advisor.decide(
            advisor.read({**run, "objective": "balanced", "utilization_pct": use}), decided_at=NOW
        ).outcome.chosen
        assert chosen is not None
        spent.append(chosen.facts["plan.gpus_usd"])
    assert isinstance(spent[0], float)
    assert isinstance(spent[1], float)
    assert spent[0] * 4 < spent[1]


def test_of_a_board_that_is_bought_whole_all_is_ordered(advisor: Advisor) -> None:
    """Two modules of a board of eight are as large an order as eight, and no better for it in a balance."""
    batch = {**BATCH, "model_name": "qwen2.5-14b", "objective": "balanced", "utilization_pct": 30}
    outcome = advisor.decide(advisor.read(batch), decided_at=NOW).outcome
    assert outcome.chosen is not None
    assert outcome.chosen.ranked.plan.count == 1
    assert outcome.chosen.ranked.plan.gpu.segment != "consumer"
    for entry in outcome.judged:
        if entry.ranked.plan.gpu.id == "nvidia-b200":
            assert entry.facts["plan.gpus_bought"] == 8
