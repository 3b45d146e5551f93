"""Numbers that stand alone: limits that no sentence explains, and numbers in sentences that no line has."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.said_numbers import SaidNumber, all_numbers, numbers_anywhere, numbers_said
from whichgpu.engine.core import is_number, knowledge_in_use
from whichgpu.engine.rules import ConsiderCounts, Fallback, Monitor, Points, Reject, Rule, SetFact, constants


#: Nothing, one and all need no reason.
_PLAIN = frozenset({0.0, 1.0, 100.0})
_OF_CARDS = ("gpu.series", "gpu.family", "gpu.id")
_DIGITS = re.compile(r"(?<![a-z_\d.])\d+(?:\.\d+)?")


@check("warning", silence="of the condition or with the rule's id")
def unexplained_number(context: LintContext) -> Iterator[Finding]:
    """Number in a line or an effect of which nothing says where it comes from.

    Why: a slip of a digit loads, and is a possible number. Where neither title, text nor reason of the rule says it,
    none of its tests states the fact, none of the heuristics that it encodes has it, and no other rule holds the fact
    against it, there is no way to see whether it is meant.

    Bad::

        - id: many-gpus-want-a-fast-link
          title: Many GPUs want a fast link
          when: [num_gpus >= 11]

    Good::

        - id: many-gpus-want-a-fast-link
          title: Many GPUs want a fast link
          when: [num_gpus >= 11]
          because: From about 11 GPUs on the exchange takes longer than the step.

    A parameter explains itself, and so do 0, 1, 100 and powers of two as numbers of GPUs. Points are a scale of their
    own and not looked at.
    """
    held = _held(context)
    parameters = frozenset(parameter.value for parameter in knowledge_in_use().parameters.values())
    for rule in context.rulebook.rules:
        known = _PLAIN | parameters | all_numbers((*_sentences(rule), *_encoded_texts(rule, context)))
        known |= {stated.number for stated in context.stated_by(rule)}
        tried, expected = _tried(rule), _expected(rule)
        for condition in rule.when:
            for fact, value in constants(condition.expr):
                if isinstance(value, str | bool) or abs(float(value)) in known or {fact, _short(fact)} & tried:
                    continue
                if held[fact, float(value)] <= {rule.table or rule.id}:
                    yield unexplained_number.about(
                        rule,
                        f"nothing says why {rule.id} holds {fact} against {value:g}",
                        place=condition.place,
                        fix="say the number in title, text or reason, or try it in a test",
                    )
        for number, what in _effect_numbers(rule):
            if number not in known | expected | numbers_anywhere(" ".join(condition.text for condition in rule.when)):
                yield unexplained_number.about(
                    rule,
                    f"nothing says why {rule.id} {what} {number:g}",
                    fix="say the number in title, text or reason, or try it in a test",
                )


def _short(fact: str) -> str:
    """``count`` and ``gpu`` of a plan are stated by their short names."""
    return fact.removeprefix("plan.")


def _tried(rule: Rule) -> frozenset[str]:
    """The facts that tests of a rule state: who tries a limit means it, and the tests judge it."""
    return frozenset(name for test in rule.tests for facts in (test.given, test.plan) for name in facts)


def _expected(rule: Rule) -> frozenset[float]:
    """The numbers that tests of a rule say follow."""
    expected = [test.expected for test in rule.tests if test.expected]
    values = [value for each in expected for value in (*each.facts.values(), *each.effects.values())]
    values = [end for value in values for end in (value.values() if isinstance(value, Mapping) else [value])]
    ends = [end for value in values for end in (value if isinstance(value, list | tuple) else [value])]
    return frozenset(float(end) for end in ends if is_number(end))


def _held(context: LintContext) -> Mapping[tuple[str, float], set[str]]:
    """The rules and tables that hold a fact against a number."""
    held = defaultdict[tuple[str, float], set[str]](set)
    for rule in context.rulebook.rules:
        for condition in rule.when:
            for fact, value in constants(condition.expr):
                if not isinstance(value, str | bool):
                    held[fact, float(value)].add(rule.table or rule.id)
    return held


def _effect_numbers(rule: Rule) -> Iterator[tuple[float, str]]:
    for effect in rule.effects:
        match effect:
            case SetFact(fact=fact, text=text):
                yield from ((float(digits), f"sets {fact} to") for digits in _DIGITS.findall(text))
            case ConsiderCounts(counts=counts):
                # Machines hold powers of two.
                yield from ((float(count), "plans a number of GPUs of") for count in counts if count & (count - 1))
            case Monitor(figure=figure, low=low, high=high):
                yield from ((float(end), f"watches {figure} for") for end in (low, high) if end is not None)


def _sentences(rule: Rule) -> tuple[str, ...]:
    shown = (effect.text for effect in rule.effects if isinstance(effect, Reject | Fallback))
    return (rule.title, rule.text, rule.because, rule.id.replace("-", " "), *shown)


def _encoded_texts(rule: Rule, context: LintContext) -> Iterator[str]:
    return (context.statements[name].text for name in rule.encodes if name in context.statements)


@check("warning")
def unfounded_number(context: LintContext) -> Iterator[Finding]:
    """Number or number word in a title or sentence that nothing else of the rule has.

    Why: after a limit was changed, or a rule copied, the sentence goes on saying the old number, and readers believe
    the sentence. "Two" and "half" are numbers too.

    Bad::

        - id: small-services
          title: A small service takes two GPUs
          when: [serving, peak_qps < 10]
          then: {consider_counts: [1, 3]}

    Good::

        - id: small-services
          title: A small service takes up to three GPUs
          when: [serving, peak_qps < 10]
          then: {consider_counts: [1, 3]}

    Looked for are the numbers of title, text and the reasons of rejections, in the lines, effects and other sentences
    of the rule and of its table, and in the heuristics that it encodes. Names, widths in bits, years and what cards of
    the catalogue have are no such numbers; a reason may speak of its background.
    """
    by_table = defaultdict[str, list[Rule]](list)
    for rule in context.rulebook.rules:
        by_table[rule.table or rule.id].append(rule)
    for rules in by_table.values():
        sizes = _sizes(rules, context)
        founded = frozenset().union(*(_lines_of(rule) for rule in rules))
        for rule in rules:
            allowed = founded | all_numbers(_encoded_texts(rule, context))
            for said, sentence, where in _said(rule):
                rest = all_numbers(text for text in (rule.text, rule.because, rule.title) if text != sentence)
                there = allowed | rest | (sizes if sentence[said.end :].lstrip().startswith("GB") else frozenset())
                if any(_close(mean, number) for mean in said.means for number in there):
                    continue
                yield unfounded_number.about(
                    rule,
                    f"the {where} of {rule.id} says {said.shown!r}, which none of its lines has",
                    fix="correct one of the two, or say in the reason where the number comes from",
                )


def _said(rule: Rule) -> Iterator[tuple[SaidNumber, str, str]]:
    rejections = [(effect.text, "sentence") for effect in rule.effects if isinstance(effect, Reject | Fallback)]
    for sentence, where in ((rule.title, "title"), (rule.text, "text"), *rejections):
        yield from ((said, sentence, where) for said in numbers_said(sentence))


def _lines_of(rule: Rule) -> frozenset[float]:
    effects = [str(getattr(effect, "text", "")) for effect in rule.effects if isinstance(effect, SetFact)]
    claims = [str(e.claim.ratio) for e in rule.effects if isinstance(e, Points) and e.claim and e.claim.ratio]
    numbers = all_numbers((*(condition.text for condition in rule.when), *effects, *claims))
    return numbers | {number for number, _ in _effect_numbers(rule)}


def _sizes(rules: Sequence[Rule], context: LintContext) -> frozenset[float]:
    """The memory of the cards that lines and claims name; of all cards where they name none."""
    claims = (e.claim.over for rule in rules for e in rule.effects if isinstance(e, Points) and e.claim)
    lines = (value for rule in rules for line in rule.when for _, value in constants(line.expr))
    named = {name for name in (*claims, *lines) if isinstance(name, str)}
    every = [(gpu.get("gpu.vram_gb"), {gpu.get(name) for name in _OF_CARDS}) for gpu in context.catalogue.gpus]
    meant = [size for size, names in every if named & names] or [size for size, _ in every]
    return frozenset(float(size) for size in meant if is_number(size))


#: Months, days and hours of a year, hours of a day, thousands and percentages: other ways to write the same.
_FACTORS = (12.0, 24.0, 365.0, 8760.0, 1000.0, 100.0)
_SAME = (1.0, *_FACTORS, *(1 / factor for factor in _FACTORS))


def _close(said: float, there: float) -> bool:
    return any(abs(said - there * factor) <= 1e-6 * abs(said) for factor in _SAME)
