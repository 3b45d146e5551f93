"""Workloads that nothing in the model describes get no confident number."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from whichgpu import Advisor
from whichgpu.engine.catalogue.jobs import LEVELS


CASES = yaml.safe_load((Path(__file__).parents[1] / "outside_competence.yaml").read_text(encoding="utf-8"))["cases"]


def decided(advisor: Advisor, workload: dict[str, Any]) -> dict[str, Any]:
    """The answer to a workload."""
    return advisor.decide(advisor.read(workload), decided_at=datetime(2026, 11, 20, tzinfo=UTC)).to_dict()


def figures_of(plan: dict[str, Any]) -> set[str]:
    """Names of the figures of speed that a plan gives."""
    return {name for name in plan["speed"] if not name.endswith(("_low", "_high"))}


def too_confident(plan: dict[str, Any], case: dict[str, Any]) -> list[str]:
    """What a plan claims to know better than the case allows, or gives without a level."""
    best = {"memory": case.get("memory", "rule_of_thumb")}
    claimed = []
    for name in ("memory", *sorted(figures_of(plan))):
        level = plan["support"][name]["level"]
        allowed = best.get(name, case.get("speed", "rule_of_thumb"))
        if LEVELS.index(level) > LEVELS.index(allowed):
            claimed.append(f"{name} is {level}, and may be {allowed}")
        if name != "memory" and level == "none":
            claimed.append(f"{name} has no support and is given")
    return claimed


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("told", CASES, ids=[case["id"] for case in CASES])
def test_no_confident_number_outside_competence(advisor: Advisor, told: dict[str, Any]) -> None:
    answer = decided(advisor, told["workload"])
    plan = answer["recommendation"]
    plans = [plan, *answer["alternatives"]] if plan else []
    assert plans or answer["no_answer"]
    for each in plans:
        assert too_confident(each, told) == [], each["id"]
        parts = each["memory"]["breakdown"].keys() if each["memory"] else set()
        assert not (figures_of(each) | parts) & set(told.get("absent", ()))
        withheld = [entry for entry in each["support"].values() if entry["level"] == "none"]
        assert all(entry["reason"] and entry["measure"] for entry in withheld)
        if each["support"]["memory"]["level"] == "rule_of_thumb" and each["why_count"] != "stated":
            low, high = each["count_range"]
            assert low <= each["count"] <= high
        if each["support"]["memory"]["level"] == "none":
            assert each["memory"] is None
            assert not each["proven"]
    assert not answer["sizing"].keys() & set(told.get("absent", ()))
    if told.get("speed") == "none":
        assert all(entry["level"] == "none" for name, entry in plan["support"].items() if name != "memory")
    if "unverified" in told:
        assert told["unverified"] in {gap["limit"] for gap in plan["unverified"]}
        assert not plan["proven"]
    if "gpu" in told:
        assert plan["gpu"] == told["gpu"]


def test_what_is_described_says_how_well(advisor: Advisor) -> None:
    workload = {"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["H100"], "concurrency": 8}
    plan = decided(advisor, workload)["recommendation"]
    assert "count_range" not in plan
    assert {entry["level"] for entry in plan["support"].values()} == {"measured"}
    assert figures_of(plan) <= plan["support"].keys()


def test_an_architecture_that_was_not_measured_is_computed(advisor: Advisor) -> None:
    workload = {"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["V100 32GB"], "concurrency": 8}
    plan = decided(advisor, workload)["recommendation"]
    assert {entry["level"] for entry in plan["support"].values()} == {"computed"}
