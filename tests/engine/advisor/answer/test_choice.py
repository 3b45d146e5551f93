"""What an answer was chosen over, for which reason, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.choice import below_answer, chosen_over, preference_cost
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.losses import LossKind, first_by_evidence


REASONS = {"unverified", "fallback", "larger", "evidence"}
LOSSES = set(get_args(LossKind))
WORKLOADS: dict[str, dict[str, Any]] = {
    "chat": {"task": "inference", "model_name": "llama-3.1-8b"},
    "cheap chat": {"task": "inference", "model_name": "llama-3.1-8b", "objective": "cheapest"},
    "production": {
        "task": "inference",
        "model_name": "llama-3.1-8b",
        "lifecycle_stage": "production",
        "objective": "cheapest",
    },
    "large and fast": {"task": "inference", "model_name": "llama-3.1-70b", "objective": "fastest"},
    "adapters": {"task": "peft_finetuning", "peft_method": "qlora", "model_name": "llama-3.1-8b"},
    "training": {"task": "full_finetuning", "model_name": "llama-3.1-8b", "objective": "balanced"},
    "a target": {"task": "inference", "model_name": "llama-3.1-70b", "peak_qps": 5, "objective": "cheapest"},
}


@pytest.fixture(scope="module")
def decided(decide: Callable[..., Decision]) -> dict[str, Decision]:
    return {name: decide(facts) for name, facts in WORKLOADS.items()}


def test_what_costs_less_and_comes_later_than_people_bear_is_named_with_both_times(
    decide: Callable[..., Decision], advisor: Advisor
) -> None:
    facts = {
        "task": "inference",
        "model_name": "qwen2.5-72b",
        "serving_mode": "interactive",
        "context_tokens": 16384,
        "concurrency": 11,
        "objective": "cheapest",
        "ttft_bearable_ms": 5000,
    }
    outcome = decide(facts).outcome
    found = chosen_over(outcome, dict(advisor.rules), advisor.vocabulary)
    late = [entry for entry in found if entry["reason"] == "late"]
    assert late
    for entry in late:
        assert entry["cost_ratio"] is not None
        assert entry["cost_ratio"] < 1
        assert "and people tolerate 5,000 ms" in entry["because"]
        assert {"serving_mode", "ttft_bearable_ms"} <= set(entry["facts"])
    # Where people tolerate whatever comes, the cheapest of them is the answer.
    patient = decide(facts, ttft_bearable_ms=86400000, tpot_bearable_ms=3600000).outcome.chosen
    assert patient is not None
    assert outcome.chosen is not None
    assert patient.measures.cost < outcome.chosen.measures.cost


@pytest.mark.parametrize("name", WORKLOADS)
def test_whatever_beats_the_answer_is_named_with_a_reason(
    name: str, decided: dict[str, Decision], advisor: Advisor
) -> None:
    outcome = decided[name].outcome
    answer = outcome.chosen
    assert answer is not None
    assert outcome.round is not None
    found = {entry["id"]: entry for entry in chosen_over(outcome, dict(advisor.rules), advisor.vocabulary)}
    margin = 1 + outcome.objective.dominance_margin
    mine = answer.measures
    assert mine.cost is not None
    assert mine.time is not None
    for judged in outcome.round.judged:
        its = judged.measures
        if its.cost is None or its.time is None:
            continue
        if its.cost * margin <= mine.cost and its.time * margin <= mine.time:
            entry = found[judged.ranked.plan.id]
            assert entry["reason"] in REASONS
            assert entry["because"]
            assert entry["cost_ratio"] == pytest.approx(its.cost / mine.cost)
            assert entry["speed_ratio"] == pytest.approx(mine.time / its.time)
    assert answer.ranked.plan.id not in found


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_reason_is_a_rule_that_says_so(name: str, decided: dict[str, Decision], advisor: Advisor) -> None:
    decision = decided[name]
    outcome = decision.outcome
    assert outcome.round is not None
    assert outcome.chosen is not None
    judged = {entry.ranked.plan.id: entry for entry in outcome.round.judged}
    first = first_by_evidence(outcome.chosen, outcome.round.judged)
    for entry in chosen_over(outcome, dict(advisor.rules), advisor.vocabulary):
        other = judged[entry["id"]]
        if entry["reason"] == "fallback":
            assert entry["rule"] in other.fallbacks
            assert not outcome.chosen.fallbacks
        elif entry["reason"] == "guide_cards":
            assert entry["rule"] in first.card_bands
            assert not other.card_bands
            assert not outcome.objective.stated
        elif entry["reason"] == "guide_counts":
            assert entry["rule"] in first.count_bands
            assert not outcome.objective.stated
        elif entry["reason"] == "unverified":
            assert other.missing
            assert entry["facts"] == list(other.missing)
        if entry["rule"]:
            assert entry["sources"] == list(advisor.rules[entry["rule"]].sources)
            assert set(entry["facts"]) <= set(outcome.intake.facts) | set(other.missing)
            assert not set(entry["waits_for"]) & set(outcome.final.facts)


@pytest.mark.parametrize(
    ("facts", "reason", "words"),
    [
        (
            {"task": "peft_finetuning", "model_name": "llama-3.2-3b", "org_type": "student"},
            "larger",
            "so much work is not stated",
        ),
        (
            {"task": "inference", "model_family": "llm", "param_count_b": 20, "traffic_level": "low"},
            "evidence",
            "it joins more cards over PCIe",
        ),
    ],
)
def test_no_guides_word_is_the_reason_against_what_is_cheaper_and_faster(
    facts: dict[str, Any], reason: str, words: str, decide: Callable[..., Decision], advisor: Advisor
) -> None:
    outcome = decide(facts).outcome
    margin = 1 - outcome.objective.dominance_margin
    found = [
        entry
        for entry in chosen_over(outcome, dict(advisor.rules), advisor.vocabulary)
        if (entry["cost_ratio"] or 1) < margin and (entry["speed_ratio"] or 1) > 1 / margin
    ]
    assert not {"guide_cards", "guide_counts"} & {entry["reason"] for entry in found}
    assert any(entry["reason"] == reason and words in entry["because"] for entry in found)


def test_no_segment_is_paid_for_that_nobody_asked_for(decide: Callable[..., Decision]) -> None:
    tuning = decide({"task": "peft_finetuning", "peft_method": "lora", "model_family": "llm", "param_count_b": 8})
    speech = decide({"task": "inference", "model_name": "whisper-large-v3", "peak_qps": 2})
    for decision in (tuning, speech):
        outcome = decision.outcome
        assert outcome.chosen is not None
        cost, time = outcome.chosen.measures.cost, outcome.chosen.measures.time
        vendor = outcome.chosen.ranked.plan.gpu.vendor
        better = [
            entry.ranked.plan.id
            for entry in outcome.judged
            if entry.ranked.plan.gpu.vendor == vendor
            and entry.standing.tier[:2] == outcome.chosen.standing.tier[:2]
            and entry.facts.get("plan.pcie_gpus", 0) == 0
            and (entry.measures.usd_per_hour or 0) <= (outcome.chosen.measures.usd_per_hour or 0)
            and (entry.measures.cost or cost) <= cost * 0.95
            and (entry.measures.time or time) * 1.05 <= time
        ]
        assert better == []


def test_production_pays_for_error_correction_and_says_what(decided: dict[str, Decision]) -> None:
    answer = decided["production"].to_dict()
    entries = [
        entry
        for entry in answer["recommendation"]["chosen_over"]
        if entry["rule"] == "consumer-cards-not-in-production"
    ]
    assert entries
    for entry in entries:
        assert entry["reason"] == "fallback"
        assert "lifecycle_stage" in entry["facts"]
        assert entry["cost_ratio"] < 1
        assert entry["price_usd_per_hour"] == pytest.approx(
            answer["recommendation"]["cost"]["usd_per_hour"] - entry["usd_per_hour"]
        )


@pytest.mark.parametrize("name", WORKLOADS)
def test_preferences_cost_no_more_than_their_share(name: str, decided: dict[str, Decision]) -> None:
    outcome = decided[name].outcome
    found = preference_cost(outcome)
    assert outcome.chosen is not None
    assert outcome.chosen.standing is not None
    if found is None:
        return
    assert found["id"] != outcome.chosen.ranked.plan.id
    assert found["share"] > 0
    if outcome.objective.stated:
        assert found["share"] <= outcome.objective.preference_share + 1e-9
    assert outcome.round is not None
    best = next(entry for entry in outcome.round.judged if entry.ranked.plan.id == found["id"])
    assert best.standing is not None
    assert best.standing.merit is not None
    assert best.standing.tier == outcome.chosen.standing.tier
    counted = {award.rule for award in outcome.chosen.ranked.awards if award.counted and award.points > 0}
    assert set(found["rules_for"]) <= counted


def test_without_an_answer_nothing_was_passed_over(decide: Callable[..., Decision], advisor: Advisor) -> None:
    facts = {"task": "full_finetuning", "param_count_b": 70, "gpu_candidates": ["T4"], "num_gpus": 1}
    outcome = decide(facts).outcome
    assert outcome.chosen is None
    assert chosen_over(outcome, dict(advisor.rules), advisor.vocabulary) == []
    assert preference_cost(outcome) is None


def test_what_stands_below_the_answer_says_why(decided: dict[str, Decision]) -> None:
    answer = decided["production"].to_dict()
    assert answer["alternatives"]
    for plan in answer["alternatives"]:
        assert plan["below_for"] in LOSSES
        assert (plan["dominated_by"] is not None) or plan["below_for"] != "dominated"
    outcome = decided["production"].outcome
    assert outcome.round is not None
    assert outcome.chosen is not None
    below = [
        below_answer(judged, outcome) for judged in outcome.round.judged if judged.fallbacks and judged.ranked.proven
    ]
    assert {entry["below_for"] for entry in below} == {"fallback"}
    its = below_answer(outcome.chosen, outcome)
    assert (its["dominated_by"], its["below_for"]) == (None, None)
    assert (its["cost_ratio"], its["speed_ratio"]) == (1.0, 1.0)


@pytest.mark.parametrize(("gpu", "step"), [("nvidia-gh200", 1), ("nvidia-b200", 8)])
def test_every_count_that_machines_make_up_is_shown_or_passed_over(
    decide: Callable[..., Decision], gpu: str, step: int
) -> None:
    answer = decide({"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": [gpu]}).to_dict(full=True)
    found = {plan["count"] for plan in (answer["recommendation"], *answer["alternatives"])}
    found |= {count for entry in answer["rejected"] for count in entry["counts"]}
    assert found >= set(range(step, 257, step))


def test_counts_that_were_not_planned_are_named_where_nothing_meets_a_target(decide: Callable[..., Decision]) -> None:
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 8, "gpu_candidates": ["nvidia-b200"]}
    answer = decide({**facts, "min_tokens_per_s": 100_000}).to_dict(full=True)
    assert answer["recommendation"] is None
    found = {count for entry in answer["rejected"] for count in entry["counts"]}
    assert found >= {1, 2, 4, 8, 16, 24}
    assert {entry["reason"] for entry in answer["rejected"] if entry["rule"] is None} == {
        "more of them were not found to meet the stated targets either"
    }


def test_a_stated_count_is_why_others_were_not_planned(decide: Callable[..., Decision]) -> None:
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "num_gpus": 2, "gpu_candidates": ["nvidia-b200"]}
    answer = decide(facts).to_dict(full=True)
    passed = [entry for entry in answer["rejected"] if entry["reason"] == "another number of GPUs is stated"]
    assert passed[0]["counts"][:3] == [1, 4, 8]
