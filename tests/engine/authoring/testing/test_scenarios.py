"""Scenario files: reading them, their problems, and what an answer misses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.authoring import Scenario, load_scenarios, run_scenarios
from whichgpu.engine.authoring.testing.expectations import Expectation
from whichgpu.engine.core.errors import InputError, Problem, RulebookError


Write = Callable[[str], Path]

SOUND = """\
- id: small-chat
  says: A small chat
  given: {task: inference, param_count_b: 8}
  expect:
    gpu_count: [1, 1]
    recommendation: {gpu: nvidia-l4, count: 1}
    fires: [task-kind]
    silent: [task-kind/tuning-by-adapters]
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        (tmp_path / "scenarios").mkdir(exist_ok=True)
        (tmp_path / "scenarios" / "some.yaml").write_text(text)
        return tmp_path

    return write


def read(folder: Path) -> list[Scenario]:
    advisor = shipped_advisor()
    return load_scenarios([folder], advisor.rulebook, advisor.knowledge)


def problems(folder: Path) -> list[str]:
    with pytest.raises(RulebookError) as caught:
        read(folder)
    return [
        f"{p.place.line if p.place else 0}: {p.message} {' '.join(p.nearest)}".strip() for p in caught.value.problems
    ]


def test_a_scenario_is_read_with_its_place(write: Write) -> None:
    (scenario,) = read(write(SOUND.replace("    silent: [task-kind/tuning-by-adapters]\n", "")))
    assert (scenario.id, scenario.says) == ("small-chat", "A small chat")
    assert scenario.given == {"task": "inference", "param_count_b": 8}
    assert scenario.place is not None
    assert scenario.place.line == 1


def test_all_problems_are_reported_at_once(write: Write) -> None:
    text = (
        "- id: a\n  given: {}\n  expect: {}\n"
        "- id: a\n  given: {}\n  expect: {gpu_cuont: [1, 1]}\n"
        "- id: B\n  given: []\n  expect: {fires: [task-kindd], forbid_gpus: [nvidia-l44]}\n"
        "- id: c\n  given: {}\n"
        "- just text\n"
    )
    assert problems(write(text)) == [
        "3: the scenario a expects nothing",
        "4: there are two scenarios 'a'",
        "6: there is no expectation 'gpu_cuont' gpu_count",
        "7: the id of a scenario cannot be 'B'",
        "8: `given` is a list",
        "10: a scenario lacks `expect`",
        "12: a scenario is 'just text' and should be a mapping (key: value)",
    ]
    named = problems(write("- id: b\n  given: {}\n  expect: {fires: [task-kindd], forbid_gpus: [nvidia-l44]}\n"))
    assert named[0].startswith("3: there is no rule 'task-kindd'")
    assert named[1].startswith("3: no GPU is called 'nvidia-l44'")
    assert problems(write("id: x\n")) == ["1: a scenario file is a list, and this one holds a mapping (key: value)"]
    (tab,) = problems(write("- id: x\n\tgiven: {}\n"))
    assert "found a tab character" in tab


DECISION: dict[str, Any] = {
    "recommendation": {"gpu": "nvidia-l4", "count": 1, "link": "pcie", "node_link": "none"},
    "alternatives": [],
    "rejected": [{"rule": "does-not-fit"}],
    "no_answer": None,
    "rules": [
        {"id": "task-kind/serving", "verdict": "fired"},
        {"id": "other", "verdict": "not_fired", "failed": "training", "value": False},
        {"id": "third", "verdict": "undecided", "missing": ["num_gpus"]},
        {"id": "fourth", "verdict": "overridden", "by": "other"},
    ],
}


@pytest.mark.parametrize(
    ("expect", "misses"),
    [
        ({"fires": ["task-kind", "task-kind/serving", "does-not-fit"]}, []),
        ({"fires": ["other"]}, ["other does not fire: `training` fails with False"]),
        ({"fires": ["third"]}, ["third does not fire: unknown is num_gpus"]),
        ({"fires": ["fourth"]}, ["fourth does not fire: other overrides it"]),
        ({"fires": ["fifth"]}, ["fifth does not fire"]),
        ({"silent": ["other"]}, []),
        ({"silent": ["task-kind", "does-not-fit"]}, ["task-kind fires", "does-not-fit fires"]),
        ({"nothing_fires": True}, ["task-kind/serving fires"]),
        ({"recommendation": {"gpu": "nvidia-l4", "count": 1}}, []),
        (
            {"recommendation": {"gpu": "nvidia-t4", "count": 2}},
            ["recommendation.gpu is nvidia-l4, not nvidia-t4", "recommendation.count is 1, not 2"],
        ),
        ({"no_answer": True}, ["1 x nvidia-l4 is recommended, and no answer was expected"]),
    ],
)
def test_what_an_answer_misses(expect: dict[str, Any], misses: list[str]) -> None:
    assert Expectation(DECISION, shipped_advisor().knowledge).check(expect) == misses


def test_an_answer_without_a_recommendation() -> None:
    case = Expectation(
        DECISION | {"recommendation": None, "no_answer": {"kind": "contradictory"}}, shipped_advisor().knowledge
    )
    assert case.check({"no_answer": "contradictory"}) == []
    assert case.check({"no_answer": True}) == []
    assert case.check({"no_answer": "nothing_fits"}) == [
        "there is no answer because of contradictory, not nothing_fits"
    ]
    assert case.check({"recommendation": {"count": 1}}) == ["nothing is recommended: contradictory"]


def test_a_workload_that_cannot_be_read_fails_with_the_reason() -> None:
    def decide(scenario: Scenario) -> dict[str, Any]:
        if scenario.id == "bad":
            raise InputError(Problem("unknown-fact", "there is no fact 'tusk'"))
        return DECISION

    scenarios = [Scenario("bad", "", {}, {"gpu_count": [1, 1]}), Scenario("good", "says", {}, {"gpu_count": [1, 1]})]
    bad, good = run_scenarios(scenarios, decide, shipped_advisor().knowledge)
    assert (bad.passed, bad.misses) == (False, ("there is no fact 'tusk'",))
    assert good.passed
    assert good.to_dict() == {
        "scenario": "good",
        "says": "says",
        "strength": "must",
        "passed": True,
        "misses": [],
        "path": None,
        "line": None,
    }
