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
def test_work_comes_in_as_fast_as_the_cheapest_by_the_piece_does_it_in_that_share(advisor: Advisor, use: float) -> None:
    found = plans(advisor, use)
    figures = {name: (entry.ranked.plan.cost.usd_per_hour, entry.measures.time) for name, entry in found.items()}
    known = {name: (hourly, time) for name, (hourly, time) in figures.items() if hourly and time}
    _, first = min(known.values(), key=lambda pair: pair[0] * pair[1])
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
