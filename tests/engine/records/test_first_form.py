"""The decision record: sealed, readable again, and betraying every change."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest

from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.records.first_form import make_record
from whichgpu.engine.records.reading import read_saved


@pytest.fixture
def answer(example_answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return copy.deepcopy(example_answers["llm-chat-8b"])


def test_a_record_reads_back_as_it_was_sealed(answer: dict[str, Any]) -> None:
    record = make_record(answer)
    again = read_saved(record.to_json(), "r.json")
    assert again.decision == record.decision
    assert (again.standing.state, again.standing.says) == ("unsigned", "unsigned, checksum intact")
    assert again.statement is None


def test_a_record_keeps_its_contract(answer: dict[str, Any]) -> None:
    jsonschema_rs.validate(schema_of("record", closed=True), json.loads(make_record(answer).to_json()))


def test_which_engine_fired_is_no_part_of_the_seal(answer: dict[str, Any]) -> None:
    other = {**answer, "fired_by": "reference"}
    assert make_record(answer).sha256 == make_record(other).sha256


def test_the_time_of_the_decision_is_part_of_the_seal(answer: dict[str, Any]) -> None:
    other = {**answer, "decided_at": "2020-01-01T00:00:00+00:00"}
    assert make_record(answer).sha256 != make_record(other).sha256


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25, 0.4, 0.5, 0.63, 0.75, 0.9, 0.985])
def test_one_changed_character_is_seen(answer: dict[str, Any], share: float) -> None:
    text = make_record(answer).to_json()
    # The next letter or digit at that spot: a change that keeps the JSON readable, as a forger would make it.
    start = int(len(text) * share)
    spot = next(index for index in range(start, len(text)) if text[index].isdigit() and text[index - 1].isalnum())
    forged = text[:spot] + ("3" if text[spot] != "3" else "4") + text[spot + 1 :]
    assert read_saved(forged, "r.json").standing.state == "altered"


def test_a_changed_seal_is_seen(answer: dict[str, Any]) -> None:
    record = make_record(answer)
    changed = record.to_json().replace(record.sha256, "0" * 64)
    assert read_saved(changed, "r.json").standing.state == "altered"


def test_layout_and_order_of_keys_are_part_of_the_file(answer: dict[str, Any]) -> None:
    value = json.loads(make_record(answer).to_json())
    value["decision"] = dict(reversed(value["decision"].items()))
    found = read_saved(json.dumps(value, indent=4), "r.json").standing
    assert (found.state, found.findings) == ("altered", ("it is not spelt as it was saved, to the byte",))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not-json"),
        ("task: inference", "not-json"),
        ("[" * 100_000, "not-json"),
        ("[]", "not-a-decision"),
        ('"text"', "not-a-decision"),
        ('{"format": "whichgpu.decision/1"}', "not-a-decision"),
        ('{"format": "whichgpu.record/1"}', "not-a-record"),
        ('{"format": "whichgpu.record/1", "decision": [], "sha256": "x"}', "not-a-record"),
        ('{"format": "whichgpu.record/1", "decision": {}, "sha256": 3}', "not-a-record"),
        ('{"format": "whichgpu.record/1", "decision": {"a": NaN}, "sha256": "x"}', "not-json"),
    ],
)
def test_what_is_no_record_is_refused_by_its_name(text: str, code: str) -> None:
    with pytest.raises(InputError, match=r"r\.json") as caught:
        read_saved(text, "r.json")
    assert caught.value.problems[0].code == code
