"""Stages: every rule at the moment at which all that it reads is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.stages import MOMENTS, fact_moments, prepare
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.inference.firing import Level


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
WithRules = Callable[[str], Advisor]
MakeRule = Callable[..., str]


def test_facts_are_settled_when_what_they_are_made_from_is(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "derive", "fits_one_gpu", "set: {large_batch: true}", each="workload")
    text += make_rule("b", "derive", "large_batch", "set: {high_res: true}", each="workload")
    text += make_rule("c", "advise", "always_on", "set: {procurement: rent}", each="workload")
    advisor = with_rules(text)
    moments = fact_moments(advisor.rulebook.rules, advisor.vocabulary)
    assert (moments["large_batch"], moments["high_res"]) == ("survey", "survey")
    assert (moments["procurement"], moments["task"]) == ("outcome", "intake")
    assert set(moments.values()) <= set(MOMENTS)


def test_a_chain_through_the_survey_settles(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("a", "derive", "fits_one_gpu", "set: {large_batch: true}", each="workload")
    text += make_rule("b", "derive", "large_batch", "set: {high_res: true}", each="workload")
    facts = {"task": "inference", "param_count_b": 1, "gpu_candidates": ["T4"]}
    outcome = with_rules(text).decide(facts, decided_at=MOMENT).outcome
    assert "large_batch" not in outcome.intake.facts
    assert outcome.final.facts["high_res"] is True


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
