from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from whichgpu.engine.advisor.answer.formats import BULKY_KEYS
from whichgpu.engine.advisor.answer.schema import schema_of, type_schema
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.record_types import SignedRecord

from .conftest import HOUSE_RULE


Whichgpu = Callable[..., Any]

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAT = str(EXAMPLES / "llm-chat-8b.yaml")


def complaints(shape: str, value: Any) -> list[str]:
    found = Draft202012Validator(schema_of(shape, closed=True)).iter_errors(value)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in found]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_answered_by_the_contract(whichgpu: Whichgpu, example: Path) -> None:
    ran = whichgpu("recommend", str(example), "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    answer = json.loads(ran.out)
    assert complaints("decision", answer) == []
    assert answer["recommendation"]["proven"]
    assert answer["recommendation"]["memory"]["headroom_pct"] > 0


def test_text_and_markdown_say_the_same_plan(whichgpu: Whichgpu) -> None:
    plan = json.loads(whichgpu("recommend", CHAT, "--format", "json").out)["recommendation"]
    text, markdown = whichgpu("recommend", CHAT).out, whichgpu("recommend", CHAT, "--format", "markdown").out
    assert text.splitlines()[2].startswith(f"{plan['count']} x ")
    assert markdown.splitlines()[2].startswith(f"**{plan['count']} x ")
    assert "\x1b" not in text


def test_all_leaves_nothing_out(whichgpu: Whichgpu) -> None:
    usual, everything = whichgpu("recommend", CHAT).out, whichgpu("recommend", CHAT, "--all").out
    assert "--show" in usual
    assert "--show" not in everything
    answer = json.loads(whichgpu("recommend", CHAT, "--format", "json").out)
    for entry in answer["open_questions"]:
        assert f"fact: {entry['fact']}" in everything
    for name in answer["facts"]:
        assert name in everything


def test_facts_may_come_from_set_alone(whichgpu: Whichgpu, tmp_path: Path) -> None:
    stated = ("--set", "task=inference", "--set", "model_name=llama-3.1-8b", "--set", "concurrency=20")
    alone, record = whichgpu("recommend", *stated), tmp_path / "record.json"
    from_file = whichgpu("recommend", "-", *stated, stdin="{}")
    assert (alone.code, alone.out) == (0, from_file.out)
    assert whichgpu("recommend", *stated, "--save", str(record)).code == 0
    assert "gives the same bytes" in " ".join(whichgpu("audit", str(record)).out.split())
    sized = whichgpu("size", *stated, "--gpu", "nvidia-l4")
    assert "L4" in sized.out


def test_without_file_and_facts_the_command_says_what_to_give(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend")
    assert (ran.code, "Name a FILE" in ran.err) == (2, True)


def test_set_overrules_the_file(whichgpu: Whichgpu) -> None:
    ran = whichgpu(
        "recommend", CHAT, "--set", "concurrency=64", "--set", "gpu_candidates=nvidia-h200", "--format", "json"
    )
    answer = json.loads(ran.out)
    assert answer["facts"]["concurrency"] == {
        "value": 64,
        "origin": "given",
        "seq": answer["facts"]["concurrency"]["seq"],
    }
    assert answer["recommendation"]["gpu"].startswith("nvidia-h200")


def test_the_objective_of_the_command_wins(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", CHAT, "--objective", "fastest", "--format", "json")
    assert json.loads(ran.out)["objective"] == "fastest"


def test_standard_input(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", "-", "--format", "json", stdin=Path(CHAT).read_text())
    assert ran.code == 0
    ran = whichgpu("recommend", "-", stdin='{"task": "inference", "model_name": "llama-3.1-8b"}')
    assert ran.out.startswith("Recommendation")


def test_too_little_known_exits_with_one_and_says_what_to_provide(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", "-", stdin="model_name: llama-3.1-8b\n")
    assert ran.code == 1
    assert ran.out.startswith("No recommendation yet: too little is known.")
    assert "- task: What will the GPU do?" in ran.out
    answer = json.loads(whichgpu("recommend", "-", "--format", "json", stdin="{}").out)
    assert complaints("decision", answer) == []
    assert answer["no_answer"]["kind"] == "facts_missing"


def test_nothing_fits_exits_with_one_and_says_why(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", CHAT, "--set", "budget_usd_per_hour=0.01")
    assert ran.code == 1
    assert ran.out.startswith("No recommendation: no plan in the catalogue qualifies.")
    assert "budget_usd_per_hour" in ran.out


def test_wrong_input_names_the_place_and_the_nearest_word(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("taks: inference\nconcurrency: many\n")
    ran = whichgpu("recommend", str(file))
    assert ran.code == 2
    assert ran.out == ""
    assert f"{file}:1:" in ran.err
    assert "'taks' is no fact of a workload" in ran.err
    assert "did you mean task?" in ran.err
    assert f"{file}:2:14" in ran.err


def test_a_word_that_is_taken_as_something_else_is_reported(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("task: inference\nparam_count_b: 7\nmodel_family: visoin\n")
    ran = whichgpu("recommend", str(file))
    assert ran.code == 0
    assert ran.err.startswith(
        f"Note: {file}:3:15: model_family: 'visoin' is not among the known choices; taken as other"
    )
    assert "did you mean vision?" in ran.err


def test_a_configuration_beside_plans_is_reported_as_left_out(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text("task: inference\nmodel_name: llama-3.1-8b\ngpu: l40s\ncount: 2\n", encoding="utf-8")
    note = "To plan with them: --set gpu_candidates=nvidia-l40s --set num_gpus=2"
    assert note in whichgpu("recommend", str(file)).err
    assert "Note:" not in whichgpu("size", str(file)).err


@pytest.mark.parametrize("bad", ["nowhere.yaml", "."])
def test_a_file_that_cannot_be_read(whichgpu: Whichgpu, bad: str) -> None:
    ran = whichgpu("recommend", bad)
    assert ran.code == 2
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "text", ["", "- a\n- b\n", "just words", "a: [1", "\x00", "task: inference\ntask: inference\n"]
)
def test_no_text_is_a_traceback(whichgpu: Whichgpu, text: str) -> None:
    ran = whichgpu("recommend", "-", stdin=text)
    assert ran.code in (1, 2)
    assert "failed in itself" not in ran.err


def test_a_misshapen_set(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", CHAT, "--set", "concurrency")
    assert ran.code == 2
    assert "fact=value" in ran.err


def test_a_saved_record_is_whole_and_private(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    ran = whichgpu("recommend", CHAT, "--save", str(file), "--format", "json")
    assert ran.code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    value = json.loads(file.read_text())
    Draft202012Validator(type_schema(SignedRecord, closed=True)).validate(value)
    saved = read_saved(file.read_bytes(), str(file))
    assert saved.standing.state == "unsigned"
    assert saved.decision == json.loads(ran.out)
    assert "unsigned, saved in" in ran.err


def test_a_record_that_cannot_be_written(whichgpu: Whichgpu, tmp_path: Path) -> None:
    ran = whichgpu("recommend", CHAT, "--save", str(tmp_path / "no" / "where" / "record.json"))
    assert ran.code == 2
    assert "cannot write" in ran.err


def test_lines_are_answered_in_order(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    lines = [
        {"id": "a", "task": "inference", "model_name": "llama-3.1-8b"},
        {"id": "b", "taks": "inference"},
        {"task": "peft_finetuning", "param_count_b": 7, "gpu": "nvidia-l4", "count": 2},
        {"id": "d", "param_count_b": 7},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = whichgpu("recommend", str(file), "--jsonl")
    assert (ran.code, ran.err) == (2, "")
    replies = [json.loads(line) for line in ran.out.splitlines()]
    assert [reply["id"] for reply in replies] == ["a", "b", None, "d"]
    assert complaints("refused_line", replies[1]) == []
    for index in (0, 2, 3):
        assert complaints("decision_line", replies[index]) == []
        assert not set(BULKY_KEYS) & set(replies[index])
    assert replies[3]["recommendation"] is None


def test_full_lines_keep_everything(whichgpu: Whichgpu) -> None:
    line = '{"task": "inference", "model_name": "llama-3.1-8b"}\n'
    ran = whichgpu("recommend", "-", "--jsonl", "--full", "--set", "concurrency=3", stdin=line)
    assert ran.code == 0
    answer = json.loads(ran.out)
    assert set(BULKY_KEYS) <= set(answer)
    assert answer["facts"]["concurrency"]["value"] == 3


def test_compact_lines_are_short_and_errors_stay_lines(whichgpu: Whichgpu) -> None:
    lines = [
        '{"id": 1, "task": "inference", "model_name": "llama-3.1-8b"}',
        "{",
        '{"id": [2], "taks": "x"}',
        '{"id": 3}',
    ]
    ran = whichgpu("recommend", "-", "--jsonl", "--compact", "--set", "concurrency=3", stdin="\n".join(lines))
    assert (ran.code, ran.err) == (2, "")
    replies = [json.loads(line) for line in ran.out.splitlines()]
    assert [reply["id"] for reply in replies] == [1, None, [2], 3]
    for index in (0, 3):
        assert complaints("compact_line", replies[index]) == []
    for index in (1, 2):
        assert complaints("refused_line", replies[index]) == []
        assert replies[index]["error"]["line"] == index + 1
    assert replies[0]["plan"]["count"] == 1
    assert replies[3]["no_answer"]["kind"] == "facts_missing"
    assert max(map(len, ran.out.splitlines())) < 1024


@pytest.mark.parametrize("options", [("--compact",), ("--jsonl", "--compact", "--full")])
def test_compact_is_a_form_of_lines(whichgpu: Whichgpu, options: tuple[str, ...]) -> None:
    ran = whichgpu("recommend", CHAT, *options)
    assert ran.code == 2
    assert "--compact" in ran.err


def test_jsonl_does_not_save(whichgpu: Whichgpu, tmp_path: Path) -> None:
    ran = whichgpu("recommend", "-", "--jsonl", "--save", str(tmp_path / "record.json"))
    assert ran.code == 2
    assert "--save" in ran.err


def test_imported_prices_count(whichgpu: Whichgpu, tmp_path: Path) -> None:
    cheap = "provider,provider_class,instance,gpu,count,usd_per_hour,as_of,source\n"
    cheap += "acme,neocloud,one,nvidia-h200-sxm,1,0.001,2026-11-01,my-quote\n"
    before = json.loads(whichgpu("recommend", CHAT, "--format", "json").out)
    assert json.loads(whichgpu("doctor", "--format", "json").out)["imported_prices"] is None
    assert whichgpu("prices", "import", "-", stdin=cheap).code == 0
    assert json.loads(whichgpu("doctor", "--format", "json").out)["imported_prices"].endswith("whichgpu/prices.csv")
    after = json.loads(whichgpu("recommend", CHAT, "--format", "json").out)
    assert after["recommendation"]["gpu"] == "nvidia-h200-sxm"
    assert after["recommendation"]["offer"]["provider"] == "acme"
    assert after["knowledge"]["digest"] != before["knowledge"]["digest"]


def test_a_layer_of_house_rules(whichgpu: Whichgpu, tmp_path: Path) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "house.yaml").write_text(HOUSE_RULE)
    answer = json.loads(whichgpu("recommend", CHAT, "--rules", str(folder), "--format", "json").out)
    assert [layer["name"] for layer in answer["rulebook"]["layers"]] == ["rules", "house"]
    assert any(entry["rule"] == "house-rule" for entry in answer["rejected"])
    alone = json.loads(
        whichgpu("recommend", CHAT, "--rules", str(folder), "--no-builtin-rules", "--format", "json").out
    )
    assert [rule["id"] for rule in alone["rules"]] == ["house-rule"]


def test_rules_that_are_not_there(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", CHAT, "--rules", "nowhere")
    assert ran.code == 2
    assert "there is no such folder" in ran.err
    ran = whichgpu("recommend", CHAT, "--no-builtin-rules")
    assert ran.code == 2
    assert "no rules at all" in ran.err
