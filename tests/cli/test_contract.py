from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from whichgpu.engine.advisor.answer.formats import BULKY_KEYS
from whichgpu.engine.advisor.answer.schema import decision_schema, schema_of, schema_text, type_schema
from whichgpu.engine.authoring import PrintedFinding
from whichgpu.engine.records.first_form import make_record


SHAPES = ("decision", "decision_line", "compact_line", "record", "size_answer", "refused_line")


def problems(shape: str, value: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema_of(shape)).iter_errors(value)]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_schema_is_a_schema(shape: str) -> None:
    jsonschema_rs.meta.validate(schema_of(shape))


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(KeyError):
        schema_of("plans")


def test_the_committed_schema_is_fresh() -> None:
    committed = Path(__file__).parents[2] / "docs" / "decision.schema.json"
    assert committed.read_text(encoding="utf-8") == schema_text(), "run: whichgpu schema > docs/decision.schema.json"


def test_the_page_of_keys_is_fresh(whichgpu: Callable[..., Any]) -> None:
    committed = Path(__file__).parents[2] / "docs" / "answer.md"
    page = whichgpu("schema", "--page").out
    assert committed.read_text(encoding="utf-8") == page, "run: whichgpu schema --page > docs/answer.md"


def test_every_key_says_what_it_holds() -> None:
    parts = {**decision_schema()["$defs"], **type_schema(PrintedFinding)["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, value in part.get("properties", {}).items()
        if not (value.get("description") or parts[value["$ref"].rpartition("/")[2]]["description"])
    ]
    assert silent == []


def test_samples_follow_the_contract(answered: dict[str, Any], unanswered: dict[str, Any]) -> None:
    assert problems("decision", answered) == []
    assert problems("decision", unanswered) == []
    assert [error.message for error in Draft202012Validator(decision_schema()).iter_errors(answered)] == []


def test_a_line_may_leave_out_what_is_bulky_and_a_decision_may_not(answered: dict[str, Any]) -> None:
    line = {"id": "a", **{key: value for key, value in answered.items() if key not in BULKY_KEYS}}
    assert problems("decision_line", line) == []
    assert len(problems("decision", line)) == len(BULKY_KEYS)


def test_keys_may_be_added_for_readers_and_not_for_tests(answered: dict[str, Any]) -> None:
    answered["procurement"]["colour"] = "green"
    assert problems("decision", answered) == []
    (found,) = Draft202012Validator(schema_of("decision", closed=True)).iter_errors(answered)
    assert "'colour' was unexpected" in found.message


@pytest.mark.parametrize("key", ["facts", "recommendation", "procurement", "trace", "open_questions", "decided_at"])
def test_no_named_key_may_be_missing(answered: dict[str, Any], key: str) -> None:
    del answered[key]
    assert problems("decision", answered)


def test_an_answer_says_either_what_or_why_not(answered: dict[str, Any]) -> None:
    answered["recommendation"] = None
    assert problems("decision", answered)


def test_an_answer_does_not_say_both(answered: dict[str, Any], unanswered: dict[str, Any]) -> None:
    answered["no_answer"] = unanswered["no_answer"]
    assert problems("decision", answered)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("objective",), "best"),
        (("recommendation", "count"), 0),
        (("recommendation", "memory", "needed_gb"), "245 GB"),
        (("recommendation", "cost", "usd_per_hour"), -1),
        (("procurement", "verdict"), "lease"),
        (("facts", "task", "origin"), "guessed"),
        (("candidates", 0, "verdict"), "maybe"),
        (("trace", 0, "kind"), "heard"),
        (("knowledge", "prices_as_of"), "last summer"),
    ],
)
def test_a_wrong_value_is_found(answered: dict[str, Any], path: tuple[str | int, ...], value: object) -> None:
    spot: Any = answered
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = value
    assert problems("decision", answered)


def test_a_sealed_decision_follows_the_contract(answered: dict[str, Any]) -> None:
    record = make_record(answered)
    value = {"format": "whichgpu.record/1", "sha256": record.sha256, "decision": record.decision}
    assert problems("record", value) == []
    assert problems("record", {**value, "sha256": "abc"})
