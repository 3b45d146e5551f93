"""Stages: every rule at the moment at which all that it reads is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.stages import moment_of, prepare
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.inference.firing import Level


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
WithRules = Callable[..., Advisor]
MakeRule = Callable[..., str]


def test_a_derive_rule_fires_in_the_phase_of_what_it_sets(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "derive", "fits_one_gpu", "set: {roomy: true}", each="workload")
    text += make_rule("b", "derive", "roomy", "set: {roomier: true}", each="workload")
    text += make_rule("c", "derive", "is_moe", "set: {large_batch: true}", each="workload")
    facts = [FactDef(name=name, type="bool", role="derived", available="survey") for name in ("roomy", "roomier")]
    advisor = with_rules(text, *facts)
    assert [moment_of(rule, advisor.vocabulary) for rule in advisor.rulebook.rules] == ["survey", "survey", "intake"]
    given = {"task": "inference", "param_count_b": 1, "gpu_candidates": ["T4"]}
    outcome = advisor.decide(given, decided_at=MOMENT).outcome
    assert "roomy" not in outcome.intake.facts
    assert outcome.final.facts["roomier"] is True


def test_rules_that_feed_each_other_are_refused(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "derive", "large_batch", "set: {high_res: true}", each="workload")
    text += make_rule("b", "derive", "high_res", "set: {large_batch: true}", each="workload")
    with pytest.raises(RulebookError, match=r"a .*b .*a"):
        with_rules(text)


def test_a_workload_rule_cannot_wait_for_one_plan(advisor: Advisor) -> None:
    late = replace(advisor.vocabulary.facts["context_tokens"], available="plan")
    vocabulary = SimpleNamespace(facts={**advisor.vocabulary.facts, "context_tokens": late})
    derive = advisor.rulebook.of_stage("derive", "workload")
    rules = [rule for rule in derive if "context_tokens" in rule.writes]
    assert rules, "some shipped rule sets the context"
    book = SimpleNamespace(of_stage=lambda stage, each: tuple(rules) if (stage, each) == ("derive", "workload") else ())
    with pytest.raises(RulebookError, match="cannot read what belongs to one plan") as caught:
        prepare(book, vocabulary, (), (), Level)  # type: ignore[arg-type]
    assert caught.value.problems[0].place is not None


def test_rules_on_the_chosen_plan_read_it(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "advise", "plan.count == 1", "advise: A-CLOUD-TEST-FIRST", each="chosen")
    facts = {"task": "inference", "param_count_b": 1, "gpu_candidates": ["T4"]}
    outcome = with_rules(text).decide(facts, decided_at=MOMENT).outcome
    assert [(fired.rule.id, fired.scope) for fired in outcome.fired] == [("a", "nvidia-t4x1")]


def test_the_trace_tells_what_a_rule_set_in_vain(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "advise", "param_count_b > 0.5", "set: {procurement: rent}", each="workload")
    text += make_rule("b", "advise", "param_count_b > 0.5", "set: {procurement: buy}", each="workload")
    decision = with_rules(text).decide({"task": "inference", "param_count_b": 1}, decided_at=MOMENT)
    advised = {entry.get("rule"): entry for entry in decision.to_dict()["trace"] if entry["kind"] == "advised"}
    assert advised["a"]["effects"] == {"set": {"procurement": "rent"}}  # type: ignore[comparison-overlap]
    assert advised["a"]["beaten"] == [{"fact": "procurement", "value": None, "by": "b"}]  # type: ignore[typeddict-item]


def test_a_card_that_cannot_be_planned_with_is_no_answer_where_nobody_knows_the_size(advisor: Advisor) -> None:
    given = {"task": "inference", "gpu_candidates": ["nvidia-b100"], "num_gpus": 2}
    no_answer = advisor.decide(given, decided_at=MOMENT).outcome.no_answer
    assert no_answer is not None
    assert no_answer.kind == "nothing_fits"
