"""Evaluators agree on random facts over the shipped rulebook; ``benchmarks/evaluators_agree.py`` takes a million."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

from whichgpu.engine.rules.inference.driver import durable_available


def test_evaluators_agree_on_the_shipped_rulebook() -> None:
    path = Path(__file__).parents[4] / "benchmarks" / "evaluators_agree.py"
    spec = importlib.util.spec_from_file_location("evaluators_agree", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    makers, counts = module.Makers(seed=5), Counter[str]()
    for number in range(12):
        counts.update(makers.compare(durable=durable_available() and number < 6, outcomes=number < 3))
    assert counts["fact sets"] >= 500
    assert counts["matches"] > 5_000
    assert counts["three-valued outcomes"] > 1_000
    assert {what: count for what, count in counts.items() if what.startswith("DIFFER") and count} == {}
