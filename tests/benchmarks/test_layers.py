"""Sound layers over the shipped rules: nothing is found in them, and their own tests pass."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.authoring import RuleTestFacts, inspect, layers_below, run_rule_tests


LAYERS = Path(__file__).parents[2] / "benchmarks" / "layers"


@pytest.mark.parametrize("folder", sorted(LAYERS.iterdir()), ids=lambda folder: folder.name)
def test_nothing_is_found_in_a_sound_layer(folder: Path) -> None:
    advisor = load_advisor([folder])
    assert [finding for finding in inspect(advisor, date(2026, 11, 20)) if finding.severity != "info"] == []
    own = [rule.id for rule in advisor.rulebook.rules if rule.layer not in layers_below(advisor)]
    results = run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary, rules=own)
    assert [result for result in results if not result.passed] == []
    assert bool(results) == any("tests:" in file.read_text() for file in folder.glob("*.yaml"))
