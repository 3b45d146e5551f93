"""Tests that say what follows: written for a rule from what it does on one of its own cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.authoring.testing.cases import TestCases
from whichgpu.engine.authoring.testing.effect_mutants import EffectMutant
from whichgpu.engine.authoring.testing.outcomes import Outcomes, done
from whichgpu.engine.authoring.testing.said import Sentences, with_numbers
from whichgpu.engine.authoring.testing.suggesting import Suggestion, flow, scalar
from whichgpu.engine.core import Facts, WhichgpuError
from whichgpu.engine.rules import Claim, Expected, Fallback, Reject, Rule, RuleTest, SetFact, Vocabulary


#: So many words of a text identify it.
PHRASE = 5


class Following(Struct, frozen=True):
    """What the test with this number (from 1) of a rule should say that follows."""

    rule: str
    number: int
    expected: Expected

    @property
    def text(self) -> str:
        """What to write in the place of ``fires: true``, or beside it."""
        effects = {word: written_effect(value) for word, value in self.expected.effects.items()}
        then = {word: value for word, value in effects.items() if word not in self.expected.says}
        then |= {name: scalar(_short(value)) for name, value in self.expected.facts.items()}
        parts = [f"then: {{{', '.join(f'{word}: {value}' for word, value in then.items())}}}"] if then else []
        if self.expected.silent:
            parts.append(f"silent: [{', '.join(self.expected.silent)}]")
        if self.expected.says:
            parts.append(f"says: {flow(self.expected.says)}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The suggestion as JSON values."""
        return {"test": self.number, "text": self.text}


class FollowingMaker:
    """Finds, for mistakes in effects that no test notices, what a test has to say to notice them."""

    def __init__(self, cases: TestCases, outcomes: Outcomes, vocabulary: Vocabulary) -> None:
        """Look at the rulebook of these cases."""
        self._cases = cases
        self._outcomes = outcomes
        self._vocabulary = vocabulary
        self._sentences = Sentences(vocabulary)

    def suggestion(self, rule: Rule, mutants: Sequence[EffectMutant]) -> tuple[Following | None, list[EffectMutant]]:
        """The test of the rule that notices most of the mistakes once it says what follows, and those it notices."""
        best: tuple[Following | None, list[EffectMutant]] = (None, [])
        for number, test in enumerate(rule.tests, 1):
            if not test.fires or (test.expected and (test.expected.answers or test.expected.prefers)):
                continue
            try:
                facts = self._cases.facts(test.given, test.plan, rule.each)
            except WhichgpuError:
                continue
            if not self._cases.fires(rule, facts):
                continue
            expected = self._expected(rule, facts)
            said = self._sentences.of(rule, test, number, facts)
            found = Following(rule.id, number, replace(expected, says=said))
            trial = RuleTest(test.given, test.plan, fires=True, expected=replace(expected, says=with_numbers(said)))
            if self._outcomes.misses(rule, trial, facts):
                continue
            noticed = [each for each in mutants if self._outcomes.misses(rule, trial, facts, each.rule)]
            if len(noticed) > len(best[1]):
                best = (found, noticed)
        return best

    def override_suggestion(self, rule: Rule, names: Iterable[str], by_id: Mapping[str, Rule]) -> Suggestion | None:
        """A test in which the rule keeps one of the named ones from taking effect: cases of both put together."""
        for name in names:
            for other in by_id[name].tests:
                for own in rule.tests:
                    if not (own.fires and other.fires):
                        continue
                    found = self._both(rule, by_id[name], own, other) or self._both(rule, by_id[name], other, own)
                    if found is not None:
                        return found
        return None

    def _both(self, rule: Rule, other: Rule, above: RuleTest, below: RuleTest) -> Suggestion | None:
        given, plan = {**below.given, **above.given}, {**below.plan, **above.plan}
        try:
            facts = self._cases.facts(given, plan, rule.each)
        except WhichgpuError:
            return None
        if not (self._cases.fires(rule, facts) and self._cases.fires(other, facts)):
            return None
        test = RuleTest(given, plan, fires=True, expected=Expected(silent=(other.table or other.id,)))
        left_out = replace(rule, overrides=tuple(name for name in rule.overrides if name != other.id))
        if self._outcomes.misses(rule, test, facts) or not self._outcomes.misses(rule, test, facts, left_out):
            return None
        return Suggestion(given, plan, fires=True, silent=(other.table or other.id,))

    def _expected(self, rule: Rule, facts: Facts) -> Expected:
        set_facts = tuple(sorted(effect.fact for effect in rule.effects if isinstance(effect, SetFact)))
        values = self._outcomes.values(rule, set_facts, facts) if set_facts else {}
        silenced = self._outcomes.silenced_by(rule, facts) is not None
        effects = {} if silenced else dict(self._effects(rule, facts))
        silent = tuple(sorted(set(self._outcomes.silences(rule, facts))))
        return Expected({name: values[name] for name in set_facts if name in values}, effects, silent)

    def _effects(self, rule: Rule, facts: Facts) -> Iterator[tuple[str, object]]:
        templates = {"text": rule.text} | {e.word: e.text for e in rule.effects if isinstance(e, Reject | Fallback)}
        for word, value in done(rule, facts, self._vocabulary).items():
            yield word, phrase_of(templates[word]) if word in templates else value


def phrase_of(template: str) -> str:
    """A few words of a text that stand in it whatever the case is."""
    pieces = (piece.strip(" .,;:()") for piece in re.split(r"\{[^{}]*\}|[\"'`]", template))
    return " ".join(max(pieces, key=len).removeprefix("s ").split()[:PHRASE]).strip(" .,;:()")


def written_effect(value: object) -> str:
    """What a rule does under one word, as YAML in one line."""
    match value:
        case Claim(quantity, ratio, over):
            parts = {"quantity": quantity, "ratio": ratio, "over": over}
            given = {key: part for key, part in parts.items() if part is not None}
            return quantity if len(given) == 1 else flow(given)
        case tuple() if len(value) == 1:
            return scalar(value[0])
        case Mapping():
            return "{" + ", ".join(f"{name}: {written_effect(target)}" for name, target in value.items()) + "}"
        case _:
            return scalar(value)


def _short(value: object) -> object:
    """A calculated value in a few digits."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
