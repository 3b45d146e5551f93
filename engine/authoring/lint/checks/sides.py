"""Ends of ranges, units and orders: what titles and rows say of them against what the lines have."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from whichgpu.engine.authoring.lint.checks.contraries import speaks_against
from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.heuristic_limits import Range, allowed
from whichgpu.engine.authoring.lint.said_numbers import SaidNumber, numbers_said
from whichgpu.engine.rules import (
    Compare,
    Const,
    FactDef,
    FactRef,
    Fallback,
    Points,
    Reject,
    Rule,
    SetFact,
    constants,
    leaves,
)


_BEFORE = re.compile(
    r"\b(?:(?P<beyond>beyond|above|(?:more|larger|longer|higher|greater) than|exceed(?:s|ing)?)"
    r"|(?P<from>at least|from|no (?:less|fewer) than)"
    r"|(?P<below>below|under|(?:less|fewer|shorter|smaller|lower) than)"
    r"|(?P<upto>up to|at most|no more than|not more than))\s+(?:about\s+)?$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^\s*(?:[a-z%/]+\s+)?(?:(?P<from>(?:and|or) (?:more|above|beyond|larger|longer|higher)|upwards)"
    r"|(?P<upto>(?:and|or) (?:less|fewer|below|smaller|shorter)))\b",
    re.IGNORECASE,
)
#: By phrase the comparison that says the same.
_MEANS = {"beyond": ">", "from": ">=", "below": "<", "upto": "<="}


@check("warning")
def contrary_end(context: LintContext) -> Iterator[Finding]:
    """Title that counts the end of a range in, or lies on the other side of it, and a line that does not.

    Why: `<` for `<=` decides the very case that the title names, and `>` for `<` all the others.

    Bad::

        - id: small-models
          title: Models of seven billion parameters or less fit small cards
          when: [param_count_b < 7]

    Good::

        - id: small-models
          title: Models of seven billion parameters or less fit small cards
          when: [param_count_b <= 7]

    Read are "beyond", "above", "more than", "below", "under", "less than" (without the end), "at least", "from", "up
    to", "at most", "and more", "or less" (with it), before or behind a number or number word that lines of the rule or
    of its table hold a fact against. Rules that speak against plans are left alone: their titles may say what the
    others have. See also `turned-limit`.
    """
    for rules in _tables(context.rulebook.rules):
        limits = _limits(rules)
        for rule in rules:
            if limits and not speaks_against(rule):
                yield from _contrary_ends(rule, limits)


def _contrary_ends(rule: Rule, limits: Mapping[float, set[str]]) -> Iterator[Finding]:
    for said in numbers_said(rule.title):
        phrase = _phrase(rule.title, said)
        held = set[str]().union(*(limits.get(number, set()) for number in said.means))
        if phrase is None or not held or "==" in held:
            continue
        meant = _MEANS[phrase]
        if meant not in held:
            least = min(said.means, key=lambda number: number not in limits)
            yield contrary_end.about(
                rule,
                f"the title of {rule.id} means `{meant} {least:g}`, and its line is `{min(held)} {least:g}`",
                fix="correct one of the two",
            )


def _phrase(title: str, said: SaidNumber) -> str | None:
    match = _BEFORE.search(title[: said.start]) or _AFTER.search(title[said.end :])
    return next((name for name, found in match.groupdict().items() if found), None) if match else None


def _limits(rules: Sequence[Rule]) -> Mapping[float, set[str]]:
    limits = defaultdict[float, set[str]](set)
    for part in (part for rule in rules for line in rule.when for part in leaves(line.expr)):
        match part:
            case Compare(op, FactRef(), Const(value)) if not isinstance(value, str | bool):
                limits[float(value)].add(op)
    return limits


def _tables(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Rules, those of one table together."""
    by_table = defaultdict[str, list[Rule]](list)
    for rule in rules:
        by_table[rule.table or rule.id].append(rule)
    yield from by_table.values()


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
    for rules in _tables(context.rulebook.rules):
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


@check("warning")
def uneven_rows(context: LintContext) -> Iterator[Finding]:
    """Rows of a table whose conclusions go up and down while their ranges only go up.

    Why: two conclusions that were exchanged load and fire. Where three rows and more lie behind one another on a fact,
    what they set, or their points, goes one way.

    Bad::

        columns: [project_months]
        rows:
          - {id: short, if: ['< 24'], then: {set: {horizon_years: 1}}}
          - {id: middle, if: ['24..36'], then: {set: {horizon_years: 5}}}
          - {id: long, if: ['> 36'], then: {set: {horizon_years: 2}}}

    Good::

        columns: [project_months]
        rows:
          - {id: short, if: ['< 24'], then: {set: {horizon_years: 1}}}
          - {id: middle, if: ['24..36'], then: {set: {horizon_years: 2}}}
          - {id: long, if: ['> 36'], then: {set: {horizon_years: 5}}}

    Words are ordered as the vocabulary lists them. Compared are rows that differ in no other line.
    """
    for rules in _tables(context.rulebook.rules):
        if len(rules) < 3 or rules[0].table is None:
            continue
        for fact in sorted({fact for rule in rules for fact in rule.reads}):
            for what, steps in _steps(rules, fact, context):
                values = [step for step, _ in steps]
                up = all(one <= other for one, other in pairwise(values))
                if len(steps) >= 3 and not up and not all(one >= other for one, other in pairwise(values)):
                    shown = ", ".join(f"{value:g}" for value in values)
                    yield uneven_rows.about(
                        steps[1][1],
                        f"{rules[0].table} gives {what} of {shown} while {fact} only rises",
                        fix="correct the conclusion of a row, or say in a remark why it turns",
                    )


def _steps(rules: Sequence[Rule], fact: str, context: LintContext) -> Iterator[tuple[str, list[tuple[float, Rule]]]]:
    """By what rows conclude, their values with the rows, ordered by the range of the fact; other lines are alike."""
    found = defaultdict[tuple[tuple[str, ...], str], list[tuple[float, float, float, Rule]]](list)
    for rule in rules:
        ranges = [line for line in allowed(rule).get(fact, ()) if isinstance(line, Range)]
        if not ranges:
            continue
        low, high = max(line.low for line in ranges), min(line.high for line in ranges)
        rest = tuple(sorted(line.text for line in rule.when if fact not in line.text))
        for what, value in _conclusions(rule, context):
            found[rest, what].append((low, high, value, rule))
    for (_, what), steps in found.items():
        ordered = sorted(steps, key=lambda step: step[:2])
        yield what, [(value, rule) for _, _, value, rule in ordered]


def _conclusions(rule: Rule, context: LintContext) -> Iterator[tuple[str, float]]:
    for effect in rule.effects:
        if isinstance(effect, Points):
            yield f"points for {effect.reason}", effect.points
        if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and not isinstance(effect.expr.value, bool):
            found, choices = effect.expr.value, context.vocabulary.facts[effect.fact].choices
            if not isinstance(found, str):
                yield effect.fact, float(found)
            elif found in choices:
                yield effect.fact, float(choices.index(found))
