"""Units of numbers in sentences against those of the facts that the lines hold against them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.said_numbers import numbers_said
from whichgpu.engine.rules import Const, FactDef, Fallback, Reject, Rule, SetFact, constants


_UNIT_WORDS = {
    "hour": "h", "hours": "h", "day": "days", "days": "days", "week": "weeks", "weeks": "weeks", "month": "months",
    "months": "months", "year": "years", "years": "years", "gb": "GB", "tb": "TB", "percent": "%", "ms": "ms",
    "milliseconds": "ms", "seconds": "s", "watts": "W", "w": "W", "tokens": "tokens", "pixels": "px", "billion": "B",
    "gpus": "GPUs", "cards": "GPUs", "machines": "GPUs", "requests": "requests",
}  # fmt: skip
_UNITS = {"percent": "%", "requests/s": "requests"}
_WORD_BEHIND = re.compile(r"[ -]?(?:GPU-)?([A-Za-z]+)")
_COUNTS = re.compile(r"count|num_|nodes|replicas")


@check("warning")
def another_unit(context: LintContext) -> Iterator[Finding]:
    """Number in a sentence with another unit than the fact has that lines of the rule hold against it.

    Why: "24 months" for 24 hours reads well, and is wrong by a factor of 730.

    Bad::

        - id: short-runs
          title: Runs of up to 24 days are rented
          when: [run_hours <= 24]

    Good::

        - id: short-runs
          title: Runs of up to 24 hours are rented
          when: [run_hours <= 24]

    Looked at are titles, texts, reasons and the sentences of rejections, and units of time, memory, power, percent,
    tokens, pixels, parameters and numbers of GPUs and machines. A number that stands with a unit in a heuristic which
    the rule encodes (1,287 MWh) has that unit in the sentence as well.
    """
    yield from _unlike_heuristics(context)
    for rules in context.by_table():
        units = _units(rules, context)
        for rule in rules if units else ():
            for text in _sentences(rule):
                for said in numbers_said(text):
                    word = _WORD_BEHIND.match(text[said.end :])
                    unit = _UNIT_WORDS.get(word[1].lower()) if word else None
                    there = set[str]().union(*(units.get(number, set()) for number in said.means))
                    if word and unit and there and unit not in there:
                        yield another_unit.about(
                            rule,
                            f"{rule.id} says {said.shown} {word[1]}, and its lines mean {said.shown} "
                            f"{' or '.join(sorted(there))}",
                            fix="correct one of the two",
                        )


_NUMBER_AND_UNIT = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)\s*([A-Za-z%][A-Za-z/%]*)")
_LONGEST_UNIT = 4


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word != word.lower()


def _unlike_heuristics(context: LintContext) -> Iterator[Finding]:
    """Numbers that heuristics give with one unit, and the rule that encodes them with another."""
    for rule in context.rulebook.rules:
        stated = (context.statements[name].text for name in rule.encodes if name in context.statements)
        there = defaultdict[str, set[str]](set)
        for number, unit in _NUMBER_AND_UNIT.findall(" ".join(stated)):
            if _is_unit(unit):
                there[number.replace(",", "")].add(unit)
        for text in _sentences(rule) if there else ():
            for number, unit in _NUMBER_AND_UNIT.findall(text):
                units = there.get(number.replace(",", ""))
                if units and unit not in units and _is_unit(unit):
                    message = f"{rule.id} says {number} {unit}, and what it encodes {number} {', '.join(sorted(units))}"
                    yield another_unit.about(rule, message, fix="correct one of the two")


def _sentences(rule: Rule) -> tuple[str, ...]:
    shown = (effect.text for effect in rule.effects if isinstance(effect, Reject | Fallback))
    return (rule.title, rule.text, rule.because, *shown)


def _units(rules: Sequence[Rule], context: LintContext) -> Mapping[float, set[str]]:
    """The units of the facts that lines hold against a number, or that rules set to it."""
    found = defaultdict[float, set[str]](set)
    facts = context.vocabulary.facts
    for rule in rules:
        pairs = [pair for condition in rule.when for pair in constants(condition.expr)]
        sets = [effect for effect in rule.effects if isinstance(effect, SetFact)]
        pairs += [(effect.fact, effect.expr.value) for effect in sets if isinstance(effect.expr, Const)]
        for name, value in pairs:
            unit = _unit_of(facts[name])
            if unit and not isinstance(value, str | bool):
                found[float(value)].add(unit)
    return found


def _unit_of(fact: FactDef) -> str | None:
    unit = _UNITS.get(fact.unit or "", fact.unit)
    if unit is None:
        return "GPUs" if _COUNTS.search(fact.name) else None
    return unit if unit in _UNIT_WORDS.values() else None
