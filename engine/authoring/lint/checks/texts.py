"""What rules say to readers: cards in titles, and values in texts that may be unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import FactDef, FactRef, Known, Rule, constants


_CARD = re.compile(r"[a-z]*\d+[a-z]*")
_OF_CARDS = frozenset({"gpu.series", "gpu.family", "gpu.id", "plan.gpu", "plan.family"})
#: Sizes and counts are no names of cards: 4090 is one, 70 is none, and a70b is none either.
_SHORTEST_NUMBER = 4


@check("warning")
def unread_card(context: LintContext) -> Iterator[Finding]:
    """Title that names a card, on a rule whose lines name other cards alone.

    Why: after a rule was copied, or a card in a line replaced, the title goes on naming the old one, and readers
    believe the title.

    Bad::

        - id: h200-for-shared-hardware
          title: Teams that share hardware take the H200
          when: [gpu.series == amd-mi300x]

    Good::

        - id: h200-for-shared-hardware
          title: Teams that share hardware take the H200
          when: [gpu.series == nvidia-h200]

    The id of a rule counts as its title does. A rule whose lines name no card may speak of any.
    """
    words = context.catalogue.words
    known = _cards(name for fact in sorted(_OF_CARDS) for name in words.get(fact, ()))
    for rule in context.rulebook.rules:
        compared = (pair for condition in rule.when for pair in constants(condition.expr))
        read = _cards(value for fact, value in compared if fact in _OF_CARDS and isinstance(value, str))
        said = _cards([rule.title, rule.id]) & known
        if read and said and not said & read:
            cards = " and ".join(sorted(card.upper() for card in said))
            yield unread_card.about(
                rule,
                f"{rule.id} speaks of {cards}, and its lines name {', '.join(sorted(card.upper() for card in read))}",
                fix="correct one of the two",
            )


def _cards(texts: Iterable[str]) -> frozenset[str]:
    """The parts of texts that tell one card from another: ``h100`` of ``nvidia-h100``, ``4090`` of ``RTX 4090``."""
    found = (part for text in texts for part in _CARD.findall(text.lower()))
    return frozenset(part for part in found if not part.isdigit() or len(part) >= _SHORTEST_NUMBER)


@check("warning")
def shown_unknown(context: LintContext) -> Iterator[Finding]:
    """Text that shows a fact of the workload which may be unknown where the rule fires.

    Why: the reader is told that something costs "unknown". Most often another fact is meant.

    Bad::

        when: [project_months < 6]
        then: {advise: A-RENT, text: "Within {deadline_hours} no purchase pays."}

    Good::

        when: [project_months < 6]
        then: {advise: A-RENT, text: "Within {project_months} no purchase pays."}

    Looked at are facts that people state and that the survey or the sums of renting and owning give. One from which a
    fact follows that the rule reads, or that is given together with such a fact, counts as known.
    """
    for rule in context.rulebook.rules:
        behind: frozenset[str] | None = None
        for name in sorted(rule.mentions - rule.reads):
            fact = context.vocabulary.facts[name]
            if fact.scope != "workload" or fact.role == "derived" or fact.assumptions or _beside(fact, rule, context):
                continue
            behind = _behind(rule, context) if behind is None else behind
            unknown = context.regions.true(Known(FactRef(name), negated=True))
            if name not in behind and not context.regions.never(context.regions.where(rule), unknown):
                yield shown_unknown.about(
                    rule,
                    f"{rule.id} shows {name}, which may be unknown where it fires",
                    fix=f"show a fact that it reads, or add `{name} is known`",
                )


def _beside(fact: FactDef, rule: Rule, context: LintContext) -> bool:
    """Whether the program gives the fact together with one that the rule reads."""
    read = (context.vocabulary.facts[name] for name in rule.reads & context.produced)
    return fact.name in context.produced and fact.available in {other.available for other in read}


def _behind(rule: Rule, context: LintContext) -> frozenset[str]:
    """The facts that a rule reads, and all from which they follow, by rules and calculators."""
    found: set[str] = set()
    rest = set(rule.reads)
    while rest:
        found |= rest
        made = [context.calculated.get(name, frozenset()) for name in rest]
        made += [other.reads for other in context.rulebook.rules if other.writes & rest]
        rest = {name for facts in made for name in facts} - found
    return frozenset(found)
