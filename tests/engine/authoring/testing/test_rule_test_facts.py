"""The facts that tests inside rules are held against."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.authoring.testing.rule_test_facts import LateFacts, RuleTestFacts
from whichgpu.engine.core.errors import InputError


def facts_of(given: dict[str, object], case_facts: RuleTestFacts) -> dict[str, object]:
    return {name: case_facts.value(name, value) for name, value in given.items()}


@pytest.fixture(scope="module")
def case_facts() -> RuleTestFacts:
    return RuleTestFacts(shipped_advisor())


def test_facts_are_resolved_as_in_a_decision(case_facts: RuleTestFacts) -> None:
    facts = case_facts.facts_for({"task": "inference", "param_count_b": 70}, {}, "workload")
    assert facts["serving"] is True
    assert facts["weights_gb"] == pytest.approx(140)


def test_what_is_stated_wins_and_unknown_removes(case_facts: RuleTestFacts) -> None:
    given = {"task": "inference", "param_count_b": 70, "weights_gb": 3, "serving": "unknown"}
    facts = case_facts.facts_for(given, {}, "workload")
    assert facts["weights_gb"] == 3
    assert facts.get("serving") is None
    assert "serving" not in set(facts)


def test_a_plan_has_the_facts_of_its_gpu_and_its_own(case_facts: RuleTestFacts) -> None:
    plan = {"gpu": "nvidia-l4", "count": 2, "plan.link": "nvlink", "gpu.ecc": "unknown"}
    facts = case_facts.facts_for({"task": "inference", "param_count_b": 8}, plan, "plan")
    assert (facts["plan.count"], facts["plan.link"], facts["gpu.series"]) == (2, "nvlink", "nvidia-l4")
    assert "gpu.ecc" not in facts


def test_what_every_plan_of_a_gpu_has_is_known_before_it_is_sized(
    case_facts: RuleTestFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, stated = {"task": "inference", "param_count_b": 7}, {"gpu": "nvidia-l4", "count": 3}
    names = ("plan.count", "plan.gpu", "plan.family", "gpu.vram_gb")
    sized = case_facts.facts_for(given, stated, "plan")
    assert sized["plan.needed_gb"] is not None
    with monkeypatch.context() as patch:
        patch.setattr(type(case_facts.advisor.context), "plan_maker", None)
        facts = case_facts.facts_for(given, stated, "plan")
        before = [facts[name] for name in names]
    made = case_facts.advisor.context.plan_maker(*reversed(case_facts.resolve(dict(facts_of(given, case_facts)))))
    plan = made.plan(case_facts.gpu("nvidia-l4"), 3, "a test")
    assert before[:3] == [plan.facts[name] for name in names[:3]]


def test_a_candidate_knows_how_many_of_it_fit(case_facts: RuleTestFacts) -> None:
    given = {"task": "inference", "param_count_b": 70, "weight_precision": "fp16", "current_gpu": "nvidia-l4"}
    facts = case_facts.facts_for(given, {"gpu": "nvidia-l4"}, "candidate")
    assert facts["candidate.is_current"] is True
    assert facts["candidate.fits_one"] is False
    assert facts["plan.count"] == facts["candidate.min_count"]


def test_the_last_facts_are_worked_out_once_and_only_if_asked_for() -> None:
    calls = []

    def resolve() -> dict[str, int]:
        calls.append(1)
        return {"early": 0, "late": 2}

    facts = LateFacts({"early": 1}, frozenset({"late", "never"}), resolve)
    assert (facts["early"], facts.get("other"), calls) == (1, None, [])
    assert (facts["late"], facts.get("never"), dict(facts), len(facts)) == (2, None, {"early": 1, "late": 2}, 2)
    assert calls == [1]


def test_one_late_fact_is_asked_for_by_itself() -> None:
    asked = []

    def one(name: str) -> int | None:
        asked.append(name)
        return {"late": 2}.get(name)

    facts = LateFacts({"early": 1}, frozenset({"late", "never"}), dict, one)
    assert (facts["early"], facts.get("late"), facts.get("never"), facts.get("other")) == (1, 2, None, None)
    assert asked == ["late", "never"]


@pytest.mark.parametrize(
    "stated",
    [
        {"task": "inference", "param_count_b": 70, "weights_gb": 3},
        {"task": "finetuning", "param_count_b": 13},
        {"model_name": "llama-3.1-8b", "task": "inference"},
        {},
    ],
)
def test_facts_asked_for_one_by_one_are_those_of_all_at_once(
    case_facts: RuleTestFacts, stated: dict[str, object]
) -> None:
    given = facts_of(stated, case_facts)
    context = case_facts.advisor.context
    whole = context.resolve(given).intake
    names = [*sorted(whole.facts), "no_such_fact", *sorted(case_facts.advisor.vocabulary.facts)]
    assert len(whole.facts) > len(given) or not given
    for order in (names, names[::-1]):
        resolving = context.begin(given).resolving
        assert {name: resolving.fact(name) for name in order} == {name: whole.facts.get(name) for name in order}
        assert (resolving.finished().resolved, resolving.finished().fired) == (whole.resolved, whole.fired)
    early = context.begin(given).resolving
    assert early.fact("no_such_fact") is None
    assert early._taken == 0


def test_wrong_names_are_wrong_input(case_facts: RuleTestFacts) -> None:
    with pytest.raises(InputError, match="no GPU is called"):
        case_facts.facts_for({}, {"gpu": "nvidia-l44"}, "plan")
    with pytest.raises(InputError, match="there is no fact"):
        case_facts.facts_for({"tusk": "inference"}, {}, "workload")
