"""Records by the commands: saved whole, signed, verified by all that read them, audited."""

from __future__ import annotations

import gzip
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Whichgpu = Callable[..., Any]
SMALL = "task: inference\nmodel_name: llama-3.1-8b\nconcurrency: 4\ngpu_candidates: l4, l40s\n"


@pytest.fixture
def workload(tmp_path: Path) -> str:
    file = tmp_path / "w.yaml"
    file.write_text(SMALL)
    return str(file)


def test_a_key_signs_what_is_saved_and_a_trusted_one_vouches(
    whichgpu: Whichgpu, workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICHGPU_PASSPHRASE", "correct horse")
    assert whichgpu("keys", "new", "--name", "anna").code == 0
    private = tmp_path / "config" / "whichgpu" / "keys" / "signing.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert "key-exists" not in whichgpu("keys", "new", "--name", "anna").out
    assert whichgpu("keys", "new").code == 2
    record = tmp_path / "r.json.gz"
    ran = whichgpu("recommend", workload, "--save", str(record), "--meta", "ticket=T-1")
    assert "signed by anna, saved in" in ran.err
    saved = json.loads(gzip.decompress(record.read_bytes()))
    assert saved["statement"]["meta"] == {"ticket": "T-1"}
    assert saved["statement"]["inputs"]["file"]["name"] == workload
    assert "signed by anna" in whichgpu("why", str(record), "count").out
    shown = json.loads(whichgpu("keys", "show", "--format", "json").out)
    assert [key["own"] for key in shown] == [True]
    # Somebody else has the public key alone.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    assert "a key that is not trusted here" in whichgpu("why", str(record), "count").out
    public = tmp_path / "anna.pub"
    public.write_text(shown[0]["pem"])
    no_key = whichgpu("keys", "trust", workload, "--name", "anna")
    assert (no_key.code, f"{workload} holds no public key" in no_key.err) == (2, True), no_key.err
    assert whichgpu("keys", "trust", str(public), "--name", "anna").code == 0
    monkeypatch.delenv("WHICHGPU_PASSPHRASE")
    audited = whichgpu("audit", str(record), "--format", "json")
    assert (audited.code, json.loads(audited.out)["verdict"]) == (0, "sound"), audited.out


def test_a_signature_that_cannot_be_made_saves_nothing(
    whichgpu: Whichgpu, workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "r.json"
    assert whichgpu("recommend", workload, "--save", str(record), "--sign").code == 2
    monkeypatch.setenv("WHICHGPU_PASSPHRASE", "right")
    whichgpu("keys", "new")
    for wrong in ("wrong", None):
        monkeypatch.delenv("WHICHGPU_PASSPHRASE")
        if wrong:
            monkeypatch.setenv("WHICHGPU_PASSPHRASE", wrong)
        ran = whichgpu("recommend", workload, "--save", str(record))
        assert (ran.code, "passphrase" in ran.err, record.exists()) == (2, True, False)
        if wrong is None:
            break
    assert whichgpu("recommend", workload, "--meta", "a=b").code == 2


def test_a_record_is_written_whole_or_not_at_all(whichgpu: Whichgpu, workload: str, tmp_path: Path) -> None:
    target, link = tmp_path / "kept.json", tmp_path / "link.json"
    target.write_text("before")
    link.symlink_to(target)
    assert whichgpu("recommend", workload, "--save", str(link)).code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["format"] == "whichgpu.record/2"
    if Path("/dev/full").exists():
        full = whichgpu("recommend", workload, "--save", "/dev/full")
        assert (full.code, "cannot write /dev/full" in full.err) == (2, True)
    assert whichgpu("recommend", workload, "--save", "/dev/null").code == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["kept.json", "link.json", "w.yaml"]


def test_what_was_altered_is_refused_by_all_but_audit(whichgpu: Whichgpu, workload: str, tmp_path: Path) -> None:
    record, altered = tmp_path / "r.json", tmp_path / "altered.json"
    whichgpu("recommend", workload, "--save", str(record))
    altered.write_text(record.read_text().replace('"standing":"alternative"', '"standing":"outranked"', 1))
    for command in (
        ("why",),
        ("verdicts",),
        ("report",),
        ("replay",),
        ("sensitivity",),
        ("what-if", "--set", "concurrency=5"),
        ("why-not", "l4"),
        ("diff", str(record)),
    ):
        name, *more = command
        ran = whichgpu(name, str(altered), *more)
        assert (ran.code, ran.out, "is not what was saved" in ran.err) == (2, "", True), name


def test_a_register_holds_lists_compares_and_checks(whichgpu: Whichgpu, workload: str, tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    whichgpu("recommend", workload, "--save", str(record), "--register", "--meta", "ticket=T-1")
    name = json.loads(record.read_text())["statement"]["id"]
    assert whichgpu("register", "add", str(record)).out == f"{name}: entry 1\n"
    listed = json.loads(whichgpu("register", "list", "--meta", "ticket=T-1", "--format", "json").out)
    assert [entry["id"] for entry in listed] == [name]
    assert json.loads(whichgpu("register", "list", "--gpu", "nvidia-b200", "--format", "json").out) == []
    assert whichgpu("register", "show", name).out == record.read_text()
    assert name in whichgpu("register", "export").out
    assert json.loads(whichgpu("register", "export", "--format", "jsonl").out)["summary"]["meta"] == {"ticket": "T-1"}
    assert "1 entry" in whichgpu("register", "verify").out
    assert next(iter(json.loads(whichgpu("register", "compare", "--format", "json").out).values()))["decisions"] == 1
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "house.yaml").write_text(
        "- id: house-no-inference\n  title: No inference in this house\n  stage: reject\n  each: plan\n"
        "  when: [task == inference]\n  then: {reject: The house says so}\n"
        "  because: The house says so.\n  sources: [whichgpu-judgement]\n"
    )
    checked = whichgpu("register", "check", "--rules", str(policy))
    assert (checked.code, "house-no-inference" in checked.out, name in checked.out) == (1, True, True), checked.err
    (policy / "house.yaml").write_text((policy / "house.yaml").read_text().replace("== inference", "== pretraining"))
    assert whichgpu("register", "check", str(record), "--rules", str(policy)).code == 0


def test_a_register_is_asked_for_days_gpus_and_files_that_there_are(
    whichgpu: Whichgpu, workload: str, tmp_path: Path
) -> None:
    absent = whichgpu("register", "verify", "--file", str(tmp_path / "mistyped.sqlite"))
    assert (absent.code, absent.out) == (2, "")
    assert "there is no register" in absent.err
    whichgpu("recommend", workload, "--register")
    kept = json.loads(whichgpu("register", "list", "--format", "json").out)
    by_name = whichgpu(
        "register", "list", "--gpu", kept[0]["summary"]["gpu"].removeprefix("nvidia-"), "--format", "json"
    )
    assert json.loads(by_name.out) == kept
    for option, value, says in (
        ("--since", "yesterday", "'yesterday' is no day"),
        ("--until", "2026-13-01", "'2026-13-01' is no day"),
        ("--gpu", "zorg", "no GPU is called 'zorg'"),
        ("--meta", "ticket", "is not key=value"),
    ):
        ran = whichgpu("register", "list", option, value)
        assert (ran.code, ran.out, says in ran.err) == (2, "", True), ran.err


def test_a_record_without_a_name_is_refused_rather_than_not_kept(whichgpu: Whichgpu, workload: str) -> None:
    ran = whichgpu("recommend", workload, "--save", "")
    assert (ran.code, ran.out, "the name of the file is empty" in ran.err) == (2, "", True)


def test_what_is_no_record_is_said_without_the_words_of_a_parser(whichgpu: Whichgpu, tmp_path: Path) -> None:
    for content, says in (("", "it is empty"), ("task: inference\n", "it is no JSON from line 1, column 1 on")):
        file = tmp_path / "w.yaml"
        file.write_text(content)
        ran = whichgpu("why", str(file))
        assert (ran.code, says in ran.err) == (2, True), ran.err
