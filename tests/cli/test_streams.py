"""The command as a process of its own: pipes that close, terminals, narrow encodings, Ctrl-C."""

from __future__ import annotations

import errno
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from whichgpu.cli import output


COMMAND = [sys.executable, "-c", "from whichgpu.cli.main import main; main()"]
ROOT = Path(__file__).parents[2]


def spawn(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **options.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *arguments], cwd=ROOT, capture_output=True, check=False, env=environment, timeout=60, **options
    )


def in_terminal(*arguments: str, env: dict[str, str]) -> str:
    leader, follower = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, *arguments], cwd=ROOT, stdin=follower, stdout=follower, stderr=follower, env={**os.environ, **env}
    )
    os.close(follower)
    chunks = []
    while select.select([leader], [], [], 60)[0]:
        try:
            chunk = os.read(leader, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # Linux says so when the other side has closed.
                break
            raise
        if not chunk:
            break
        chunks.append(chunk)
    assert process.wait(timeout=60) == 0
    os.close(leader)
    return b"".join(chunks).decode()


def test_a_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, "facts"], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 0


def test_the_same_words_in_a_terminal_and_in_a_pipe() -> None:
    plain = spawn("facts", "task").stdout.decode()
    wide = {"COLUMNS": "100", "LINES": "40"}
    coloured = in_terminal("facts", "task", env={**wide, "TERM": "xterm-256color", "NO_COLOR": ""})
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n") == plain
    for env in ({**wide, "TERM": "dumb"}, {**wide, "TERM": "xterm", "NO_COLOR": "1"}):
        assert in_terminal("facts", "task", env=env).replace("\r\n", "\n") == plain


def test_a_narrow_encoding_shows_what_it_can() -> None:
    script = "from whichgpu.cli import output; output.emit('5 \N{EURO SIGN}, plain\\n')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False, env=environment, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"5 \\u20ac, plain\n", b"")


def test_saving_is_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    output.save_private(file, "first\n")
    output.save_private(file, "second\n")
    assert file.read_text() == "second\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_save_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "record.json"
    file.write_text("before\n")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        output.save_private(file, "after\n")
    assert file.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [file]


def test_ctrl_c_ends_quietly() -> None:
    script = (
        "import whichgpu.cli.commands.recommend; from whichgpu.cli.main import main; print('ready', flush=True); main()"
    )
    process = subprocess.Popen(  # noqa: S603 - our own text
        [sys.executable, "-c", script, "recommend", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)  # It loads the engine or waits for its input by now; both may be interrupted.
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.strip()) == (b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk_is_a_plain_error(form: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(  # noqa: S603 - our own command
            [*COMMAND, "gpus", "l4", "--format", form], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"Error: cannot write to standard output: No space left on device\n"


def _in_shell(arguments: str) -> subprocess.CompletedProcess[bytes]:
    line = f"exec '{COMMAND[0]}' -c '{COMMAND[2]}' {arguments}"
    return subprocess.run(["/bin/sh", "-c", line], cwd=ROOT, capture_output=True, check=False)  # noqa: S603


def test_closed_streams_are_plain_errors() -> None:
    done = _in_shell("gpus l4 >&-")
    assert (done.returncode, done.stderr) == (2, b"Error: standard output is closed\n")
    assert _in_shell("gpus no-such-card 2>&-").returncode == 2


def test_what_takes_long_says_so_to_a_person_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with output.working("deciding"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with output.working("deciding"):
        pass
    assert capsys.readouterr().err.startswith("deciding ...")
