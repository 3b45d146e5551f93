"""Asking the tool: the lines go through ``whichgpu size --jsonl``, as anybody's would."""

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
        path.write_text("".join(json.dumps(line) + "\n" for line in asked), encoding="utf-8")
        with contextlib.redirect_stdout(printed):
            run(["size", str(path), "--jsonl"])
    answers = [json.loads(text) for text in printed.getvalue().splitlines()]
    if len(answers) != len(asked):
        raise RuntimeError(f"{len(asked)} lines were asked, {len(answers)} answered")
    return answers
