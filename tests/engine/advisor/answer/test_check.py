from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from whichgpu import Decision
from whichgpu.engine.advisor.answer.check import check_saved
from whichgpu.engine.advisor.answer.schema import decision_schema
from whichgpu.engine.core.errors import InputError


Decided = Callable[[str], dict[str, Any]]


@pytest.fixture
def decided(example_answers: dict[str, dict[str, Any]]) -> Decided:
    """The decision on an example, free to be changed."""
    return lambda name: copy.deepcopy(example_answers[name])


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from spots(item, (*path, key))


def test_whole_decisions_pass(decided: Decided, decide: Callable[..., Decision]) -> None:
    for decision in (decided("qlora-7b"), decided("lab-rent-or-buy"), decide(gpu_candidates="h100").to_dict()):
        assert check_saved(decision, "x") is decision


def test_it_refuses_what_the_schema_refuses(decided: Decided) -> None:
    """Whatever is put in place of any part: the same verdict as a full JSON Schema validator."""
    chance = random.Random(3)
    validator = Draft202012Validator(decision_schema())
    decision = decided("lora-13b")
    for part in ("trace", "rules", "rejected"):
        decision[part] = decision[part][:: max(1, len(decision[part]) // 8)]  # Many of one shape: a few of them do.
    assert validator.is_valid(decision)
    places = list(spots(decision))
    refused = 0
    for path in chance.sample(places, 80):
        inner: Any = decision
        for key in path[:-1]:
            inner = inner[key]
        kept = inner[path[-1]]
        inner[path[-1]] = chance.choice([None, -1, "x", "", [], {}, True, 3.5, [1], {"a": 1}])
        try:
            check_saved(decision, "x")
            mine = True
        except InputError:
            mine = False
        assert mine == validator.is_valid(decision), path
        refused += not mine
        inner[path[-1]] = kept
    assert refused > 20


def test_it_says_where(decided: Decided) -> None:
    decision = decided("qlora-7b")
    decision["recommendation"]["memory"]["needed_gb"] = "much"
    with pytest.raises(
        InputError, match=r'\$\.recommendation\.memory\.needed_gb should be a number; "much" stands there'
    ):
        check_saved(decision, "record.json")


def test_a_short_answer_is_distinguished(decided: Decided) -> None:
    decision = decided("qlora-7b")
    del decision["trace"]
    with pytest.raises(InputError, match="--full"):
        check_saved(decision, "line")
    for value in (None, [], 3, "x", {}):
        with pytest.raises(InputError):
            check_saved(value, "x")


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ({"format": "whichgpu.session/1", "answers": []}, "end it with: whichgpu resume x.json --save RECORD"),
        ({"recommendation": None}, "add --full"),
        ({"recommendation": None, "trace": [], "rules": [], "rejected": []}, "whichgpu recommend FILE --save RECORD"),
        ([], "whichgpu recommend FILE --save RECORD"),
    ],
)
def test_it_says_how_a_decision_would_be_had(value: object, fix: str) -> None:
    with pytest.raises(InputError, match=re.escape(fix)):
        check_saved(value, "x.json")
