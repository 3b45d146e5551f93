"""The trace: every fact, figure and conclusion walks back to an input or a source."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.stages import prepare
from whichgpu.engine.catalogue import gpu_facts, sources_of_fact
from whichgpu.engine.core.calculators import registered
from whichgpu.engine.rules import defaults_of
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook import load_rules_text


Decide = Callable[..., Decision]
Answer = dict[str, Any]

#: Calculators whose arithmetic combines entries of the trace, which carry the sources.
_COMBINES = ("plans", "economics.thresholds")


@pytest.fixture(scope="module")
def answers(example_answers: dict[str, Answer], decide: Decide) -> dict[str, Answer]:
    more: dict[str, dict[str, Any]] = {
        "rejected candidates": {
            "task": "inference",
            "param_count_b": 70,
            "gpu_candidates": ["T4", "L4"],
            "num_gpus": 1,
        },
        "no task": {"param_count_b": 7, "gpu_candidates": ["T4", "B100"]},
        "contradictory": {"task": "inference", "peft_method": "lora", "param_count_b": 8},
        "collision-free phases": {"task": "full_finetuning", "param_count_b": 8, "trains_and_serves": True},
    }
    return {**example_answers, **{name: decide(facts).to_dict() for name, facts in more.items()}}


def entries(answers: dict[str, Answer]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, entry) for name, answer in answers.items() for entry in answer["trace"]]


def test_entries_are_numbered_in_order(answers: dict[str, Answer]) -> None:
    for name, answer in answers.items():
        assert [entry["seq"] for entry in answer["trace"]] == list(range(1, len(answer["trace"]) + 1)), name


def test_points_of_cost_and_speed_name_the_price_and_the_pace(answers: dict[str, Answer]) -> None:
    read = {
        reason: [
            {matched["fact"] for matched in entry["matched"]} for _, entry in entries(answers) if _term(entry) == reason
        ]
        for reason in ("cost", "speed")
    }
    assert read["cost"]
    assert all("plan.usd_per_hour" in facts for facts in read["cost"])
    assert read["speed"]
    assert all("plan.count" in facts and len(facts) > 1 for facts in read["speed"])


def _term(entry: dict[str, Any]) -> str | None:
    return entry["effects"]["reason"] if entry["kind"] == "scored" and not entry.get("rule") else None


def test_what_an_entry_was_made_from_stands_before_it_and_says_the_same(answers: dict[str, Answer]) -> None:
    for name, answer in answers.items():
        by_seq = {entry["seq"]: entry for entry in answer["trace"]}
        for entry in answer["trace"]:
            for matched in entry["matched"]:
                if matched["seq"] is None:
                    continue
                assert matched["seq"] < entry["seq"], (name, entry)
                origin = by_seq[matched["seq"]]
                assert matched["fact"] in origin["effects"], (name, matched, origin["effects"])
                assert origin["effects"][matched["fact"]] == matched["value"], (name, matched)


def test_a_known_fact_of_the_workload_has_its_origin(answers: dict[str, Answer], advisor: Advisor) -> None:
    loose = {
        (name, matched["fact"], entry["rule"] or entry["calculator"])
        for name, entry in entries(answers)
        for matched in entry["matched"]
        if matched["value"] is not None and matched["seq"] is None and matched["fact"] in answers[name]["facts"]
    }
    assert not loose


def test_what_rules_read_of_a_plan_or_gpu_has_its_origin(answers: dict[str, Answer]) -> None:
    loose = {
        (name, entry["kind"], matched["fact"], entry["rule"])
        for name, entry in entries(answers)
        if entry["rule"] and entry["kind"] in {"scored", "rejected", "advised"}
        for matched in entry["matched"]
        if matched["value"] is not None and matched["seq"] is None
    }
    assert not loose


def test_every_fact_of_the_answer_points_to_the_entry_that_resolved_it(answers: dict[str, Answer]) -> None:
    for name, answer in answers.items():
        by_seq = {entry["seq"]: entry for entry in answer["trace"]}
        for fact, value in answer["facts"].items():
            entry = by_seq[value["seq"]]
            assert entry["kind"] == value["origin"], (name, fact)
            assert entry["scope"] == "workload"
            assert entry["effects"][fact] == value["value"], (name, fact)


def test_conclusions_name_their_rule_and_its_sources(answers: dict[str, Answer], advisor: Advisor) -> None:
    for name, entry in entries(answers):
        if entry["kind"] in {"derived", "advised", "rejected"}:
            assert entry["rule"] in advisor.rules, (name, entry)
        if entry["rule"]:
            assert entry["sources"], (name, entry)
            assert entry["because"], (name, entry)
            assert entry["calculator"] is None


def test_figures_name_their_calculator_and_source(answers: dict[str, Answer]) -> None:
    for name, entry in entries(answers):
        if entry["kind"] in {"computed", "looked_up"} and entry["calculator"] not in _COMBINES:
            assert entry["calculator"], (name, entry)
            assert entry["sources"], (name, entry)
        if entry["kind"] == "assumed":
            assert entry["because"], (name, entry)
        if entry["kind"] == "given":
            assert not entry["matched"]


def test_rules_and_catalogue_cite_sources_of_the_knowledge(answers: dict[str, Answer], advisor: Advisor) -> None:
    """Figures of the sizing cite papers and measurements in words; all else goes by the ids of sources.yaml."""
    known = set(advisor.knowledge.sources)
    unknown = {
        (source, entry["rule"])
        for _, entry in entries(answers)
        if entry["rule"] or entry["kind"] == "looked_up"
        for source in entry["sources"]
        if source.split("/")[0] not in known
    }
    assert not unknown


def test_every_term_of_the_recommended_memory_is_in_the_trace(example_answers: dict[str, Answer]) -> None:
    for name, answer in example_answers.items():
        plan = answer["recommendation"]
        scope = f"{plan['gpu']}x{plan['count']}"
        traced: dict[str, float] = {}
        for entry in answer["trace"]:
            if entry["scope"] == scope:
                for effect, value in entry["effects"].items():
                    if effect.startswith("memory."):
                        key = effect.removeprefix("memory.")
                        traced[key] = traced.get(key, 0.0) + value
        assert traced == pytest.approx(plan["memory"]["breakdown"], rel=1e-4), name


def test_every_award_of_the_recommendation_is_in_the_trace(example_answers: dict[str, Answer]) -> None:
    for answer in example_answers.values():
        plan = answer["recommendation"]
        scope = f"{plan['gpu']}x{plan['count']}"
        traced = [
            (entry["rule"], entry["effects"]["points"])
            for entry in answer["trace"]
            if entry["kind"] == "scored" and entry["scope"] == scope
        ]
        assert traced == [(points["rule"], points["points"]) for points in plan["points"]]


def test_every_rejection_is_in_the_trace(answers: dict[str, Answer]) -> None:
    for name, answer in answers.items():
        traced = {
            (entry["effects"]["gpu"], entry["rule"], tuple(entry["effects"]["counts"]))
            for entry in answer["trace"]
            if entry["kind"] == "rejected" and "gpu" in entry["effects"]
        }
        by_rule = [entry for entry in answer["rejected"] if entry["rule"]]
        said = {(entry["gpu"], entry["rule"], tuple(entry["counts"])) for entry in by_rule}
        assert said <= traced, name


def test_what_was_overruled_is_kept(decide: Decide) -> None:
    answer = decide({"task": "inference", "model_name": "llama-3.1-8b", "param_count_b": 10}).to_dict()
    entry = answer["trace"][answer["facts"]["param_count_b"]["seq"] - 1]
    assert entry["kind"] == "given"
    assert [(claim["origin"], claim["value"]) for claim in entry["overruled"]] == [
        ("looked_up", pytest.approx(8.03, rel=0.01))
    ]


def test_rules_that_set_one_fact_differently_leave_it_unknown_and_are_named(with_rules_text: Any) -> None:
    answer = with_rules_text("high_res").to_dict()
    undecided = [entry for entry in answer["trace"] if entry["effects"] == {"high_res": None}]
    assert len(undecided) == 1
    assert "a and b set it to different values" in undecided[0]["because"]
    assert "high_res" not in answer["facts"]


@pytest.fixture
def with_rules_text(advisor: Advisor) -> Callable[[str], Decision]:
    """A decision under two rules that collide on a fact."""

    def build(fact: str) -> Decision:
        text = "\n".join(
            _COLLIDING.format(name=name, least=least, fact=fact, value=value) for name, least, value in _TWO
        )
        rulebook = load_rules_text(text, advisor.vocabulary)
        defaults = defaults_of(advisor.vocabulary)
        stages = prepare(rulebook, advisor.vocabulary, registered().values(), defaults, Level)
        context = replace(advisor.context, stages=stages)
        rules = {rule.id: rule for rule in rulebook.rules}
        other = replace(advisor, rulebook=rulebook, rules=rules, stages=stages, context=context)
        facts = {"task": "inference", "param_count_b": 8, "gpu_candidates": ["L4"]}
        return other.decide(facts, decided_at=datetime(2026, 11, 20, tzinfo=UTC))

    return build


_TWO = (("a", 1, "true"), ("b", 2, "false"))
_COLLIDING = """
- id: {name}
  title: collides
  stage: derive
  when: [param_count_b > {least}]
  then: {{set: {{{fact}: {value}}}}}
  because: It matters.
  sources: [whichgpu-judgement]
"""


def test_a_figure_of_a_card_cites_its_own_sources(advisor, decide):
    decision = decide({"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["nvidia-h100-80gb-sxm"]})
    gpu = advisor.knowledge.gpus["nvidia-h100-80gb-sxm"]
    trace = decision.to_dict()["trace"]
    cited = {
        fact: entry["sources"]
        for entry in trace
        if entry["calculator"] == "knowledge.gpus"
        for fact in entry["effects"]
    }
    assert cited["gpu.mem_bw_tbs"] == list(gpu.evidence["mem_bw_tbs"])
    assert cited["gpu.ecc"] == list(gpu.evidence["ecc"])
    assert set(cited["gpu.fp8_tflops"]) == set(gpu.evidence["tflops.fp8"])
    assert all(cited.values())  # What has no figure of its own is as the databases list the card.


def test_every_fact_of_every_card_has_a_source(advisor):
    silent = {
        (gpu.id, fact)
        for gpu in advisor.knowledge.gpus.values()
        for fact in gpu_facts(gpu)
        if gpu.evidence and not sources_of_fact(gpu, fact)
    }
    assert not silent
