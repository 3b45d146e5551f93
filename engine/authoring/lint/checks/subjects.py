"""What rules say, ask, show and watch, held against what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.wording import rarity, share_said, words_of
from whichgpu.engine.core import is_number, nearest_words
from whichgpu.engine.rules import Ask, FactDef, Monitor, Rule, Say, ShowFigure, constants, source_heads


#: Of codes drawn at random three in five share less with a rule, or lie so far behind others; of those that the
#: shipped rules say, one in 167.
LEAST_OF_CODE, MOST_CODES_BEFORE = 1e-9, 0.4
#: Of facts drawn at random seven in ten share less with a rule that asks for them; of those asked for, none.
LEAST_OF_QUESTION = 0.2
#: Half of the facts drawn at random for a text, and none of the shipped ones.
LEAST_OF_SHOWN = 0.1

_VALUES = re.compile(r"\{[^}]*\}")


@check("warning")
def another_message(context: LintContext) -> Iterator[Finding]:
    """Code, question or value of a fact that has nothing to do with what the rule says of itself.

    Why: a code is a short name, and the wrong one loads as well as the right one. What a code means, what a question
    asks and what a shown fact stands for are held against the words of the rule: its id, title, reason and text, its
    lines and the facts that they read, and the heuristics that it encodes.

    Bad::

        - id: tpu-code-has-to-be-ported
          title: Code for TPUs has to be written for them
          when: [tpu_ok]
          then: {ask: psu_watts}

    Good::

        - id: tpu-code-has-to-be-ported
          title: Code for TPUs has to be written for them
          when: [tpu_ok]
          then: {ask: framework}

    A word counts for more the fewer codes, or facts, have it. A code is found as well where many others of its kind
    share more with the rule.
    """
    codes = {name: words_of(name[2:], code.meaning) for name, code in context.vocabulary.codes.items()}
    of_codes = rarity(codes.values())
    facts = {name: _words_of_fact(fact) for name, fact in context.vocabulary.facts.items()}
    of_facts = rarity(facts.values())
    for rule in context.rulebook.rules:
        shown = [name for name in sorted(rule.mentions - rule.reads) if context.vocabulary.facts[name].unit]
        if not shown and not any(isinstance(effect, Say | Ask) for effect in rule.effects):
            continue
        said = _words_of_rule(rule, context)
        fix = "name the one that is meant, or say what joins the two"
        for effect in rule.effects:
            if isinstance(effect, Say) and _foreign(effect.code, said, codes, of_codes):
                message = f"{rule.id} says {effect.code}, whose meaning has nothing to do with it"
                yield another_message.about(
                    rule, message, nearest=_nearest(effect.code, said, codes, of_codes), fix=fix
                )
            elif isinstance(effect, Ask) and share_said(facts[effect.fact], said, of_facts) < LEAST_OF_QUESTION:
                yield another_message.about(rule, f"{rule.id} asks for {effect.fact}, which it has no use for", fix=fix)
        for name in shown:
            if share_said(facts[name], said, of_facts) < LEAST_OF_SHOWN:
                yield another_message.about(rule, f"{rule.id} shows {name}, of which it does not speak", fix=fix)


@lru_cache(maxsize=1024)
def _words_of_fact_text(name: str, *texts: str) -> frozenset[str]:
    return words_of(name, *texts)


def _words_of_fact(fact: FactDef) -> frozenset[str]:
    return _words_of_fact_text(fact.name, fact.label, fact.question or "", fact.meaning)


def _words_of_rule(rule: Rule, context: LintContext) -> frozenset[str]:
    read = [context.vocabulary.facts[name] for name in sorted(rule.reads)]
    own = words_of(
        *(rule.id.replace("/", " "), rule.title, rule.because, _VALUES.sub(" ", rule.text)),
        *(condition.text for condition in rule.when),
        *(text for fact in read for text in (fact.label, fact.meaning)),
    )
    stated = (context.statements[name].words for name in rule.encodes if name in context.statements)
    return own.union(*stated)


def _foreign(
    code: str, said: frozenset[str], codes: Mapping[str, frozenset[str]], weights: Mapping[str, float]
) -> bool:
    own = share_said(codes[code], said, weights)
    if own < LEAST_OF_CODE:
        return True
    others = [words for name, words in codes.items() if words and name[0] == code[0] and name != code]
    before = sum(share_said(words, said, weights) > own for words in others)
    return before > MOST_CODES_BEFORE * len(others)


def _nearest(
    code: str, said: frozenset[str], codes: Mapping[str, frozenset[str]], weights: Mapping[str, float]
) -> tuple[str, ...]:
    others = [name for name, words in codes.items() if words and name[0] == code[0] and name != code]
    return (max(others, key=lambda name: share_said(codes[name], said, weights)),) if others else ()


@check("error")
def unanswerable_question(context: LintContext) -> Iterator[Finding]:
    """Question for a fact that cannot be stated.

    Why: what the program works out or gives itself has no question, and stays open however often it is asked for.

    Bad::

        then: {ask: weights_gb}

    Good: a fact with a question in the vocabulary::

        then: {ask: param_count_b}
    """
    askable = [name for name, fact in context.vocabulary.facts.items() if fact.question]
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            fact = context.vocabulary.fact(effect.fact) if isinstance(effect, Ask) else None
            if fact is not None and not fact.question and fact.role != "input":
                yield unanswerable_question.about(
                    rule,
                    f"{rule.id} asks for {fact.name}, which cannot be stated",
                    nearest=nearest_words(fact.name, askable, limit=1),
                    fix="ask for what it follows from",
                )


@check("warning")
def another_figure(context: LintContext) -> Iterator[Finding]:
    """Figure of a guide that the rule does not cite, or target that is not the figure's.

    Why: a figure is shown beside the reason of a rule, as if it came from there. A target to watch that differs from
    the figure of its name says two things to two readers.

    Bad::

        - id: watch-the-memory
          then: {monitor: {vram_util_target_pct: [0.85, 0.95]}}      # the figure: 85 to 95

    Good::

        - id: watch-the-memory
          then: {monitor: {vram_util_target_pct: [85, 95]}}

    A figure belongs to a rule that cites one of its sources, encodes one of its heuristics, or reads one of its facts.
    """
    said_of = (words_of(name, str(figure.get("meaning", ""))) for name, figure in context.figures.items())
    weights = rarity(said_of)
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, ShowFigure) and effect.figure in context.figures:
                figure = context.figures[effect.figure]
                words = words_of(effect.figure, str(figure.get("meaning", "")))
                if not _belongs(figure, rule):
                    message = f"{rule.id} reports the figure {effect.figure}, and cites none of its sources"
                    yield another_figure.about(rule, message, fix="cite the source, or report another figure")
                elif (
                    not _of_outcome(figure, context)
                    and share_said(words, _words_of_rule(rule, context), weights) < LEAST_OF_SHOWN
                ):
                    message = f"{rule.id} reports the figure {effect.figure}, of which it does not speak"
                    yield another_figure.about(rule, message, fix="cite the source, or report another figure")
            elif isinstance(effect, Monitor) and effect.figure in context.figures:
                known = _ends(context.figures[effect.figure].get("value"))
                own = [effect.low] if effect.high is None else [effect.low, effect.high]
                if known and not all(min(known) <= number <= max(known, default=0) for number in own[:1]):
                    stated = " to ".join(f"{number:g}" for number in known)
                    message = f"{rule.id} watches {effect.figure} at {effect.low:g}, and the figure says {stated}"
                    yield another_figure.about(rule, message, fix="write the figure's numbers")


def _of_outcome(figure: Mapping[str, object], context: LintContext) -> bool:
    """Whether it is a sum of renting and owning, which any rule about procurement may show."""
    facts = [context.vocabulary.fact(str(name)) for name in _listed(figure.get("facts"))]
    return any(fact is not None and fact.available == "outcome" for fact in facts)


def _belongs(figure: Mapping[str, object], rule: Rule) -> bool:
    heads = {head for cited in rule.sources for head in source_heads(cited)}
    own = {str(cited).partition("/")[0] for cited in _listed(figure.get("sources"))}
    facts = set(map(str, _listed(figure.get("facts"))))
    encoded = set(map(str, _listed(figure.get("encodes"))))
    # What is computed for the case needs no source: it belongs wherever it is shown.
    return bool(own & heads or encoded & set(rule.encodes) or facts) or not own


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value] if isinstance(value, str) else []


def _ends(value: object) -> list[float]:
    numbers = value if isinstance(value, list | tuple) else [value]
    return [float(number) for number in numbers if is_number(number)]


@check("warning")
def another_quantity(context: LintContext) -> Iterator[Finding]:
    """Limit of a fact, where text or heuristics speak of another of the same unit.

    Why: `plan.low_gb` for `plan.needed_gb`, or tokens for parameters, both in billions, load and hold sometimes.

    Bad::

        - id: beyond-70b
          when: [train_tokens_b > 70]
          encodes: [large-from-70b]     # the heuristic speaks of param_count_b

    Good::

        - id: beyond-70b
          when: [param_count_b > 70]
          encodes: [large-from-70b]

    Found are facts held against a number of which neither the heuristics nor the text speak, where these name another
    of the same unit that the rule does not read.
    """
    facts = context.vocabulary.facts
    for rule in context.rulebook.rules:
        held = {fact for line in rule.when for fact, value in constants(line.expr) if not isinstance(value, str | bool)}
        named = [context.statements[name].facts for name in rule.encodes if name in context.statements]
        stated = frozenset[str]().union(*named)
        for name in sorted(held):
            fact = facts[name]
            if not fact.unit or name in stated or name in rule.mentions:
                continue
            meant = [
                other
                for other in sorted((stated | rule.mentions) - rule.reads)
                if other in facts and (facts[other].unit, facts[other].scope) == (fact.unit, fact.scope)
            ]
            if meant:
                message = f"{rule.id} holds {name} against a number, and its text or heuristics speak of {meant[0]}"
                yield another_quantity.about(rule, message, nearest=(meant[0],), fix="read the fact that is meant")
