"""``whichgpu size FILE`` says what would make the job fit."""

from __future__ import annotations

import json

import pytest

from whichgpu.cli.main import run


BIG = {"task": "inference", "model_name": "llama-3.1-70b", "context_tokens": 8192, "concurrency": 16}


@pytest.fixture
def page(tmp_path, capsys):
    def call(facts, gpu="nvidia-h100-80gb-sxm"):
        file = tmp_path / "workload.json"
        file.write_text(json.dumps({**facts, "gpu": gpu}), encoding="utf-8")
        code = run(["size", str(file)])
        return code, " ".join(capsys.readouterr().out.split())

    return call


def test_a_job_that_does_not_fit_says_what_would_help(page):
    code, text = page(BIG)
    assert code == 1
    assert "What would make it fit" in text
    assert "write weight_precision: awq-int4" in text
    assert "cost: some quality" in text
    assert "Together these fit" in text


def test_a_job_that_fits_names_the_next_smaller_card(page):
    code, text = page({**BIG, "model_name": "llama-3.1-8b"})
    assert code == 0
    assert "What would make it fit the " in text
    assert "The job needs" in text
    assert "Likely between" in text


def test_a_tight_fit_is_said(page):
    code, text = page({"task": "inference", "param_count_b": 39, "weight_precision": "fp16", "context_tokens": 512})
    assert code == 0
    assert "It is tight" in text


def test_what_cannot_be_helped_is_said(page):
    code, text = page({**BIG, "model_name": "llama-3.1-405b"}, gpu="nvidia-t4")
    assert code == 1
    assert "Even all of them together are not enough" in text
