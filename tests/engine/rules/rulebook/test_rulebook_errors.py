"""Broken rule files and the exact text of their refusal, side by side in ``broken/`` for experts to read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, load_rules_text


BROKEN = Path(__file__).parent / "broken"


@pytest.mark.parametrize("path", sorted(BROKEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_broken_file_is_refused_in_these_words(path: Path, vocabulary: Vocabulary, known: KnownNames) -> None:
    with pytest.raises(RulebookError) as caught:
        load_rules_text(path.read_text(), vocabulary, known, name=path.name)
    said = str(caught.value) + "\n"
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(said)
    assert said == golden.read_text()


def test_every_golden_has_its_file() -> None:
    assert {path.stem for path in BROKEN.glob("*.txt")} == {path.stem for path in BROKEN.glob("*.yaml")}
