"""Who sets a fact and who reads it, among rules, calculators and people."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from whichgpu.engine.core.calculators import Calculator
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Ask
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Rulebook


@dataclass(frozen=True, slots=True)
class Origins:
    """What can give a fact its value: rules and calculators by id, people (asked or not), an assumption."""

    rules: tuple[str, ...] = ()
    calculators: tuple[str, ...] = ()
    stated: bool = False
    asked: bool = False
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one rulebook. Every mapping is sorted."""

    setters: Mapping[str, tuple[str, ...]]  # fact -> rules that set it
    readers: Mapping[str, tuple[str, ...]]  # fact -> rules whose conditions or settings read it
    askers: Mapping[str, tuple[str, ...]]  # fact -> rules that ask for it
    calculators: Mapping[str, tuple[str, ...]]  # fact -> calculators that compute it
    computed_from: Mapping[str, tuple[str, ...]]  # fact -> calculators that need or use it
    overridden_by: Mapping[str, tuple[str, ...]]  # rule -> rules that override it
    facts: Mapping[str, FactDef] = field(default_factory=dict)

    def origins(self, fact: str) -> Origins:
        """What can give this fact its value."""
        known = self.facts.get(fact)
        return Origins(
            rules=self.setters.get(fact, ()),
            calculators=self.calculators.get(fact, ()),
            stated=known is not None and known.role != "output" and known.scope == "workload",
            asked=known is not None and bool(known.question) and known.askable != "never",
            assumed=known is not None and bool(known.assumptions),
        )

    def feeds(self, rule: Rule) -> tuple[str, ...]:
        """The rules that read what this rule sets."""
        return tuple(sorted({name for fact in rule.writes for name in self.readers.get(fact, ())} - {rule.id}))

    def fed_by(self, rule: Rule) -> tuple[str, ...]:
        """The rules that set what this rule reads."""
        return tuple(sorted({name for fact in rule.reads for name in self.setters.get(fact, ())} - {rule.id}))


def links_of(rulebook: Rulebook, vocabulary: Vocabulary, calculators: Iterable[Calculator]) -> Links:
    """The links between the rules of a rulebook, the facts and the calculators."""
    setters: dict[str, set[str]] = {}
    readers: dict[str, set[str]] = {}
    askers: dict[str, set[str]] = {}
    above: dict[str, set[str]] = {}
    for rule in rulebook.rules:
        _note(setters, rule.writes, rule.id)
        _note(readers, rule.reads, rule.id)
        _note(askers, (effect.fact for effect in rule.effects if isinstance(effect, Ask)), rule.id)
        _note(above, rule.overrides, rule.id)
    computing: dict[str, set[str]] = {}
    using: dict[str, set[str]] = {}
    for calculator in calculators:
        _note(computing, (calculator.output,), calculator.name)
        _note(using, (*calculator.needs, *calculator.uses), calculator.name)
    return Links(
        _sorted(setters),
        _sorted(readers),
        _sorted(askers),
        _sorted(computing),
        _sorted(using),
        _sorted(above),
        vocabulary.facts,
    )


def _note(found: dict[str, set[str]], keys: Iterable[str], name: str) -> None:
    for key in keys:
        found.setdefault(key, set()).add(name)


def _sorted(found: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(sorted(names)) for key, names in sorted(found.items())}
