"""Interviews with random people: few questions, the right answer, and nothing unasked that could change it."""

from __future__ import annotations

import importlib.util
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.interview import Done, Interviewer, Question, State, answered, check_certificate
from whichgpu.engine.interview.tried_answers import effects_of, missing_answers, waiting_for


pytestmark = pytest.mark.usefixtures("decided_once")
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
#: benchmarks/interview.py runs the same over 200 workloads and 50 completions each.
WORKLOADS = 4
COMPLETIONS = 3

_spec = importlib.util.spec_from_file_location(
    "workload_makers", Path(__file__).parents[3] / "benchmarks" / "workload_makers.py"
)
assert _spec is not None
assert _spec.loader is not None
makers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(makers)


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return shipped_advisor()


@pytest.fixture(scope="module")
def interviewer(advisor: Advisor) -> Interviewer:
    return Interviewer(advisor, MOMENT)


def interview(interviewer: Interviewer, facts: dict[str, Any], state: State | None = None) -> tuple[State, Done]:
    state = state or State()
    while isinstance(step := interviewer.next_question(state), Question):
        assert step.fact.name not in state.answered
        state = state.answer(step.fact.name, facts.get(step.fact.name))
    return state, step


@pytest.mark.parametrize("seed", range(WORKLOADS))
def test_the_answer_is_the_one_with_all_facts_given(seed: int, advisor: Advisor) -> None:
    chance = random.Random(7000 + seed)
    full = advisor.read(makers.workload(chance))
    interviewer = Interviewer(advisor, MOMENT)
    state, done = interview(interviewer, full.given)
    assert answered(interviewer.decide(state).outcome) == answered(advisor.decide(full, decided_at=MOMENT).outcome)
    assert len(state.answers) <= 20
    unasked = [entry.fact for entry in done.certificate]
    assert not set(unasked) & state.answered
    assert all(entry.why and entry.checked for entry in done.certificate)
    found = check_certificate(advisor, state.given, unasked, samples=COMPLETIONS, chance=chance, decided_at=MOMENT)
    assert found.decided
    assert not found.counterexamples


def test_the_same_state_gets_the_same_question(interviewer: Interviewer, advisor: Advisor) -> None:
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "weight_precision": "fp8", "context_tokens": 8192}
    state, _ = interview(interviewer, {**facts, "deployment_site": "cloud", "demand_predictable": False})
    for length in range(0, len(state.answers) + 1, 4):
        part = State(state.answers[:length])
        fresh = Interviewer(advisor, MOMENT)
        assert fresh.next_question(part) == interviewer.next_question(part)


def test_what_moved_no_plan_is_tried_again_once_another_fact_is_known(advisor: Advisor) -> None:
    # The guides' band for a service in production depends on how much traffic there is; in no stage on that alone.
    interviewer, state = Interviewer(advisor, MOMENT), State().answer("objective", "balanced", origin="stated")
    for fact, value in {
        "task": "inference",
        "model_name": None,
        "param_count_b": None,
        "model_family": None,
        "deployment_site": None,
        "serving_mode": "interactive",
        "utilization_pct": 60.0,
        "project_months": None,
        "horizon_years": 1.0,
        "org_type": "startup",
        "lifecycle_stage": "production",
        "peak_qps": None,
        "monthly_cloud_spend_usd": 200.0,
        "burst_or_datacenter_need": False,
    }.items():
        interviewer.next_question(state)
        state = state.answer(fact, value)
    step = interviewer.next_question(state)
    assert isinstance(step, Question)
    assert step.fact.name == "traffic_level"


def test_the_task_comes_first_and_then_the_model(interviewer: Interviewer) -> None:
    first = interviewer.next_question(State())
    assert isinstance(first, Question)
    assert (first.fact.name, first.affects) == ("task", "start")
    second = interviewer.next_question(State().answer("task", "inference"))
    assert isinstance(second, Question)
    assert second.fact.name == "model_name"


