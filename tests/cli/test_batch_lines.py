from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema_rs import Draft202012Validator

from whichgpu.cli import batch
from whichgpu.cli.batch import answer_lines
from whichgpu.cli.inputs import json_lines
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.core.errors import InputError, InternalError, Problem


Answer = Callable[[dict[str, Any]], dict[str, Any]]


def echo(workload: dict[str, Any]) -> dict[str, Any]:
    return {"facts": workload}


def run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | bytes, answer: Answer = echo
) -> tuple[int, list[Any]]:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = answer_lines(str(file), answer)
    return code, [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_answers_keep_the_order_and_the_ids(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, replies = run(tmp_path, capfd, '{"id": 7, "task": "inference"}\n\n{"id": {"a": [1]}}\n{}')
    assert code == 0
    assert [reply["id"] for reply in replies] == [7, {"a": [1]}, None]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "not-json"),
        ("[1]", "not-an-object"),
        ("7", "not-an-object"),
        ('{"a": NaN}', "not-json"),
        ('{"a": 1, "a": 2}', "not-json"),
        ('{"a": ' + "[" * 100_000, "not-json"),
        (b'{"a": "\xff"}', "not-json"),
    ],
)
def test_a_bad_line_is_answered_and_the_run_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], line: str | bytes, code: str
) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    status, replies = run(tmp_path, capfd, b'{"id": 1}\n' + raw + b'\n{"id": 3}\n')
    assert status == 2
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, code, None]
    assert replies[1]["error"]["line"] == 2
    assert list(Draft202012Validator(schema_of("refused_line", closed=True)).iter_errors(replies[1])) == []


def test_a_refused_workload_says_which_fact_and_what_was_meant(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(workload: dict[str, Any]) -> dict[str, Any]:
        first = Problem("unknown-fact", "'taks' is no fact", fact="taks", nearest=("task",))
        raise InputError([first, Problem("bad-value", "no number", fact="peak_qps")])

    status, replies = run(tmp_path, capfd, '{"id": "x", "taks": 1}\n', refuse)
    assert status == 2
    assert replies[0]["id"] == "x"
    error = replies[0]["error"]
    assert (error["code"], error["fact"], error["nearest"]) == ("unknown-fact", "taks", ["task"])
    assert [other["fact"] for other in error["further"]] == ["peak_qps"]


def test_a_failure_of_the_program_costs_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def fail_once(workload: dict[str, Any]) -> dict[str, Any]:
        if workload.get("id") == 1:
            raise InternalError("the engines differ")
        return {}

    status, replies = run(tmp_path, capfd, '{"id": 1}\n{"id": 2}\n{"x"', fail_once)
    assert status == 3
    assert replies[0]["error"]["code"] == "internal-error"
    assert replies[1] == {"id": 2}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        answer_lines(str(tmp_path / "nowhere.jsonl"), echo)


def test_it_stops_when_the_reader_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = []
    monkeypatch.setattr(batch.output, "emit_line", lambda value: False)
    file = tmp_path / "lines.jsonl"
    file.write_text("{}\n" * 100)
    assert answer_lines(str(file), lambda workload: {"n": answered.append(1)}) == 0
    assert len(answered) == 1


def test_progress_shows_only_to_somebody_who_watches(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    file = tmp_path / "lines.jsonl"
    file.write_text("{}\n" * 60)
    answer_lines(str(file), echo)
    captured = capfd.readouterr()
    assert "50 lines answered" in captured.err
    assert "answered" not in captured.out


@given(st.lists(st.binary(max_size=40).filter(lambda raw: raw.strip() and b"\n" not in raw), max_size=8))
def test_whatever_comes_in_each_line_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    file = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    file.write_bytes(b"\n".join(lines))
    found = list(json_lines(str(file)))
    assert [line.number for line in found] == list(range(1, len(lines) + 1))
    assert all((line.workload is None) != (line.problem is None) for line in found)
