"""Encoders of sequences that are no texts are computed as encoders; what folds a sequence is not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor


TUNING = {"task": "full_finetuning", "seq_len_tokens": 1024, "dataset_samples": 1_000_000, "epochs": 1}
CARD = {"gpu_candidates": ["nvidia-a100-80gb-sxm"], "num_gpus": 1}


def _speed(advisor: Advisor, **facts: Any) -> dict[str, Any]:
    decision = advisor.decide({**TUNING, **CARD, **facts}, decided_at=datetime(2026, 11, 20, tzinfo=UTC)).to_dict()
    speed: dict[str, Any] = decision["recommendation"]["speed"]
    return speed


def test_a_protein_language_model_trains_at_the_speed_of_an_encoder_of_its_size(advisor: Advisor) -> None:
    speed = _speed(advisor, model_name="esm2-650m")
    flops = 6 * 0.651e9 * speed["tokens_per_s"]
    assert 0.1 < flops / 312e12 < 0.6
    assert speed["hours"] == pytest.approx(1e6 * 1024 / speed["tokens_per_s"] / 3600, rel=0.02)


def test_what_folds_proteins_has_no_speed(advisor: Advisor) -> None:
    assert _speed(advisor, model_name="esmfold-v1").get("tokens_per_s") is None
