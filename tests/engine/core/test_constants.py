"""Files of constants: read whole, refused with the place of every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichgpu.engine.core.constants import read_constants
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.records import FrozenModel


class Pair(FrozenModel):
    low: float
    high: float


def test_a_file_becomes_its_model(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text("low: 1\nhigh: 2.5\n")
    assert read_constants(Pair, "pair.yaml", tmp_path) == Pair(low=1, high=2.5)


def test_every_mistake_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text("low: much\nhihg: 2\n")
    with pytest.raises(KnowledgeError) as caught:
        read_constants(Pair, "pair.yaml", tmp_path)
    said = str(caught.value)
    assert "knowledge/pair.yaml:1:6" in said
    assert "hihg" in said


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="there is no file"):
        read_constants(Pair, "pair.yaml", tmp_path)
