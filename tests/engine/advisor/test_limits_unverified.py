"""A limit that a plan cannot be held against leaves it unverified; places and exceptions are judged by the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.core.errors import InputError


Decide = Callable[..., Decision]

TUNING = {"task": "peft_finetuning", "peft_method": "qlora", "model_name": "llama-3.1-8b", "deadline_hours": 24}


def test_a_deadline_for_a_run_of_unknown_length_is_unverified(decide: Decide) -> None:
    answer = decide(TUNING).to_dict()
    plan = answer["recommendation"]
    assert not plan["proven"]
    (gap,) = plan["unverified"]
    assert (gap["limit"], gap["figure"]) == ("deadline_hours", "plan.hours")
    assert "deadline" in gap["text"]
    assert "W-LIMIT-UNVERIFIED" in {entry["code"] for entry in answer["warnings"]}
    assert answer["open_questions"][0]["fact"] == "train_tokens_b"
    assert not any("." in entry["fact"] for entry in answer["open_questions"])


def test_with_its_length_the_deadline_is_held_against_the_plan(decide: Decide) -> None:
    plan = decide({**TUNING, "train_tokens_b": 0.01}).to_dict()["recommendation"]
    assert plan["proven"]
    assert "unverified" not in plan
    assert plan["speed"]["hours"] <= 24


def test_a_plan_of_unknown_price_stands_behind_every_one_within_the_budget(decide: Decide) -> None:
    outcome = decide({"task": "inference", "model_name": "llama-3.1-8b", "budget_usd_per_hour": 4}).outcome
    assert outcome.round is not None
    proven = [entry.ranked.proven for entry in outcome.round.judged]
    assert proven == sorted(proven, reverse=True)
    for entry in outcome.round.judged:
        known = entry.ranked.plan.cost.usd_per_hour is not None
        assert entry.ranked.proven is known
        assert known or [(gap.limit, gap.figure) for gap in entry.unverified] == [
            ("budget_usd_per_hour", "plan.usd_per_hour")
        ]


def test_every_stated_target_is_met_or_named(decide: Decide) -> None:
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "latency_slo_ms": 8000, "peak_qps": 2}
    plan = decide(facts).to_dict()["recommendation"]
    assert plan["proven"]
    assert plan["speed"]["latency_ms"] <= 8000
    assert plan["speed"]["qps"] >= 2


@pytest.mark.parametrize("named", [{}, {"gpus_owned": ["nvidia-t4:1"]}])
def test_owning_one_card_unlocks_no_other(decide: Decide, named: dict[str, Any]) -> None:
    facts = {"task": "inference", "param_count_b": 70, "serving_mode": "interactive", **named}
    outcome = decide(facts).outcome
    assert outcome.round is not None
    kinds = {(entry.ranked.plan.gpu.segment, entry.ranked.plan.gpu.sw_stack) for entry in outcome.round.judged}
    assert not {kind for kind in kinds if kind[0] == "edge" or kind[1] in {"neuron", "synapse", "metal"}}


def test_a_named_device_is_let_in_alone(decide: Decide) -> None:
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["nvidia-jetson-thor-t5000"]}
    outcome = decide(facts).outcome
    assert outcome.round is not None
    assert not any(
        rule.id == "edge-devices-stay-in-the-field" for entry in outcome.round.rejections for rule in entry.rules
    )
    assert all(plan.facts["plan.named"] is True for plan in outcome.round.plans)


@pytest.mark.parametrize("size", [7, 70, 180])
def test_a_workstation_takes_cards_and_desk_devices_only(decide: Decide, size: float) -> None:
    facts = {"task": "inference", "param_count_b": size, "weight_precision": "int4", "deployment_site": "workstation"}
    outcome = decide(facts).outcome
    assert outcome.round is not None
    forms = {(entry.ranked.plan.gpu.form_factor, entry.ranked.plan.gpu.segment) for entry in outcome.round.judged}
    assert all(form == "pcie" or segment in {"professional", "edge", "consumer"} for form, segment in forms)


def test_cards_joined_by_pcie_are_counted(decide: Decide) -> None:
    facts = {"task": "inference", "param_count_b": 7, "num_gpus": 4}
    facts["gpu_candidates"] = ["nvidia-l40s", "nvidia-h100-80gb-sxm"]
    outcome = decide(facts).outcome
    assert outcome.round is not None
    found = {plan.gpu.id: plan.facts["plan.pcie_gpus"] for plan in outcome.round.plans}
    assert found == {"nvidia-l40s": 4, "nvidia-h100-80gb-sxm": 0}


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ({"model_name": "phi-4-mini", "active_param_count_b": 0.1}, "active_param_count_b"),
        ({"model_name": "llama-3.1-8b", "param_count_b": 70}, "param_count_b"),
        ({"model_name": "mixtral-8x7b", "active_param_count_b": 46}, "active_param_count_b"),
    ],
)
def test_figures_of_another_model_are_refused_with_both_values(
    decide: Decide, facts: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(InputError) as caught:
        decide({"task": "full_finetuning", **facts})
    (problem,) = caught.value.problems
    assert (problem.code, problem.fact) == ("contradicts-the-model", wrong)
    assert str(facts[wrong]) in problem.message
    assert "take model_name out" in (problem.fix or "")
