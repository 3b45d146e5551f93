"""What rules conclude against what the heuristics conclude that they encode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.heuristic_limits import StatedCall, StatedLimit
from whichgpu.engine.rules import Ask, Const, Disagree, Points, Rule, Say, SetFact, constants


_OF_CARDS = ("gpu.series", "gpu.family", "gpu.id")
_MAKER = re.compile(r"^[a-z]+-(?=[a-z]*\d|[a-z]+-)")
#: Choices that leave a question open: a rule may know less than its heuristic.
_OPEN = frozenset({"undecided", "unknown", "other"})


@check("warning")
def another_conclusion(context: LintContext) -> Iterator[Finding]:
    """Rule that concludes otherwise than all of the heuristics it encodes.

    Why: another code, another verdict or a lost sign before the points loads as well as what was meant.

    Bad::

        - id: critical-work-on-server-cards
          when: [gpu.series == nvidia-a100]
          then: {points: -3, reason: reliability}
          encodes: [a100-for-critical-work]           # mission_critical -> prefer(a100)

    Good::

        - id: critical-work-on-server-cards
          when: [gpu.series == nvidia-a100]
          then: {points: 3, reason: reliability}
          encodes: [a100-for-critical-work]

    Read is what a heuristic concludes (``condition.expr``): ``prefer`` and ``eliminate`` of cards, held against the
    cards that the lines name and the sign of the points; ``warn``, ``advise`` and ``ask``, against codes and
    questions; the words that it gives facts (``link_required = 'infiniband'``), against those that the rule sets; and
    the disagreements that it lies in (``conflicts``), against those that the rule shows. One heuristic that agrees is
    enough. A rule that leaves open what its heuristic decides is left alone.
    """
    cards = frozenset(_bare(str(gpu[name])) for gpu in context.catalogue.gpus for name in _OF_CARDS if name in gpu)
    for rule in context.rulebook.rules:
        heuristics = [context.statements[name] for name in rule.encodes if name in context.statements]
        calls = [call for statement in heuristics for call in statement.calls]
        limits = [limit for statement in heuristics for limit in statement.limits]
        disputes = frozenset(name for statement in heuristics for name in statement.disputes)
        messages = (
            *_words_set(rule, limits, context),
            *_said(rule, calls),
            *_cards(rule, calls, cards),
            *_disputes(rule, disputes),
        )
        for message in messages if heuristics else ():
            yield another_conclusion.about(
                rule, message, fix="correct the effect, or encode the heuristic that is meant"
            )


def _words_set(rule: Rule, limits: Iterable[StatedLimit], context: LintContext) -> Iterator[str]:
    for effect in rule.effects:
        if not (isinstance(effect, SetFact) and isinstance(effect.expr, Const) and isinstance(effect.expr.value, str)):
            continue
        choices = set(context.vocabulary.facts[effect.fact].choices) - _OPEN
        stated = {value for limit in limits if limit.fact == effect.fact and limit.op != "!=" for value in limit.values}
        if stated & choices and effect.expr.value in choices - stated:
            yield (
                f"{rule.id} sets {effect.fact} to {effect.expr.value}, and what it encodes says "
                f"{' or '.join(sorted(stated & choices))}"
            )


def _disputes(rule: Rule, known: frozenset[str]) -> Iterator[str]:
    """Disagreements that a rule shows, none of which its heuristics lie in."""
    shown = {effect.conflict for effect in rule.effects if isinstance(effect, Disagree)}
    if shown and known and shown.isdisjoint(known):
        yield (
            f"{rule.id} shows the disagreement {', '.join(sorted(shown))}, and what it encodes lies in "
            f"{', '.join(sorted(known))}"
        )


_SAYS: Mapping[str, str] = {"warn": "W-", "advise": "A-"}


def _said(rule: Rule, calls: Iterable[StatedCall]) -> Iterator[str]:
    """Codes and questions of which none is one that a heuristic names."""
    calls = list(calls)
    for verb, prefix in (*_SAYS.items(), ("ask", "")):
        stated = {each for call in calls if call.verb == verb for each in call.objects}
        if verb == "ask":
            own = {effect.fact for effect in rule.effects if isinstance(effect, Ask)}
        else:
            own = {e.code for e in rule.effects if isinstance(e, Say) and e.code.startswith(prefix)}
        if stated and own and stated.isdisjoint(own):
            yield f"{rule.id} says {verb} {', '.join(sorted(own))}, and what it encodes {', '.join(sorted(stated))}"


def _cards(rule: Rule, calls: Iterable[StatedCall], known: frozenset[str]) -> Iterator[str]:
    """Points against cards that heuristics prefer, or for those that they eliminate, or for others alone."""
    points = next((effect.points for effect in rule.effects if isinstance(effect, Points)), 0.0)
    pairs = (pair for condition in rule.when for pair in constants(condition.expr))
    own = {_bare(value) for fact, value in pairs if fact in _OF_CARDS and isinstance(value, str)}
    if not points or not own:
        return
    liked, out = set[str](), set[str]()
    for call in calls:
        named = {_bare(each) for each in call.objects} & known
        (out if call.verb == "eliminate" else liked).update(named if call.verb not in _SAYS else ())
    if points < 0 and _meet(own, liked) and not _meet(own, out):
        yield f"{rule.id} takes points from {_shown(own)}, which what it encodes prefers"
    elif points > 0 and _meet(own, out) and not _meet(own, liked):
        yield f"{rule.id} gives points to {_shown(own)}, which what it encodes leaves out"
    elif points > 0 and liked and not _meet(own, liked):
        yield f"{rule.id} gives points to {_shown(own)}, and what it encodes prefers {_shown(liked)}"


def _bare(name: str) -> str:
    """A card without its maker: ``a100-80gb`` of ``nvidia-a100-80gb``."""
    return _MAKER.sub("", name)


def _meet(cards: Iterable[str], others: Iterable[str]) -> bool:
    """Whether one is a card or series of the other."""
    others = list(others)
    return any(card.startswith(other) or other.startswith(card) for card in cards for other in others)


def _shown(cards: Iterable[str]) -> str:
    return ", ".join(sorted(card.upper() for card in cards))
