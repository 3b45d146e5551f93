"""An interview on disk: written after every answer, readable by its owner alone."""

from __future__ import annotations

import json
import os
import shlex
from datetime import datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any, get_args

from msgspec import Struct

from whichgpu.cli import output
from whichgpu.cli.inputs import read_text
from whichgpu.engine.core import InputError, Problem, Value
from whichgpu.engine.interview import Answer, Origin, State


FORMAT = "whichgpu.session/1"


def sessions_folder() -> Path:
    """Where interviews are kept: ``$XDG_STATE_HOME/whichgpu/sessions``, by default below ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return folder / "whichgpu" / "sessions"


def new_session_file(moment: datetime) -> Path:
    """A file for an interview that begins now, which no other one can have: it is named after the process too."""
    stem = moment.strftime("%Y%m%d-%H%M%S")
    folder = sessions_folder()
    file = folder / f"{stem}-{os.getpid()}.json"
    further = 1
    while file.exists():
        further += 1
        file = folder / f"{stem}-{os.getpid()}-{further}.json"
    return file


def latest_session_file() -> Path:
    """The interview that was written last. Raises InputError where there is none."""
    files = sorted(sessions_folder().glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
    if not files:
        raise InputError(Problem("no-session", "there is no interview to resume", fix="begin one with: whichgpu ask"))
    return files[-1]


class Session(Struct, frozen=True):
    """Where an interview is kept."""

    file: Path

    def begin(self) -> None:
        """Refuses a file that holds something already. Raises InputError."""
        try:
            held = self.file.stat()
        except OSError:  # It is not there, or its folder cannot be read: ``keep`` says so with what was answered.
            return
        if S_ISREG(held.st_mode) and held.st_size:
            message = f"{self.file} is there already, and was left as it is"
            fix = f"name another file; or, if it holds an interview, go on with: whichgpu resume {self.file}"
            raise InputError(Problem("file-exists", message, fix=fix))

    def keep(self, state: State) -> None:
        """Write the state, whole or not at all. Raises InputError where that cannot be done; it repeats the answers."""
        value = {
            "format": FORMAT,
            "answers": [
                {
                    "fact": answer.fact,
                    "value": list(answer.value) if isinstance(answer.value, tuple) else answer.value,
                    "written": answer.written,
                    "origin": answer.origin,
                }
                for answer in state.answers
            ],
            "skipped": list(state.skipped),
        }
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            output.save_private(self.file, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
        except OSError as error:
            message = f"cannot keep the interview in {self.file}: {error.strerror or error}"
            raise InputError(Problem("unwritable", message, fix=_elsewhere(state))) from error

    def load(self) -> State:
        """The state that was kept. Raises InputError where the file holds none."""
        text, name = read_text(str(self.file))
        try:
            value = json.loads(text)
            if value["format"] != FORMAT:
                raise ValueError(f"its format is not {FORMAT!r}")  # noqa: TRY301  (one place words the refusal)
            answers = tuple(_answer(entry) for entry in value["answers"])
            return State(answers, tuple(str(fact) for fact in value["skipped"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = Problem(
                "not-a-session", f"{name} holds no interview: {error}", fix="begin one with: whichgpu ask"
            )
            raise InputError(problem) from error


def _elsewhere(state: State) -> str:
    """The command that goes on with what was answered, in another file: nothing is typed twice."""
    stated = (f"{answer.fact}={_written(answer.value)}" for answer in state.answers if answer.value is not None)
    sets = "".join(f" --set {shlex.quote(each)}" for each in stated)
    return f"name another file: whichgpu ask --session FILE{sets}"


def _written(value: Value | None) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answer(entry: dict[str, Any]) -> Answer:
    value: Value | None = tuple(entry["value"]) if isinstance(entry["value"], list) else entry["value"]
    if entry["origin"] not in get_args(Origin):
        raise ValueError(f"an answer comes from {entry['origin']!r}")
    return Answer(str(entry["fact"]), value, str(entry["written"]), entry["origin"])
