"""A run that was timed on a GPU in use tells how long it takes elsewhere."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.measured import timed_run
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.sizing.intake import job_from_facts


KNOWLEDGE = load_knowledge()
A100 = "nvidia-a100-40gb-sxm"
TUNING: Facts = {
    "task": "peft_finetuning",
    "peft_method": "lora",
    "param_count_b": 12.0,
    "model_family": "llm",
    "run_hours": 60.0,
    "current_gpu": A100,
}


def plan(facts: Facts, gpu: str, count: int) -> Plan:
    return PlanMaker(job_from_facts(facts, None), facts, KNOWLEDGE).plan(KNOWLEDGE.gpus[gpu], count, "test")


def test_on_the_gpu_in_use_the_run_takes_what_it_took() -> None:
    same = plan(TUNING, A100, 1)
    assert same.facts["plan.hours"] == pytest.approx(60.0)
    set_up = load_economics()["run_setup_hours"].value
    assert same.cost.usd_per_run == pytest.approx((60.0 + set_up) * same.cost.usd_per_hour)


def test_elsewhere_it_goes_by_the_ratio_of_speeds() -> None:
    same = plan(TUNING, A100, 1)
    for gpu, count in (A100, 4), ("nvidia-h100-80gb-sxm", 1), ("nvidia-h100-80gb-sxm", 8):
        other = plan(TUNING, gpu, count)
        ratio = same.facts["plan.tokens_per_s"] / other.facts["plan.tokens_per_s"]
        assert ratio < 1
        assert other.facts["plan.hours"] == pytest.approx(60.0 * ratio)
        hours = other.speed.figures["hours"]
        assert hours.low <= hours.value <= hours.high
        assert hours.inputs["run_hours"] == 60.0
        assert hours.inputs["current_gpu"] == A100


def test_a_deadline_puts_out_what_was_measured_to_be_too_slow() -> None:
    facts = {**TUNING, "deadline_hours": 20.0}
    assert plan(facts, A100, 1).facts["plan.meets_target"] is False
    assert plan(facts, A100, 8).facts["plan.meets_target"] is True


def test_pictures_are_compared_by_samples() -> None:
    facts: Facts = {"task": "full_finetuning", "model_family": "vision", "param_count_b": 0.1, "image_px": 224}
    facts |= {"run_hours": 10.0, "current_gpu": "nvidia-t4"}
    same, faster = plan(facts, "nvidia-t4", 1), plan(facts, "nvidia-a100-80gb-sxm", 1)
    assert same.facts["plan.hours"] == pytest.approx(10.0)
    assert faster.facts["plan.hours"] < 10.0


@pytest.mark.parametrize(
    "change",
    [
        {"task": "inference"},
        {"current_gpu": "a card that nobody knows"},
        {"current_gpu": None},
        {"run_hours": None},
        {"train_tokens_b": 1.0},
    ],
)
def test_otherwise_nothing_is_made_of_it(change: dict[str, object]) -> None:
    facts: Facts = {name: value for name, value in {**TUNING, **change}.items() if value is not None}  # type: ignore[misc]
    assert timed_run(job_from_facts(facts, None), facts, KNOWLEDGE) is None


def test_a_family_stands_for_one_of_its_cards() -> None:
    facts: Facts = {**TUNING, "current_gpu": "nvidia-a100-40gb"}
    found = timed_run(job_from_facts(facts, None), facts, KNOWLEDGE)
    assert found is not None
    assert found.gpu.family == "nvidia-a100-40gb"
    assert found.written == "nvidia-a100-40gb"
