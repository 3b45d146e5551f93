"""What the tool answers to a measured point: ``whichgpu size`` on the stated configuration."""

from __future__ import annotations

from typing import Any

from load.points import Point, facts_of
from load.scores import Prediction
from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


def predictions(asked: list[Point], advisor: Advisor | None = None) -> dict[str, Prediction]:
    """For each point's id the speed figures of the answer, or in words why there are none."""
    advisor = advisor or load_advisor(tests=False)
    return {point.id: _prediction(facts_of(point), advisor) for point in asked}


def _prediction(facts: dict[str, Any], advisor: Advisor) -> Prediction:
    try:
        answer = size_workload(advisor, advisor.read({k: v for k, v in facts.items() if k != "id"}))
    except InputError as problem:
        return str(problem).splitlines()[0]
    speed: Any = answer["speed"]
    return {name: float(value) for name, value in speed.items()} if speed else "no speed is computed"
