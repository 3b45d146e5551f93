"""How sure an answer is: a fixed sample of the ways in which what is open could turn out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.explain import probing_context
from whichgpu.engine.interview import Interviewer, State
from whichgpu.engine.interview.sureness import usual_values


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
KNOWN = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "weight_precision": "bf16",
    "context_tokens": 4096,
    "concurrency": 8,
    "peak_qps": 1.0,
    "serving_mode": "interactive",
    "objective": "fastest",
    "deployment_site": "cloud",
    "utilization_pct": 90.0,
    "project_months": 12.0,
}


@pytest.fixture(autouse=True)
def few_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichgpu.engine.interview.sureness.SAMPLES", 4)


def sure(state: State, **options: object) -> object:
    advisor = shipped_advisor()
    return Interviewer(advisor, MOMENT, **options).sureness(state)  # type: ignore[arg-type]


def test_it_hangs_on_the_state_alone() -> None:
    state = State().state_facts(KNOWN, "file")
    found = sure(state)
    assert found == sure(state, context=probing_context(shipped_advisor().context))
    assert found.of == 4  # type: ignore[attr-defined]
    assert found.all_stays <= found.plan_stays <= found.of  # type: ignore[attr-defined]


def test_nothing_open_is_sure() -> None:
    advisor = shipped_advisor()
    interviewer = Interviewer(advisor, MOMENT)
    state = State().state_facts(KNOWN, "file")
    for name in interviewer.view(state).open:
        state = state.answer(name, None)
    found = interviewer.sureness(state)
    assert found.likely
    assert found.plan_stays == found.all_stays == found.of


def test_the_ends_of_a_domain_are_no_usual_values() -> None:
    facts = shipped_advisor().vocabulary.facts
    assert usual_values(facts["concurrency"], (1, 8, 32, 1_000_000)) == (8, 32)
    assert set(usual_values(facts["deployment_site"], ("cloud", "edge"))) == {"cloud", "edge"}
    assert usual_values(facts["concurrency"], None) == ()
    assert usual_values(facts["requests_total"], (1, 10**6, 10**12)) == (10**4, 10**6, 10**8)


def test_what_would_not_be_asked_is_not_drawn() -> None:
    """A total makes a batch of what is served: it is drawn where a batch is."""
    advisor = shipped_advisor()
    interviewer = Interviewer(advisor, MOMENT)
    known = {name: value for name, value in KNOWN.items() if name != "serving_mode"}
    view = interviewer.view(State().state_facts(known, "file"))
    assert {"serving_mode", "requests_total"} <= set(view.open)
    drawn = {"requests_total": 10**6}
    sensible = interviewer.samples._sensible
    assert sensible({"serving_mode": "batch", **drawn}, view.intake.facts, view.open).keys() >= drawn.keys()
    for mode in ({"serving_mode": "interactive"}, {}):
        assert "requests_total" not in sensible({**mode, **drawn}, view.intake.facts, view.open)
