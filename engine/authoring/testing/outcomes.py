"""What follows from a rule on the facts of a test, and what of it a test misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec.structs import asdict

from whichgpu.engine.authoring.testing.cases import TestCases
from whichgpu.engine.authoring.testing.expectations import Expectation, same
from whichgpu.engine.authoring.testing.said import said_otherwise
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts, Value, WhichgpuError
from whichgpu.engine.rules import (
    Ask,
    Claim,
    ConsiderCounts,
    Disagree,
    Expected,
    Fallback,
    Monitor,
    Points,
    Preference,
    Reject,
    Resolver,
    Rule,
    Rulebook,
    RuleTest,
    Say,
    ShowFigure,
    Vocabulary,
    format_value,
    overriders,
    render,
)


#: Values that rules calculate are met within this share: a test writes a few digits.
CLOSE = 0.005

#: What is said in a sentence.
_WORDED = ("text", "reject", "fallback")

#: Decides what a test gives; gives the whole decision as JSON values, and the catalogue that its names are of.
DecideGiven = Callable[[Mapping[str, object]], tuple[Mapping[str, Any], Knowledge]]


def done(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> dict[str, object]:
    """What a rule does on these facts, by the words of ``then``; facts that it sets are left out."""
    found: dict[str, Any] = {}
    for effect in rule.effects:
        match effect:
            case Points():
                found |= {key: value for key, value in asdict(effect).items() if value is not None}
            case Say(kind, code):
                found[kind] = (*found.get(kind, ()), code)
            case Ask(name) | ShowFigure(name) | Disagree(name):
                found[effect.word] = (*found.get(effect.word, ()), name)
            case ConsiderCounts(counts):
                found[effect.word] = counts
            case Monitor(figure, low, high):
                found.setdefault(effect.word, {})[figure] = (low,) if high is None else (low, high)
            case Reject(text) | Fallback(text):
                found[effect.word] = render(text, facts, vocabulary)
    return found | ({"text": render(rule.text, facts, vocabulary)} if rule.text else {})


class Outcomes:
    """The rules with what overrides them, on which the outcomes that tests state are tried."""

    def __init__(
        self, rulebook: Rulebook, cases: TestCases, vocabulary: Vocabulary, decide: DecideGiven | None = None
    ) -> None:
        """Prepare a rulebook; without ``decide`` what tests say of whole answers is left out."""
        self._rulebook = rulebook
        self._cases = cases
        self._vocabulary = vocabulary
        self._decide = decide
        self._rules = {rule.id: rule for rule in rulebook.rules}
        self._above = overriders(self._rules)
        self._resolvers: dict[tuple[str, ...], tuple[Resolver, list[Rule]]] = {}

    def misses(self, rule: Rule, test: RuleTest, facts: Facts, instead: Rule | None = None) -> list[str]:
        """What of the outcome that a test states does not come about, in words.

        Args:
            rule: the rule that the test belongs to; it fires on the facts.
            test: with what it expects.
            facts: the facts of the test.
            instead: stands in the place of the rule, for a mistake that is tried.
        """
        expected, tried = test.expected, instead or rule
        if expected is None:
            return []
        return [
            *self._effects(tried, expected.effects, facts),
            *self._facts(tried, expected.facts, facts),
            *(self._said(tried, expected, facts) if expected.says else ()),
            *(said for name in expected.silent for said in self._silent(tried, name, facts)),
            *(self._preferred(tried, test, expected.prefers) if expected.prefers else ()),
            *(self._answered(test, expected.answers) if expected.answers and instead is None else ()),
        ]

    def silenced_by(self, rule: Rule, facts: Facts, instead: Rule | None = None) -> str | None:
        """The rule that overrides ``rule`` on these facts, if one does."""
        for name in sorted(self._overriders(instead).get(rule.id, ())):
            if self._cases.holds(self._rules[name], facts):
                return name
        return None

    def silences(self, rule: Rule, facts: Facts) -> Iterator[str]:
        """The rules and tables that only ``rule`` keeps from taking effect on these facts."""
        for name in rule.overrides:
            other = self._rules.get(name)
            if other is not None and self._cases.fires(other, facts):
                yield other.table or name

    def values(self, rule: Rule, names: tuple[str, ...], facts: Facts) -> Mapping[str, Value]:
        """What the rules of this one's stage and scope make of facts that it sets."""
        resolver, rules = self._setters(rule, names)
        return resolver.resolve((each.id for each in rules if self._cases.holds(each, facts)), facts).values

    def _overriders(self, instead: Rule | None) -> Mapping[str, frozenset[str]]:
        if instead is None or instead.overrides == self._rules[instead.id].overrides:
            return self._above
        return overriders({**self._rules, instead.id: instead})

    def _effects(self, rule: Rule, wanted: Mapping[str, object], facts: Facts) -> Iterator[str]:
        if not wanted:
            return
        by = self.silenced_by(rule, facts)
        if by is not None:
            yield f"{by} overrides it"
            return
        found = done(rule, facts, self._vocabulary)
        for word, value in wanted.items():
            if word not in found:
                yield f"it has no `{word}`"
            elif not _met(value, found[word]):
                yield f"`{word}` is {_shown(found[word])}, not {_shown(value)}"

    def _said(self, rule: Rule, expected: Expected, facts: Facts) -> Iterator[str]:
        """Sentences that read otherwise, and what the rule does beyond what is stated beside them."""
        yield from said_otherwise(rule, expected.says, facts, self._vocabulary)
        if self.silenced_by(rule, facts) is not None:
            return
        for word, value in done(rule, facts, self._vocabulary).items():
            stated = expected.effects.get(word)
            if isinstance(value, str) and word in _WORDED:
                if word not in expected.says and word not in expected.effects:
                    yield f"`{word}` is said as well: {value!r}"
            elif stated is None:
                yield f"it has `{word}` as well: {_shown(value)}"
            elif (
                isinstance(value, tuple | Mapping) and isinstance(stated, tuple | Mapping) and len(stated) < len(value)
            ):
                yield f"`{word}` is {_shown(value)}, and not only {_shown(stated)}"

    def _facts(self, rule: Rule, wanted: Mapping[str, Value], facts: Facts) -> Iterator[str]:
        if not wanted:
            return
        found = self.values(rule, tuple(sorted(wanted)), facts)
        for name, value in wanted.items():
            fact = self._vocabulary.fact(name)
            if name not in found:
                yield f"{name} is set by no rule here"
            elif not same(value, found[name], CLOSE):
                yield f"{name} is {format_value(fact, found[name])}, not {format_value(fact, value)}"

    def _setters(self, rule: Rule, names: tuple[str, ...]) -> tuple[Resolver, list[Rule]]:
        """The rules that set these facts, with all that decides which of them count."""
        key = (rule.stage, rule.each, *names)
        known = self._resolvers.get(key)
        if known is not None and rule is self._rules[rule.id]:
            return known
        peers = [other for other in self._rulebook.rules if (other.stage, other.each) == (rule.stage, rule.each)]
        setters = {other.id for other in peers if not other.writes.isdisjoint(names)} | {rule.id}
        tables = {self._rules[name].table for name in setters if self._rules[name].hit == "first"}
        above = {name for setter in setters for name in self._above.get(setter, ())}
        chosen = [
            rule if other.id == rule.id else other
            for other in peers
            if other.id in setters | above or (other.table is not None and other.table in tables)
        ]
        made = (Resolver(chosen), chosen)
        if rule is self._rules[rule.id]:
            self._resolvers[key] = made
        return made

    def _silent(self, rule: Rule, name: str, facts: Facts) -> Iterator[str]:
        named = [other for other in self._rulebook.rules if name in (other.id, other.table)]
        if not named and name not in self._gone:
            yield f"there is no rule {name}"
        for other in named:
            if self._cases.fires(other, facts) and self.silenced_by(other, facts, rule) is None:
                yield f"{other.id} takes effect as well"

    @cached_property
    def _gone(self) -> frozenset[str]:
        """What layers took away."""
        return frozenset(change.rule for change in self._rulebook.changes if change.kind != "added")

    def _preferred(self, rule: Rule, test: RuleTest, wanted: Preference) -> Iterator[str]:
        sides = ((wanted.better, wanted.better_count), (wanted.worse, wanted.worse_count))
        points = []
        for gpu, count in sides:
            plan = {**test.plan, "gpu": gpu, **({} if count is None else {"count": count})}
            try:
                facts = self._cases.facts(test.given, plan, rule.each)
            except WhichgpuError as error:
                yield "; ".join(problem.message for problem in error.problems)
                return
            points.append(self._points(rule, facts))
        more = points[0] - points[1]
        if more <= 0 or (wanted.by is not None and abs(more - wanted.by) > 1e-9):
            by = "" if wanted.by is None else f" by {wanted.by:g}"
            yield f"{wanted.better} gets {points[0]:g} points and {wanted.worse} {points[1]:g}: not preferred{by}"

    def _points(self, rule: Rule, facts: Facts) -> float:
        own = self._rules[rule.id]
        if not self._cases.fires(own, facts) or self.silenced_by(rule, facts) is not None:
            return 0.0
        return sum(effect.points for effect in rule.effects if isinstance(effect, Points))

    def _answered(self, test: RuleTest, wanted: Mapping[str, object]) -> Iterator[str]:
        if self._decide is None:
            return
        try:
            decision, knowledge = self._decide(test.given)
        except WhichgpuError as error:
            yield "; ".join(problem.message for problem in error.problems)
            return
        yield from Expectation(decision, knowledge).check(wanted)


def _met(wanted: object, found: object) -> bool:
    """Whether what a rule does under one word is what the test says; of a text it is a phrase, of names some."""
    if isinstance(wanted, str) and isinstance(found, str):
        return wanted.lower() in found.lower()
    if isinstance(wanted, Claim) and isinstance(found, Claim):
        return found in (wanted, Claim(wanted.quantity, wanted.ratio or found.ratio, wanted.over or found.over))
    if isinstance(wanted, tuple) and isinstance(found, tuple) and found and isinstance(found[0], str):
        return set(wanted) <= set(found)
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(found.get(name) == value for name, value in wanted.items())
    return wanted == found


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Claim):
        ratio = "" if value.ratio is None else f" {value.ratio:g} x"
        return f"{value.quantity}{ratio}{f' over {value.over}' if value.over else ''}"
    return f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)
