"""The gate: a plan whose figures cannot be true is refused by name."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.plans import PlanMaker, PlanTable
from whichgpu.engine.plans.gate import band_problems, figure_problems, through_gate
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.model import Figure, SpeedEstimate


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture(scope="module")
def plan(advisor: Advisor) -> Plan:
    facts = {"task": "full_finetuning", "param_count_b": 1.0, "train_tokens_b": 0.1}
    maker = PlanMaker(job_from_facts(facts, None), facts, advisor.knowledge)
    return maker.plan(advisor.knowledge.gpus["nvidia-h100-80gb-sxm"], 1, "one card")


def test_a_sound_plan_passes(plan: Plan) -> None:
    assert figure_problems(plan) == ()
    assert band_problems(plan) == ()


@pytest.mark.parametrize(
    ("fact", "value"), [("plan.usd_per_hour", math.inf), ("plan.hours", math.nan), ("plan.power_w", -1.0)]
)
def test_a_fact_that_cannot_be_true_is_named(plan: Plan, fact: str, value: float) -> None:
    (problem,) = figure_problems(replace(plan, facts={**plan.facts, fact: value}))
    assert problem.figure == fact
    assert problem.why


def test_headroom_may_be_negative(plan: Plan) -> None:
    assert figure_problems(replace(plan, facts={**plan.facts, "plan.headroom_pct": -20.0})) == ()


@pytest.mark.parametrize("mfu", [-0.26, 1.2])
def test_the_share_of_the_peak_lies_within_the_peak(plan: Plan, mfu: float) -> None:
    assert plan.speed is not None
    speed = SpeedEstimate({**plan.speed.values, "mfu": mfu})
    (problem,) = figure_problems(replace(plan, speed=speed))
    assert (problem.figure, problem.value) == ("speed.mfu", mfu)


def test_memory_lies_within_its_band(plan: Plan) -> None:
    assert plan.memory is not None
    memory = dataclasses.replace(plan.memory, high_gb=plan.memory.per_gpu_gb / 2)
    (problem,) = figure_problems(replace(plan, memory=memory))
    assert problem.figure == "memory.per_gpu_gb"


def test_speed_lies_within_its_band(plan: Plan) -> None:
    figure = Figure(10.0, 11.0, 12.0, "tokens/s", "made up", "test")
    speed = SpeedEstimate({"tokens_per_s": 10.0}, lambda: {"tokens_per_s": figure})
    (problem,) = band_problems(replace(plan, speed=speed))
    assert problem.figure == "speed.tokens_per_s"


def test_refused_plans_are_kept_apart_by_name(plan: Plan) -> None:
    wrong = replace(plan, id="wrong", facts={**plan.facts, "plan.usd_per_hour": -1.0})
    passed, refused = through_gate(PlanTable.of([plan, wrong]))
    assert list(passed) == [plan]
    assert [(entry.plan.id, entry.problems[0].figure) for entry in refused] == [("wrong", "plan.usd_per_hour")]


def test_a_refused_plan_is_named_in_the_answer(advisor: Advisor) -> None:
    good = advisor.decide({"task": "inference", "param_count_b": 7}, decided_at=MOMENT)
    assert good.outcome.round is not None
    assert good.outcome.round.refused == ()
    assert "refused" not in good.to_dict()


# ------------------------------------------------------------------ nothing impossible is ever published

_SIZED = st.sampled_from(
    [
        {"model_name": "llama-3.1-8b"},
        {"model_name": "phi-4-mini"},
        {"model_name": "mixtral-8x7b"},
        {"model_name": "sdxl"},
        {"model_name": "resnet50"},
        {"param_count_b": 7},
        {"param_count_b": 0.00001},
        {"param_count_b": 100000},
        {"param_count_b": 700, "active_param_count_b": 0.4},
    ]
)
_TASKS = st.sampled_from(["pretraining", "full_finetuning", "peft_finetuning", "inference", "experimentation"])
#: Kept apart: these fix the plan to one that mostly does not fit, and would leave nothing to look at.
_LEFT_OUT = frozenset({"num_gpus", "num_nodes", "param_count_b", "active_param_count_b"})


def _extremes(fact: FactDef) -> st.SearchStrategy[Any]:
    low, high = fact.min if fact.min is not None else 0.0, fact.max if fact.max is not None else 1e18
    if fact.exclusive_min:
        low = low + (high - low) * 1e-12
    middle = math.sqrt(max(low, 1e-9) * high)
    values = [low, high, middle] if fact.type == "number" else [math.ceil(low), math.floor(high), math.ceil(middle)]
    return st.sampled_from([value for value in values if low <= value <= high])


def _workloads(advisor: Advisor) -> st.SearchStrategy[dict[str, Any]]:
    numeric = [
        fact
        for fact in advisor.vocabulary.facts.values()
        if fact.numeric and fact.scope == "workload" and fact.role != "output" and fact.name not in _LEFT_OUT
    ]
    one = st.sampled_from(numeric).flatmap(lambda fact: st.tuples(st.just(fact.name), _extremes(fact)))
    return st.builds(
        lambda task, sized, extremes: {"task": task, **sized, **dict(extremes)},
        _TASKS,
        _SIZED,
        st.lists(one, min_size=1, max_size=6),
    )


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_answer_holds_a_figure_that_cannot_be_true(advisor: Advisor, data: st.DataObject) -> None:
    workload = data.draw(_workloads(advisor))
    try:
        answer = advisor.decide(workload, decided_at=MOMENT).to_dict()
    except InputError:
        return
    json.dumps(answer, allow_nan=False)
    for plan in filter(None, [answer["recommendation"], *answer["alternatives"]]):
        for part in ("memory", "speed", "cost", "power_w"):
            for path, number in _numbers(plan[part], part):
                assert number >= 0 or path == "memory.headroom_pct", (path, number, workload)
        assert plan["speed"].get("mfu", 0) <= 1
        for name, value in plan["speed"].items():
            low, high = plan["speed"].get(f"{name}_low"), plan["speed"].get(f"{name}_high")
            assert low is None or high is None or low <= value <= high, (name, workload)


def test_years_of_depreciation_have_ends(advisor: Advisor) -> None:
    with pytest.raises(InputError, match=r"at least 0\.5"):
        advisor.read({"task": "inference", "param_count_b": 7, "depreciation_years": 5e-324})
