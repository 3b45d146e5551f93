"""Limit in a rule that none of the heuristics it cites names.

Why: a rule that says 80 and cites a source that says 70 has a slip in it, or a judgement that nobody declared.

Bad::

    - id: large-models
      when: [param_count_b >= 80]
      encodes: [large-from-70b]         # the heuristic states 70

Good::

    - id: large-models
      when: [param_count_b >= 70]
      encodes: [large-from-70b]

Compared are the limits (``<``, ``<=``, ``>``, ``>=``) of rules that cite heuristics which state a number of the same
fact or unit. A limit agrees if it is within a third of one of them, so that "about 7" may be written as up to 9; a
band agrees if a stated number lies in it; a percentage agrees as well with what is missing to a hundred.

Silence: put ``# lint: allow heuristic-threshold: why`` at the end of the line of the condition or with the rule's id.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.finding import StatedNumber
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or
from whichgpu.engine.rules.rulebook.model import Rule


#: "About 7" and "7 to 13" are limits that leave some room.
ROOM = 1 / 3


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        stated = {number for name in rule.encodes for number in context.heuristic_numbers.get(name, ())}
        if stated:
            yield from _disagreeing(rule, stated, context)


def _disagreeing(rule: Rule, stated: set[StatedNumber], context: LintContext) -> Iterator[Finding]:
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
        yield CHECK.about(
            rule,
            f"`{condition.text}` in {rule.id} has the limit {limit:g}; the heuristics it cites state {named}",
            place=condition.place,
            fix="write the stated number, or say why not: # lint: allow heuristic-threshold: why",
        )


def _limits(expr: Expr) -> Iterator[tuple[str, bool, float]]:
    """Facts with the numbers that they are held against by order, and whether these are upper limits."""
    match expr:
        case And(operands) | Or(operands):
            for part in operands:
                yield from _limits(part)
        case Not(operand):
            yield from _limits(operand)
        case Compare(op, FactRef(name), Const(value)):
            if op in ("<", "<=", ">", ">=") and not isinstance(value, bool | str):
                yield name, op in ("<", "<="), float(value)
        case _:
            return


def _agree(limit: float, number: float, unit: str | None) -> bool:
    others = (number, 100 - number) if unit == "%" else (number,)
    return any(abs(limit - other) <= ROOM * abs(other) for other in others)


CHECK = Check("heuristic-threshold", "warning", _run, __doc__ or "")
