"""Most of the shipped rulebook's tests are the C engine's own work."""

from __future__ import annotations

from whichgpu.engine.core.folders import locate
from whichgpu.engine.rules.facts import load_vocabulary
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook import load_rulebook


def test_at_least_60_percent_of_the_rulebook_is_native():
    rulebook = load_rulebook([locate("rules")], load_vocabulary(locate("knowledge")))
    share = Level(rulebook.rules).durable().native_share()
    print(f"{share.native} of {share.total} tests in {len(rulebook.rules)} rules are native: {share.share:.0%}")
    assert share.total > len(rulebook.rules)
    assert share.share >= 0.6
