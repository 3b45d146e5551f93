"""Results of cases are those of the run before only while nothing that they can meet has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring.testing.kept_cases import run_or_recall
from whichgpu.engine.authoring.testing.scenarios import (
    Scenario,
    ScenarioResult,
    load_scenarios,
    needs_all,
    needs_plans_alone,
    run_scenarios,
)
from whichgpu.engine.authoring.testing.seen_decision import Outlined
from whichgpu.engine.rules import probing


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
CASES = [
    Scenario("serves", "", {"task": "inference", "param_count_b": 7}, {"gpu_count": [1, 1]}, guide="fpt"),
    Scenario("tunes", "", {"task": "peft_finetuning", "param_count_b": 7}, {"gpu_count": [1, 1]}, guide="fpt"),
]
RULE = """\
- id: a-rule-of-ours
  title: {title}
  stage: advise
  each: workload
  when: [{when}]
  then: {{warn: W-BANDWIDTH-BOUND}}
  because: It is only tried.
  sources: [whichgpu-judgement]
"""


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    folder = tmp_path / "layer"
    folder.mkdir()
    return folder


def _with(layer: Path, when: str = "training", title: str = "A rule of ours") -> Advisor:
    (layer / "ours.yaml").write_text(RULE.format(when=when, title=title))
    return load_advisor((layer,))


def _decided(advisor: Advisor, cases: list[Scenario] = CASES, moment: datetime = MOMENT) -> list[str]:
    """The cases that are decided, the others being recalled."""
    ran: list[str] = []

    def run(wanted: Iterable[Scenario]) -> list[ScenarioResult]:
        found = [ScenarioResult(case, ("missed",) if case.id == "tunes" else ()) for case in wanted]
        ran.extend(each.scenario.id for each in found)
        return found

    done = run_or_recall(cases, run, advisor, moment)
    assert [(each.scenario.id, len(each.misses)) for each in done.results] == [(c.id, c.id == "tunes") for c in cases]
    assert done.kept == len(cases) - len(ran)
    return ran


def test_the_second_run_decides_nothing(layer: Path) -> None:
    advisor = _with(layer)
    assert _decided(advisor, CASES[1:]) == ["tunes"]
    assert _decided(advisor) == ["serves"]
    assert _decided(advisor) == []


def test_another_day_or_another_case_is_decided(layer: Path) -> None:
    advisor = _with(layer)
    _decided(advisor)
    assert _decided(advisor, moment=datetime(2026, 11, 21, tzinfo=UTC)) == ["serves", "tunes"]
    other = Scenario("serves", "", {"task": "inference", "param_count_b": 8}, {"gpu_count": [1, 1]}, guide="fpt")
    assert _decided(advisor, [other, CASES[1]]) == ["serves"]


def test_of_an_edited_rule_the_cases_that_can_meet_it_are_decided(layer: Path) -> None:
    _decided(_with(layer))
    assert _decided(_with(layer, title="Another title")) == []
    assert _decided(_with(layer, when="training and param_count_b < 9")) == ["tunes"]
    assert _decided(_with(layer, when="serving")) == ["serves", "tunes"]  # One met it, the other meets it.
    assert _decided(_with(layer, when="num_gpus == 3")) == ["serves"]
    (layer / "ours.yaml").unlink()
    assert _decided(load_advisor((layer,))) == []  # Neither met it.


def test_other_knowledge_decides_all_anew(layer: Path) -> None:
    _decided(_with(layer))
    (layer / "parameters.yaml").write_text(
        "parameters:\n  rent_below_utilization_pct: {value: 65, because: Our own line.}\n"
    )
    assert _decided(_with(layer)) == ["serves", "tunes"]


def test_what_is_recalled_is_what_would_be_decided(layer: Path) -> None:
    """An edit that turns answers: some cases miss what they expect, and as many as where all are decided."""
    plain, edited = load_advisor((layer,)), _rejecting(layer)
    cases = load_scenarios([*edited.folders], edited.rulebook, edited.knowledge, guides=True)
    run_or_recall(cases, _deciding(plain), plain, MOMENT)
    recalled = run_or_recall(cases, _deciding(edited), edited, MOMENT)
    assert recalled.kept > 20
    assert {each.scenario.id: each.misses for each in recalled.results} == {
        each.scenario.id: each.misses for each in _deciding(edited)(cases)
    }
    assert sum(not each.passed for each in recalled.results) > 3


def _rejecting(layer: Path) -> Advisor:
    (layer / "ours.yaml").write_text(
        """\
- id: only-small-cards
  title: Only small cards
  stage: reject
  each: plan
  when: [training, gpu.vram_gb >= 40]
  then: {reject: '{gpu.name} is no small card'}
  because: It is only tried.
  sources: [whichgpu-judgement]
"""
    )
    return load_advisor((layer,))


def _deciding(advisor: Advisor) -> Any:
    def decide(case: Scenario) -> Mapping[str, Any] | Outlined:
        if needs_plans_alone(case):
            return Outlined(advisor.choose(case.given))
        return advisor.decide(case.given, decided_at=MOMENT).lazily(full=needs_all(case))

    def run(cases: Iterable[Scenario]) -> list[ScenarioResult]:
        with probing():
            return run_scenarios(cases, decide, advisor.knowledge)

    return run
