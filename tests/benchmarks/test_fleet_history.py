"""Rows drawn from a history: as many as asked for, each with a number of its own; the command decides them all."""

from __future__ import annotations

import csv
import sys
from pathlib import Path


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fleet_history import draw, run


JOBS = [
    {"job": "1", "model": "ResNet-18 (batch size 32)", "gpus": "1", "hours": "2.5", "virtual_cluster": "a"},
    {"job": "2", "model": "LM (batch size 5)", "gpus": "4", "hours": "", "virtual_cluster": "b"},
]
MAP = Path(__file__).parents[2] / "examples" / "fleet" / "philly-gavel.yaml"


def test_numbers_are_varied_and_what_is_open_stays_open(tmp_path):
    file = tmp_path / "drawn.csv"
    draw(JOBS, 200, "hours", file)
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["job"] for row in rows] == [str(number) for number in range(200)]
    hours = [row["hours"] for row in rows if row["model"].startswith("ResNet")]
    assert len(set(hours)) > 0.9 * len(hours) > 50
    assert {row["hours"] for row in rows if row["model"].startswith("LM")} == {""}


def test_every_row_is_decided(tmp_path):
    file = tmp_path / "drawn.csv"
    draw(JOBS, 60, "hours", file)
    found = run(file, MAP, 1)
    assert found.rows == 60
    assert 2 <= found.distinct < 60
    assert found.cpu_s > 0
