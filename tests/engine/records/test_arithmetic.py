"""The arithmetic that a record states: evaluated, and betraying figures that do not follow from each other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Decision
from whichgpu.engine.core.canonical import json_value
from whichgpu.engine.records.arithmetic import check_arithmetic, numbers_by_scope
from whichgpu.engine.records.formulas import figures_of
from whichgpu.engine.records.plan_lines import plan_lines
from whichgpu.engine.records.statement import arithmetic_stated


Json = dict[str, Any]


@pytest.fixture(scope="module")
def answer(small_decision: Decision) -> Json:
    found: Json = json_value(small_decision.to_dict())
    return found


@pytest.mark.parametrize("example", ["llm-serving-70b", "qlora-7b", "lab-rent-or-buy"])
def test_figures_are_evaluated_down_to_inputs_and_constants(
    example_decisions: dict[str, Decision], example: str
) -> None:
    decision = example_decisions[example]
    whole = json_value(decision.to_dict())
    lines = plan_lines(decision, whole)
    stated = arithmetic_stated(decision, whole, lines)
    found = check_arithmetic(whole, stated, lines)
    assert found.faults == ()
    assert found.derived > 20 * found.in_words
    scope = whole["recommendation"]["id"]
    chosen = figures_of(stated["formulas"], scope, numbers_by_scope(whole)[scope])
    assert chosen.keys() >= {"plan.per_gpu_gb", "plan.usd_per_hour", "plan.headroom_pct", "points for cost"}
    assert {name.partition(".")[0] for name in chosen} >= {"memory", "plan", "speed"}
    assert all({"name", "value", "unit", "source"} == entry.keys() for entry in stated["formulas"]["constants"])
    assert {entry["name"].partition(".")[0] for entry in stated["formulas"]["constants"]} >= {"sizing", "speed"}


def test_a_figure_that_does_not_follow_is_named(statement: Json, answer: Json) -> None:
    stated, lines = statement["arithmetic"], statement["plans"]
    assert check_arithmetic(answer, stated, lines).faults == ()
    plan = answer["recommendation"]["id"]
    changed = copy.deepcopy(answer)
    for entry in changed["trace"]:
        if entry["scope"] == plan and "plan.usd_per_month" in entry["effects"]:
            entry["effects"]["plan.usd_per_month"] *= 0.5
    faults = check_arithmetic(changed, stated, lines).faults
    assert f"{plan}: plan.usd_per_month is not what its formula gives" in faults
    changed = copy.deepcopy(answer)
    changed["recommendation"]["points"][0]["points"] += 1
    assert any("score" in fault for fault in check_arithmetic(changed, stated, lines).faults)
    constant = copy.deepcopy(stated)
    constant["formulas"]["constants"][0]["value"] *= 2
    assert check_arithmetic(answer, constant, lines).faults


def test_what_a_search_found_is_held_against_its_equation(decide: Callable[..., Decision]) -> None:
    decision = decide({"task": "inference", "model_name": "llama-3.1-8b", "peak_qps": 2, "gpu_candidates": "l4, l40s"})
    whole = json_value(decision.to_dict())
    lines = plan_lines(decision, whole)
    stated = arithmetic_stated(decision, whole, lines)
    own = stated["formulas"]["plans"][whole["recommendation"]["id"]]
    assert own["zeros"]
    assert check_arithmetic(whole, stated, lines).faults == ()
    own["inputs"][next(iter(own["zeros"]))] *= 1.1
    assert any("does not solve its equation" in fault for fault in check_arithmetic(whole, stated, lines).faults)


def test_what_is_no_arithmetic_is_not_run(answer: Json) -> None:
    for text in (
        "__import__('os').system('true')",
        "().__class__",
        "1 if 1 else 2",
        "x",
        "1/0",
        "sum(x)",
        "(",
        "9**9**9",
        "_0",
    ):
        stated = {"constants": [], "expressions": [{"figure": "score", "expression": text, "except": []}]}
        stated["formulas"] = {"texts": ["_0"], "constants": [], "figures": {}, "parts": {}, "plans": {}}
        found = check_arithmetic(answer, stated)
        assert (found.derived, found.faults) == (0, ())
