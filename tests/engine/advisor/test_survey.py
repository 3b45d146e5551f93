"""The survey: surviving plans side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.measures import MeasureColumns, Measures, compared_by, is_job, length_known, measures_of
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.survey import Spread, beside_others, spread, survey_candidates
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.model import Cost, Plan


@pytest.fixture(scope="module")
def plans(decide: Callable[..., Decision]) -> list[Plan]:
    """One L4, one RTX 4090, two L40S in each split."""
    facts = {"task": "inference", "param_count_b": 8, "weight_precision": "fp16", "model_family": "llm"}
    single = decide(facts, gpu_candidates=["L4", "RTX 4090"], num_gpus=1).outcome.round
    double = decide(facts, gpu_candidates=["L40S"], num_gpus=2).outcome.round
    assert single is not None
    assert double is not None
    return [*single.plans, *double.plans]


@pytest.fixture(scope="module")
def balanced(advisor: Advisor) -> Objective:
    return advisor.objectives["balanced"]


@pytest.mark.parametrize(
    ("facts", "job"),
    [
        ({"task": "pretraining"}, True),
        ({"task": "full_finetuning", "run_hours": 2}, True),
        ({"task": "inference"}, False),
        ({"task": "inference", "serving_mode": "batch"}, True),
        ({"task": "inference", "serving_mode": "realtime"}, False),
        ({"task": "inference", "traffic_level": "massive", "always_on": True}, False),
    ],
)
def test_a_service_is_there_to_be_asked_and_everything_else_is_a_job(facts: Facts, job: bool) -> None:
    assert is_job(facts) is job


def costing(plan: Plan, cost: Cost) -> Plan:
    """The plan at another cost, in its facts as well."""
    prices = {"plan.usd_per_hour": cost.usd_per_hour, "plan.usd_per_month": cost.usd_per_month}
    origins = {"plan.offered": "none", "plan.owned": "owned", "plan.bought": "purchase"}
    facts = {name: value for name, value in plan.facts.items() if name not in prices and name != "plan.count"}
    facts |= {name: value for name, value in prices.items() if value is not None}
    facts |= {name: (cost.origin == origin) != (origin == "none") for name, origin in origins.items()}
    facts["plan.assumed_price"] = cost.assumed
    return replace(plan, cost=cost, facts=facts)


def measured(plan: Plan, objective: Objective, *, job: bool, by_run: bool = False) -> Measures:
    return measures_of(
        [plan], job=job, by_run=by_run, objective=objective, highest_usd_per_gpu_hour=20, rate_stated=True
    ).row(0)


@pytest.mark.parametrize(
    ("facts", "tried_out"), [({"task": "experimentation"}, True), ({"task": "peft_finetuning"}, False), ({}, False)]
)
def test_experiments_are_what_is_tried_out(facts: Facts, tried_out: bool) -> None:
    assert compared_by(facts).tried_out is tried_out


def test_whoever_tries_things_out_is_weighed_by_the_hour_unless_the_run_is_known(
    plans: list[Plan], balanced: Objective
) -> None:
    def weighed(*compared: Plan, by_run: bool, tried_out: bool) -> list[float]:
        how = {"job": True, "by_run": by_run, "tried_out": tried_out}
        found = measures_of(compared, objective=balanced, highest_usd_per_gpu_hour=20, **how)
        return [float(cost) for cost in found.weighed_cost]

    hourly = [(plan.cost.usd_per_hour or 0.0) + balanced.around_usd_per_hour for plan in plans]
    assert weighed(*plans, by_run=False, tried_out=True) == pytest.approx(hourly)
    assert weighed(*plans, by_run=False, tried_out=False) != pytest.approx(hourly)
    runs = [replace(plan, facts={**plan.facts, "plan.hours": 30.0}) for plan in plans]
    assert weighed(*runs, by_run=True, tried_out=True) == pytest.approx([30 * rate for rate in hourly])


def test_a_service_costs_its_month_and_takes_the_time_of_an_answer(plans: list[Plan], balanced: Objective) -> None:
    plan = plans[0]
    found = measured(plan, balanced, job=False)
    assert found.cost == plan.cost.usd_per_month
    assert found.time == plan.facts["plan.latency_ms"]
    assert plan.cost.usd_per_hour is not None
    assert found.weighed_cost == plan.cost.usd_per_hour + balanced.around_usd_per_hour


def test_a_service_without_a_month_costs_its_hour(plans: list[Plan], balanced: Objective) -> None:
    plan = costing(plans[0], replace(plans[0].cost, usd_per_month=None))
    assert measured(plan, balanced, job=False).cost == plan.cost.usd_per_hour


def test_a_job_costs_its_hours_times_the_time_of_a_piece(plans: list[Plan], balanced: Objective) -> None:
    plan = plans[0]
    speed = plan.facts["plan.tokens_per_s"]
    assert isinstance(speed, float)
    assert plan.cost.usd_per_hour is not None
    found = measured(plan, balanced, job=True)
    assert found.time == pytest.approx(1 / speed)
    assert found.cost == pytest.approx(plan.cost.usd_per_hour / speed)
    run = replace(plan, facts={**plan.facts, "plan.hours": 30.0})
    timed = measured(run, balanced, job=True, by_run=True)
    assert timed.cost == pytest.approx(plan.cost.usd_per_hour * 30)
    assert timed.time == pytest.approx(1 / speed)  # A run of stated steps may do more work on more GPUs.


def test_bought_hardware_is_paid_for_while_it_stands_idle(plans: list[Plan], balanced: Objective) -> None:
    slow = costing(plans[0], Cost(usd_per_hour=1, origin="purchase"))
    fast = costing(plans[1], Cost(usd_per_hour=2, origin="purchase"))
    owned = costing(plans[0], Cost(usd_per_hour=0.5, origin="owned"))

    def costs(*compared: Plan, stands_idle: bool) -> list[float]:
        found = measures_of(
            compared,
            job=True,
            by_run=False,
            objective=balanced,
            highest_usd_per_gpu_hour=20,
            stands_idle=stands_idle,
        )
        return [float(cost) for cost in found.cost]

    time = [measured(plan, balanced, job=True).time for plan in (slow, fast)]
    assert time[0] > time[1]
    assert costs(slow, fast, stands_idle=False) == pytest.approx([time[0], 2 * time[1]])
    assert costs(slow, fast, stands_idle=True) == pytest.approx([time[0], 2 * time[0]])
    assert costs(owned, fast, stands_idle=False) == pytest.approx([0.5 * time[0], 2 * time[0]])


def test_a_run_is_the_piece_of_work_only_where_it_is_known_on_every_plan(plans: list[Plan]) -> None:
    runs = [replace(plan, facts={**plan.facts, "plan.hours": 30.0}) for plan in plans]
    assert length_known(runs)
    assert length_known([*runs, replace(plans[0], facts={})])
    assert not length_known([*runs, plans[0]])
    assert not length_known([])


def test_a_job_of_unknown_speed_costs_its_hour_and_has_no_time(plans: list[Plan], balanced: Objective) -> None:
    rate = plans[0].cost.usd_per_hour
    assert rate is not None
    plan = replace(plans[0], facts={"plan.usd_per_hour": rate})
    found = measured(plan, balanced, job=True)
    assert (found.cost, found.time, found.speed) == (plan.cost.usd_per_hour, None, None)


def test_an_unknown_price_weighs_as_the_highest_rate_for_every_gpu(plans: list[Plan], balanced: Objective) -> None:
    plan = costing(replace(plans[0], count=3), Cost())
    found = measured(plan, balanced, job=False)
    assert (found.cost, found.weighed_cost) == (None, 60 + balanced.around_usd_per_hour)


def test_evidence_asks_more_gpus_for_more_speed(plans: list[Plan], balanced: Objective) -> None:
    found = measured(plans[2], balanced, job=False)
    assert plans[2].count == 2
    assert found.perceived_time is not None
    assert found.weighed_time == pytest.approx(found.perceived_time * balanced.gain_of_doubling)


@pytest.mark.parametrize(("latency_ms", "share"), [(0.2, 1), (1.0, 1), (4.0, 4)])
def test_an_answer_that_is_there_at_once_is_no_better_sooner(
    plans: list[Plan], balanced: Objective, latency_ms: float, share: float
) -> None:
    objective = replace(balanced, at_once_ms=1.0)
    plan = replace(plans[0], facts={**plans[0].facts, "plan.latency_mean_ms": latency_ms})
    found = measured(plan, objective, job=False)
    assert (found.time, found.perceived_time) == (latency_ms, share * objective.at_once_ms)


def test_an_answer_later_than_people_bear_counts_as_costlier(plans: list[Plan], balanced: Objective) -> None:
    objective = replace(balanced, patience=2)
    late, sooner = (
        measured(replace(plans[0], facts={**plans[0].facts, "plan.lateness": share}), objective, job=False)
        for share in (6.0, 2.0)
    )
    assert (late.cost, late.lateness, sooner.lateness) == (sooner.cost, 3, 1)
    assert late.perceived_cost == pytest.approx(3 * sooner.perceived_cost)
    assert late.weighed_cost == pytest.approx(3 * sooner.weighed_cost)


def test_no_answer_is_late_where_cost_does_not_count(plans: list[Plan], advisor: Advisor) -> None:
    plan = replace(plans[0], facts={**plans[0].facts, "plan.lateness": 6.0})
    assert measured(plan, advisor.objectives["fastest"], job=False).lateness == 1


def test_who_wants_the_fastest_is_given_all_of_its_speed(advisor: Advisor) -> None:
    assert advisor.objectives["fastest"].at_once_ms == 0
    assert advisor.objectives["balanced"].at_once_ms > 0


def test_work_done_piece_by_piece_is_perceived_as_long_as_it_takes(plans: list[Plan], balanced: Objective) -> None:
    found = measured(plans[0], balanced, job=True)
    assert found.perceived_time == found.time


def test_a_spread_has_ends_only_where_figures_are_known() -> None:
    assert spread(MeasureColumns.of([])) == Spread(None, None, None, None)
    ends = spread(MeasureColumns.of([Measures(2, None, 3), Measures(None, 5, 1, 5), Measures(8, 4, 9, 8)]))
    assert ends == Spread(cheapest=3, fastest=1 / 4, weighed_fastest=1 / 5, weighed_slowest=1 / 8, least_cost=2)


def test_a_plan_stands_beside_the_best() -> None:
    ends = Spread(3, 1 / 5, 1 / 5, 1 / 10, 2)
    measures = MeasureColumns.of([Measures(4, 10), Measures(None, None)])
    found = beside_others(measures, ends)
    assert {name: column.at(0) for name, column in found.items()} == {
        "plan.cost_vs_cheapest": 2,
        "plan.speed_vs_fastest": 0.5,
    }
    assert {column.at(1) for column in found.values()} == {None}
    assert beside_others(measures, Spread(None, None, None, None)) == {}


def unmeasured(plans: list[Plan]) -> MeasureColumns:
    return MeasureColumns.of([Measures(None, None) for _ in plans])


def test_the_survey_tells_whether_renting_undercuts_what_is_owned(plans: list[Plan]) -> None:
    owned = costing(plans[0], Cost(origin="owned", usd_per_hour=0.2))
    rented = costing(plans[1], Cost(origin="offer", usd_per_hour=0.1))
    bought = costing(plans[2], Cost(origin="purchase", usd_per_hour=0.01))

    def undercut(*costs: float | None) -> object:
        candidates = survey_candidates(
            [owned, rented, bought], MeasureColumns.of([Measures(cost, None) for cost in costs])
        )
        return candidates["renting_undercuts_owned"][0].value

    assert undercut(2, 1, 3) is True
    assert undercut(2, 3, 1) is False
    assert undercut(2, None, 1) is False
    late = MeasureColumns.of([Measures(2, None, lateness=40.0), Measures(9, None)])
    assert survey_candidates([owned, rented], late)["renting_undercuts_owned"][0].value is True
    # A price that is scaled up from other shapes is nobody's offer.
    rented = costing(plans[1], Cost(origin="offer", usd_per_hour=0.1, assumed=True))
    assert undercut(2, 1, 3) is False
    assert "renting_undercuts_owned" not in survey_candidates([rented], MeasureColumns.of([Measures(1, None)]))


def test_the_survey_counts_and_compares(plans: list[Plan]) -> None:
    values = {name: candidates[0].value for name, candidates in survey_candidates(plans, unmeasured(plans)).items()}
    assert values["surviving_plans"] == len(plans)
    assert values["fits_one_gpu"] is True
    assert values["fits_consumer_gpu"] is True
    assert values["min_gpu_count"] == 1
    assert values["cheapest_usd_per_hour"] == min(p.cost.usd_per_hour for p in plans if p.cost.usd_per_hour)
    without = {
        name: candidates[0].value for name, candidates in survey_candidates(plans[2:], unmeasured(plans[2:])).items()
    }
    assert (without["fits_one_gpu"], without["fits_consumer_gpu"], without["min_gpu_count"]) == (True, False, 1)


def test_of_no_plans_only_their_number_is_known() -> None:
    assert {name: candidates[0].value for name, candidates in survey_candidates([], unmeasured([])).items()} == {
        "surviving_plans": 0
    }


def test_runs_none_of_which_has_a_known_length_are_measured_without_a_warning(decide: Callable[..., Decision]) -> None:
    facts = {"task": "full_finetuning", "model_name": "llama-3.1-70b", "compute_precision": "mixed"}
    facts |= {"sharding": "zero3", "gradient_checkpointing": "full", "optimizer": "adamw"}
    length = {"train_tokens_b": 1, "seq_len_tokens": 4096, "batch_size_per_gpu": 1, "deadline_hours": 168}
    assert decide(facts, **length, gpu_candidates=["nvidia-h100-80gb-sxm"]).trade_offs()
