from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.explain.derivation import Phrases
from whichgpu.engine.explain.fact_changes import FactChange, between, probes, read_back, with_changes
from whichgpu.engine.explain.influencing_facts import influencing_facts
from whichgpu.engine.explain.nearest import REACHED, Nearest, _sorted
from whichgpu.engine.explain.what_if import OutOfDecisionsError, WhatIfSearch
from whichgpu.engine.explain.whynot import WhyNot, why_not
from whichgpu.engine.plans import NOT_AVAILABLE
from whichgpu.engine.records.again import decide_again, recorded_facts


pytestmark = pytest.mark.usefixtures("decided_once")
Decided = Callable[[str], dict[str, Any]]


def ask(decision: dict[str, Any], gpu: str, advisor: Advisor, limit: int = 50) -> WhyNot:
    return why_not(decision, gpu, advisor, limit=limit, phrases=Phrases(advisor.vocabulary))


def holds(nearest: Nearest, gpus: tuple[str, ...], decision: dict[str, Any], advisor: Advisor) -> bool:
    """Whether the change, as a person would type it, does what it claims."""
    given = recorded_facts(decision, advisor)
    sets = [f"{change.fact}={read_back(change.after)}" for change in nearest.changes]
    changed = with_changes(given, sets, advisor)
    stated = changed.get("objective") if any(c.fact == "objective" for c in nearest.changes) else None
    again = decide_again(decision, advisor, given=changed, objective=str(stated) if stated else None)
    return REACHED[nearest.goal](again.outcome, frozenset(gpus)) == nearest.plan


@pytest.mark.parametrize(
    ("example", "gpu"),
    [
        ("qlora-7b", "h100"),
        ("qlora-7b", "nvidia-t4"),
        ("llm-chat-8b", "a100"),
        ("llm-serving-70b", "nvidia-l4"),
        ("sdxl-training", "rtx 4090"),
    ],
)
def test_every_nearest_change_does_what_it_claims(decided: Decided, advisor: Advisor, example: str, gpu: str) -> None:
    decision = decided(example)
    found = ask(decision, gpu, advisor)
    assert found.search is not None
    assert found.search.decisions <= 50
    for nearest in (*found.search.wins, *found.search.fits):
        assert holds(nearest, found.gpus, decision, advisor), nearest
        assert {change.fact for change in nearest.changes} <= set(found.search.facts)


def test_of_values_changed_the_same_way_the_nearest_is_named() -> None:
    def nearest(*changes: FactChange) -> Nearest:
        return Nearest("wins", changes, "nvidia-l4x1", "nvidia-l4x1")

    yes = FactChange("interruptible", None, True)
    near, far = FactChange("latency_slo_ms", 4000.0, 2145.5), FactChange("latency_slo_ms", 4000.0, 2124.26)
    other = FactChange("latency_slo_ms", 4000.0, 9000.0)
    kept = _sorted([nearest(yes, far), nearest(yes, near), nearest(yes, other), nearest(yes)])
    assert [each.changes for each in kept] == [(yes,), (yes, near), (yes, other)]


def test_some_changes_are_found(advisor: Advisor, decide: Callable[..., dict[str, Any]]) -> None:
    facts = {"task": "inference", "param_count_b": 8, "weight_precision": "int8", "objective": "cheapest"}
    consumer_card = decide(**facts)["recommendation"]["gpu"]
    found = ask(decide(**facts, lifecycle_stage="production"), consumer_card, advisor, limit=40)
    assert (found.standing, found.lost_at) == ("outranked", "fallback")
    assert "consumer card" in found.says
    assert found.search is not None
    assert {change.fact for nearest in found.search.wins for change in nearest.changes} >= {"lifecycle_stage"}
    distances = [nearest.distance for nearest in found.search.wins]
    assert distances == sorted(distances)


