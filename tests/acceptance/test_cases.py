"""What five guides say of stated workloads: a ``must`` is met; a ``should`` is met, or its miss is explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.authoring.testing.expectations import Expectation

from .conftest import below_arithmetic


Case = dict[str, Any]


@pytest.fixture(scope="session")
def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema_of("decision_line", closed=True))


def test_a_case_is_answered_as_its_guide_says(
    case: Case,
    advisor: Advisor,
    answer_to: Callable[[Any], dict[str, Any]],
    known_misses: dict[str, str],
    validator: jsonschema_rs.Draft202012Validator,
) -> None:
    answer = answer_to(case["workload"])
    validator.validate(answer)
    misses = Expectation(answer, advisor.knowledge).check(case["expect"])
    if case["id"] in known_misses and case["strength"] == "should":
        assert misses, f"{case['id']} is met again: take it out of known_misses.yaml"
    else:
        assert not misses, "; ".join(misses)


def test_only_soft_cases_may_be_missed_and_each_says_why(cases: list[Case], known_misses: dict[str, str]) -> None:
    soft = {case["id"] for case in cases if case["strength"] == "should"}
    assert set(known_misses) <= soft
    assert all(len(reason) > 30 for reason in known_misses.values())


def test_no_case_asks_for_less_memory_than_arithmetic(cases: list[Case], advisor: Advisor, answer_to: Any) -> None:
    """What a case's formula comes to is the floor of what the recommended plan has."""
    short = below_arithmetic(cases, answer_to, advisor)
    assert not short
