from __future__ import annotations

import errno
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli import inputs
from whichgpu.cli.interview.session import new_session_file
from whichgpu.cli.render.blocks import escaped_json, printable


Whichgpu = Callable[..., Any]

HOSTILE = "a\x1b[31m\x9b\u202eb\u2066c\u200f\x07"


def test_no_text_drives_a_terminal() -> None:
    shown = printable(HOSTILE)
    assert not any(char in shown for char in "\x1b\x9b\u202e\u2066\u200f\x07")
    assert printable("two\nlines") == "two\nlines"


def test_json_says_the_same_without_raw_controls() -> None:
    text = json.dumps({"a": HOSTILE}, ensure_ascii=False)
    assert json.loads(escaped_json(text)) == {"a": HOSTILE}
    assert not any(char in escaped_json(text) for char in "\x9b\u202e\u2066\u200f")


def test_errors_are_neutral_too(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", "-", "--set", f"no_such{HOSTILE}=1", stdin="task: inference\n")
    assert ran.code == 2
    assert not any(char in ran.err for char in "\x1b\x9b\u202e\u2066\u200f\x07")


def test_a_line_without_end_is_refused_and_the_next_one_read(
    whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MAX_BYTES", 1000)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"x" * 5000 + b'\n{"task": "inference", "id": 7}\n')
    lines = list(inputs.json_lines(str(file)))
    assert [line.number for line in lines] == [1, 2]
    assert lines[0].problem is not None
    assert lines[0].problem.code == "too-large"
    assert lines[1].id == 7
    assert next(iter(inputs._lines(io.BytesIO(b"y" * 3000)))).problem is not None


def test_sessions_of_two_processes_have_two_files(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    first = new_session_file(moment)
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert new_session_file(moment) != first


def test_a_full_disk_leaves_what_was_there(whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text("task: inference\n", "utf-8")
    file.chmod(0o640)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", full)
        ran = whichgpu("init", str(file), "--force")
        assert (ran.code, "no space left on device" in ran.err, "make room" in ran.err) == (2, True, True)
    assert file.read_text("utf-8") == "task: inference\n"
    assert [path.name for path in tmp_path.iterdir()] == ["workload.yaml"]
    assert whichgpu("init", str(file), "--force").code == 0
    assert file.stat().st_mode & 0o777 == 0o640
    assert whichgpu("init", str(file)).code == 2


def test_files_are_written_through_links(whichgpu: Whichgpu, tmp_path: Path) -> None:
    behind, link = tmp_path / "behind.yaml", tmp_path / "link.yaml"
    behind.write_text("", "utf-8")
    link.symlink_to(behind)
    assert whichgpu("init", str(link), "--force").code == 0
    assert link.is_symlink()
    assert "task" in behind.read_text("utf-8")
