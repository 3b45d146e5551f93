"""Most of the shipped rulebook's tests are the C engine's own work."""

from __future__ import annotations

from whichgpu.engine.core.folders import locate
from whichgpu.engine.rules.facts import load_vocabulary
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook import load_rulebook


def test_at_least_60_percent_of_the_rulebook_is_native():
    rulebook = load_rulebook([locate("rules")], load_vocabulary(locate("knowledge")))
    rulesets = Level(rulebook.rules).durable().rulesets()
    tests = [
        test for ruleset in rulesets for bucket in ruleset.buckets for unit in bucket.units for _, test in unit.tests
    ]
    native = sum(test is not None for test in tests)
    print(f"{native} of {len(tests)} tests in {len(rulebook.rules)} rules are native")
    assert len(tests) > len(rulebook.rules)
    assert native >= 0.6 * len(tests)
