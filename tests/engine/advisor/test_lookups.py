"""Look-ups: the named model's figures, or a clear word on what is missing."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.lookups import look_up
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.values import Value


def found_facts(advisor: Advisor, **given: Value) -> dict[str, Value]:
    found = look_up(given, advisor.knowledge, advisor.vocabulary)
    assert all(
        candidate.sources and candidate.formula for candidates in found.candidates.values() for candidate in candidates
    )
    return {name: candidates[0].value for name, candidates in found.candidates.items()}


def test_without_a_name_nothing_is_looked_up(advisor: Advisor) -> None:
    found = look_up({"param_count_b": 8}, advisor.knowledge, advisor.vocabulary)
    assert (found.model, found.candidates) == (None, {})


def test_a_known_model_brings_its_figures_with_sources(advisor: Advisor) -> None:
    facts = found_facts(advisor, model_name="llama-3.1-8b")
    assert facts["param_count_b"] == pytest.approx(8.03, rel=0.01)
    assert (facts["model_family"], facts["is_moe"]) == ("llm", False)


def test_experts_are_distinguished_from_dense_models(advisor: Advisor) -> None:
    facts = found_facts(advisor, model_name="mixtral-8x7b")
    assert facts["is_moe"] is True
    assert isinstance(facts["active_param_count_b"], float)
    assert facts["active_param_count_b"] < facts["param_count_b"]  # type: ignore[operator]


def test_a_detector_is_a_vision_model(advisor: Advisor) -> None:
    facts = found_facts(advisor, model_name="yolov8x")
    assert (facts["model_family"], facts["vision_task"]) == ("vision", "detection")


def test_a_quantized_name_brings_its_precision(advisor: Advisor) -> None:
    facts = found_facts(advisor, model_name="meta-llama-3.1-8b-instruct-awq-int4")
    assert facts["weight_precision"] == "awq-int4"


def test_an_unknown_model_is_refused_with_the_nearest(advisor: Advisor) -> None:
    with pytest.raises(InputError) as caught:
        look_up({"model_name": "llama-3.1-9b-ultra"}, advisor.knowledge, advisor.vocabulary)
    (problem,) = caught.value.problems
    assert (problem.code, problem.fact) == ("unknown-model", "model_name")
    assert "param_count_b" in (problem.fix or "")


@pytest.mark.parametrize(
    "size",
    [
        {"param_count_b": 9.0},
        {"required_vram_gb": 40.0},
        {"model_size_class": "small"},
        {"model_family": "vision"},
    ],
)
def test_an_unknown_model_whose_size_is_said_is_no_error(advisor: Advisor, size: dict[str, Value]) -> None:
    found = look_up({"model_name": "our-own-model", **size}, advisor.knowledge, advisor.vocabulary)
    assert found.model is None


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nothing"])
def test_a_path_that_leads_nowhere_is_said_to_be_one(advisor: Advisor, name: str) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        look_up({"model_name": name}, advisor.knowledge, advisor.vocabulary)
