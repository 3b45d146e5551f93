from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor, known_names
from whichgpu.engine.advisor.stages import prepare
from whichgpu.engine.core.calculators import registered
from whichgpu.engine.rules import FactDef, Vocabulary, defaults_of
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook import load_rules_text


@pytest.fixture(scope="session")
def with_rules(advisor: Advisor) -> Callable[..., Advisor]:
    """The shipped knowledge under another rulebook, given as text; every rule gets what a test does not care for."""

    def build(text: str, *further: FactDef) -> Advisor:
        shipped = advisor.vocabulary
        vocabulary = Vocabulary({**shipped.facts, **{fact.name: fact for fact in further}}, shipped.codes)
        rulebook = load_rules_text(text, vocabulary, known_names(advisor.knowledge))
        stages = prepare(rulebook, vocabulary, registered().values(), defaults_of(vocabulary), Level)
        return replace(
            advisor,
            vocabulary=vocabulary,
            rulebook=rulebook,
            rules={rule.id: rule for rule in rulebook.rules},
            stages=stages,
            context=replace(advisor.context, stages=stages, vocabulary=vocabulary),
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
