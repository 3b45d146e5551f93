"""What is tried where no plan is left: the cheapest provider, renting, accelerators that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.formulas import formulas_of


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
JOB: dict[str, Any] = {
    "task": "experimentation",
    "model_name": "sd3.5-large",
    "objective": "cheapest",
    "gpu_candidates": ["nvidia-rtx-a6000"],
    "deployment_site": "cloud",
}
ONE = "W-ONE-PROVIDER-KEEPS-BUDGET"


def decide(advisor: Advisor, facts: Mapping[str, Any]) -> Decision:
    return advisor.decide(advisor.read(dict(facts)), decided_at=NOW)


def prices(advisor: Advisor) -> tuple[float, float]:
    """The lowest price of the card for an hour, and the median of several, which is higher."""
    chosen = decide(advisor, JOB).outcome.chosen
    assert chosen is not None
    cost = chosen.ranked.plan.cost
    assert cost.lowest_usd_per_hour is not None
    assert cost.usd_per_hour is not None
    assert cost.lowest_usd_per_hour < cost.usd_per_hour
    return cost.lowest_usd_per_hour, cost.usd_per_hour


def test_a_budget_that_the_cheapest_provider_keeps_is_kept_with_a_warning(advisor: Advisor) -> None:
    lowest, median = prices(advisor)
    decision = decide(advisor, {**JOB, "budget_usd_per_hour": (lowest + median) / 2})
    answer = decision.to_dict()
    assert answer["recommendation"] is not None
    assert answer["recommendation"]["cost"]["usd_per_hour"] == pytest.approx(lowest)
    assert [warning["code"] for warning in answer["warnings"]].count(ONE) == 1
    assert decision.outcome.intake.facts["lowest_prices"] is True


@pytest.mark.parametrize("enough", [True, False])
def test_the_usual_price_stands_where_it_keeps_the_budget_or_no_price_does(advisor: Advisor, enough: bool) -> None:
    lowest, median = prices(advisor)
    outcome = decide(advisor, {**JOB, "budget_usd_per_hour": median if enough else lowest * 0.99}).outcome
    assert "lowest_prices" not in outcome.intake.facts
    if enough:
        assert outcome.chosen is not None
        assert outcome.chosen.ranked.plan.cost.usd_per_hour == pytest.approx(median)
    else:
        assert outcome.chosen is None
        assert outcome.no_answer is not None


def test_what_is_short_of_more_than_money_is_not_tried_at_lower_prices(advisor: Advisor) -> None:
    lowest, median = prices(advisor)
    facts = {**JOB, "gpu_candidates": ["nvidia-rtx-3060-12gb"], "budget_usd_per_hour": (lowest + median) / 2}
    outcome = decide(advisor, facts | {"needs_ecc": True}).outcome
    assert outcome.chosen is None
    assert "lowest_prices" not in outcome.intake.facts


def test_the_choice_alone_comes_to_the_same_plan(advisor: Advisor) -> None:
    lowest, median = prices(advisor)
    facts = {**JOB, "budget_usd_per_hour": (lowest + median) / 2}
    chosen = decide(advisor, facts).outcome.chosen
    assert chosen is not None
    plan = chosen.ranked.plan
    assert advisor.choose(facts)[0] == {"gpu": plan.gpu.id, "count": plan.count}


BATCH: dict[str, Any] = {
    "task": "inference",
    "model_name": "qwen2.5-32b",
    "serving_mode": "batch",
    "deployment_site": "datacenter",
    "utilization_pct": 5,
}
RENTED = "W-RENTED-FOR-BUDGET"


def test_what_is_rented_keeps_a_budget_that_no_purchase_keeps(advisor: Advisor) -> None:
    decision = decide(advisor, {**BATCH, "budget_usd_per_month": 300})
    answer = decision.to_dict()
    assert answer["recommendation"]["cost"]["origin"] == "offer"
    assert answer["recommendation"]["cost"]["usd_per_month"] <= 300
    assert [warning["code"] for warning in answer["warnings"]].count(RENTED) == 1
    assert answer["procurement"]["verdict"] == "rent"
    assert decision.outcome.intake.facts["rented_instead"] is True


def test_a_run_at_a_desk_is_rented_where_no_purchase_is_within_its_budget(advisor: Advisor) -> None:
    run = {"task": "peft_finetuning", "peft_method": "qlora", "model_family": "llm", "param_count_b": 0.5}
    facts = {**run, "train_tokens_b": 0.2, "deployment_site": "workstation", "budget_usd_total": 25}
    outcome = decide(advisor, facts).outcome
    assert outcome.chosen is not None
    assert outcome.chosen.ranked.plan.cost.origin == "offer"
    assert outcome.intake.facts["rented_instead"] is True


def test_a_purchase_that_keeps_the_budget_is_not_rented(advisor: Advisor) -> None:
    outcome = decide(advisor, {**BATCH, "budget_usd_per_month": 3000}).outcome
    assert "rented_instead" not in outcome.intake.facts
    assert outcome.chosen is not None
    assert outcome.chosen.ranked.plan.cost.origin == "purchase"


@pytest.mark.parametrize(
    "other", [{"procurement_wish": "buy"}, {"deployment_site": "edge"}, {"budget_usd_per_month": 1}]
)
def test_nothing_is_rented_where_it_is_to_be_bought_or_helps_nobody(advisor: Advisor, other: dict[str, Any]) -> None:
    outcome = decide(advisor, {**BATCH, "budget_usd_per_month": 20, **other}).outcome
    assert outcome.chosen is None
    assert "rented_instead" not in outcome.intake.facts


SITE: dict[str, Any] = {
    "task": "inference",
    "model_name": "llama-3.1-70b",
    "concurrency": 30,
    "deployment_site": "datacenter",
}


def test_what_is_bought_is_paid_with_the_money_that_is_there(advisor: Advisor) -> None:
    bought = decide(advisor, {**SITE, "upfront_cost_usd": 50000}).outcome.chosen
    assert bought is not None
    assert bought.ranked.plan.cost.origin == "purchase"
    assert bought.facts["plan.gpus_usd"] <= 50000
    poor = decide(advisor, {**SITE, "upfront_cost_usd": 5000}).outcome
    assert poor.chosen is not None
    assert poor.chosen.ranked.plan.cost.origin == "offer"
    assert poor.intake.facts["rented_instead"] is True


def test_who_wants_to_buy_is_not_sent_to_rent_for_want_of_money(advisor: Advisor) -> None:
    outcome = decide(advisor, {**SITE, "upfront_cost_usd": 5000, "procurement_wish": "buy"}).outcome
    assert outcome.chosen is None
    assert "rented_instead" not in outcome.intake.facts


DESK: dict[str, Any] = {
    "task": "inference",
    "model_name": "llama-3.1-405b",
    "weight_precision": "int4",
    "deployment_site": "workstation",
    "budget_usd_total": 11000,
}


def test_what_nobody_asked_for_is_better_than_no_answer(advisor: Advisor) -> None:
    decision = decide(advisor, {**DESK, "gpu_excluded": ["nvidia-dgx-spark"]})
    answer = decision.to_dict()
    assert answer["recommendation"]["gpu"].startswith("apple-")
    assert "W-SPECIALISED-ACCELERATOR" in [warning["code"] for warning in answer["warnings"]]
    assert decision.outcome.intake.facts["nothing_else_fits"] is True


def test_what_nobody_asked_for_stays_out_beside_anything_else(advisor: Advisor) -> None:
    outcome = decide(advisor, DESK).outcome
    assert outcome.chosen is not None
    assert outcome.chosen.ranked.plan.gpu.vendor == "nvidia"
    assert "nothing_else_fits" not in outcome.intake.facts
    code = decide(advisor, {**DESK, "gpu_excluded": ["nvidia-dgx-spark"], "cuda_required": True}).outcome
    assert code.chosen is None


TUNING: dict[str, Any] = {"task": "peft_finetuning", "peft_method": "lora", "model_name": "llama-3.1-8b"}
HOURS = "W-HOURS-OF-BUDGET"


def test_a_monthly_budget_says_for_how_many_hours_a_job_rents(advisor: Advisor) -> None:
    """A student with $50 a month does not rent around the clock."""
    decision = decide(advisor, {**TUNING, "org_type": "student", "budget_usd_per_month": 50})
    answer, chosen = decision.to_dict(), decision.outcome.chosen
    assert chosen is not None
    hourly = answer["recommendation"]["cost"]["usd_per_hour"]
    assert answer["recommendation"]["cost"]["usd_per_month"] == pytest.approx(50)
    assert chosen.facts["plan.budget_hours"] == int(50 / hourly)
    assert [warning["code"] for warning in answer["warnings"]].count(HOURS) == 1


@pytest.mark.parametrize(
    "said", [{"always_on": True}, {"utilization_pct": 60}, {"task": "inference", "peft_method": "none"}]
)
def test_what_is_there_for_longer_is_held_against_the_whole_budget(advisor: Advisor, said: dict[str, Any]) -> None:
    found = decide(advisor, {**TUNING, **said, "budget_usd_per_month": 50}).outcome.round
    assert found is not None
    assert all(entry.facts.get("plan.budget_hours") is None for entry in found.judged)


def test_a_run_that_costs_more_than_the_budget_of_a_month_is_out(advisor: Advisor) -> None:
    run = {**TUNING, "train_tokens_b": 3, "budget_usd_per_month": 50}
    found = decide(advisor, run).outcome.round
    assert found is not None
    for entry in found.judged:
        assert entry.ranked.plan.cost.usd_per_run is None or entry.ranked.plan.cost.usd_per_run <= 50
    assert any("over-budget-per-month" in {rule.id for rule in rules} for rules in found.rejected_by)


def test_the_arithmetic_of_hours_within_a_budget_is_stated(advisor: Advisor) -> None:
    """Whole computers are bought even where all else is rented: one plan alone tells no rhythm of work."""
    decision = decide(advisor, {**TUNING, "budget_usd_per_month": 50})
    chosen, found = decision.outcome.chosen, decision.outcome.round
    assert chosen is not None
    assert found is not None
    bought = [plan.id for plan in found.rejected if plan.facts["plan.bought"]]
    assert bought
    made = formulas_of(decision, (chosen.ranked.plan.id, *bought[:3])).plans
    assert float(made[chosen.ranked.plan.id]["plan.usd_per_month"]) == pytest.approx(50)
    assert set(bought[:3]) <= set(made)


def test_the_example_of_a_refusal_is_the_plan_that_misses_the_limit_by_least(advisor: Advisor) -> None:
    """64 MI250X and 1,720,000 hours were the example of a deadline, as the first of the alphabet."""
    asked = {"task": "inference", "model_name": "llama-3.1-70b", "concurrency": 8, "budget_usd_per_hour": 0.2}
    answer = decide(advisor, asked)
    assert answer.outcome.round is not None
    costs = [
        float(str(entry.facts["plan.usd_per_hour"]))
        for entry in answer.outcome.round.rejections
        if [rule.id for rule in entry.rules] == ["over-budget-per-hour"]
    ]
    assert len(costs) > 10
    why = answer.to_dict()["no_answer"]["why"]
    told = re.search(r"It costs \$([\d.,]+)/h and \$0.2/h is the most allowed", why)
    assert told is not None
    assert float(told[1]) == pytest.approx(min(costs), rel=0.01)
