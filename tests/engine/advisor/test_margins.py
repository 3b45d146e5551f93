"""Margins: a plan that holds at the unlucky ends of its bands, beside an answer that holds by its estimate."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.margins import MARGINS, with_margin
from whichgpu.engine.plans import Plan


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
RUN = {"task": "pretraining", "param_count_b": 1.3, "train_tokens_b": 100}
SERVICE = {"task": "inference", "model_name": "llama-3.1-8b", "peak_qps": 3, "input_tokens": 1500, "output_tokens": 250}
LARGE = {"task": "inference", "model_name": "llama-3.3-70b", "input_tokens": 6000, "output_tokens": 500}


def decided(advisor: Advisor, facts: dict[str, Any], **more: Any) -> Decision:
    return advisor.decide({**facts, **more}, decided_at=MOMENT)


def answer_of(decision: Decision) -> Plan:
    assert decision.outcome.chosen is not None
    return decision.outcome.chosen.ranked.plan


def margins_of(decision: Decision) -> dict[str, Plan]:
    return {kind: entry.ranked.plan for kind, entry in with_margin(decision.outcome)}


def high(plan: Plan, name: str) -> float:
    assert plan.speed is not None
    return plan.speed.figures[name].high


def room_of(plan: Plan) -> float:
    """What stays free at the upper end of the memory band."""
    available, most = plan.facts["plan.available_per_gpu_gb"], plan.facts["plan.high_per_gpu_gb"]
    assert isinstance(available, float)
    assert isinstance(most, float)
    return available - most


@pytest.mark.parametrize("objective", ["balanced", "cheapest"])
def test_a_deadline_between_the_estimate_and_the_slow_end_names_a_plan_that_keeps_it_there(
    advisor: Advisor, objective: str
) -> None:
    answer = answer_of(decided(advisor, RUN, objective=objective))
    estimate, slow = answer.facts["plan.hours"], high(answer, "hours")
    assert isinstance(estimate, float)
    between = decided(advisor, RUN, objective=objective, deadline_hours=round((estimate * slow) ** 0.5))
    chosen, margin = answer_of(between), margins_of(between)["targets_margin"]
    asked = between.outcome.intake.facts["deadline_hours"]
    assert isinstance(asked, float | int)
    assert high(chosen, "hours") > asked >= high(margin, "hours")
    assert margin.id != chosen.id


def test_a_deadline_beyond_the_slow_end_needs_no_margin(advisor: Advisor) -> None:
    slow = high(answer_of(decided(advisor, RUN, objective="cheapest")), "hours")
    assert "targets_margin" not in margins_of(decided(advisor, RUN, objective="cheapest", deadline_hours=2 * slow))


def test_a_time_of_answers_is_judged_at_its_percentile(advisor: Advisor) -> None:
    found = decided(advisor, SERVICE, ttft_slo_ms=800)
    chosen, margin = answer_of(found), margins_of(found).get("targets_margin")
    assert high(chosen, "ttft_p95_ms") > 800
    assert margin is not None
    assert high(margin, "ttft_p95_ms") <= 800


def test_memory_that_may_pass_the_card_names_a_plan_whose_cards_hold_it(advisor: Advisor) -> None:
    seen = set()
    for concurrency in (4, 8, 12, 16):
        found = decided(advisor, LARGE, concurrency=concurrency, objective="cheapest")
        margins = margins_of(found)
        assert ("memory_margin" in margins) == (room_of(answer_of(found)) < 0)
        assert all(room_of(plan) >= 0 for plan in margins.values())
        seen.add(bool(margins))
    assert seen == {True, False}


def test_it_stands_before_what_would_be_cheaper_or_faster(advisor: Advisor) -> None:
    found = decided(advisor, SERVICE, ttft_slo_ms=800).trade_offs()
    kinds = [entry.kind for entry in found]
    assert kinds[0] == "targets_margin"
    assert not set(kinds[1:]) & set(MARGINS)


def test_nothing_is_asked_of_an_answer_that_nothing_was_asked_of(advisor: Advisor) -> None:
    assert "targets_margin" not in margins_of(decided(advisor, RUN))


def test_what_is_named_is_not_beaten_by_another_that_holds_too(advisor: Advisor) -> None:
    found = decided(advisor, {**LARGE, "model_name": "llama-3.1-8b", "context_tokens": 131072}, concurrency=4)
    margin = dict(with_margin(found.outcome))["memory_margin"]
    others = [
        other
        for other in found.outcome.judged
        if other.ranked.proven and not other.fallbacks and room_of(other.ranked.plan) >= 0
    ]
    assert len(others) > 1
    mine = margin.measures
    assert mine.cost is not None
    assert mine.time is not None
    for measures in (other.measures for other in others):
        cheaper = measures.cost is not None and measures.cost < 0.95 * mine.cost
        assert not (cheaper and measures.time is not None and measures.time < 0.95 * mine.time)


def test_who_says_when_a_run_is_due_pays_for_no_earlier_end(advisor: Advisor) -> None:
    """A plan that is clearly cheaper and in time at its slow end too takes the place of what guides name."""
    tuning = {"task": "peft_finetuning", "peft_method": "qlora", "param_count_b": 13, "train_tokens_b": 0.002}
    tuning |= {"model_family": "llm", "batch_size_per_gpu": 1, "deployment_site": "workstation"}
    free = decided(advisor, tuning)
    hours = 9 * high(answer_of(free), "hours")
    due = decided(advisor, tuning, deadline_hours=hours)
    first, answer = free.outcome.chosen, due.outcome.chosen
    assert first is not None
    assert answer is not None
    assert answer.standing.in_time_for_less
    assert high(answer.ranked.plan, "hours") <= hours
    assert answer.measures.cost is not None
    assert first.measures.cost is not None
    assert answer.measures.cost < first.measures.cost
