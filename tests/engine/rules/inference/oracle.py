"""The oracle: what rules come to on a fact set, judged as plainly as can be, for engines to be held against.

Every condition is walked as written, on every fact set, with all its facts. Nothing is compiled, split, shared or kept,
and nothing of the engine's evaluation is used but the arithmetic of two numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from whichgpu.engine.core.values import Facts, Value
from whichgpu.engine.rules.language.compiling import calculate
from whichgpu.engine.rules.language.tree import (
    And,
    Arith,
    Compare,
    Const,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
    facts_read,
)
from whichgpu.engine.rules.rulebook.model import Rule, Verdict


_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def walked(expr: Expr, facts: Facts) -> Value | None:
    """The value of an expression, None for unknown."""
    match expr:
        case Const(value):
            return value
        case FactRef(name):
            return facts.get(name)
        case Compare(op, left, right):
            one, other = walked(left, facts), walked(right, facts)
            return None if one is None or other is None else bool(_COMPARE[op](one, other))
        case Member(left, choices, negated):
            held = walked(left, facts)
            return None if held is None else (held in choices) is not negated
        case And(operands):
            return _kleene([walked(operand, facts) for operand in operands], deciding=False)
        case Or(operands):
            return _kleene([walked(operand, facts) for operand in operands], deciding=True)
        case Not(operand):
            truth = walked(operand, facts)
            return None if truth is None else not truth
        case Has(FactRef(name), item):
            items = facts.get(name)
            return None if items is None else isinstance(items, tuple) and item in items
        case Known(FactRef(name), negated):
            return (facts.get(name) is not None) is not negated
        case Arith(op, left, right):
            return calculate(op, walked(left, facts), walked(right, facts))


def _kleene(values: Sequence[Value | None], *, deciding: bool) -> bool | None:
    if any(value is deciding for value in values):
        return deciding
    return None if None in values else not deciding


def outcome(rule: Rule, facts: Facts) -> bool | None:
    """True: all conditions hold. False: one does not. None: undecided for want of a fact."""
    return _kleene([walked(condition.expr, facts) for condition in rule.when], deciding=False)


def verdict(rule: Rule, facts: Facts) -> Verdict:
    """What became of the rule: the first condition that does not hold, or what the undecided ones lack."""
    missing: dict[str, None] = {}
    for condition in rule.when:
        value = walked(condition.expr, facts)
        reads = sorted(facts_read(condition.expr))
        if value is False:
            shown = facts.get(reads[0]) if len(reads) == 1 else None
            return Verdict(rule.id, "not_fired", failed=condition.text, value=shown)
        if value is None:
            missing.update(dict.fromkeys(name for name in reads if name not in facts))
    undecided = any(walked(condition.expr, facts) is None for condition in rule.when)
    return Verdict(rule.id, "undecided", missing=tuple(missing)) if undecided else Verdict(rule.id, "fired")


def matches(rules: Iterable[Rule], fact_sets: Sequence[Facts], shared: Facts) -> list[frozenset[str]]:
    """For each fact set the ids of the rules whose conditions all hold on it and what is shared.

    Lines that read no plan's facts are walked once for all sets: they come to the same.
    """
    standing: list[tuple[str, list[Expr]]] = []
    for rule in rules:
        lines = [(condition.expr, any("." in name for name in facts_read(condition.expr))) for condition in rule.when]
        if all(walked(expr, shared) is True for expr, local in lines if not local):
            standing.append((rule.id, [expr for expr, local in lines if local]))
    found: list[frozenset[str]] = []
    for own in fact_sets:
        facts = {**shared, **own}
        found.append(frozenset(name for name, lines in standing if all(walked(line, facts) is True for line in lines)))
    return found
