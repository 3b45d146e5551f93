"""Where durable-rules and the generated evaluator differ, the generated one answers, and the answer says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.check import check_saved
from whichgpu.engine.advisor.stages import prepare
from whichgpu.engine.core.calculators import registered
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.rules import defaults_of
from whichgpu.engine.rules.inference.differences import MOST_KEPT, Difference, keep_differences, kept_differences
from whichgpu.engine.rules.inference.durable import Seen
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook.model import Rule


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
FACTS = {"task": "inference", "model_name": "llama-3.1-8b", "gpu_candidates": ["T4", "L4"]}


class Agreeing:
    """An engine that confirms everything."""

    def match(self, seen: Seen) -> list[frozenset[str]]:
        return [seen.evaluation.matches[row] for row in seen.rows]


class Dropping(Agreeing):
    """An engine that loses the first match of each firing, and finds one that is none."""

    def __init__(self) -> None:
        self.lost: list[str] = []

    def match(self, seen: Seen) -> list[frozenset[str]]:
        first, *others = super().match(seen)
        lost = min(first, default=None)
        if lost is None:
            return [first, *others]
        self.lost.append(lost)
        return [first - {lost}, *others]


@pytest.fixture
def with_engine(advisor: Advisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Advisor]:
    """The shipped advisor with another engine beside the generated evaluator, and a state folder of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def build(engine: Agreeing) -> Advisor:
        def make_level(rules: tuple[Rule, ...]) -> Level:
            return Level(rules, engine)

        defaults = defaults_of(advisor.vocabulary)
        stages = prepare(advisor.rulebook, advisor.vocabulary, registered().values(), defaults, make_level)
        context = replace(advisor.context, stages=stages)
        return replace(advisor, stages=stages, context=context, fired_by="durable-rules")

    return build


def test_a_difference_is_reported_kept_and_changes_nothing(with_engine: Callable[..., Advisor], tmp_path: Path) -> None:
    good, bad = with_engine(Agreeing()), with_engine(engine := Dropping())
    right = good.decide(FACTS, decided_at=MOMENT).to_dict()
    assert right["fired_by"] == "durable-rules"
    assert kept_differences() == []
    wrong = bad.decide(FACTS, decided_at=MOMENT).to_dict()
    assert wrong["fired_by"] == "generated"
    (warning,) = (entry for entry in wrong["warnings"] if entry["code"] == "W-ENGINES-DIFFER")
    assert engine.lost[0] in warning["text"]
    assert {warning["rule"], *warning["also"]} == set(engine.lost)
    wrong["warnings"].remove(warning)
    del right["fired_by"], wrong["fired_by"]  # type: ignore[misc]
    assert wrong == right
    kept = kept_differences()
    assert [entry["rule"] for entry in kept] == engine.lost[-MOST_KEPT:]
    assert all(entry["facts"] and entry["decided_at"] and entry["rulebook"] for entry in kept)
    assert (tmp_path / "whichgpu" / "engines-differ.jsonl").stat().st_size > 0


def test_an_answer_of_either_engine_can_be_read_again(with_engine: Callable[..., Advisor]) -> None:
    answer = with_engine(Dropping()).decide(FACTS, decided_at=MOMENT).to_dict()
    for fired_by in ("generated", "durable-rules", "reference"):
        saved = {**json.loads(json.dumps(answer)), "fired_by": fired_by}
        assert check_saved(saved, "saved.json") == saved
    with pytest.raises(InputError, match="fired_by"):
        check_saved({**answer, "fired_by": "nobody"}, "saved.json")


def test_the_file_keeps_the_newest_and_bears_with_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for number in range(MOST_KEPT + 5):
        keep_differences([Difference(f"difference {number}", facts={"plan.count": number})], decided_at="today")
    kept = kept_differences()
    assert len(kept) == MOST_KEPT
    assert kept[-1] == {
        "decided_at": "today",
        "facts": {"plan.count": MOST_KEPT + 4},
        "on": None,
        "rule": None,
        "what": f"difference {MOST_KEPT + 4}",
    }
    file = tmp_path / "whichgpu" / "engines-differ.jsonl"
    file.write_text('{"what": "one"}\nno json\n[]\n')
    assert kept_differences() == [{"what": "one"}]
    monkeypatch.setenv("XDG_STATE_HOME", str(file))  # No folder: nothing is kept, and nothing fails.
    keep_differences([Difference("lost")])
    assert kept_differences() == []
