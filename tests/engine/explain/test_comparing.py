from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.explain.comparing import compare
from whichgpu.engine.explain.fact_changes import with_changes
from whichgpu.engine.records.again import decide_again, recorded_facts


Decided = Callable[[str], dict[str, Any]]
ROOT = Path(__file__).parents[3]


def changed_rules(folder: Path, old: str, new: str, after: str) -> Advisor:
    """The shipped rules with the first ``old`` behind ``after`` replaced."""
    rules = folder / "rules"
    shutil.copytree(ROOT / "rules", rules)
    file = next(f for f in sorted(rules.glob("*.yaml")) if after in f.read_text())
    head, mark, tail = file.read_text().partition(after)
    assert old in tail
    file.write_text(head + mark + tail.replace(old, new, 1))
    return load_advisor(own_rules=rules)


def test_a_decision_beside_itself_is_the_same(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    found = compare(decision, decide_again(decision, advisor).to_dict())
    assert found.same
    assert found.causes == ()


def test_changed_facts_are_the_cause(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    given = with_changes(recorded_facts(decision, advisor), ("concurrency=4", "peak_qps=unknown"), advisor)
    assert "peak_qps" not in given
    after = decide_again(decision, advisor, given=given).to_dict()
    found = compare(decision, after)
    assert {(c.what, c.before, c.after) for c in found.facts} == {("concurrency", 32, 4), ("peak_qps", 2, None)}
    assert {cause.kind for cause in found.causes} == {"fact"}
    kv = next(change for change in found.figures if change.what == "memory.kv_cache_gb")
    assert kv.before == decision["recommendation"]["memory"]["breakdown"]["kv_cache_gb"]
    fired = {r["id"] for r in after["rules"] if r["verdict"] == "fired"}
    assert set(found.fired_after) <= fired
    assert not set(found.fired_before) & fired


def test_aliases_and_units_are_understood_in_changes(decided: Decided, advisor: Advisor) -> None:
    given = recorded_facts(decided("qlora-7b"), advisor)
    changed = with_changes(given, ("model_name=unknown", "param_count_b=13b"), advisor)
    assert changed["param_count_b"] == 13
    assert {name: value for name, value in changed.items() if name != "param_count_b"} == {
        name: value for name, value in given.items() if name not in ("param_count_b", "model_name")
    }
    with pytest.raises(InputError, match="did you mean"):
        with_changes(given, ("param_cont_b=13",), advisor)


def test_an_old_record_under_a_changed_rule_names_it(decided: Decided, tmp_path: Path) -> None:
    decision = json.loads(json.dumps(decided("llm-serving-70b")))
    rule = "nvidia-is-the-safe-choice"
    assert any(entry["rule"] == rule for entry in decision["recommendation"]["points"])
    altered = changed_rules(tmp_path, "points: 2", "points: 1", f"id: {rule}")
    found = compare(decision, decide_again(decision, altered).to_dict())
    assert {(c.kind, c.what) for c in found.causes} == {("rule", rule)}  # on each plan that it spoke for
    assert any("+2 for ecosystem, now +1 for ecosystem" in cause.says for cause in found.causes)
    assert [c.what for c in found.figures] == ["score"]


def test_a_changed_condition_and_a_changed_threshold_are_named(decided: Decided, tmp_path: Path) -> None:
    decision = decided("llm-serving-70b")
    rule = "datacenter-cards-for-critical-services"
    altered = changed_rules(tmp_path, "gpu.segment == datacenter", "gpu.segment == consumer", f"id: {rule}")
    found = compare(decision, decide_again(decision, altered).to_dict())
    assert any("gpu.segment == consumer is false" in cause.says for cause in found.causes if cause.what == rule)
    assert rule in found.fired_before


def test_new_and_vanished_rules_are_named(decided: Decided, tmp_path: Path, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    layer = tmp_path / "own"
    layer.mkdir()
    (layer / "ours.yaml").write_text(
        "- id: we-like-the-l4\n  title: We like the L4\n  stage: prefer\n  each: plan\n"
        "  when: [gpu.series == nvidia-h200]\n  then: {points: 1, reason: wish}\n  because: We have some.\n"
        "  sources: [whichgpu-judgement]\n"
    )
    after = decide_again(decision, load_advisor([layer])).to_dict()
    found = compare(decision, after)
    assert ("rule", "we-like-the-l4", "is new in the rulebook") in {(c.kind, c.what, c.says) for c in found.causes}
    back = compare(after, decision)
    assert "is gone from the rulebook" in {c.says for c in back.causes if c.what == "we-like-the-l4"}


def test_a_changed_price_and_a_changed_device_are_named(decided: Decided) -> None:
    before, after = decided("llm-serving-70b"), decided("llm-serving-70b")
    after["knowledge"] = {"digest": "other", "prices_as_of": "2026-12-01"}
    after["recommendation"]["cost"]["usd_per_hour"] = 9.99
    plan = before["recommendation"]
    device = next(e for e in after["trace"] if e["scope"] == plan["id"] and "gpu.mem_bw_tbs" in e["effects"])
    device["effects"]["gpu.mem_bw_tbs"] = 9.9
    causes = compare(before, after).causes
    said = {(cause.kind, cause.what) for cause in causes}
    assert ("price", plan["id"]) in said
    assert ("knowledge", f"{plan['gpu']} gpu.mem_bw_tbs") in said
    assert ("price", "price list") in said


def test_digests_that_change_nothing_shown_are_said_so(decided: Decided) -> None:
    before, after = decided("qlora-7b"), decided("qlora-7b")
    after["rulebook"]["digest"] = after["knowledge"]["digest"] = "0" * 64
    after["objective"] = "fastest"
    found = compare(before, after)
    assert not found.same
    assert {cause.kind for cause in found.causes} == {"rule", "knowledge", "objective"}
    assert all("nothing that either decision shows" in c.says for c in found.causes if c.kind != "objective")


def test_decisions_without_an_answer_compare(decide: Callable[..., dict[str, Any]], decided: Decided) -> None:
    nothing = decide(gpu_candidates="h100")
    found = compare(nothing, decided("qlora-7b"))
    answer = {change.what: change for change in found.answer}
    assert answer["recommendation"].before is None
    assert answer["no answer"].after is None


def test_an_objective_that_no_fact_brings_about_is_kept(decided: Decided, advisor: Advisor) -> None:
    """Older records have the objective of the command line beside the facts, not among them."""
    decision = decided("qlora-7b")
    assert decision["facts"]["objective"]["value"] == "cheapest"
    assert decide_again(decision, advisor).outcome.objective.name == "cheapest"
    del decision["facts"]["objective"]
    assert decide_again(decision, advisor).outcome.objective.name == "cheapest"
    given = recorded_facts(decision, advisor)
    assert decide_again(decision, advisor, given=given).outcome.objective.name == advisor.default_objective
