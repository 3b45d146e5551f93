"""Numbers that look like ones in another unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.core import Place, is_number
from whichgpu.engine.rules import Const, Rule, SetFact, constants


#: A number so many times as large or small as all others of a fact is in another unit: a percentage written as a share
#: is off by 100, MB for GB and seconds for hours by 1,000 and more. Honest limits of one fact lie nearer together.
ANOTHER_UNIT = 20


@check("warning")
def odd_magnitude(context: LintContext) -> Iterator[Finding]:
    """Number that looks like one in another unit.

    Why: a percentage written as a share (``< 0.7`` for ``< 70``) or megabytes for gigabytes load and never fire. The
    number that a rule compares a fact with, or sets it to, is held against all others of the fact in rules, those that
    tests of other rules state, and of a GPU's fact against the catalogue.

    Bad::

        when: [utilization_pct < 0.7]

    Good::

        when: [utilization_pct < 70]
    """
    limits = [*_limits(context), *_set(context)]
    tested = _tested(context)
    spans = {name: (min(found), max(found)) for name, found in _amounts(context).items()}
    by_fact: dict[str, list[float]] = {}
    for _, _, fact, value, _ in limits:
        by_fact.setdefault(fact, []).append(value)
    for rule, said, fact, value, place in limits:
        others = [number for number in by_fact[fact] if number != value]
        shown = [number for owner, number in tested.get(fact, ()) if owner != rule.id]
        known = [*others, *shown, *spans.get(fact, ())] or _of_unit(fact, rule, by_fact, tested, context)
        if context.vocabulary.facts[fact].type == "int" and value != int(value):
            message = f"{said} {value:g}, and it is always a whole number"
            yield odd_magnitude.about(rule, message, place=place, fix="write a whole number")
            continue
        percent = context.vocabulary.facts[fact].unit == "%" and value <= 1
        factor = ANOTHER_UNIT if len(set(known)) > 1 else ANOTHER_UNIT**2
        far = bool(known) and (value > max(known) * factor or value < min(known) / factor)
        if percent or far:
            usual = f"; others lie between {min(known):g} and {max(known):g}" if known else ""
            yield odd_magnitude.about(
                rule,
                f"{said} {value:g}{usual}",
                place=place,
                fix="write the number in the unit of the fact" + (", percent" if percent else ""),
            )


def _of_unit(
    fact: str,
    rule: Rule,
    limits: dict[str, list[float]],
    tested: dict[str, list[tuple[str, float]]],
    context: LintContext,
) -> list[float]:
    """What other rules hold facts of the same unit against, for a fact of which no other rule speaks."""
    facts = context.vocabulary.facts
    alike = [name for name, other in facts.items() if name != fact and other.unit and other.unit == facts[fact].unit]
    found = [number for name in alike for number in limits.get(name, ())]
    return found + [number for name in alike for owner, number in tested.get(name, ()) if owner != rule.id]


#: A rule, how a finding on its number begins, the fact, the number, and the place of a condition.
_Amount = tuple[Rule, str, str, float, Place | None]


def _limits(context: LintContext) -> list[_Amount]:
    """Every number above 0 that a condition compares a fact with."""
    return [
        (rule, f"`{condition.text}` in {rule.id} compares {fact} with", fact, float(value), condition.place)
        for rule in context.rulebook.rules
        for condition in rule.when
        for fact, value in dict.fromkeys(constants(condition.expr))
        if not isinstance(value, str | bool) and value > 0
    ]


def _set(context: LintContext) -> Iterator[_Amount]:
    """Every number above 0 that a rule sets a fact to."""
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and _positive(effect.expr.value):
                yield rule, f"{rule.id} sets {effect.fact} to", effect.fact, float(effect.expr.value), None


def _tested(context: LintContext) -> dict[str, list[tuple[str, float]]]:
    """By fact, the numbers above 0 that tests state, and of which rule."""
    found: dict[str, list[tuple[str, float]]] = {}
    for rule in context.rulebook.rules:
        for test in rule.tests:
            expected = test.expected.facts if test.expected else {}
            for fact, value in (*test.given.items(), *test.plan.items(), *expected.items()):
                if _positive(value):
                    found.setdefault(fact, []).append((rule.id, float(value)))
    return found


def _amounts(context: LintContext) -> dict[str, list[float]]:
    """What each numeric fact of GPUs is in the catalogue, where it is above 0."""
    found: dict[str, list[float]] = {}
    for gpu in context.catalogue.gpus:
        for name, value in gpu.items():
            if _positive(value):
                found.setdefault(name, []).append(value)
    return found


def _positive(value: object) -> TypeGuard[float]:
    """Whether it is a number above 0."""
    return is_number(value) and value > 0
