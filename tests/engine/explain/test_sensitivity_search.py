from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.explain.fact_changes import FactChange, between, read_back, spread_out, with_changes
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
    found: Sensitivity = sensitivity(decision, advisor, limit=120)
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
        if max(after, before) >= 1000:
            continue  # Three digits do not distinguish one from the next.
        closer = type(turn.change)(turn.change.fact, turn.change.before, int(inside))
        assert decided_with(closer, decision, advisor) == found.verdict


def test_what_is_not_stated_is_varied_alone_and_narrowed_from_what_keeps_the_decision(
    decided: Decided, advisor: Advisor
) -> None:
    decision = decided("llm-chat-8b")
    found = sensitivity(decision, advisor, limit=150, stated=False)
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


def test_the_nearest_numbers_are_tried_and_ever_fewer_further_away() -> None:
    changes = [FactChange("seats", 100, 100 + number) for number in range(1, 61)]
    below = [FactChange("seats", 100, 99), FactChange("seats", 100, None)]
    kept = spread_out([*changes, *below])
    rising = [change.after for change in kept if isinstance(change.after, int) and change.after > 100]
    assert rising[:4] == [101, 102, 103, 104]
    assert rising[-1] == 160
    gaps = [later - earlier for earlier, later in itertools.pairwise(rising[:-1])]
    assert gaps == sorted(gaps)
    assert len(rising) < 16
    assert {99, None} <= {change.after for change in kept}


def test_of_an_unknown_number_a_few_are_tried_from_one_end_to_the_other() -> None:
    kept = [change.after for change in spread_out([FactChange("limit", None, float(n)) for n in range(100)])]
    assert len(kept) == 9
    assert {0.0, 99.0} <= set(kept)


@pytest.mark.parametrize(
    ("fact", "near", "far", "most"),
    [("gpu_hours_per_year", 6000.0, 0.0, 20), ("context_tokens", 8192, 100_000_000, 20), ("concurrency", 0, 6, 3)],
)
def test_halving_ends_at_three_digits(advisor: Advisor, fact: str, near: float, far: float, most: int) -> None:
    """Whatever each middle comes to: here each takes the place of the nearer end."""
    definition, steps = advisor.vocabulary.facts[fact], 0
    while (middle := between(definition, near, far)) is not None:
        assert min(near, far) < float(str(middle)) < max(near, far)
        near, steps = float(str(middle)), steps + 1
        assert steps <= most
    assert steps > 0
