"""Ends of ranges: on which side of a number a title lies, and whether it counts it in, against what the lines have."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from whichgpu.engine.authoring.lint.checks.contraries import speaks_against
from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.said_numbers import SaidNumber, numbers_said
from whichgpu.engine.rules import Compare, Const, FactRef, Rule, leaves


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
    for rules in context.by_table():
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


_SIDES = (
    (
        re.compile(r"\b(?:beyond|above|over|more than|at least|from|exceed\w*)\s+(\d[\d,]*(?:\.\d+)?)", re.I),
        ("<", "<="),
    ),
    (re.compile(r"\b(?:up to|below|under|at most|less than|within)\s+(\d[\d,]*(?:\.\d+)?)", re.I), (">", ">=")),
)


@check("warning")
def turned_limit(context: LintContext) -> Iterator[Finding]:
    """Limit that lies on the other side of a number than the title says.

    Why: `<` for `>` loads, and the rule fires on all that it is not about.

    Bad::

        - id: large-models
          title: Models beyond 70 billion parameters are split
          when: [param_count_b < 70]

    Good::

        - id: large-models
          title: Models beyond 70 billion parameters are split
          when: [param_count_b > 70]

    Read are "beyond", "more than", "at least", "from" and "up to", "below", "less than", "within" before a number that
    lines of the rule, or of its table, hold a fact against on the other side alone. Rules that speak against plans are
    left alone: their titles may say what the others have.
    """
    for rules in context.by_table():
        limits = _limits(rules)
        for rule in (rule for rule in rules if not speaks_against(rule)):
            yield from _turned(rule, limits)


def _turned(rule: Rule, limits: Mapping[float, set[str]]) -> Iterator[Finding]:
    if limits:
        for pattern, contrary in _SIDES:
            for match in pattern.finditer(rule.title):
                found = limits.get(float(match[1].replace(",", "")))
                if found and found <= set(contrary):
                    yield turned_limit.about(
                        rule,
                        f"the title of {rule.id} says {match[0]!r}, "
                        f"and its line the contrary ({min(found)} {match[1]})",
                        fix="turn one of the two round",
                    )
