"""Numbers in rules: limits that no cited heuristic names, prices and specifications."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, StatedNumber, check
from whichgpu.engine.rules import (
    Compare,
    ConsiderCounts,
    Const,
    Expr,
    FactRef,
    Fallback,
    Member,
    Reject,
    Rule,
    SetFact,
    leaves,
)


#: "About 7" and "7 to 13" are limits that leave some room.
ROOM = 1 / 3


@check("warning", silence="of the condition or with the rule's id")
def heuristic_threshold(context: LintContext) -> Iterator[Finding]:
    """Limit in a rule that none of the heuristics it cites names.

    Why: a rule that says 80 and cites a source that says 70 has a slip in it, or an undeclared judgement.

    Bad::

        - id: large-models
          when: [param_count_b >= 80]
          encodes: [large-from-70b]         # the heuristic states 70

    Good::

        - id: large-models
          when: [param_count_b >= 70]
          encodes: [large-from-70b]

    Compared are the limits (``<``, ``<=``, ``>``, ``>=``) of rules that cite heuristics which state a number of the
    same fact or unit. A limit agrees if it is within a third of one of them, so that "about 7" may be written as up to
    9; a band agrees if a stated number lies in it; a percentage agrees as well with what is missing to a hundred.
    Numbers that the rule sets, and counts of GPUs that it lets be planned, agree in the same way with what is stated of
    their unit.
    """
    for rule in context.rulebook.rules:
        stated = context.stated_by(rule)
        if stated:
            yield from _disagreeing(rule, stated, context)
            yield from _set_otherwise(rule, stated, context)


def _set_otherwise(rule: Rule, stated: frozenset[StatedNumber], context: LintContext) -> Iterator[Finding]:
    """What a rule sets or lets be planned, where all that is stated of the unit is far from it."""
    given: dict[str, list[float]] = {}  # by unit
    for effect in rule.effects:
        if isinstance(effect, ConsiderCounts):
            given["GPUs"] = [float(count) for count in effect.counts]
        elif isinstance(effect, SetFact) and isinstance(effect.expr, Const):
            unit, value = context.vocabulary.facts[effect.fact].unit, effect.expr.value
            if unit and not isinstance(value, bool | str):
                given.setdefault(unit, []).append(float(value))
    for unit, numbers in given.items():
        names = _OF_COUNTS if unit == "GPUs" else (unit, unit.partition("/")[0])
        known = sorted({entry.number for entry in stated if entry.of in names and entry.number != 1})
        if known and not any(_agree(number, other, unit) for number in numbers for other in known):
            yield heuristic_threshold.about(
                rule,
                f"{rule.id} gives {', '.join(f'{number:g}' for number in numbers)}; the heuristics it cites state "
                f"{', '.join(f'{number:g}' for number in known)}",
                fix="write the stated number, or say why not: # lint: allow heuristic-threshold: why",
            )


#: What heuristics state numbers of GPUs under; "one GPU" is most often a way of speaking.
_OF_COUNTS = ("num_gpus", "GPU", "GPUs")


def _disagreeing(rule: Rule, stated: frozenset[StatedNumber], context: LintContext) -> Iterator[Finding]:
    limits = [(c, *found) for c in rule.when for found in _limits(c.expr)]
    for fact in sorted({fact for _, fact, _, _ in limits}):
        unit = context.vocabulary.facts[fact].unit
        numbers = sorted({entry.number for entry in stated if entry.of in (fact, unit)})
        own = [(condition, upper, limit) for condition, name, upper, limit in limits if name == fact]
        if not numbers or any(_agree(limit, number, unit) for _, _, limit in own for number in numbers):
            continue
        lowest = max((limit for _, upper, limit in own if not upper), default=math.inf)
        highest = min((limit for _, upper, limit in own if upper), default=-math.inf)
        if any(lowest <= number <= highest for number in numbers):
            continue
        condition, _, limit = own[0]
        named = ", ".join(f"{number:g}" for number in numbers)
        yield heuristic_threshold.about(
            rule,
            f"`{condition.text}` in {rule.id} has the limit {limit:g}; the heuristics it cites state {named}",
            place=condition.place,
            fix="write the stated number, or say why not: # lint: allow heuristic-threshold: why",
        )


def _limits(expr: Expr) -> Iterator[tuple[str, bool, float]]:
    """Facts with the numbers that they are held against by order, and whether these are upper limits."""
    for part in leaves(expr):
        match part:
            case Compare(op, FactRef(name), Const(value)):
                if op in ("<", "<=", ">", ">=") and not isinstance(value, bool | str):
                    yield name, op in ("<", "<="), float(value)


def _agree(limit: float, number: float, unit: str | None) -> bool:
    others = (number, 100 - number) if unit == "%" else (number,)
    return any(abs(limit - other) <= ROOM * abs(other) for other in others)


_PRICE = re.compile(r"(?:\$|€|£|\bUSD|\bEUR)\s*\d[\d.,]*|\b\d[\d.,]*\s*(?:\$|€|USD\b|EUR\b|dollars?\b|euros?\b)", re.I)
_MONEY = re.compile(r"(?:^|_|\b)(?:usd|eur)(?:$|_|\b)", re.I)
_NAMES = frozenset({"gpu.id", "gpu.family", "gpu.series", "gpu.name", "plan.gpu", "plan.family"})
_FIX = "move it to knowledge/ and read the fact, or report the figure"


@check("warning")
def knowledge_number(context: LintContext) -> Iterator[Finding]:
    """Price or specification written into a rule.

    Why: prices and data sheets change every month and are kept in ``knowledge/`` with their date and source. In a rule
    they grow old unseen.

    Bad::

        - id: cheap-cards
          when: [training]
          then: {set: {hourly_usd: 2.49}}

    Good: the fact that the catalogue fills::

        - id: cheap-cards
          when: [training]
          then: {set: {hourly_usd: plan_usd}}

    Found are prices that a rule sets, prices in what it says ("$2.49"), and specifications of one named GPU
    (``gpu.series == nvidia-l4`` beside ``gpu.vram_gb == 24``). Limits of a rule of thumb are no specification.
    """
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and _is_money(effect.fact, context):
                yield knowledge_number.about(
                    rule, f"{rule.id} sets `{effect.fact}` to a price of its own, {effect.text}", fix=_FIX
                )
        texts = (
            rule.title,
            rule.text,
            rule.because,
            *(e.text for e in rule.effects if isinstance(e, Fallback | Reject)),
        )
        price = next((found for text in texts for found in [_PRICE.search(text)] if found), None)
        if price:
            yield knowledge_number.about(rule, f"{rule.id} states the price {price.group().strip()!r}", fix=_FIX)
        yield from _specifications(rule, context)


def _is_money(fact: str, context: LintContext) -> bool:
    definition = context.vocabulary.facts[fact]
    return definition.numeric and bool(_MONEY.search(definition.unit or fact))


def _specifications(rule: Rule, context: LintContext) -> Iterator[Finding]:
    """Figures of a GPU that the rule names itself."""
    named = any(_names_one(condition.expr) for condition in rule.when)
    for condition in rule.when if named else ():
        match condition.expr:
            case Compare("==", FactRef(name), Const()):
                fact = context.vocabulary.facts[name]
                if fact.scope == "gpu" and fact.numeric:
                    yield knowledge_number.about(
                        rule,
                        f"`{condition.text}` in {rule.id} repeats what the catalogue says of the GPU it names",
                        place=condition.place,
                        fix="drop the condition, or the GPU's name",
                    )


def _names_one(expr: Expr) -> bool:
    match expr:
        case Member(FactRef(name), _, False) | Compare("==", FactRef(name), Const()):
            return name in _NAMES
    return False
