"""The answers to the examples are as kept, page by page, in words that an expert can read."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).with_name("regenerate.py")))


def test_the_answers_to_the_examples_are_as_kept(script: dict[str, Any], advisor: Advisor) -> None:
    changes = script["difference"](script["kept"](), script["pages"](advisor))
    if changes:
        pytest.fail(
            f"answers to examples differ from the kept pages:\n{changes}\n"
            "If every change is meant, keep them: python tests/goldens/regenerate.py --write",
            pytrace=False,
        )


def test_a_difference_is_shown(script: dict[str, Any]) -> None:
    shown = script["difference"]({"a": "one\ntwo\n"}, {"a": "one\nthree\n", "b": "new\n"})
    assert "-two" in shown
    assert "+three" in shown
    assert "+new" in shown
