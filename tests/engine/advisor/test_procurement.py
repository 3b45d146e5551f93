"""Procurement in a decision: figures become facts that rules read, and thresholds are shown beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.procurement import compute


Decide = Callable[..., Decision]
JOB = {"task": "inference", "model_name": "llama-3.1-8b", "weight_precision": "bf16", "peak_qps": 1}


def test_without_a_plan_only_thresholds_are_computed() -> None:
    found = compute({"utilization_pct": 90, "horizon_years": 3}, None)
    assert "purchase_usd" not in found.figures
    assert found.thresholds


def test_every_figure_is_a_fact_with_formula_and_source(decide: Decide) -> None:
    found = decide(JOB, utilization_pct=60, horizon_years=3).outcome.procurement
    for name, candidates in found.candidates.items():
        if name != "thresholds_disagree":
            assert candidates[0].formula
            assert candidates[0].sources


@pytest.mark.parametrize(("utilization", "horizon", "expected"), [(5, 1, {"rent"}), (95, 4, {"buy", "hybrid"})])
def test_use_turns_the_verdict(decide: Decide, utilization: int, horizon: int, expected: set[str]) -> None:
    decision = decide(
        JOB,
        utilization_pct=utilization,
        horizon_years=horizon,
        demand_predictable=True,
        runs_cadence="continuous",
        rent_quote_usd_h=1 if utilization < 50 else 9,
    )
    answer: dict[str, Any] = decision.to_dict()["procurement"]
    assert answer["verdict"] in expected
    assert answer["rules"]
    assert answer["sources"]


@pytest.mark.parametrize("also", [{}, {"traffic_pattern": "steady"}, {"project_months": 36}, {"has_ops_team": True}])
def test_a_wish_to_buy_or_steady_traffic_makes_nobody_rent_who_has_a_place(
    decide: Decide, also: dict[str, Any]
) -> None:
    place = {"task": "inference", "model_name": "llama-3.3-70b", "concurrency": 30, "deployment_site": "datacenter"}
    without, wished = (decide({**place, **also, **wish}).to_dict() for wish in ({}, {"procurement_wish": "buy"}))
    assert without["procurement"]["verdict"] == "undecided"
    assert wished["procurement"]["verdict"] == "undecided"
    assert wished["recommendation"]["cost"]["origin"] == "purchase"
    flip = wished["procurement"]["flip"]
    assert (flip["fact"], flip["now"]) == ("utilization_pct", None)
    busy = decide({**place, **also, "utilization_pct": min(100, 1.4 * flip["needed"])}).to_dict()["procurement"]
    assert busy["comparison"]["own_usd"] < busy["comparison"]["rent_usd"]


def test_a_sum_in_all_for_a_purchase_is_held_against_the_purchase(decide: Decide) -> None:
    """How long the runs take that hardware is bought for nobody has to say."""
    lab = {"task": "full_finetuning", "param_count_b": 7, "deployment_site": "workstation", "procurement_wish": "buy"}
    answer = decide({**lab, "runs_cadence": "daily", "budget_usd_total": 50_000}).to_dict()
    plan = answer["recommendation"]
    assert plan["proven"]
    assert plan["cost"]["usd_per_run"] is None
    assert answer["figures"]["purchase_usd"]["value"] <= 50_000
    rented = decide({"task": "full_finetuning", "param_count_b": 7, "budget_usd_total": 50_000}).to_dict()
    assert not rented["recommendation"]["proven"]


def test_hardware_that_is_there_already_is_kept_however_little_it_is_used(decide: Decide) -> None:
    for owned, expected in (["nvidia-l4:4"], "buy"), (["nvidia-v100-16gb"], "rent"):
        facts = {**JOB, "utilization_pct": 20, "gpus_owned": owned, "gpu_candidates": ["nvidia-l4"]}
        assert decide(facts).to_dict()["procurement"]["verdict"] == expected


@pytest.mark.parametrize("count", [{}, {"num_gpus": 8}])
@pytest.mark.parametrize("objective", [{}, {"objective": "balanced"}])
def test_all_cards_that_stand_there_are_used_where_that_is_sooner_for_the_same_power(
    decide: Decide, count: dict[str, int], objective: dict[str, str]
) -> None:
    """What guides say of PCIe is in the computed speed; it is a warning there, and still bars what would be rented."""
    job = {"task": "pretraining", "param_count_b": 1, "train_tokens_b": 20, **count, **objective}
    there = decide(job, gpus_owned=["nvidia-rtx-4090:8"])
    chosen = there.outcome.chosen
    assert chosen is not None
    assert chosen.ranked.plan.id == "nvidia-rtx-4090x8"
    assert "W-PCIE-BOTTLENECK" in {warning["code"] for warning in there.to_dict()["warnings"]}
    if count:
        out = decide(job).to_dict()["rejected"]
        assert any(entry["gpu"] == "nvidia-rtx-4090" for entry in out)


def test_a_verdict_needs_a_rule(decide: Decide) -> None:
    answer = decide(JOB).to_dict()["procurement"]
    assert (answer["verdict"] == "undecided") == (not answer["rules"])
    assert answer["because"]


def test_a_wish_is_kept_to_and_priced_where_a_clear_sum_speaks_against_it(decide: Decide) -> None:
    facts = {**JOB, "utilization_pct": 90, "horizon_years": 3, "gpu_candidates": ["nvidia-l4"], "rent_quote_usd_h": 3}
    answer: dict[str, Any] = decide(facts, procurement_wish="rent").to_dict()
    assert answer["recommendation"]["cost"]["origin"] == "quote"
    sums, wish = answer["procurement"]["comparison"], answer["procurement"]["price_of_wish"]
    assert sums["says"] == "own"
    assert answer["procurement"]["verdict"] == "buy"
    assert (wish["asked"], wish["least"]) == ("rent", "buy")
    assert wish["usd"] == sums["rent_usd"]
    assert wish["usd_more"] == pytest.approx(sums["rent_usd"] - sums["own_usd"], rel=1e-4)
    assert wish["cost_ratio"] == pytest.approx(1 / sums["ratio"], rel=1e-4)


def test_a_wish_that_costs_no_more_has_no_price(decide: Decide) -> None:
    facts = {**JOB, "utilization_pct": 5, "horizon_years": 1, "gpu_candidates": ["nvidia-l4"], "rent_quote_usd_h": 0.5}
    answer = decide(facts, procurement_wish="rent").to_dict()["procurement"]
    assert answer["verdict"] == "rent"
    assert answer["price_of_wish"] is None
    assert decide(facts).to_dict()["procurement"]["price_of_wish"] is None
    bought = decide(facts, procurement_wish="buy").to_dict()["procurement"]
    assert bought["verdict"] == "rent"
    assert bought["price_of_wish"]["asked"] == "buy"
    assert bought["price_of_wish"]["usd_more"] > 0
