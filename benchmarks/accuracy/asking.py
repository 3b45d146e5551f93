"""Asking the tool: the lines go through ``whichgpu size --jsonl``, as anybody's would.

A line may state the dimensions of its model as a configuration (``config``): they are asked for as a file of that kind.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whichgpu.cli.main import run


def sizes(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The size answer to each line, in order. Raises RuntimeError where the command leaves a line unanswered."""
    asked = list(lines)
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        written = [_with_its_configuration(line, Path(folder), number) for number, line in enumerate(asked)]
        path.write_text("".join(json.dumps(line) + "\n" for line in written), encoding="utf-8")
        with contextlib.redirect_stdout(printed):
            run(["size", str(path), "--jsonl"])
    answers = [json.loads(text) for text in printed.getvalue().splitlines()]
    if len(answers) != len(asked):
        raise RuntimeError(f"{len(asked)} lines were asked, {len(answers)} answered")
    return answers


def _with_its_configuration(line: dict[str, Any], folder: Path, number: int) -> dict[str, Any]:
    """The line with the path of a ``config.json`` for its model's name, if it states one."""
    if "config" not in line:
        return line
    path = folder / str(number) / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(line["config"]), encoding="utf-8")
    return {fact: value for fact, value in line.items() if fact != "config"} | {"model_name": str(path)}
