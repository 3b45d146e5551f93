"""Speeds of published runs of any file beside the tool's own (``benchmarks/accuracy/throughput.py --rows``)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))

import throughput
from mapping import line_of
from scores import speed_score


def row(task: str, measured: dict[str, Any], **facts: Any) -> dict[str, Any]:
    told = {"task": task, "model": "a model", **facts}
    base = {"id": "a run", "source": {"repo": "someone/something"}, "trust": "A", "suites": ["throughput"]}
    return base | {"facts": told, "measured": measured}


@pytest.mark.parametrize(
    ("measured", "said", "ratio"),
    [
        ({"decode_tokens_per_s": 400.0}, {"tpot_ms": 20.0, "tokens_per_s": 1.0}, 1.0),
        ({"steps_per_s": 20.0}, {"steps_per_s": 10.0, "latency_ms": 1.0}, 0.5),
        ({"audio_s_per_s": 50.0}, {"audio_hours_per_hour": 100.0}, 2.0),
        ({"latency_s": 2.0}, {"latency_ms": 1000.0}, 2.0),
    ],
)
def test_each_figure_is_met_by_the_one_of_its_kind(measured, said, ratio):
    score = speed_score(row("inference", measured, batch_global=8), {"speed": said, "count": 1})
    assert score is not None
    assert score.ratio == pytest.approx(ratio)


def test_a_decode_rate_without_its_batch_is_not_met():
    assert (
        speed_score(row("inference", {"decode_tokens_per_s": 400.0}), {"speed": {"tpot_ms": 20.0}, "count": 1}) is None
    )


def test_the_rows_of_a_file_are_judged_alone(tmp_path, monkeypatch, capsys):
    told = row("embedding", {"samples_per_s": 100.0}, model="bge-large-en-v1.5", batch_global=64, context_len=256)
    told |= {"hardware": {"gpu": "NVIDIA L4", "count": 1}}
    unknown = told | {"id": "elsewhere", "hardware": {"gpu": "NVIDIA L4711", "count": 1}}
    silent = told | {"id": "silent", "measured": {"memory_gb": 3.0}, "suites": ["memory_error"]}
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (told, unknown, silent)), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["throughput.py", "--rows", str(path)])
    throughput.main()
    text = capsys.readouterr().out
    assert "| embeddings, A | 1 |" in text
    assert "| a run | embeddings | samples/s | 100 |" in text
    assert "| elsewhere | no GPU is called" in text
    assert "silent" not in text


def test_embeddings_are_a_kind_of_their_own():
    line = line_of(row("embedding", {}, context_len=256, framework="text-embeddings-inference 1.2"))
    assert (line["model_family"], line["serving_engine"], line["context_tokens"]) == ("encoder", "other", 256)
