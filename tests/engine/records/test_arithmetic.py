"""The arithmetic that a record states: evaluated, and betraying figures that do not follow from each other."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from whichgpu.engine.core.canonical import json_value
from whichgpu.engine.records.arithmetic import EXPRESSIONS, arithmetic_of, check_arithmetic


Json = dict[str, Any]


@pytest.fixture(scope="module")
def knowledge(statement: Json) -> Json:
    found: Json = statement["data"]["knowledge"]
    return found


@pytest.mark.parametrize("example", ["llm-serving-70b", "qlora-7b", "lab-rent-or-buy"])
def test_expressions_hold_on_serving_and_on_training(
    example_answers: dict[str, Json], knowledge: Json, example: str
) -> None:
    answer = json_value(example_answers[example])
    stated = arithmetic_of(answer, knowledge)
    found = check_arithmetic(answer, stated)
    assert found.faults == ()
    assert found.derived > 5 * len(answer["alternatives"])
    figures = {entry["figure"] for entry in stated["expressions"]}
    assert figures >= {"plan.per_gpu_gb", "plan.needed_gb", "plan.headroom_pct", "score"}
    assert all({"name", "value", "unit", "source"} == entry.keys() for entry in stated["constants"])
    assert {entry["name"] for entry in stated["constants"]} >= {"hours_per_month", "cost_points"}


def test_a_figure_that_does_not_follow_is_named(example_answers: dict[str, Json], knowledge: Json) -> None:
    answer = json_value(example_answers["llm-serving-70b"])
    stated = arithmetic_of(answer, knowledge)
    plan = answer["recommendation"]["id"]
    changed = copy.deepcopy(answer)
    for entry in changed["trace"]:
        if entry["scope"] == plan and "plan.usd_per_month" in entry["effects"]:
            entry["effects"]["plan.usd_per_month"] *= 0.5
    faults = check_arithmetic(changed, stated).faults
    assert faults == (f"{plan}: plan.usd_per_month is not {EXPRESSIONS['plan.usd_per_month']}",)
    changed = copy.deepcopy(answer)
    changed["recommendation"]["points"][0]["points"] += 1
    assert any("score" in fault for fault in check_arithmetic(changed, stated).faults)


def test_what_is_no_arithmetic_is_not_run(example_answers: dict[str, Json]) -> None:
    answer = json_value(example_answers["llm-serving-70b"])
    for text in (
        "__import__('os').system('true')",
        "().__class__",
        "1 if 1 else 2",
        "x",
        "1/0",
        "sum(x)",
        "(",
        "9**9**9",
    ):
        stated = {"constants": [], "expressions": [{"figure": "score", "expression": text, "except": []}]}
        found = check_arithmetic(answer, stated)
        assert (found.derived, found.faults) == (0, ())