def test_what_makes_no_sense_is_not_asked(interviewer: Interviewer) -> None:
    serving, _ = interview(interviewer, {"task": "inference", "model_name": "llama-3.1-8b"})
    training, _ = interview(interviewer, {"task": "peft_finetuning", "model_name": "llama-3.1-8b"})
    assert not {"batch_size_per_gpu", "peft_method", "compute_precision", "image_px"} & serving.answered
    assert not {"peak_qps", "concurrency", "context_tokens", "image_px"} & training.answered
    assert "param_count_b" not in serving.answered  # looked up


def test_a_stated_wish_is_taken_and_an_unstated_one_is_not_presumed(interviewer: Interviewer) -> None:
    state, done = interview(interviewer, {}, State().state_facts({"task": "experimentation"}, "file"))
    wishes = {name for name, fact in interviewer.advisor.vocabulary.facts.items() if fact.wish}
    assert not wishes & state.answered
    assert {"budget_usd_per_month", "objective"} <= set(done.offered)
    assert not wishes & {entry.fact for entry in done.certificate}


def test_a_question_put_off_comes_back_at_the_end(interviewer: Interviewer) -> None:
    state = State().answer("task", "inference").skip("model_name")
    step = interviewer.next_question(state)
    assert isinstance(step, Question)
    assert step.fact.name != "model_name"
    while isinstance(step, Question) and step.fact.name not in state.skipped:
        state = state.answer(step.fact.name, None)
        step = interviewer.next_question(state)
    assert "model_name" not in state.answered


def test_nothing_is_known_and_still_there_is_an_answer(interviewer: Interviewer) -> None:
    state, _ = interview(interviewer, {"task": "inference"})
    assert interviewer.decide(state).outcome.chosen is not None
    missing = missing_answers(interviewer, state)
    assert {item.fact for item in missing} == set(state.unknown)
    spread = [len({other for _, other in item.changes}) for item in missing]
    assert spread == sorted(spread, reverse=True)
    assert all(item.robust == (not item.changes) for item in missing)


@pytest.mark.parametrize("seed", range(WORKLOADS // 2))
def test_what_was_not_asked_cannot_matter_to_somebody_who_knows_little(seed: int, advisor: Advisor) -> None:
    chance = random.Random(8000 + seed)
    facts = advisor.read(makers.workload(chance)).given
    known = {name: value for name, value in facts.items() if name == "task" or chance.random() < 0.5}
    state, done = interview(Interviewer(advisor, MOMENT), known)
    unasked = [entry.fact for entry in done.certificate]
    found = check_certificate(advisor, state.given, unasked, samples=COMPLETIONS, chance=chance, decided_at=MOMENT)
    assert found.decided
    assert not found.counterexamples


def test_an_open_answer_that_says_what_the_person_did_not_know_is_still_asked(interviewer: Interviewer) -> None:
    # "Always on" means that jobs run continuously, which together with peaks turns renting into owning the base.
    state = (
        State().state_facts({"task": "inference", "model_name": "llama-3.1-8b"}, "file").answer("runs_cadence", None)
    )
    assert "continuous" in (interviewer.view(state).open_facts.values["runs_cadence"] or ())
    assert "always_on" in interviewer.view(state).open_facts.causes["runs_cadence"]


def test_why_says_what_each_answer_would_come_to(interviewer: Interviewer) -> None:
    state = State().answer("task", "inference").answer("model_name", "llama-3.1-70b")
    effects = {effect.value: effect for effect in effects_of(interviewer, state, "deployment_site")}
    assert set(effects) == {"cloud", "workstation", "datacenter", "edge"}
    for value, effect in effects.items():
        outcome = interviewer.decide(state.answer("deployment_site", value)).outcome
        assert effect.answer == answered(outcome)
        assert effect.plans == len(outcome.round.judged if outcome.round else ())
    assert effects["workstation"].ruled_out
    assert waiting_for(interviewer, state, "deployment_site")


def test_a_certificate_that_claims_too_much_is_found_out(advisor: Advisor) -> None:
    given = {"task": "inference", "model_name": "llama-3.1-70b"}
    found = check_certificate(
        advisor, given, ["weight_precision"], samples=8, chance=random.Random(1), decided_at=MOMENT
    )
    assert found.counterexamples
    assert all(example.answer != example.instead_of for example in found.counterexamples)
