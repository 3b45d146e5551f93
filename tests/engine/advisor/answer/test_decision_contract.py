"""Every decision keeps the contract of its JSON value, whatever came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.formats import BULKY_KEYS
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.core.canonical import canonical_json, json_value
from whichgpu.engine.rules import evaluate, parse_condition


Decide = Callable[..., Decision]

#: Workloads that end in every way a decision can end.
KINDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "nothing at all": ({}, "facts_missing"),
    "a task alone": ({"task": "inference"}, None),
    "an experiment": ({"task": "experimentation"}, None),
    "no size": ({"task": "pretraining", "model_family": "llm"}, None),
    "no task but a card": ({"current_gpu": "T4", "param_count_b": 70}, "facts_missing"),
    "adapters served": ({"task": "inference", "peft_method": "lora", "param_count_b": 8}, "contradictory"),
    "adapters from nothing": ({"task": "pretraining", "peft_method": "qlora", "param_count_b": 8}, "contradictory"),
    "two contradictions": (
        {"task": "pretraining", "peft_method": "lora", "tensor_parallel": 8, "num_gpus": 2, "param_count_b": 8},
        "contradictory",
    ),
    "a budget of a cent": (
        {"task": "inference", "param_count_b": 70, "budget_usd_per_hour": 0.01, "gpu_candidates": ["L40S", "H100"]},
        "nothing_fits",
    ),
    "one small card": (
        {"task": "full_finetuning", "param_count_b": 70, "gpu_candidates": ["T4"], "num_gpus": 1},
        "nothing_fits",
    ),
    "only what cannot be planned": (
        {"task": "inference", "param_count_b": 8, "gpu_candidates": ["B100"]},
        "nothing_fits",
    ),
    "everything excluded": (
        {"task": "inference", "param_count_b": 8, "gpu_candidates": ["T4"], "gpu_excluded": ["T4"]},
        "nothing_fits",
    ),
    "CUDA on AMD": (
        {"task": "inference", "param_count_b": 8, "gpu_candidates": ["MI300X"], "cuda_required": True},
        "nothing_fits",
    ),
    "a giant": ({"task": "pretraining", "param_count_b": 100_000, "train_tokens_b": 20_000}, None),
    "a dwarf": ({"task": "inference", "param_count_b": 0.001}, None),
    "both phases": ({"task": "full_finetuning", "param_count_b": 8, "trains_and_serves": True}, None),
    "owned": ({"task": "inference", "param_count_b": 8, "gpus_owned": ["L40S:2"], "gpu_candidates": ["L40S"]}, None),
    "quoted": ({"task": "inference", "param_count_b": 8, "rent_quote_usd_h": 1.5, "buy_quote_usd": 9000}, None),
    "mixture of experts": ({"task": "inference", "model_name": "mixtral-8x7b", "weight_precision": "fp8"}, None),
    "a video": ({"task": "inference", "model_family": "diffusion_video", "frames": 49, "image_px": 720}, None),
}


@pytest.fixture(scope="module")
def kind_answers(decide: Decide) -> dict[str, dict[str, Any]]:
    return {name: decide(facts).to_dict() for name, (facts, _) in KINDS.items()}


def _violations(value: Any, shape: str) -> list[str]:
    validator = jsonschema_rs.Draft202012Validator(schema_of(shape, closed=True))
    return [
        f"{'/'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value)
    ]


@pytest.mark.parametrize("name", KINDS)
def test_every_way_to_end_keeps_the_contract(name: str, kind_answers: dict[str, dict[str, Any]]) -> None:
    assert _violations(kind_answers[name], "decision") == []


@pytest.mark.parametrize("name", [name for name, (_, kind) in KINDS.items() if kind])
def test_no_answer_says_which_kind_why_and_on_what(name: str, kind_answers: dict[str, dict[str, Any]]) -> None:
    answer = kind_answers[name]
    assert answer["recommendation"] is None
    assert answer["no_answer"]["kind"] == KINDS[name][1]
    assert len(answer["no_answer"]["why"]) > 20
    if KINDS[name][1] != "nothing_fits":
        assert answer["no_answer"]["facts"]
    if KINDS[name][1] == "contradictory":
        assert set(answer["no_answer"]["facts"]) <= set(answer["facts"])
        assert answer["no_answer"]["rules"]


def test_all_contradictions_are_reported_at_once(kind_answers: dict[str, dict[str, Any]]) -> None:
    found = kind_answers["two contradictions"]["no_answer"]
    assert found["rules"] == ["pretraining-has-no-adapters", "split-needs-its-gpus"]
    assert {"peft_method", "tensor_parallel", "num_gpus", "task"} <= set(found["facts"])


def test_missing_facts_head_the_open_questions(kind_answers: dict[str, dict[str, Any]]) -> None:
    first = kind_answers["nothing at all"]["open_questions"][0]
    assert (first["fact"], first["blocking"]) == ("task", True)


def test_open_questions_are_about_work_of_this_kind(
    example_answers: dict[str, dict[str, Any]], kind_answers: dict[str, dict[str, Any]], advisor: Advisor
) -> None:
    """What the vocabulary asks of other work alone is no question, unless a rule or the answer itself asks it."""
    vocabulary = advisor.vocabulary
    conditional = 0
    for name, answer in {**example_answers, **kind_answers}.items():
        facts = {fact: entry["value"] for fact, entry in answer["facts"].items()}
        for entry in answer["open_questions"]:
            when = vocabulary.facts[entry["fact"]].asked_when
            if when is not None and entry["asked_by"] is None and not entry["blocking"]:
                conditional += 1
                assert evaluate(parse_condition(when, vocabulary), facts) is not False, (name, entry["fact"], when)
    assert conditional


def test_every_example_keeps_the_contract(example_answers: dict[str, dict[str, Any]]) -> None:
    assert {name: _violations(answer, "decision") for name, answer in example_answers.items()} == {
        name: [] for name in example_answers
    }


def test_a_short_answer_is_the_full_one_without_its_bulk(example_decisions: dict[str, Decision]) -> None:
    for name, decision in example_decisions.items():
        full, short = decision.to_dict(), decision.to_dict(full=False)
        assert _violations(short, "decision_line") == [], name
        assert set(full) - set(short) == set(BULKY_KEYS)
        for key in set(short) - {"facts"}:
            assert short[key] == full[key], (name, key)
        assert {fact: entry["value"] for fact, entry in short["facts"].items()} == {
            fact: entry["value"] for fact, entry in full["facts"].items()
        }


def test_answers_are_canonical_already(example_answers: dict[str, dict[str, Any]]) -> None:
    for answer in example_answers.values():
        assert json_value(answer) == answer
        assert json.loads(canonical_json(answer)) == answer


def test_a_recommendation_explains_itself(example_answers: dict[str, dict[str, Any]]) -> None:
    for name, answer in example_answers.items():
        plan = answer["recommendation"]
        assert plan, name
        assert plan["proven"], name
        memory = plan["memory"]
        # Figures are rounded one by one, so their sum may differ in the sixth digit.
        assert sum(memory["breakdown"].values()) == pytest.approx(memory["per_gpu_gb"], rel=1e-4)
        assert memory["low_gb"] <= memory["needed_gb"] <= memory["high_gb"]
        assert memory["needed_gb"] == pytest.approx(memory["per_gpu_gb"] * plan["count"], rel=1e-4)
        assert memory["per_gpu_gb"] <= memory["available_per_gpu_gb"]
        assert plan["score"] == pytest.approx(sum(p["points"] for p in plan["points"] if p["counted"]), abs=1e-3)
        assert plan["cost"]["origin"] in {"offer", "quote", "owned", "purchase"}


def test_what_is_said_has_a_source_and_a_rule(example_answers: dict[str, dict[str, Any]]) -> None:
    for answer in example_answers.values():
        for key in ("advice", "warnings", "monitoring"):
            for entry in answer[key]:
                assert entry["text"]
                assert entry["because"]
                assert entry["rule"] or entry["code"] == "W-GIVEN-CONTRADICTED"
        assert all(entry["sources"] for entry in answer["figures"].values())
        assert all(entry["reason"] and bool(entry["rule"]) == bool(entry["sources"]) for entry in answer["rejected"])
        assert any(entry["rule"] for entry in answer["rejected"])
        assert all(entry["positions"] and entry["title"] for entry in answer["disagreements"])
        assert all(entry["question"].endswith("?") for entry in answer["open_questions"])


def test_every_plan_is_shown_or_accounted_for(example_decisions: dict[str, Decision]) -> None:
    """No plan is hidden: each is the answer, an alternative, one of the outranked, or out by a rule or at the gate."""
    for name, decision in example_decisions.items():
        answer, outcome = decision.to_dict(), decision.outcome
        assert outcome.round is not None
        shown = {plan["id"] for plan in (answer["recommendation"], *answer["alternatives"], *answer["outranked"])}
        counts = {(entry["gpu"], count) for entry in answer["rejected"] for count in entry["counts"]}
        for plan in outcome.round.plans:
            assert plan.id in shown or (plan.gpu.id, plan.count) in counts, (name, plan.id)


def test_a_given_value_that_the_catalogue_contradicts_is_a_warning(decide: Decide) -> None:
    answer = decide({"task": "inference", "model_name": "llama-3.1-8b", "param_count_b": 10}).to_dict()
    found = [entry for entry in answer["warnings"] if entry["code"] == "W-GIVEN-CONTRADICTED"]
    assert found
    assert "10" in found[0]["text"]
    assert found[0]["sources"]


def test_every_rule_has_one_verdict(example_answers: dict[str, dict[str, Any]], advisor: Any) -> None:
    for answer in example_answers.values():
        assert [entry["id"] for entry in answer["rules"]] == sorted(advisor.rules)
        for entry in answer["rules"]:
            if entry["verdict"] == "undecided":
                assert entry["missing"], entry
            if entry["verdict"] == "not_fired":
                assert entry["failed"], entry
            if entry["verdict"] == "overridden":
                assert entry["by"] in advisor.rules


def test_what_was_said_was_said_by_rules_that_fired(example_answers: dict[str, dict[str, Any]]) -> None:
    for name, answer in example_answers.items():
        fired = {entry["id"] for entry in answer["rules"] if entry["verdict"] == "fired"}
        spoke = {
            entry["rule"] for key in ("advice", "warnings", "monitoring") for entry in answer[key] if entry["rule"]
        }
        scored = {points["rule"] for points in answer["recommendation"]["points"] if points["rule"]}
        assert spoke | scored <= fired, (name, (spoke | scored) - fired)
