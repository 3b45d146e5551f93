"""Lines that read otherwise than they are meant, or that wait for what is never stated."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import (
    And,
    Arith,
    Compare,
    Condition,
    Const,
    Expr,
    FactDef,
    FactRef,
    Member,
    Or,
    Rule,
    conjuncts,
    facts_read,
    parse_condition,
)


_BRACKETS = re.compile(r"\([^()]*\)")
_AND, _OR = re.compile(r"\band\b"), re.compile(r"\bor\b")


@check("warning", silence="of the condition or with the rule's id")
def mixed_junction(context: LintContext) -> Iterator[Finding]:
    """Line that joins with `and` and with `or`, without brackets.

    Why: `and` binds more tightly, so `a and b or c` holds wherever c does. Nothing else shows whether that is meant, or
    `a and (b or c)`, or a word of `a and b and c` was changed.

    Bad::

        when: [model_family == vision and input_is_video or high_res]

    Good::

        when: [model_family == vision and (input_is_video or high_res)]
    """
    for rule in context.rulebook.rules:
        for condition in rule.when:
            if _mixed(condition.text):
                yield mixed_junction.about(
                    rule,
                    f"`{condition.text}` in {rule.id} joins with `and` and with `or`",
                    place=condition.place,
                    fix="put brackets round what belongs together",
                )


def _mixed(text: str) -> bool:
    """Whether `and` and `or` stand side by side, in some brackets or outside of all."""
    while True:
        parts = _BRACKETS.findall(text) or [text]
        if any(_AND.search(part) and _OR.search(part) for part in parts):
            return True
        if parts == [text]:
            return False
        text = _BRACKETS.sub(" ", text)


@check("warning", silence="of the condition or with the rule's id")
def odd_alternative(context: LintContext) -> Iterator[Finding]:
    """Alternative that is like two others of its line and more, but for a comparison turned round.

    Why: alternatives that differ in their facts alone are written by copying, and a slip in one of them shows nowhere.

    Bad::

        - any:
            - price * 1.3 > budget_per_hour
            - price_per_month * 1.3 < budget_per_month
            - price_per_run * 1.3 > budget_in_all

    Good::

        - any:
            - price * 1.3 > budget_per_hour
            - price_per_month * 1.3 > budget_per_month
            - price_per_run * 1.3 > budget_in_all
    """
    for rule in context.rulebook.rules:
        for condition in rule.when:
            for odd in _odd(condition):
                yield odd_alternative.about(
                    rule, f"{rule.id} has {odd}", place=condition.place, fix="turn it as the others are"
                )


_TURNED = frozenset({"<", "<=", ">", ">="})


def _odd(condition: Condition) -> Iterator[str]:
    if not isinstance(condition.expr, Or):
        return
    alike = defaultdict[str, list[tuple[str, ...]]](list)
    for operand in condition.expr.operands:
        alike[_shape(operand)].append(tuple(_operations(operand)))
    for shape, operations in alike.items():
        usual, often = Counter(operations).most_common(1)[0]
        if len(operations) >= 3 and usual and often == len(operations) - 1:
            odd = next(each for each in operations if each != usual)
            if not _TURNED.issuperset((*odd, *usual)):
                continue
            yield f"alternatives like `{shape}`, of which one has `{', '.join(odd)}` for `{', '.join(usual)}`"


def _shape(expr: Expr) -> str:
    """What an expression is made of, whatever facts it reads and whichever way it compares."""
    match expr:
        case FactRef():
            return "fact"
        case Const(value):
            return str(value)
        case Compare(_, left, right):
            return f"{_shape(left)} ~ {_shape(right)}"
        case Arith(op, left, right):
            return f"{_shape(left)} {op} {_shape(right)}"
        case And(operands):
            return " and ".join(map(_shape, operands))
    return type(expr).__name__


def _operations(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Compare):
        yield expr.op
    for part in expr.operands if isinstance(expr, And) else ():
        yield from _operations(part)


@check("warning", silence="of the condition or with the rule's id")
def unasked_fact(context: LintContext) -> Iterator[Finding]:
    """Line, or alternative of one, that waits for a fact which is not asked for there.

    Why: the vocabulary says with `asked_when` for what work a fact is asked at all. A rule for a service that reads how
    training computes never fires.

    Bad, where `compute_precision` has ``asked_when: training``::

        when: [serving, compute_precision == fp8]

    Good::

        when: [serving, weight_precision == fp8]

    Facts that rules derive or that are assumed are left alone, and so is `is unknown`.
    """
    facts = {name: fact for name, fact in context.vocabulary.facts.items() if fact.asked_when and _only_then(fact)}
    made = {name for rule in context.rulebook.rules for name in rule.writes}
    regions = context.derived
    for rule in context.rulebook.rules:
        for condition, parts in _branches(rule):
            for name in sorted(_waited_for(parts) & facts.keys() - made):
                when = parse_condition(facts[name].asked_when or "", context.vocabulary, None, "workload")
                sense = regions.outside(regions.false(when))
                there = [regions.true(part) for part in parts]
                if regions.never(regions.where(rule), *there, sense) and not regions.never(regions.where(rule), *there):
                    yield unasked_fact.about(
                        rule,
                        f"{rule.id} waits for {name}, which is asked only where {facts[name].asked_when}",
                        place=condition.place,
                        fix="read what this work states",
                    )


def _only_then(fact: FactDef) -> bool:
    """Whether the fact is assumed, if at all, where it is asked."""
    return all(assumption.when == fact.asked_when for assumption in fact.assumptions)


def _branches(rule: Rule) -> Iterator[tuple[Condition, tuple[Expr, ...]]]:
    """The parts that have to hold together: of each line, and of each of its alternatives."""
    for condition in rule.when:
        operands = condition.expr.operands if isinstance(condition.expr, Or) else (condition.expr,)
        yield from ((condition, conjuncts(operand)) for operand in operands)


def _waited_for(parts: tuple[Expr, ...]) -> frozenset[str]:
    """The facts that have to be known for all parts to hold."""
    plain = (part for part in parts if isinstance(part, Compare | Member | FactRef))
    return frozenset().union(*(facts_read(part) for part in plain))
