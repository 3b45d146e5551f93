"""The answer to a case is no accident of its numbers.

Each public case is decided again with its size 10 % up and 10 % down, and every second one with one fact that does not
bear on it; ``test_decision_laws.py`` has the same law of workloads that are made up. The
*class* of the answer must stay: the expectations of the case that the answer meets, apart from figures that follow from
the size (memory, counts, computed facts) and with any count of an expected GPU. An irrelevant fact changes no
expectation at all. Where a shift crosses the edge of a card's memory the class may turn; ``known_flips.yaml`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.authoring.testing.expectations import Expectation
from whichgpu.engine.core.errors import InputError


Case = dict[str, Any]

#: Facts that say how large the job is.
SIZES = ("param_count_b", "active_param_count_b", "required_vram_gb", "image_px")
#: Expectations that follow from the size.
SIZED = frozenset({"min_vram_gb", "vram_range_gb", "gpu_count", "facts"})
CHANGES = {"10 % larger": 1.1, "10 % smaller": 0.9}


def loosened(expect: dict[str, Any]) -> dict[str, Any]:
    """The expectations that make up the class of an answer."""
    kept = {key: value for key, value in expect.items() if key not in SIZED}
    if "sets_any_of" in kept:
        kept["sets_any_of"] = [{"gpu": entry["gpu"]} for entry in kept["sets_any_of"]]
    return kept


def met(answer: dict[str, Any], expect: dict[str, Any], advisor: Advisor) -> set[str]:
    """The expectations that an answer meets, by name."""
    check = Expectation(answer, advisor.knowledge).check
    return {key for key, value in expect.items() if not check({key: value})}


def resized(workload: dict[str, Any], share: float) -> dict[str, Any]:
    """The workload with each of its sizes multiplied."""
    changed = dict(workload)
    for name in SIZES:
        value = workload.get(name)
        if isinstance(value, int | float):
            changed[name] = max(1, round(value * share)) if name == "image_px" else round(value * share, 4)
    return changed


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_a_tenth_more_or_less_keeps_the_class_of_the_answer(
    case: Case,
    change: str,
    advisor: Advisor,
    answer_to: Callable[[Any], dict[str, Any]],
    known_flips: dict[str, str],
) -> None:
    workload = resized(case["workload"], CHANGES[change])
    if workload == case["workload"]:
        return  # The case states no size.
    expect = loosened(case["expect"])
    try:
        shifted = answer_to(workload)
    except InputError as error:
        if any(problem.code != "contradicts-the-model" for problem in error.problems):
            raise
        return  # A named model of another size is another model, and no such job.
    lost = met(answer_to(case["workload"]), expect, advisor) - met(shifted, expect, advisor)
    if f"{case['id']}, {change}" in known_flips:
        assert lost, "the class stays: take the entry out of known_flips.yaml"
    else:
        assert not lost


def test_a_fact_that_does_not_bear_on_it_changes_no_expectation(
    second_case: Case, advisor: Advisor, answer_to: Callable[[Any], dict[str, Any]]
) -> None:
    serving = second_case["workload"].get("task") == "inference"
    other = {"gradient_accumulation_steps": 4} if serving else {"tpot_slo_ms": 45}
    before = met(answer_to(second_case["workload"]), second_case["expect"], advisor)
    assert met(answer_to({**other, **second_case["workload"]}), second_case["expect"], advisor) == before


def test_known_flips_are_of_known_cases(cases: list[Case], known_flips: dict[str, str]) -> None:
    assert set(known_flips) <= {f"{case['id']}, {change}" for case in cases for change in CHANGES}
    assert all(len(reason) > 30 for reason in known_flips.values())