def test_a_beaten_gpu_is_named_with_what_beats_it(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-chat-8b")
    first: dict[str, dict[str, Any]] = {}
    for plan in decision["alternatives"]:
        first.setdefault(plan["gpu"], plan)
    beaten = next(plan for plan in first.values() if plan["below_for"] == "dominated")
    found = ask(decision, beaten["gpu"], advisor, limit=1)
    assert found.lost_at == "dominated"
    assert "of the cost" in found.says
    assert "times as fast" in found.says


def test_the_waterfall_adds_up(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-chat-8b")
    other = decision["alternatives"][0]
    found = ask(decision, other["gpu"], advisor, limit=1)
    assert found.standing == "outranked"
    assert found.behind == pytest.approx(decision["recommendation"]["score"] - other["score"], rel=1e-3)
    assert sum(row.lost for row in found.waterfall) == pytest.approx(found.behind)
    assert list(found.waterfall) == sorted(found.waterfall, key=lambda row: (-row.lost, row.reason))


def test_a_rejected_gpu_comes_with_rule_and_values(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    surviving = {plan["gpu"] for plan in (decision["recommendation"], *decision["alternatives"])}
    gpu = next(entry["gpu"] for entry in decision["rejected"] if entry["gpu"] not in surviving)
    found = ask(decision, gpu, advisor, limit=1)
    assert found.standing == "rejected"
    entries = [entry for entry in decision["rejected"] if entry["gpu"] == gpu]
    assert {step.rule for step in found.rejections} == {entry["rule"] for entry in entries} - {None}
    assert all(entry["reason"] for entry in entries if entry["rule"] is None)  # counts that were not planned
    assert all(step.steps for step in found.rejections)
    assert found.search is not None
    assert not found.search.complete


def test_gpus_that_no_one_rents_out_or_sells_are_named_unless_the_user_speaks_of_them(
    advisor: Advisor, decide: Callable[..., dict[str, Any]]
) -> None:
    def left_out(**facts: Any) -> set[str]:
        answer = decide(task="inference", model_name="llama-3.1-8b", **facts)
        return {entry["gpu"] for entry in answer["rejected"] if entry["reason"] == NOT_AVAILABLE}

    knowledge = advisor.knowledge
    unpriced = {gpu.id for gpu in knowledge.plannable} - knowledge.priced_ids
    one = min(unpriced)
    assert left_out() == unpriced
    assert left_out(gpu_excluded=[one]) == left_out(current_gpu=one) == unpriced - {one}
    assert left_out(gpu_candidates=[one, "nvidia-l4"]) == set()


def test_other_standings(decided: Decided, advisor: Advisor, decide: Callable[..., dict[str, Any]]) -> None:
    decision = decided("qlora-7b")
    chosen = ask(decision, decision["recommendation"]["gpu"], advisor)
    assert (chosen.standing, chosen.search, chosen.waterfall) == ("recommended", None, ())
    unplannable = next(g.id for g in advisor.knowledge.gpus.values() if not g.plannable)
    assert ask(decision, unplannable, advisor).standing == "not planned"
    nothing = ask(decide(model_name="llama-3.1-8b"), "h100", advisor, limit=40)
    assert nothing.standing == "undecided"
    excluded = decide(task="inference", param_count_b=8, gpu_excluded="nvidia-l4")
    assert ask(excluded, "l4", advisor, limit=60).standing in ("not planned", "rejected")
    with pytest.raises(InputError, match="no GPU is called"):
        ask(decision, "h1000x", advisor)


def test_it_says_when_the_rulebook_is_another(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    assert ask(decision, "t4", advisor, limit=1).same_rulebook
    decision["rulebook"]["digest"] = "0" * 64
    assert not ask(decision, "t4", advisor, limit=1).same_rulebook


def test_levers_are_what_the_deciding_rules_and_calculators_read(decided: Decided, advisor: Advisor) -> None:
    again = decide_again(decided("llm-serving-70b"), advisor)
    influencing = influencing_facts(advisor, again.outcome, frozenset({"nvidia-h100-80gb-sxm"}))
    assert {"concurrency", "input_tokens", "weight_precision"} <= set(influencing.facts)
    assert all(advisor.vocabulary.facts[name].scope == "workload" for name in influencing.facts)
    given = [name for name in influencing.facts if name in again.workload.given]
    assert list(influencing.facts[: len(given)]) == given


def test_probes_stand_at_thresholds_a_step_either_way_and_at_the_ends(advisor: Advisor) -> None:
    fact = advisor.vocabulary.facts["utilization_pct"]
    rules = tuple(rule for rule in advisor.rulebook.rules if "utilization_pct" in rule.reads)
    tried = probes(fact, 50, rules, stated=True)
    values = {change.after for change in tried}
    assert {fact.min, fact.max, None} <= values
    assert any(isinstance(v, float | int) and 69 < v < 70 for v in values)
    assert all(change.before == 50 for change in tried)
    distances = [change.distance for change in tried]
    assert distances == sorted(distances)
    task = probes(advisor.vocabulary.facts["task"], "inference", (), stated=True)
    assert None not in {change.after for change in task}
    assert min(change.distance for change in task) > FactChange("x", 1, None).distance


def test_halving_ends(advisor: Advisor) -> None:
    whole = advisor.vocabulary.facts["concurrency"]
    assert between(whole, 4, 5) is None
    assert between(whole, 4, 8) == 6
    number = advisor.vocabulary.facts["param_count_b"]
    assert between(number, 7.01, 7.02) is None
    low, high = 1.0, 1000.0
    for _ in range(40):
        middle = between(number, low, high)
        if middle is None:
            break
        assert low < float(str(middle)) < high
        high = float(str(middle))
    else:
        pytest.fail("halving went on")


def test_the_laboratory_counts_and_remembers(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    again = decide_again(decision, advisor)
    lab = WhatIfSearch(advisor, again.workload.given, decision["objective"], again.decided_at, 2)
    change = FactChange("param_count_b", 7, 13.0)
    assert lab.outcome((change,)) is lab.outcome((change,))
    lab.outcome()
    assert lab.made == 2
    with pytest.raises(OutOfDecisionsError):
        lab.outcome((FactChange("param_count_b", 7, 14.0),))


def test_two_facts_that_decide_together_are_found_as_a_pair(
    advisor: Advisor, decide: Callable[..., dict[str, Any]]
) -> None:
    facts = {"task": "inference", "param_count_b": 8, "weight_precision": "int8", "objective": "cheapest"}
    consumer_card = decide(**facts)["recommendation"]["gpu"]
    decision = decide(**facts, lifecycle_stage="production", mission_critical=True)
    found = ask(decision, consumer_card, advisor, limit=60)
    assert found.search is not None
    pairs = [nearest for nearest in found.search.wins if len(nearest.changes) == 2]
    for nearest in pairs:
        assert holds(nearest, found.gpus, decision, advisor)
    assert {change.fact for nearest in pairs for change in nearest.changes} >= {"lifecycle_stage", "mission_critical"}
