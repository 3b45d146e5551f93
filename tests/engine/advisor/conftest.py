from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor, known_names
from whichgpu.engine.advisor.stages import prepare
from whichgpu.engine.core.calculators import registered
from whichgpu.engine.rules import defaults_of
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook import load_rules_text


@pytest.fixture(scope="session")
def with_rules(advisor: Advisor) -> Callable[[str], Advisor]:
    """The shipped knowledge under another rulebook, given as text; every rule gets what a test does not care for."""

    def build(text: str) -> Advisor:
        rulebook = load_rules_text(text, advisor.vocabulary, known_names(advisor.knowledge))
        stages = prepare(rulebook, advisor.vocabulary, registered().values(), defaults_of(advisor.vocabulary), Level)
        return replace(
            advisor,
            rulebook=rulebook,
            rules={rule.id: rule for rule in rulebook.rules},
            stages=stages,
            context=replace(advisor.context, stages=stages),
        )

    return build


def rule(name: str, stage: str, when: str, then: str, each: str = "plan", more: str = "") -> str:
    """One rule as text."""
    return (
        f"- id: {name}\n  title: {name}\n  stage: {stage}\n  each: {each}\n  when: [{when}]\n  then: {{{then}}}\n"
        f"  because: It matters.\n  sources: [whichgpu-judgement]\n{more}"
    )


@pytest.fixture(scope="session")
def make_rule() -> Callable[..., str]:
    """Writes one rule as text."""
    return rule
