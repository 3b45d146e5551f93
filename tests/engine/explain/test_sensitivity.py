from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.explain.rerun import FactChange, read_back, with_changes
from whichgpu.engine.explain.sensitivity_search import Sensitivity, sensitivity
from whichgpu.engine.interview import answered
from whichgpu.engine.records.again import decide_again, recorded_facts


pytestmark = pytest.mark.usefixtures("decided_once")
Decided = Callable[[str], dict[str, Any]]


def decided_with(change: Any, decision: dict[str, Any], advisor: Advisor) -> Any:
    given = recorded_facts(decision, advisor)
    changed = with_changes(given, [f"{change.fact}={read_back(change.after)}"], advisor)
    objective = str(changed["objective"]) if change.fact == "objective" and "objective" in changed else None
    return answered(decide_again(decision, advisor, given=changed, objective=objective).outcome)


@pytest.mark.parametrize("example", ["qlora-7b", "lora-13b"])
def test_every_flip_decides_to_what_it_claims(decided: Decided, advisor: Advisor, example: str) -> None:
    decision = decided(example)
    found = sensitivity(decision, advisor, limit=90)
    assert found.decisions <= 90
    assert found.verdict.count == decision["recommendation"]["count"]
    assert found.turns
    for turn in found.turns:
        verdict = decided_with(turn.change, decision, advisor)
        assert verdict == turn.verdict
        assert turn.flips == found.verdict.differs_in(verdict) != ()
    distances = [turn.change.distance for turn in found.turns]
    assert distances == sorted(distances)
    assert not {entry.fact for entry in found.steady} & {turn.change.fact for turn in found.turns}
    for turn in found.turns:
        if turn.until is not None:
            last = type(turn.change)(turn.change.fact, turn.change.before, turn.until)
            assert decided_with(last, decision, advisor) == turn.verdict
    for entry in found.steady[:4]:
        assert entry.tried
        for value in entry.tried[:2]:
            change = FactChange(entry.fact, None, value)
            assert decided_with(change, decision, advisor) == found.verdict


def test_a_narrowed_whole_number_flips_there_and_not_a_step_before(decided: Decided, advisor: Advisor) -> None:
    decision = decided("llm-serving-70b")
    found: Sensitivity = sensitivity(decision, advisor, limit=180)
    facts = advisor.vocabulary.facts
    whole = [
        t for t in found.turns if t.narrowed and facts[t.change.fact].type == "int" and t.change.before is not None
    ]
    assert whole
    for turn in whole[:3]:
        before, after = float(str(turn.change.before)), float(str(turn.change.after))
        if abs(after - before) <= 1:
            continue
        inside = after - 1 if after > before else after + 1
        if abs(after - before) / 2**8 > 1:
            continue  # Eight halvings do not come down to one step from there.
        closer = type(turn.change)(turn.change.fact, turn.change.before, int(inside))
        assert decided_with(closer, decision, advisor) == found.verdict


def test_what_nobody_stated_is_varied_alone_and_narrowed_from_what_keeps_the_decision(
    decided: Decided, advisor: Advisor
) -> None:
    decision = decided("llm-chat-8b")
    found = sensitivity(decision, advisor, limit=300, stated=False)
    assert {turn.origin for turn in found.turns} == {"assumed", "unknown"}
    given = recorded_facts(decision, advisor)
    assert not given.keys() & {entry.fact for entry in found.steady}
    unknown = (turn for turn in found.turns if turn.change.before is None and turn.change.after)
    numbers = [turn for turn in unknown if turn.narrowed and turn.rises is not None]
    assert numbers
    for turn in numbers:
        after = float(str(turn.change.after))
        outside = FactChange(turn.change.fact, None, after * (0.99 if turn.rises else 1.01))
        assert decided_with(outside, decision, advisor) == found.verdict
        assert decided_with(turn.change, decision, advisor) == turn.verdict


def test_a_small_limit_is_kept_and_said(decided: Decided, advisor: Advisor) -> None:
    found = sensitivity(decided("qlora-7b"), advisor, limit=10)
    assert found.decisions <= 10
    assert not found.complete


def test_a_decision_without_an_answer_is_flipped_by_the_fact_that_it_lacks(
    advisor: Advisor, decide: Callable[..., dict[str, Any]]
) -> None:
    found = sensitivity(decide(model_name="llama-3.1-8b"), advisor, limit=60)
    assert found.verdict.gpu is None
    assert any(turn.change.fact == "task" and turn.origin == "unknown" and "gpu" in turn.flips for turn in found.turns)
