"""The verdict while facts are open: what its comparison of costs may come to, and which fact reveals most of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.interview import Interviewer, State
from whichgpu.engine.interview.verdict import Comparison, compared, verdicts_of
from whichgpu.engine.rules import probing


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
KNOWN = {"task": "inference", "model_name": "llama-3.1-8b", "deployment_site": "cloud", "concurrency": 8}


def comparison(**more: float) -> tuple[Interviewer, Comparison]:
    interviewer = Interviewer(shipped_advisor(), MOMENT)
    state = State().state_facts({**KNOWN, **more}, "file")
    with probing():
        outcome = interviewer.decide(state).outcome
    assert outcome.round is not None
    assert outcome.chosen is not None
    facts = {**outcome.round.survey.facts, **outcome.chosen.facts}
    plan = outcome.chosen.ranked.plan
    return interviewer, compared(interviewer.rule_index, facts, plan, interviewer.view(state).open_facts)


@pytest.fixture(scope="module")
def use_unknown() -> tuple[Interviewer, Comparison]:
    return comparison()


def test_it_may_come_out_either_way_while_the_use_is_open(use_unknown: tuple[Interviewer, Comparison]) -> None:
    _, found = use_unknown
    assert {"rent", "own"} <= set(found.open_facts.values["comparison_says"] or ())
    assert "utilization_pct" in found.open_facts.causes["comparison_says"]
    assert len({draw.verdict for draw in found.draws}) > 1


def test_what_is_paid_or_used_tells_more_than_who_asks(use_unknown: tuple[Interviewer, Comparison]) -> None:
    interviewer, found = use_unknown
    verdicts = verdicts_of(interviewer.rule_index, found)
    assert not verdicts.certain
    most = max(verdicts.causes, key=lambda name: verdicts.causes[name])
    used = {"utilization_pct", "gpu_hours_total", "gpu_hours_per_year", "runs_cadence"}
    assert most in used | {"monthly_cloud_spend_usd"}
    assert verdicts.causes[most] > verdicts.causes.get("org_type", 0.0)


def test_seldom_used_hardware_is_rented_whatever_else_is_answered() -> None:
    interviewer, found = comparison(utilization_pct=1.0, project_months=3.0, monthly_cloud_spend_usd=20.0)
    assert verdicts_of(interviewer.rule_index, found).possible == {"rent"}
