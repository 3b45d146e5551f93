"""``ask`` and ``resume``: what is kept, what is refused, and that the answer is that of ``recommend``."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator

from whichgpu import Advisor
from whichgpu.cli.interview.replies import answer_to, steering
from whichgpu.cli.render.screen import Screen
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.answer.schema import type_schema
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.interview import State
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.record_types import SignedRecord


_SPEC = importlib.util.spec_from_file_location("respondent", Path(__file__).parent / "respondent.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_respondent = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_respondent)
lines_for = _respondent.lines_for

Whichgpu = Callable[..., Any]
#: A job of few questions: what is known is in the file, the person answers the rest.
KNOWN = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "weight_precision": "fp8",
    "context_tokens": 4096,
    "serving_mode": "interactive",
    "peak_qps": 1,
    "concurrency": 4,
    "objective": "cheapest",
    "lifecycle_stage": "development",
    "utilization_pct": 10,
    "project_months": 6,
    "horizon_years": 1,
}
ANSWERS = {"deployment_site": "cloud", "org_type": "2", "demand_predictable": "no", "always_on": "yes"}


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return shipped_advisor()


@pytest.fixture(scope="module")
def typed(advisor: Advisor) -> list[str]:
    return lines_for(advisor, ANSWERS, state=State().state_facts(advisor.read(KNOWN).given, "file"))


@pytest.fixture
def known(tmp_path: Path) -> str:
    file = tmp_path / "known.yaml"
    file.write_text(yaml.safe_dump(KNOWN), encoding="utf-8")
    return str(file)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, advisor: Advisor) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("whichgpu.cli.commands.ask.load", lambda *_args, **_options: advisor)
    monkeypatch.setattr("whichgpu.engine.interview.sureness.SAMPLES", 2)
    return tmp_path / "state" / "whichgpu" / "sessions"


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_the_decision_is_that_of_recommend(whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path) -> None:
    record, file = tmp_path / "r.json", tmp_path / "w.yaml"
    lines = [*typed[:-1], f"save {file}", ""]
    asked = whichgpu("ask", "--answers", known, "--save", str(record), "--all", stdin=joined(lines))
    assert asked.code == 0, asked.err
    recommended = whichgpu("recommend", str(file), "--all")
    assert recommended.code == 0
    page, _, about = recommended.out.partition("About this answer")
    assert page in asked.out
    assert about
    saved = read_saved(record.read_bytes(), "r.json")
    assert saved.standing.state == "unsigned"
    direct = json.loads(whichgpu("recommend", str(file), "--format", "json").out)
    same = {key: value for key, value in saved.decision.items() if key not in ("interview", "decided_at")}
    assert same == {key: value for key, value in direct.items() if key != "decided_at"}


def test_the_record_carries_the_certificate(whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    asked = whichgpu("ask", "--answers", known, "--save", str(record), "--all", stdin=joined(typed))
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    Draft202012Validator(type_schema(SignedRecord, closed=True)).validate(json.loads(record.read_bytes()))
    interview = read_saved(record.read_bytes(), "r.json").decision["interview"]
    origins = {entry["fact"]: entry["origin"] for entry in interview["answered"]}
    assert origins["task"] == "file"
    assert origins["deployment_site"] == "asked"
    assert all(entry["fact"] and entry["why"] and entry["checked"] for entry in interview["unasked"])
    covered = asked.out.partition("no others:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^- (\w+): ", covered, re.MULTILINE) == [entry["fact"] for entry in interview["unasked"]]
    audited = whichgpu("audit", str(record), "--format", "json")
    certificate = next(c for c in json.loads(audited.out)["checks"] if c["name"] == "certificate")
    assert certificate["holds"] is True


def test_every_answer_is_kept_at_once_and_resume_goes_on(
    whichgpu: Whichgpu, known: str, typed: list[str], own_state: Path
) -> None:
    stopped = whichgpu("ask", "--answers", known, stdin=joined([typed[0], "quit"]))
    assert stopped.code == 1
    (session,) = own_state.glob("*.json")
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    assert f"whichgpu resume {session}" in stopped.out
    whole = whichgpu("ask", "--answers", known, "--session", str(own_state / "whole"), stdin=joined(typed))
    resumed = whichgpu("resume", stdin=joined(typed[1:]))
    assert resumed.code == 0, resumed.err
    ends = [
        text.partition("Recommendation\n")[2].partition("About this answer")[0] for text in (whole.out, resumed.out)
    ]
    assert ends[0] == ends[1] != ""


def test_an_input_that_ends_early_says_what_is_missing_and_loses_nothing(
    whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path
) -> None:
    session = tmp_path / "s.json"
    ended = whichgpu("ask", "--answers", known, "--session", str(session), stdin=joined(typed[:1]))
    assert ended.code == 2
    assert "still missing" in ended.err
    assert f"whichgpu resume {session}" in ended.err
    assert len(json.loads(session.read_text())["answers"]) == len(KNOWN) + 1


def test_without_a_terminal_and_input_one_error_lists_what_is_missing(whichgpu: Whichgpu) -> None:
    silent = whichgpu("ask", stdin="")
    assert silent.code == 2
    assert silent.out == ""
    assert silent.err.count("Error") == 1
    for fact in ("task", "deployment_site", "param_count_b"):
        assert fact in silent.err


def test_with_everything_known_nothing_is_asked(
    whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "all.yaml"
    whichgpu("ask", "--answers", known, stdin=joined([*typed[:-1], f"save {file}", ""]))
    unknown = [line for line in typed if line == "unknown"]
    silent = whichgpu("ask", "--answers", str(file), stdin="" if not unknown else joined([*unknown, ""]))
    assert silent.code == 0, silent.err
    assert "Recommendation" in silent.out


def test_back_edit_skip_and_wrong_answers(whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path) -> None:
    session = tmp_path / "s.json"
    lines = ["back", "purple", "4,5", "skip", "show", "edit 6 3", "edit peak_qps", "2 requests/s", "edit 77", "quit"]
    ran = whichgpu("ask", "--answers", known, "--session", str(session), stdin=joined(lines))
    assert "There is no answer to take back." in ran.out
    assert "Put off; it is asked again at the end." in ran.out
    assert "There is no answer '77'; show lists them" in ran.out
    kept = {entry["fact"]: entry["value"] for entry in json.loads(session.read_text())["answers"]}
    assert kept["peak_qps"] == 2
    assert json.loads(session.read_text())["skipped"]


def test_back_asks_the_last_question_again(whichgpu: Whichgpu, known: str, typed: list[str], tmp_path: Path) -> None:
    session = tmp_path / "s.json"
    once = whichgpu(
        "ask", "--answers", known, "--session", str(session), stdin=joined([typed[0], "back", typed[0], "quit"])
    )
    first = next(line for line in once.out.split("\n") if line.startswith(f"{len(KNOWN) + 1}. "))
    assert once.out.count(first) == 2
    assert len(json.loads(session.read_text())["answers"]) == len(KNOWN) + 1


def test_not_knowing_says_what_is_robust_and_what_matters(whichgpu: Whichgpu, known: str, tmp_path: Path) -> None:
    ran = whichgpu("ask", "--answers", known, "--format", "json", stdin=joined(["unknown"] * 20))
    assert ran.code == 0, ran.err
    assert "Leading plan: " in ran.err  # The dialogue goes beside what a machine reads.
    unknown = json.loads(ran.out)["interview"]["unknown"]
    assert unknown
    assert all(entry["robust"] is (not entry["changes"]) for entry in unknown)


def test_an_unknown_task_is_taken_as_trying_things_out(whichgpu: Whichgpu, tmp_path: Path) -> None:
    session = tmp_path / "s.json"
    ran = whichgpu("ask", "--session", str(session), stdin="skip\nunknown\nquit\n")
    assert "Then it is taken as: try things out" in ran.out
    assert json.loads(session.read_text())["answers"][0]["value"] == "experimentation"


def test_a_model_that_is_not_known_is_refused_and_asked_again(whichgpu: Whichgpu, tmp_path: Path) -> None:
    ran = whichgpu(
        "ask", "--session", str(tmp_path / "s.json"), stdin="skip\ninference\nlama 8x9000\nllama-3.1-8b\nquit\n"
    )
    assert "No model is called 'lama 8x9000'." in ran.out
    assert "Give the number of parameters instead, or answer unknown." in " ".join(ran.out.split())
    assert "llama-3.1-8b" in (tmp_path / "s.json").read_text()


@pytest.mark.parametrize(("written", "size"), [("7b", 7.0), ("1.5 B", 1.5), ("350m", 0.35)])
def test_a_size_will_do_where_a_model_is_asked_for(
    whichgpu: Whichgpu, tmp_path: Path, written: str, size: float
) -> None:
    session = tmp_path / "s.json"
    ran = whichgpu("ask", "--session", str(session), stdin=f"skip\ninference\n{written}\nquit\n")
    assert f"Taken as parameters: {size:g} B." in ran.out
    answers = {entry["fact"]: entry["value"] for entry in json.loads(session.read_text())["answers"]}
    assert answers == {"task": "inference", "model_name": None, "param_count_b": size}


def test_a_slip_is_asked_again_and_something_else_is_said_to_be_so(whichgpu: Whichgpu, tmp_path: Path) -> None:
    session = tmp_path / "s.json"
    ran = whichgpu("ask", "--session", str(session), stdin="skip\ninference\n7b\nvisoin\ncrystal ball\nquit\n")
    assert "'visoin' is not a choice. Did you mean vision?" in ran.out
    assert "'crystal ball' is not among the known choices; taken as other." in ran.out
    assert json.loads(session.read_text())["answers"][-1] == {
        "fact": "model_family",
        "origin": "asked",
        "value": "other",
        "written": "crystal ball",
    }


def test_what_is_wrong_is_said_without_the_names_of_files(whichgpu: Whichgpu) -> None:
    lines = ["", "", "", "soon", "", "", "serve", "llama-3.1-8b", "moon", "quit"]
    ran = whichgpu("ask", stdin=joined(lines))
    assert "'soon' is not a number. Write it as here: 20 s, 1 s to first word." in ran.out
    assert "'moon' is not a choice. Write a number from 1 to 4, or the word." in " ".join(ran.out.split())
    assert "latency_slo_ms" not in ran.out
    assert "deployment_site" not in ran.out


def test_plain_lines_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, whichgpu: Whichgpu) -> None:
    monkeypatch.setattr("whichgpu.cli.commands.ask.screen_of", lambda _: Screen(60, colour=True, blocks=True))
    for plain in (["--plain"], []):
        ran = whichgpu("ask", *plain, stdin=joined(["skip", "inference", "llama-3.1-8b", "quit"]))
        assert ("\x1b" in ran.out) is not bool(plain)
        shown = re.sub(r"\x1b\[[\d;]*m", "", ran.out).splitlines()
        assert max(len(line) for line in shown if ".json" not in line) <= 60


def test_a_wish_can_be_taken_back_and_says_why_it_is_asked(whichgpu: Whichgpu, tmp_path: Path) -> None:
    session = tmp_path / "s.json"
    lines = ["back", "money", "$3 an hour", "why", "back", "$2000 a month", "", "1 s to first word", "", "quit"]
    ran = whichgpu("ask", "--session", str(session), stdin=joined(lines))
    assert "There is no answer to take back." in ran.out
    assert ran.out.count("Wish 2 of 5") == 2
    assert "A wish limits the plans or ranks them." in ran.out
    assert "What each answer would come to" not in ran.out
    answers = {entry["fact"]: entry["value"] for entry in json.loads(session.read_text())["answers"]}
    assert answers == {"objective": "cheapest", "budget_usd_per_month": 2000, "ttft_slo_ms": 1000}


def test_what_lets_a_plan_in_again_is_named_by_its_number(whichgpu: Whichgpu) -> None:
    ran = whichgpu("ask", stdin=joined(["money", "", "", "20 ms", "", "serve", "llama-3.1-8b", "quit"]))
    assert "Without your answer on response time target one would remain: edit 2 changes it." in " ".join(
        ran.out.split()
    )


def test_contradicting_answers_are_reported_and_can_be_changed(whichgpu: Whichgpu, tmp_path: Path) -> None:
    lines = ["edit task pretraining", "quit"]
    ran = whichgpu("ask", "--set", "task=peft_finetuning", "--set", "peft_method=lora", stdin=joined(lines))
    assert "These answers contradict each other: peft_method, task" in ran.out


def test_plain_and_no_colour_say_the_same(
    whichgpu: Whichgpu, known: str, typed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = tmp_path / "s.json"
    texts = []
    for options, environment in (([], {}), (["--plain"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        session.unlink(missing_ok=True)  # An interview that is there would be left as it is.
        ran = whichgpu("ask", "--answers", known, "--session", str(session), *options, stdin=joined(typed))
        texts.append(ran.out.partition("Decided ")[0])
        assert "\x1b" not in ran.out
    assert len(set(texts)) == 1


def test_a_broken_session_is_refused(whichgpu: Whichgpu, tmp_path: Path) -> None:
    for text in ("", "{}", "[]", '{"format": "whichgpu.session/1", "answers": [{}], "skipped": []}'):
        file = tmp_path / "broken.json"
        file.write_text(text)
        refused = whichgpu("resume", str(file))
        assert refused.code == 2
        assert "holds no interview" in refused.err
    assert "no interview to resume" in whichgpu("resume").err


def test_a_session_that_cannot_be_written_is_refused(whichgpu: Whichgpu, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    ran = whichgpu("ask", "--session", str(blocked / "s.json"), stdin="skip\ninference\n")
    assert ran.code == 2
    assert "cannot keep the interview" in ran.err
    assert "whichgpu ask --session FILE --set task=inference" in ran.err


@pytest.mark.parametrize(
    ("fact", "line", "value"),
    [
        ("task", "4", "inference"),
        ("task", "serve", "inference"),
        ("task", "inf", "inference"),
        ("org_type", "small team", "small_team"),
        ("org_type", "=enterprise", "enterprise"),
        ("weight_precision", "int4", "int4"),
        ("param_count_b", "70b", 70.0),
        ("context_tokens", "1.5k", 1500),
        ("deadline_hours", "2 weeks", 336.0),
        ("always_on", "y", True),
        ("always_on", "2", False),
        ("required_vram_gb", "24 GB", 24.0),
    ],
)
def test_answers_are_understood(fact: str, line: str, value: object, advisor: Advisor) -> None:
    assert answer_to(advisor.vocabulary.facts[fact], line, advisor).value == value


@pytest.mark.parametrize(
    ("fact", "line", "says"),
    [
        ("task", "9", "write 1 to 5"),
        ("org_type", "s", "write more of it: small_team, startup, student"),
        ("param_count_b", "many", "not a number"),
        ("param_count_b", "=unknown", "write unknown"),
        ("always_on", "perhaps", "neither yes nor no"),
        ("utilization_pct", "140", "100"),
    ],
)
def test_wrong_answers_are_explained(fact: str, line: str, says: str, advisor: Advisor) -> None:
    with pytest.raises(InputError) as refused:
        answer_to(advisor.vocabulary.facts[fact], line, advisor)
    assert says in str(refused.value)


def test_steering_words_and_their_escape() -> None:
    assert steering("  EDIT  3  24 GB ") is not None
    assert steering("Don't know") is not None
    assert steering("=unknown") is None
    assert steering("unknown model") is None
    assert steering("editor") is None


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are not to be had")
@pytest.mark.parametrize(("key", "code"), [("c", 130), ("d", 1)])
def test_control_keys_keep_everything(key: str, code: int, tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    program = "import sys; from whichgpu.cli.main import run; sys.exit(run(sys.argv[1:]))"
    root = str(Path(__file__).parents[2])
    child = pexpect.spawn(
        sys.executable,
        ["-c", program, "ask", "--session", "s.json"],
        cwd=str(tmp_path),
        env={**os.environ, "TERM": "dumb", "PYTHONPATH": root},
        encoding="utf-8",
        timeout=60,
        dimensions=(50, 100),
    )
    child.expect("\n> ")
    child.sendline("skip")
    child.expect("\n> ")
    child.sendline("inference")
    child.expect("\n> ")
    child.sendcontrol(key)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert "whichgpu resume s.json" in child.before
    assert [entry["fact"] for entry in json.loads((tmp_path / "s.json").read_text())["answers"]] == ["task"]
