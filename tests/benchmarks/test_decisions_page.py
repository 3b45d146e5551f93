"""The page of the laws of choice keeps what was written by hand above it."""

from __future__ import annotations

import importlib.util
from pathlib import Path


SCRIPT = Path(__file__).parents[2] / "benchmarks" / "decisions.py"


def test_a_comment_between_the_title_and_what_the_script_writes_is_kept() -> None:
    spec = importlib.util.spec_from_file_location("decisions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    new = "# Title\n\nWritten by a script: new figures.\n"
    kept = "# Title\n\nWhat misses, and why.\n\nWritten by a script: old figures.\n"
    assert script._with_comment(new, kept) == "# Title\n\nWhat misses, and why.\n\nWritten by a script: new figures.\n"
    assert script._with_comment(new, new) == new
