"""A run over JSON Lines: one answer a line, in order; a bad line is answered and does not end the run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whichgpu.cli import exits, output
from whichgpu.cli.inputs import Line, json_lines
from whichgpu.engine.core import Problem, WhichgpuError


if TYPE_CHECKING:
    from whichgpu.engine.advisor import RefusedError, RefusedLine


JsonObject = Mapping[str, Any]
_PROGRESS_EVERY = 25


def answer_lines(
    file: str, answer: Callable[[JsonObject], JsonObject], emit: Callable[[JsonObject], bool] | None = None
) -> int:
    """Answer every line of ``file``. Returns 0, or 2 if a line was refused, or 3 if the program failed at one."""
    code = exits.ANSWERED
    progress = Progress()
    for line in json_lines(file):
        reply, line_code = _reply(line, answer)
        code = max(code, line_code)
        if not (emit or output.emit_line)(reply):
            break
        progress.step(line.number)
    progress.end()
    return code


def _reply(line: Line, answer: Callable[[JsonObject], JsonObject]) -> tuple[JsonObject, int]:
    if line.workload is None:
        return _refusal(line, line.problem), exits.WRONG_INPUT
    try:
        return {"id": line.id} | {**answer(line.workload), "id": line.id}, exits.ANSWERED
    except WhichgpuError as error:
        return _refusal(line, error.problems[0] if error.problems else None, error.problems[1:]), exits.WRONG_INPUT
    except Exception as error:  # noqa: BLE001 - one line that breaks the program must not cost the other answers.
        problem = Problem("internal-error", f"whichgpu failed in itself: {type(error).__name__}: {error}")
        return _refusal(line, problem), exits.INTERNAL_ERROR


def _refusal(line: Line, problem: Problem | None, further: tuple[Problem, ...] = ()) -> RefusedLine:
    shown = problem or Problem("refused", f"line {line.number} cannot be answered")
    error: RefusedError = {
        "code": shown.code,
        "message": shown.message,
        "fact": shown.fact,
        "nearest": list(shown.nearest),
        "line": line.number,
    }
    if further:
        error["further"] = [{"code": other.code, "message": other.message, "fact": other.fact} for other in further]
    return {"id": line.id, "error": error}


class Progress:
    """How many lines are done, on standard error, for a person who watches."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty() and not sys.stdout.isatty()

    def step(self, number: int) -> None:
        """One more line is done."""
        if self._watched and number % _PROGRESS_EVERY == 0:
            sys.stderr.write(f"\r{number} lines answered")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._watched:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
