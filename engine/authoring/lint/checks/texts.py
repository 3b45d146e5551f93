"""What rules say to readers: cards in titles, and values in texts that may be unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import (
    Compare,
    Const,
    FactDef,
    FactRef,
    Fallback,
    Known,
    Points,
    Reject,
    Rule,
    constants,
)


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

    The id of a rule counts as its title does. Where no line names a card, one of the heuristics that the rule encodes
    has to. Text and reason may also speak of what the claim compares with and of the cards of the title.
    """
    words = context.catalogue.words
    named = set[str]()
    known = _cards(name for fact in sorted(_OF_CARDS) for name in words.get(fact, ()))
    for rule in context.rulebook.rules:
        compared = (pair for condition in rule.when for pair in constants(condition.expr))
        read = _cards(value for fact, value in compared if fact in _OF_CARDS and isinstance(value, str))
        said = _cards([rule.title, rule.id]) & known
        if read and said and not said & read:
            named.add(rule.id)
            cards = " and ".join(sorted(card.upper() for card in said))
            yield unread_card.about(
                rule,
                f"{rule.id} speaks of {cards}, and its lines name {', '.join(sorted(card.upper() for card in read))}",
                fix="correct one of the two",
            )
    yield from _other_precisions(context)
    for rules in context.by_table():
        yield from _unsaid_cards(rules, known, named, context)


def _unsaid_cards(rules: list[Rule], known: frozenset[str], named: set[str], context: LintContext) -> Iterator[Finding]:
    """Cards that texts, reasons and titles name, and that neither lines nor heuristics of the rules do."""
    may = frozenset().union(*(_spoken_of(rule, context) for rule in rules))
    in_titles = (_spoken_of(rule, context, *_said(rule), title=False) for rule in rules)
    may_in_titles = frozenset[str]().union(*in_titles)
    for rule in rules:
        foreign = sorted(_cards(_said(rule)) & known - may)
        unread = _cards([rule.title]) & known - may_in_titles - _cards([rule.id])
        if unread and not foreign and rule.id not in named:
            yield unread_card.about(
                rule,
                f"the title of {rule.id} names {', '.join(sorted(unread)).upper()}, and nothing else of it does",
                fix="correct the title, or encode the heuristic that names the card",
            )
        if foreign:
            yield unread_card.about(
                rule,
                f"the text of {rule.id} speaks of {', '.join(foreign).upper()}; neither its lines nor what it "
                "encodes do",
                fix="correct the text, or encode the heuristic that names the card",
            )


_PRECISION = re.compile(r"(?<![a-z])(?:fp|bf|int|tf)\d+(?![\d])")


def _other_precisions(context: LintContext) -> Iterator[Finding]:
    """Rules whose title names a precision, while their lines read others alone."""
    for rule in context.rulebook.rules:
        lines = " ".join(condition.text for condition in rule.when).lower()
        read = set(_PRECISION.findall(f"{lines} {' '.join(sorted(rule.reads | rule.writes))}"))
        said = set(_PRECISION.findall(f"{rule.title} {rule.id}".lower()))
        if read and said and not said & read:
            yield unread_card.about(
                rule,
                f"{rule.id} speaks of {', '.join(sorted(said)).upper()}, and its lines read {', '.join(sorted(read))}",
                fix="correct one of the two",
            )


def _said(rule: Rule) -> tuple[str, ...]:
    """The sentences of a rule beside its title."""
    shown = (effect.text for effect in rule.effects if isinstance(effect, Reject | Fallback))
    return (rule.text, rule.because, *shown)


def _spoken_of(rule: Rule, context: LintContext, *more: str, title: bool = True) -> frozenset[str]:
    """The cards of a rule's lines, claim, id and title, of the heuristics that it encodes, and of more texts."""
    lines = (str(value) for condition in rule.when for _, value in constants(condition.expr))
    over = (str(e.claim.over) for e in rule.effects if isinstance(e, Points) and e.claim)
    stated = (context.statements[name].text for name in rule.encodes if name in context.statements)
    own = (rule.id, rule.title) if title else ()
    return _cards((*own, *lines, *over, *stated, *more))


def _cards(texts: Iterable[str]) -> frozenset[str]:
    """The parts of texts that distinguish cards: ``h100`` of ``nvidia-h100``, ``4090`` of ``RTX 4090``."""
    found = (part for text in texts for part in _CARD.findall(text.lower()))
    return frozenset(part for part in found if not part.isdigit() or len(part) >= _SHORTEST_NUMBER)


@check("warning")
def shown_unknown(context: LintContext) -> Iterator[Finding]:
    """Text that shows a fact of the workload which may be unknown where the rule fires.

    Why: the reader learns that something costs "unknown". Most often another fact is meant.

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


@check("warning")
def excluded_in_title(context: LintContext) -> Iterator[Finding]:
    """Title that names a kind of work, model or method for which the rule never fires.

    Why: after a rule was copied its title goes on speaking of the old case, or a line was turned round.

    Bad::

        - id: servers-for-pretraining
          title: Pretraining belongs on servers
          when: [serving]

    Good::

        - id: servers-for-pretraining
          title: Pretraining belongs on servers
          when: [task == pretraining]

    Looked for are the names of the choices of what is stated. A title that names one for which the rule fires as well
    sets the two side by side, and is left alone.
    """
    regions = context.derived
    named = _choices(context)
    for rule in context.rulebook.rules:
        where = regions.where(rule)
        title = rule.title.casefold().replace("-", "")
        for fact, choices in named.items():
            found = [choice for choice, pattern in choices if pattern.search(title)]
            if not found or regions.never(where):
                continue
            if all(regions.never(where, regions.true(Compare("==", FactRef(fact), Const(choice)))) for choice in found):
                yield excluded_in_title.about(
                    rule,
                    f"the title of {rule.id} speaks of {found[0].replace('_', ' ')}, for which it never fires",
                    fix="correct the title or the lines",
                )


#: Facts whose choices are kinds of work and of models, with names that mean nothing else.
_NAMED_IN_TITLES = ("task", "model_family", "peft_method")
_SHORTEST_CHOICE = 4


def _choices(context: LintContext) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name in _NAMED_IN_TITLES:
        fact = context.vocabulary.fact(name)
        for choice in fact.choices if fact else ():
            if len(choice) >= _SHORTEST_CHOICE and choice != "other":
                words = choice.replace("_", "[ -]?")
                found.setdefault(name, []).append((choice, re.compile(rf"\b{words}\b")))
    return found
