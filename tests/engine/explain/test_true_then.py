"""Whether a record was true on its day: decided again by the rules, knowledge and offers that it carries."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.explain import auditing
from whichgpu.engine.explain.auditing import audit, check_complete, check_true_then, verdict_of
from whichgpu.engine.records.as_of import DecidedAgain, decide_from_slice
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.packing import unpacked
from whichgpu.engine.records.reading import Saved, Standing, read_saved
from whichgpu.engine.records.signing import new_key, open_key
from whichgpu.engine.records.statement import Asked, id_of, make_statement, record_text


NOW = datetime(2026, 11, 20, tzinfo=UTC)
HOUSE = """
- id: house-prefers-the-small-card
  title: The house likes small cards
  stage: prefer
  each: plan
  when: [gpu.vram_gb < 40]
  then: {points: 2, reason: availability}
  because: They are at hand.
  sources: [whichgpu-judgement]
"""
KEY = open_key(new_key("anna", None)[0], "anna", None)


@pytest.fixture(scope="module")
def statement(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A decision by a layer of rules over the shipped ones."""
    folder = tmp_path_factory.mktemp("house")
    (folder / "house.yaml").write_text(HOUSE)
    facts = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 4, "gpu_candidates": "l4, l40s"}
    decision = load_advisor([folder], tests=False).decide(facts, decided_at=datetime(2026, 6, 1, tzinfo=UTC))
    return make_statement(decision, decision.to_dict(), Asked())


@pytest.fixture(scope="module")
def again(statement: dict[str, Any]) -> DecidedAgain:
    return decide_from_slice(statement["answer"], statement["data"])


@pytest.fixture(autouse=True)
def _once(again: DecidedAgain, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process of its own will do: what differs below is the record, not its data."""
    monkeypatch.setattr(auditing, "decide_from_slice", lambda *_: again)


def saved(statement: dict[str, Any], *, signed: bool) -> Saved:
    changed = {**statement, "id": id_of(statement)}
    signature = KEY.sign(sha256_of(changed), changed["id"]) if signed else None
    return read_saved(record_text(changed, signature), "r.json", {KEY.public.id: KEY.public})


def copied(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: copy.deepcopy(value[key]) for key in keys}


def test_a_record_decides_to_what_it_says(statement: dict[str, Any], advisor: Advisor) -> None:
    checks = audit(saved(statement, signed=True), advisor, today=NOW)
    found = {check.name: check.holds for check in checks}
    assert (found["authentic"], found["complete"], found["true_then"]) == (True, True, True), checks
    assert verdict_of(checks) in {"sound", "outdated"}


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["answer"]["recommendation"].update(power_w=1),
        lambda s: s["answer"]["procurement"].update(because="we like it"),
        lambda s: s["plans"].pop(),
        lambda s: s["rules"].popitem(),
        lambda s: s["arithmetic"]["expressions"].pop(),
        lambda s: s["arithmetic"]["formulas"]["texts"].append("172"),
        lambda s: s["arithmetic"]["formulas"]["constants"][0].update(source="somewhere else"),
        lambda s: s["digests"].update(vocabulary="0" * 64),
        lambda s: s["digests"].update(knowledge="0" * 64),
    ],
)
def test_a_record_that_says_something_else_contradicts_itself(
    statement: dict[str, Any], advisor: Advisor, change: Any
) -> None:
    parts = ("recommendation", "procurement")
    forged = {**statement, "answer": {**statement["answer"], **copied(statement["answer"], *parts)}}
    forged |= copied(statement, "plans", "rules", "arithmetic", "digests")
    change(forged)
    unsigned = Standing("unsigned", "unsigned, checksum intact")
    said = Saved("r.json", unpacked(forged["answer"]), unsigned, "0" * 64, {"statement": forged})
    check = check_true_then(said, advisor)
    assert check.holds is False
    assert check.findings


def test_a_record_carries_the_model_that_a_configuration_described(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,'
        ' "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "torch_dtype": "bfloat16"}'
    )
    facts = {"task": "inference", "model_name": str(config), "concurrency": 4, "gpu_candidates": "l4"}
    decision = load_advisor(tests=False).decide(facts, decided_at=datetime(2026, 6, 1, tzinfo=UTC))
    made = make_statement(decision, decision.to_dict(), Asked())
    config.unlink()
    answer = unpacked(made["answer"])
    assert decide_from_slice(answer, made["data"]).answer["recommendation"] == answer["recommendation"]
    del made["data"]["models"]
    with pytest.raises(InputError, match="no file"):
        decide_from_slice(answer, made["data"])


def test_another_program_is_named_and_a_signed_record_stands(statement: dict[str, Any], advisor: Advisor) -> None:
    older = copy.deepcopy(statement)
    older["digests"]["engine"] = "0" * 64
    older["answer"]["procurement"]["because"] = "as it was said then"
    signed = check_true_then(saved(older, signed=True), advisor, arithmetic_holds=True)
    assert (signed.holds, "the program's code" in signed.says) == (True, True)
    assert any("procurement" in finding for finding in signed.findings)
    assert check_true_then(saved(older, signed=True), advisor, arithmetic_holds=False).holds is None
    assert check_true_then(saved(older, signed=False), advisor, arithmetic_holds=True).holds is None


def test_data_that_today_s_program_cannot_read_contradicts_its_own_program_alone(
    statement: dict[str, Any], advisor: Advisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> DecidedAgain:
        raise InputError(Problem("undecided", "there is no file knowledge/bands.yaml"))

    monkeypatch.setattr(auditing, "decide_from_slice", unreadable)
    assert check_true_then(saved(statement, signed=True), advisor, arithmetic_holds=True).holds is False
    older = {**statement, "digests": {**statement["digests"], "engine": "0" * 64}, "revision": "abcdef0123456789"}
    signed = check_true_then(saved(older, signed=True), advisor, arithmetic_holds=True)
    assert signed.holds
    assert "at revision abcdef012345 then" in signed.says
    assert signed.findings == ("there is no file knowledge/bands.yaml",)
    assert check_true_then(saved(older, signed=True), advisor, arithmetic_holds=False).holds is None
    assert check_true_then(saved(older, signed=False), advisor, arithmetic_holds=True).holds is None


def test_a_record_that_states_no_arithmetic_is_read_and_not_complete(statement: dict[str, Any]) -> None:
    first = {key: part for key, part in statement.items() if key != "arithmetic"}
    check = check_complete(saved(first, signed=True))
    assert check.holds is None
    assert "states no arithmetic" in check.says


def test_the_day_s_data_may_come_from_elsewhere(
    statement: dict[str, Any], again: DecidedAgain, advisor: Advisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "decide_from_folder", lambda *_: again)
    check = check_true_then(saved(statement, signed=False), advisor, Path("somewhere"))
    # Of a slice the digest of the knowledge is another: only a whole folder has the recorded one.
    assert check.holds is False
    assert check.findings[-1] == "these parts differ: knowledge"
