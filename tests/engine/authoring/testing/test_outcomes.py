"""What tests of rules say that follows: outcomes met and missed, and edits of effects in the shipped rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring import RuleTestFacts, mutate_effects, run_rule_tests
from whichgpu.engine.authoring.testing.following import Following
from whichgpu.engine.authoring.testing.merging import merged
from whichgpu.engine.authoring.testing.text_mutants import mistaken
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules import Const, Points, Rule, Rulebook, Say, SetFact
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Each, Expected, RuleTest


Load = Callable[[str], Rulebook]


def facts_for(given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
    """What is stated, as it is; the GPU's name is its series."""
    facts: dict[str, Any] = {
        **given,
        **{{"count": "plan.count", "gpu": "gpu.series"}.get(k, k): v for k, v in plan.items()},
    }
    return {name: value for name, value in facts.items() if value != "unknown"}


PREFER = """
- id: big
  title: T
  stage: prefer
  each: plan
  when: [training, gpu.series == big, plan.count > 1]
  then: {points: 4, reason: cost, claim: {quantity: cost, ratio: 2}, text: "Big cards are {gpu.series} here"}
  because: B.
  tests:
    - {given: {training: yes}, plan: {gpu: big, count: 2}, %s}
"""
ADVISE = """
- id: says
  title: T
  stage: advise
  when: [training]
  then: {warn: W-X, advise: [A-SPOT], ask: run_hours, set: {verdict: rent}}
  overrides: [general]
  because: B.
  tests:
    - {given: {training: yes}, %s}
- id: general
  title: T
  stage: advise
  when: [num_models > 1]
  then: {set: {verdict: buy}}
  because: B.
  tests:
    - {given: {num_models: 2}, then: {verdict: buy}}
"""


def outcome(book: Rulebook, vocabulary: Vocabulary, rule: str = "") -> str:
    """ "" where the test passes, else why it does not."""
    results = run_rule_tests(book, facts_for, vocabulary, rules=[rule] if rule else None)
    return "; ".join(result.why or result.outcome for result in results if not result.passed)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("then: {points: 4, reason: cost, claim: cost}", ""),
        ("then: {claim: {quantity: cost, ratio: 2}, text: cards are big}", ""),
        ("prefers: big over small by 4", ""),
        ("prefers: 2 x big over 1 x big", ""),
        ("then: {points: -4}", "`points` is 4, not -4"),
        ("then: {reason: speed}", "`reason` is 'cost', not 'speed'"),
        ("then: {claim: speed}", "`claim` is cost 2 x, not speed"),
        ("then: {text: cards are small}", "`text` is 'Big cards are big here', not 'cards are small'"),
        ("then: {band: cards}", "it has no `band`"),
        ("prefers: small over big", "small gets 0 points and big 4: not preferred"),
        ("prefers: big over small by 2", "big gets 4 points and small 0: not preferred by 2"),
    ],
)
def test_what_a_prefer_rule_does(said: str, why: str, load: Load, vocabulary: Vocabulary) -> None:
    assert outcome(load(PREFER % said), vocabulary) == why


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("warns: W-X, advises: A-SPOT, then: {verdict: rent, ask: run_hours}", ""),
        ("warns: A-SPOT", "`warn` is W-X, not A-SPOT"),
        ("then: {verdict: buy}", "verdict is rent, not buy"),
        ("silent: general", ""),
        ("silent: [generel]", "there is no rule generel"),
    ],
)
def test_what_an_advise_rule_does(said: str, why: str, load: Load, vocabulary: Vocabulary) -> None:
    assert outcome(load(ADVISE % said), vocabulary, "says") == why


def test_an_override_is_seen_from_both_sides(load: Load, vocabulary: Vocabulary) -> None:
    both = (ADVISE % "silent: general").replace(
        "{given: {training: yes}, silent", "{given: {training: yes, num_models: 2}, silent"
    )
    assert outcome(load(both), vocabulary) == ""
    free = both.replace("  overrides: [general]\n", "")
    assert outcome(load(free), vocabulary) == "general takes effect as well"
    below = (ADVISE % "warns: W-X").replace("{num_models: 2}", "{num_models: 2, training: yes}")
    assert outcome(load(below), vocabulary, "general") == "verdict is rent, not buy"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("then: {pionts: 4}", "has no 'pionts'"),
        ("warns: W-X", "a prefer rule cannot do"),
        ("fires: no, then: {points: 4}", "nothing follows"),
        ("prefers: big", "`prefers` is 'big'"),
        ("then: 4", "`then` is '4'"),
        ("answers: 4", "`answers` is '4'"),
    ],
)
def test_what_cannot_follow_is_refused(said: str, problem: str, load: Load) -> None:
    with pytest.raises(RulebookError, match=problem):
        load(PREFER % said)


