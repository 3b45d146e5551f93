"""The conditions that stand in a vocabulary: when an assumption applies, and when an alias is meant."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.core import recall_compiled, remember_compiled
from whichgpu.engine.rules.facts import Vocabulary, coerce
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.resolution.run import Default


class VocabularyConditions(Struct, frozen=True):
    """The conditions of a vocabulary, parsed. ``aliases`` are by the name of the fact."""

    defaults: tuple[Default, ...]
    aliases: dict[str, Expr]


def conditions_of(vocabulary: Vocabulary) -> VocabularyConditions:
    """All conditions of a vocabulary, kept between runs as it is."""
    kept = recall_compiled("conditions", vocabulary.key, VocabularyConditions)
    if kept is None:
        kept = VocabularyConditions(tuple(defaults_of(vocabulary)), _aliases(vocabulary))
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


def _aliases(vocabulary: Vocabulary) -> dict[str, Expr]:
    from whichgpu.engine.rules.language.parsing import parse_condition  # noqa: PLC0415  # As above.

    return {
        name: parse_condition(fact.alias_when, vocabulary, None, "workload")
        for name, fact in vocabulary.facts.items()
        if fact.alias_when
    }
