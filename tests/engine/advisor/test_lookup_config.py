"""A model that the catalogue does not know, described by its own config.json."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.core.errors import InputError


NOW = datetime(2026, 11, 20, tzinfo=UTC)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}


@pytest.mark.parametrize("whole_folder", [True, False])
def test_the_dimensions_are_read_and_sized(tmp_path: Path, *, whole_folder: bool) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    name = str(tmp_path if whole_folder else path)
    decision = shipped_advisor().decide({"task": "inference", "model_name": name}, decided_at=NOW).to_dict()
    assert decision["facts"]["param_count_b"]["origin"] == "looked_up"
    assert decision["facts"]["param_count_b"]["value"] == pytest.approx(3.213, rel=0.01)
    assert decision["recommendation"]["memory"]["method"] == "architecture"


def test_a_file_that_is_no_model_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "hidden_size": "wide"}')
    with pytest.raises(InputError, match=r"config\.json"):
        shipped_advisor().decide({"task": "inference", "model_name": str(path)}, decided_at=NOW)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        shipped_advisor().decide({"task": "inference", "model_name": str(tmp_path / "x.json")}, decided_at=NOW)