def test_mistakes_in_effects_come_with_what_a_test_should_say(load: Load, vocabulary: Vocabulary) -> None:
    book = load(PREFER % "fires: true")
    report = mutate_effects(book, facts_for, vocabulary)
    assert (report.killed, report.score) == (0, 0)
    (text,) = {survivor.suggestion.text for survivor in report.survivors if survivor.suggestion}
    assert text == "then: {points: 4, reason: cost, claim: {quantity: cost, ratio: 2}}, " + (
        "says: {title: T, because: B., text: Big cards are big here}"
    )
    assert mutate_effects(load(PREFER % text), facts_for, vocabulary).score == 1.0


def test_an_override_that_no_test_needs_is_found(load: Load, vocabulary: Vocabulary) -> None:
    report = mutate_effects(load(ADVISE % "then: {verdict: rent}"), facts_for, vocabulary, rules=["says"])
    (left,) = (survivor for survivor in report.survivors if "override" in survivor.what)
    assert left.suggestion is not None
    assert left.suggestion.text == "- {given: {num_models: 2, training: true}, silent: [general]}"


@pytest.fixture(scope="module")
def shipped() -> tuple[Advisor, RuleTestFacts]:
    advisor = load_advisor()
    return advisor, RuleTestFacts(advisor)


def _first(rules: tuple[Rule, ...], kind: type, fields: Mapping[str, object]) -> tuple[Rule, Any]:
    return next(
        (rule, effect)
        for rule in rules
        for effect in rule.effects
        if isinstance(effect, kind) and all(getattr(effect, key) == value for key, value in fields.items())
    )


@pytest.mark.parametrize(
    ("kind", "fields", "change"),
    [
        (Points, {"points": -6}, {"points": 6}),
        (Points, {"reason": "reliability"}, {"reason": "maturity"}),
        (SetFact, {"text": "infiniband"}, {"expr": Const("pcie")}),
        (SetFact, {"fact": "procurement", "text": "rent"}, {"expr": Const("buy")}),
        (Say, {"kind": "warn"}, {"code": "W-SOURCES-DISAGREE-2"}),
        (Say, {"kind": "advise"}, {"code": "A-SPOT-2"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_an_edit_of_an_effect_of_a_shipped_rule_is_caught(
    kind: type, fields: dict[str, object], change: dict[str, object], shipped: tuple[Advisor, RuleTestFacts]
) -> None:
    advisor, facts = shipped
    rule, effect = _first(advisor.rulebook.rules, kind, fields)
    edited = replace(rule, effects=tuple(replace(e, **change) if e is effect else e for e in rule.effects))
    book = replace(advisor.rulebook, rules=tuple(edited if r.id == rule.id else r for r in advisor.rulebook.rules))
    results = run_rule_tests(book, facts.facts_for, advisor.vocabulary, rules=[rule.id])
    assert any(result.outcome == "otherwise" for result in results)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("says: {title: T, because: B., text: Big cards are big here}", ""),
        ("says: {text: 'Big cards are {gpu.series} here'}", ""),
        ("says: {text: Big cards are}", "`text` says 'Big cards are big here', not 'Big cards are'"),
        ("says: {title: No T, text: Big cards are big here}", "`title` says 'T', not 'No T'"),
        ("says: {title: T}", "`text` is said as well: 'Big cards are big here'"),
        ("says: {reject: T, text: Big cards are big here}", "it has no `reject`"),
    ],
)
def test_whole_sentences(said: str, why: str, load: Load, vocabulary: Vocabulary) -> None:
    stated = f"then: {{points: 4, reason: cost, claim: {{quantity: cost, ratio: 2}}}}, {said}"
    (result,) = run_rule_tests(load(PREFER % stated), facts_for, vocabulary)
    assert (result.passed, result.why) == (not why, why)


def test_beside_a_sentence_all_that_a_rule_does_is_stated(load: Load, vocabulary: Vocabulary) -> None:
    (result,) = run_rule_tests(
        load(PREFER % "then: {points: 4, reason: cost}, says: {text: Big cards are big here}"), facts_for, vocabulary
    )
    assert result.why == "it has `claim` as well: cost 2 x"


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("It cannot be faster", "It can be faster"),
        ("{a} of {b}", "{b} of {a}"),
        ("at least 8 GB", "at most 8 GB"),
        ("over PCIe", "over NVLink"),
        ("24 GB", "25 GB"),
        ("It is so.", "It is so. To be checked."),
    ],
)
def test_mistakes_in_sentences(sentence: str, wrong: str) -> None:
    assert wrong in {changed for changed, _ in mistaken(sentence)}


def test_sentences_are_put_into_the_test_that_is_there(load: Load, vocabulary: Vocabulary) -> None:
    text = "  - {given: {training: yes}, then: {points: 4, text: 'Big, {so} it is'}, silent: [b]}"
    rule, *_ = load(PREFER % "fires: true").rules
    following = Following(rule.id, 1, Expected(effects={"points": 4.0, "ask": ("a",)}, says={"text": "All of it."}))
    expected = Expected(effects={"points": 4.0, "text": "Big"})
    test = RuleTest({"training": True}, {}, fires=True, expected=expected)
    wanted = "  - {given: {training: yes}, then: {points: 4, ask: a}, silent: [b], says: {text: All of it.}}"
    assert merged(text, test, following) == wanted
    assert merged(wanted, test, following) == wanted
