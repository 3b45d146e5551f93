"""Expectations of scenarios: each is met by an answer that has it and missed, in words, by one that has not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.authoring.testing.expectations import Expectation, same


@pytest.fixture
def answer() -> dict[str, Any]:
    """A made-up answer that holds something for every expectation."""
    plan = {"gpu": "nvidia-l40s", "count": 2, "link": "pcie", "node_link": "none"}
    return {
        "recommendation": plan,
        "alternatives": [{**plan, "gpu": "nvidia-t4", "count": 1}, {**plan, "gpu": "nvidia-h100-80gb-sxm", "count": 1}],
        "candidates": [{"gpu": "nvidia-t4", "facts": {"vram_gb": 16, "link_gbs": None}}],
        "procurement": {"verdict": "rent"},
        "advice": [{"code": "A-ONE"}],
        "warnings": [{"code": "W-ONE"}],
        "open_questions": [{"fact": "peak_qps"}],
        "assumptions": [{"fact": "context_tokens"}],
        "facts": {"task": {"value": "inference"}, "link_required": {"value": "nvlink"}},
        "sizing": {"required_vram_gb": 70.0},
        "figures": {"mfu_pct": {"value": [40, 50]}, "vram_band_gb": {"value": [60, 90]}},
        "phases": [{"phase": "training", "recommendation": plan}, {"phase": "serving", "recommendation": None}],
    }


@pytest.mark.parametrize(
    ("key", "met", "missed", "words"),
    [
        (
            "sets_any_of",
            [{"gpu": "nvidia-l40s", "count": [2, None]}],
            [{"gpu": "nvidia-t4", "count": [2, 4]}],
            "2 x nvidia-l40s",
        ),
        ("forbid_single", ["nvidia-l40s"], ["nvidia-t4"], "one nvidia-t4"),
        ("forbid_gpus", ["nvidia-l4"], ["nvidia-t4"], "nvidia-t4 is recommended"),
        (
            "prefer_over",
            [{"better": "nvidia-l40s", "worse": "nvidia-t4"}],
            [{"better": "nvidia-t4", "worse": "nvidia-l40s"}],
            "ranks above",
        ),
        (
            "prefer_over",
            [{"better": "nvidia-l40s", "worse": "nvidia-l4"}],
            [{"better": "nvidia-l4", "worse": "nvidia-t4"}],
            "not recommended at all",
        ),
        ("gpu_count", [1, None], [3, 8], "2 GPUs are recommended"),
        ("min_vram_gb", 96, 97, "96 GB, less than 97"),
        ("vram_range_gb", [65, 75], [10, 20], "neither need nor plan"),
        ("vram_range_gb", [80, 200], [300, 400], "neither need nor plan"),
        ("interconnect", "nvlink", "infiniband", "infiniband is expected"),
        ("procurement", ["rent", "hybrid"], ["buy"], "the verdict is rent"),
        ("advice_all", ["A-ONE"], ["A-ONE", "A-TWO"], "A-TWO is missing"),
        ("advice_any", ["A-TWO", "A-ONE"], ["A-TWO"], "none of A-TWO"),
        ("warnings_all", ["W-ONE"], ["W-TWO"], "W-TWO is missing"),
        ("warnings_any", ["W-ONE"], ["W-TWO"], "none of W-TWO"),
        ("forbid_advice", ["A-TWO"], ["A-ONE"], "A-ONE is advised"),
        ("ask", ["peak_qps", "context_tokens"], ["task"], "neither asked nor assumed"),
        (
            "facts",
            {"task": "inference", "required_vram_gb": 71, "mfu_pct": [40, 51]},
            {"required_vram_gb": 80},
            "not 80",
        ),
        ("facts", {}, {"nonsense": 1}, "not in the answer"),
        ("candidate_facts", {"nvidia-t4": {"vram_gb": 16}}, {"nvidia-t4": {"vram_gb": 24}}, "not 24"),
        ("candidate_facts", {}, {"nvidia-l4": {"vram_gb": 24}}, "not among the candidates"),
        ("separate_phases", False, True, "1 phases"),
    ],
)
def test_an_expectation_is_met_or_missed_in_words(
    key: str, met: Any, missed: Any, words: str, answer: dict[str, Any], advisor: Advisor
) -> None:
    case = Expectation(answer, advisor.knowledge)
    assert case.check({key: met}) == []
    found = case.check({key: missed})
    assert found
    assert words in "; ".join(found)


def test_an_unknown_expectation_is_a_miss(answer: dict[str, Any], advisor: Advisor) -> None:
    assert "is no known expectation" in Expectation(answer, advisor.knowledge).check({"gpu_cuont": [1, 1]})[0]


def test_without_a_recommendation_counts_and_memory_are_missed(answer: dict[str, Any], advisor: Advisor) -> None:
    empty = {**copy.deepcopy(answer), "recommendation": None, "alternatives": []}
    case = Expectation(empty, advisor.knowledge)
    assert len(case.check({"gpu_count": [1, 1], "min_vram_gb": 1, "interconnect": "pcie"})) == 3
    assert case.check({"sets_any_of": [{"gpu": "nvidia-t4"}]}) == [
        "none of the expected sets is recommended; the answer has nothing"
    ]
    assert case.check({"forbid_gpus": ["nvidia-t4"], "forbid_single": ["nvidia-t4"]}) == []


def test_a_scenario_that_names_an_unknown_gpu_is_an_error(answer: dict[str, Any], advisor: Advisor) -> None:
    with pytest.raises(KeyError, match="nvidia-nonsense"):
        Expectation(answer, advisor.knowledge).check({"forbid_gpus": ["nvidia-nonsense"]})


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        (100, 102.9, True),
        (100, 103.1, False),
        (True, 1, False),
        (True, True, True),
        ([1, 2], [1, 2.01], True),
        ([1, 2], [1], False),
        ("a", "a", True),
        (1, None, False),
    ],
)
def test_same(wanted: Any, found: Any, expected: bool) -> None:
    assert same(wanted, found) is expected
