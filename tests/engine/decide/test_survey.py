"""The survey: surviving plans side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.decide.survey import Measures
from engine.decide.survey import Spread
from engine.decide.survey import beside_others
from engine.decide.survey import cost_is_per_work
from engine.decide.survey import measure
from engine.decide.survey import spread
from engine.decide.survey import survey_claims
from engine.expertise import Decision
from engine.plans.model import Cost
from engine.plans.model import Plan


@pytest.fixture(scope="module")
def plans(decide: Callable[..., Decision]) -> list[Plan]:
    """One L4, one RTX 4090, two L40S."""
    facts = {"task": "inference", "param_count_b": 8, "weight_precision": "fp16", "model_family": "llm"}
    single = decide(facts, gpu_candidates=["L4", "RTX 4090"], num_gpus=1).outcome.round
    double = decide(facts, gpu_candidates=["L40S"], num_gpus=2).outcome.round
    assert single is not None
    assert double is not None
    return [*single.plans, *double.plans]


@pytest.mark.parametrize(
    ("facts", "per_work"),
    [
        ({"task": "pretraining"}, True),
        ({"task": "pretraining", "run_hours": 2}, False),
        ({"task": "pretraining", "run_hours": 3}, True),
        ({"task": "inference"}, False),
        ({"task": "inference", "serving_mode": "batch"}, True),
        ({"task": "inference", "traffic_level": "massive"}, True),
        ({"task": "inference", "traffic_level": "low"}, False),
        ({"task": "inference", "traffic_level": "moderate", "always_on": True}, True),
        ({"task": "inference", "traffic_level": "moderate", "always_on": False}, False),
        ({}, False),
    ],
)
def test_work_is_priced_where_hardware_is_busy(facts: dict[str, str | int | bool], per_work: bool) -> None:
    assert cost_is_per_work(facts) is per_work


def test_the_price_of_an_hour_includes_what_surrounds_it(plans: list[Plan]) -> None:
    plan = plans[0]
    assert plan.cost.usd_per_hour is not None
    found = measure(plan, per_work=False, around_usd_per_hour=0.25, dearest_usd_per_gpu_hour=20)
    assert found.cost == plan.cost.usd_per_hour + 0.25
    assert found.feared is None


def test_an_unknown_price_is_feared_to_be_the_dearest_rate_for_every_gpu(plans: list[Plan]) -> None:
    plan = replace(plans[0], count=3, cost=Cost())
    found = measure(plan, per_work=False, around_usd_per_hour=0.5, dearest_usd_per_gpu_hour=20)
    assert (found.cost, found.feared) == (None, 60.5)


def test_the_price_of_work_divides_by_speed(plans: list[Plan]) -> None:
    plan = plans[0]
    speed = plan.facts["plan.tokens_per_s"]
    assert isinstance(speed, float)
    assert plan.cost.usd_per_hour is not None
    found = measure(plan, per_work=True, around_usd_per_hour=0, dearest_usd_per_gpu_hour=20)
    assert found.cost == pytest.approx(plan.cost.usd_per_hour / (speed * 3600) * 1e6)


def test_a_spread_has_ends_only_where_figures_are_known() -> None:
    assert spread([]) == Spread(None, None, None, None)
    assert spread([Measures(2, None), Measures(None, 5), Measures(8, 7)]) == Spread(2, 8, 7, 5)


def test_a_plan_stands_beside_the_best() -> None:
    ends = Spread(2, 8, 10, 5)
    assert beside_others(Measures(4, 5), ends) == {"plan.cost_vs_cheapest": 2, "plan.speed_vs_fastest": 0.5}
    assert beside_others(Measures(None, None), ends) == {}
    assert beside_others(Measures(4, 5), Spread(None, None, None, None)) == {}


def test_the_survey_counts_and_compares(plans: list[Plan]) -> None:
    values = {name: claims[0].value for name, claims in survey_claims(plans).items()}
    assert values["surviving_plans"] == 3
    assert values["fits_one_gpu"] is True
    assert values["fits_consumer_gpu"] is True
    assert values["min_gpu_count"] == 1
    assert values["cheapest_usd_per_hour"] == min(p.cost.usd_per_hour for p in plans if p.cost.usd_per_hour)
    without = {name: claims[0].value for name, claims in survey_claims(plans[2:]).items()}
    assert (without["fits_one_gpu"], without["fits_consumer_gpu"], without["min_gpu_count"]) == (True, False, 1)


def test_of_no_plans_only_their_number_is_known() -> None:
    assert {name: claims[0].value for name, claims in survey_claims([]).items()} == {"surviving_plans": 0}
