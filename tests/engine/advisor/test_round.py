"""One round over the plans, under rulebooks small enough to foretell the outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.outcome import Outcome, fired_rules
from whichgpu.engine.rules.facts import FactDef


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
FOUR = {"gpu_candidates": ["nvidia-t4", "nvidia-l4", "nvidia-l40s", "amd-mi300x"]}
SMALL = {"task": "inference", "param_count_b": 1, "weight_precision": "fp16", **FOUR}

WithRules = Callable[..., Advisor]
MakeRule = Callable[..., str]


def outcome_of(advisor: Advisor, facts: dict[str, object]) -> Outcome:
    return advisor.decide(facts, decided_at=MOMENT).outcome


def gpus(outcome: Outcome) -> list[str]:
    assert outcome.round is not None
    return [judged.ranked.plan.gpu.id for judged in outcome.round.judged]


@pytest.fixture
def no_rules(with_rules: WithRules, make_rule: MakeRule) -> Advisor:
    return with_rules(make_rule("never", "prefer", "task == pretraining", "points: 1, reason: fit"))


def test_what_cost_weighs_for_a_service_hides_no_plan(no_rules: Advisor) -> None:
    shown, cheapest = [], no_rules.objectives["cheapest"]
    for points in (cheapest.usual_cost_points, 4 * cheapest.usual_cost_points):
        weighed = replace(cheapest, service_cost_points=points)
        advisor = replace(no_rules, objectives={**no_rules.objectives, "cheapest": weighed})
        found = outcome_of(advisor, {"task": "inference", "param_count_b": 1, "objective": "cheapest"})
        assert found.round is not None
        shown.append({found.round.surviving.ids[place] for place in found.round.alternatives})
    assert len(shown[0]) > 10
    assert shown[0] == shown[1]


def test_without_rules_cost_and_speed_decide(no_rules: Advisor) -> None:
    outcome = outcome_of(no_rules, {**SMALL, "objective": "cheapest"})
    assert outcome.round is not None
    assert not outcome.round.rejections
    costs = [judged.ranked.plan.cost.usd_per_hour for judged in outcome.round.judged]
    assert costs[0] == min(cost for cost in costs if cost is not None)
    assert all({award.rule for award in judged.ranked.awards} == {None} for judged in outcome.round.judged)


def test_a_rejected_plan_is_not_ranked_and_keeps_its_rules(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("no-amd", "reject", "gpu.vendor == amd", 'reject: "{gpu.name} is not NVIDIA"')
    text += make_rule("no-mi", "reject", "gpu.series == amd-mi300x", "reject: no")
    outcome = outcome_of(with_rules(text), SMALL)
    assert outcome.round is not None
    assert "amd-mi300x" not in gpus(outcome)
    (rejection,) = outcome.round.rejections
    assert [rule.id for rule in rejection.rules] == ["no-amd", "no-mi"]


def test_points_move_a_plan_up(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("love-mi300x", "prefer", "gpu.series == amd-mi300x", "points: 60, reason: wish")
    outcome = outcome_of(with_rules(text), SMALL)
    assert gpus(outcome)[0] == "amd-mi300x"
    assert outcome.chosen is not None
    assert ("love-mi300x", 60) in [(award.rule, award.points) for award in outcome.chosen.ranked.awards]
    assert outcome.chosen.ranked.score == pytest.approx(
        sum(award.points for award in outcome.chosen.ranked.awards if award.counted)
    )


def test_what_a_plan_rule_derives_later_rules_read(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("own", "derive", "gpu.series == nvidia-l4", "set: {plan.loans: 5}")
    text += make_rule("reads-it", "reject", "plan.loans == 5", "reject: no")
    fact = FactDef(name="plan.loans", type="int", scope="plan", available="plan", role="derived")
    outcome = outcome_of(with_rules(text, fact), SMALL)
    assert outcome.round is not None
    rejected = {rejection.plan.id for rejection in outcome.round.rejections}
    assert rejected == {plan.id for plan in outcome.round.plans if plan.gpu.id == "nvidia-l4"}
    assert all(outcome.round.derived[name] == ("own",) for name in rejected)


def test_a_plan_that_lacks_a_fact_for_a_limit_ranks_behind_all_proven_ones(
    with_rules: WithRules, make_rule: MakeRule
) -> None:
    text = make_rule("needs-hours", "reject", "gpu.series == nvidia-t4, plan.hours > 3", "reject: no")
    outcome = outcome_of(with_rules(text), {**SMALL, "objective": "cheapest"})
    assert outcome.round is not None
    proven = [judged.ranked.proven for judged in outcome.round.judged]
    assert proven == sorted(proven, reverse=True)
    behind = [judged for judged in outcome.round.judged if not judged.ranked.proven]
    assert {judged.ranked.plan.gpu.id for judged in behind} == {"nvidia-t4"}
    assert {judged.missing for judged in behind} == {("plan.hours",)}
    assert any(judged.ranked.proven and judged.ranked.plan.gpu.id != "nvidia-t4" for judged in outcome.round.judged)


def test_a_wish_that_nobody_stated_leaves_plans_proven(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("budget", "reject", "plan.usd_per_hour > budget_usd_per_hour", "reject: no")
    outcome = outcome_of(with_rules(text), SMALL)
    assert outcome.round is not None
    assert all(judged.ranked.proven for judged in outcome.round.judged)
    assert outcome_of(with_rules(text), {**SMALL, "budget_usd_per_hour": 0.01}).no_answer is not None


def test_prefer_rules_read_the_survey(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("dear", "prefer", "plan.cost_vs_cheapest > 1.01", "points: -30, reason: cost")
    outcome = outcome_of(with_rules(text), SMALL)
    assert outcome.chosen is not None
    assert outcome.chosen.facts["plan.cost_vs_cheapest"] <= 1.01  # type: ignore[operator]


def test_a_stated_objective_leaves_preferences_a_small_share(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("dear", "prefer", "plan.cost_vs_cheapest > 1.01", "points: -30, reason: cost")
    outcome = outcome_of(with_rules(text), {**SMALL, "objective": "fastest"})
    assert outcome.chosen is not None
    assert outcome.round is not None
    merits = [judged.standing.merit for judged in outcome.round.judged if judged.standing and judged.standing.merit]
    assert outcome.chosen.standing is not None
    assert outcome.chosen.standing.merit is not None
    assert outcome.chosen.standing.merit <= min(merits) * 1.05 + 1e-9
    assert outcome.chosen.facts["plan.cost_vs_cheapest"] > 1.01  # type: ignore[operator]


def test_a_fallback_is_the_answer_only_where_nothing_else_is_left(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("last-l4", "prefer", "gpu.series == nvidia-l4", 'fallback: "{gpu.name} is a last choice"')
    facts = {**SMALL, "objective": "cheapest"}
    outcome = outcome_of(with_rules(text), facts)
    assert outcome.chosen is not None
    assert outcome.chosen.ranked.plan.gpu.id != "nvidia-l4"
    assert outcome.round is not None
    l4 = [judged for judged in outcome.round.judged if judged.ranked.plan.gpu.id == "nvidia-l4"]
    assert {judged.fallbacks for judged in l4} == {("last-l4",)}
    assert all(judged.standing is not None and not judged.standing.eligible for judged in l4)
    text += make_rule("no-others", "reject", "gpu.series != nvidia-l4", "reject: no")
    alone = outcome_of(with_rules(text), facts)
    assert alone.chosen is not None
    assert alone.chosen.ranked.plan.gpu.id == "nvidia-l4"


def test_a_band_binds_while_no_objective_is_stated(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("named", "prefer", "gpu.series == nvidia-l40s", "points: 1, reason: fit, band: cards")
    free = outcome_of(with_rules(text), SMALL)
    assert free.chosen is not None
    assert (free.chosen.ranked.plan.gpu.id, free.chosen.card_bands) == ("nvidia-l40s", ("named",))
    bound = outcome_of(with_rules(text), {**SMALL, "objective": "cheapest"})
    assert bound.chosen is not None
    assert bound.chosen.ranked.plan.gpu.id != "nvidia-l40s"


def test_when_every_plan_is_rejected_the_commonest_rule_is_named_first(
    with_rules: WithRules, make_rule: MakeRule
) -> None:
    text = make_rule("a-no-t4", "reject", "gpu.series == nvidia-t4", "reject: no")
    text += make_rule("b-nothing", "reject", "plan.count >= 1", 'reject: "{plan.count} of {gpu.name} is too many"')
    decision = with_rules(text).decide(SMALL, decided_at=MOMENT)
    assert decision.exit_code == 1
    no_answer = decision.outcome.no_answer
    assert no_answer is not None
    assert (no_answer.kind, [rule.id for rule in no_answer.rules]) == ("nothing_fits", ["b-nothing", "a-no-t4"])
    why = (decision.to_dict()["no_answer"] or {})["why"]
    plans = len(decision.outcome.round.plans) if decision.outcome.round else 0
    assert why.startswith("every plan is rejected. ")
    assert f": {plans} of {plans} plans, such as 1 x " in why
    assert "is too many)." in why


def test_contradictory_facts_are_answered_before_any_plan(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule(
        "odd", "reject", "task == inference, param_count_b == 1", 'reject: "{param_count_b} is odd"', each="workload"
    )
    outcome = outcome_of(with_rules(text), SMALL)
    assert outcome.round is None
    assert outcome.no_answer is not None
    assert (outcome.no_answer.kind, outcome.no_answer.facts) == ("contradictory", ("param_count_b", "task"))


def test_counts_that_a_rule_asks_for_are_planned(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("eight", "derive", "task == inference", "consider_counts: [8]", each="workload")
    outcome = outcome_of(with_rules(text), {**SMALL, "gpu_candidates": ["nvidia-l40s"]})
    assert outcome.round is not None
    assert {(plan.count, plan.why_count) for plan in outcome.round.plans} >= {(1, "one card"), (8, "asked by eight")}


def test_without_a_task_nothing_is_planned_but_the_rest_is_answered(no_rules: Advisor) -> None:
    outcome = outcome_of(no_rules, {"param_count_b": 7, **FOUR})
    assert outcome.no_answer is not None
    assert (outcome.no_answer.kind, outcome.no_answer.facts) == ("facts_missing", ("task",))
    assert outcome.round is None
    assert len(outcome.candidates) == 4


@pytest.mark.parametrize(
    ("task", "phases"),
    [("full_finetuning", ["training", "serving"]), ("inference", ["training", "serving"])],
)
def test_a_project_that_trains_and_serves_gets_a_plan_for_each(no_rules: Advisor, task: str, phases: list[str]) -> None:
    facts = {"task": task, "param_count_b": 3, "model_family": "llm", "trains_and_serves": True, **FOUR}
    outcome = outcome_of(no_rules, facts)
    assert [name for name, _ in outcome.phases] == phases
    planned = dict(outcome.phases)
    own = "serving" if task == "inference" else "training"
    assert planned[own] is outcome.chosen
    other = planned["training" if own == "serving" else "serving"]
    assert other is not None
    assert outcome.chosen is not None
    memory = {name: phase.ranked.plan.memory for name, phase in planned.items() if phase}
    assert memory["training"] is not None
    assert memory["serving"] is not None
    assert memory["training"].per_gpu_gb > memory["serving"].per_gpu_gb


def test_the_prefer_rules_of_a_round_are_those_of_its_plans(advisor: Advisor) -> None:
    outcome = outcome_of(advisor, {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 16})
    assert outcome.round is not None
    fired = [entry.prefer.fired for entry in outcome.judged]
    assert [*outcome.round.preferring] == fired
    assert {name for names in fired for name in names} <= {*fired_rules(outcome)}
