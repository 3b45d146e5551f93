"""The conditions that stand in a vocabulary: when an assumption applies, an alias is meant, a question makes sense."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from whichgpu.engine.core import recall_compiled, remember_compiled
from whichgpu.engine.rules.facts import Vocabulary, coerce
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.resolution.run import Default


class VocabularyConditions(Struct, frozen=True):
    """The conditions of a vocabulary, parsed; ``aliases`` and ``questions`` by the name of the fact."""

    defaults: tuple[Default, ...]
    aliases: dict[str, Expr]
    questions: dict[str, Expr]


@lru_cache(maxsize=8)
def conditions_of(vocabulary: Vocabulary) -> VocabularyConditions:
    """All conditions of a vocabulary, kept between runs as it is."""
    kept = recall_compiled("conditions", vocabulary.key, VocabularyConditions)
    if kept is None:
        aliases = _parsed(vocabulary, {name: fact.alias_when for name, fact in vocabulary.facts.items()})
        questions = _parsed(vocabulary, {name: fact.asked_when for name, fact in vocabulary.facts.items()})
        kept = VocabularyConditions(tuple(defaults_of(vocabulary)), aliases, questions)
        remember_compiled("conditions", vocabulary.key, kept)
    return kept


def defaults_of(vocabulary: Vocabulary) -> list[Default]:
    """The vocabulary's assumptions, in order of the fact and then as written: the first that applies counts."""
    from whichgpu.engine.rules.language.parsing import parse_condition  # noqa: PLC0415  # Not where they were kept.

    defaults = []
    for name, fact in vocabulary.facts.items():
        for assumption in fact.assumptions:
            value = coerce(fact, assumption.assume)
            when = parse_condition(assumption.when, vocabulary, None, "workload") if assumption.when else None
            if value is not None:
                defaults.append(Default(name, value, assumption.because, when))
    return defaults


def _parsed(vocabulary: Vocabulary, texts: Mapping[str, str | None]) -> dict[str, Expr]:
    """The conditions that are stated, by the name of the fact."""
    from whichgpu.engine.rules.language.parsing import parse_condition  # noqa: PLC0415  # As above.

    return {name: parse_condition(text, vocabulary, None, "workload") for name, text in texts.items() if text}
