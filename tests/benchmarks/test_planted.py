"""The mistakes that ``benchmarks/planted.py`` plants: some of every kind, each in a rule that it changes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from whichgpu.engine.advisor.advisor import load_advisor


FILE = Path(__file__).parents[2] / "benchmarks" / "planted.py"


def test_a_hundred_mistakes_of_every_kind_are_planted() -> None:
    spec = importlib.util.spec_from_file_location("planted", FILE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    advisor = load_advisor()
    defects = list(made.planted(advisor))
    assert len(defects) >= 100
    assert {*made.UNTESTED} <= {defect.kind for defect in defects}
    assert all(defect.rule != advisor.rules[defect.rule.id] for defect in defects)
