from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.explain.derivation import Phrases, Step, cut_at, size, to_dict
from whichgpu.engine.explain.evidence import gather
from whichgpu.engine.explain.why import TOPICS, Explainer


Decided = Callable[[str], dict[str, Any]]


def explainer(decision: dict[str, Any], advisor: Advisor) -> Explainer:
    names = {gpu.id: gpu.name for gpu in advisor.knowledge.gpus.values()}
    return Explainer(gather(decision), Phrases(advisor.vocabulary), names)


def walk(step: Step) -> Iterator[Step]:
    yield step
    for below in step.steps:
        yield from walk(below)


@pytest.mark.parametrize("example", ["llm-serving-70b", "qlora-7b", "lab-rent-or-buy"])
@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_walks_down_to_inputs_and_sources(
    decided: Decided, advisor: Advisor, example: str, topic: str
) -> None:
    tree = explainer(decided(example), advisor).why(topic)
    leaves = [step for step in walk(tree) if not step.steps and not step.above]
    assert len(leaves) >= 1
    for leaf in leaves:
        assert (
            leaf.kind in ("given", "assumed", "unknown", "constant", "condition", "conclusion")
            or leaf.sources
            or any(other.seq == leaf.seq and other.sources for other in walk(tree))
        ), leaf
    assert any(step.sources or step.kind == "given" for step in walk(tree))


def test_every_resolved_fact_and_every_rule_has_a_derivation(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    explain = explainer(decision, advisor)
    for name, fact in decision["facts"].items():
        if name == "procurement":
            continue  # A topic of its own.
        step = explain.why(name)
        assert step.fact == name
        assert step.kind == fact["origin"]
    for rule in decision["rules"]:
        assert explain.why(rule["id"]).says.startswith(f"rule {rule['id']}")


def test_the_score_is_the_sum_of_the_points_shown(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-chat-8b")
    tree = explainer(decision, advisor).why("score")
    seqs = {entry["seq"]: entry for entry in decision["trace"]}
    total = sum(seqs[step.seq]["effects"]["points"] for step in tree.steps if step.seq)
    assert total == pytest.approx(decision["recommendation"]["score"], rel=1e-4)


def test_a_plan_that_is_cheaper_and_faster_is_named_with_what_decided_against_it(
    advisor: Advisor, decide: Callable[..., dict[str, Any]]
) -> None:
    decision = decide(task="inference", model_name="whisper-large-v3", peak_qps=2, lifecycle_stage="production")
    entries = decision["recommendation"]["chosen_over"]
    better = [entry for entry in entries if (entry["cost_ratio"] or 1) < 1 < (entry["speed_ratio"] or 0)]
    shown = [step.says for step in explainer(decision, advisor).why().steps if step.says.startswith("not ")]
    assert better
    assert len(shown) == len(better)
    for says, entry in zip(shown, better, strict=True):
        assert entry["because"].rstrip(".") in says
        assert "that makes the work" in says


def test_memory_is_shown_by_its_terms(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    tree = explainer(decision, advisor).why("memory")
    terms = {step.fact: step.value for step in walk(tree) if str(step.fact).startswith("memory.")}
    assert {name.removeprefix("memory."): value for name, value in terms.items()} == decision["recommendation"][
        "memory"
    ]["breakdown"]
    assert not any(str(step.fact).startswith(("speed.", "cost.")) for step in walk(tree))


def test_a_rejected_gpu_is_shown_with_rule_and_values(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    rejected = next(e for e in decision["rejected"] if e["gpu"] not in {p["gpu"] for p in decision["alternatives"]})
    tree = explainer(decision, advisor).why(rejected["gpu"])
    entry = next(step for step in walk(tree) if step.rule == rejected["rule"])
    assert entry.sources
    assert any(step.value is not None for step in walk(entry))
    assert explainer(decision, advisor).why(rejected["family"]).says


def test_nothing_is_unfolded_twice(decided: Decided, advisor: Advisor) -> None:
    tree = explainer(decided("qlora-7b"), advisor).why()
    unfolded = [(step.seq, step.fact) for step in walk(tree) if step.seq is not None and step.steps]
    assert len(unfolded) == len(set(unfolded))


def test_depth_says_what_it_leaves_out(decided: Decided, advisor: Advisor) -> None:
    tree = explainer(decided("qlora-7b"), advisor).why()
    short = cut_at(tree, 1)
    assert sum(step.cut for step in walk(short)) + size(short) == size(tree)
    assert cut_at(tree, 99) == tree
    assert to_dict(short)["steps"][0]["steps_left_out"] == short.steps[0].cut


def test_codes_aliases_and_unknown_facts_have_answers(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    explain = explainer(decision, advisor)
    for remark in decision["warnings"] + decision["advice"]:
        assert explain.why(remark["code"]).steps
    assert explain.why("plan.needed_gb").value == decision["recommendation"]["memory"]["needed_gb"]
    assert explain.why("utilization_pct").kind == "unknown"


def test_a_decision_without_recommendation_says_why(advisor: Advisor, decide: Callable[..., dict[str, Any]]) -> None:
    decision = decide(model_name="llama-3.1-8b")
    assert decision["recommendation"] is None
    assert explainer(decision, advisor).why().says.startswith("No recommendation")
    contradictory = decide(task="inference", peft_method="lora", param_count_b=7)
    tree = explainer(contradictory, advisor).why()
    assert tree.says.startswith("No recommendation")


def test_what_is_not_known_is_named_with_the_nearest_word(decided: Decided, advisor: Advisor) -> None:
    with pytest.raises(InputError, match="did you mean procurement"):
        explainer(decided("qlora-7b"), advisor).why("procurment")


def test_a_record_with_facts_that_this_vocabulary_lacks_is_still_shown(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    decision["facts"]["moon_phase"] = {"value": "full", "origin": "given", "seq": None}
    step = explainer(decision, advisor).why("moon_phase")
    assert step.says == "moon phase: full"
