"""Small mistakes made on purpose in conditions: limits moved, comparisons turned round, conditions left out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Scalar, knowledge_in_use
from whichgpu.engine.rules import (
    OPPOSITE,
    And,
    Arith,
    ArithOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    FactRef,
    Has,
    Known,
    Member,
    Not,
    Or,
    Rule,
    Vocabulary,
    written,
)


#: A limit moves by this share of itself, whole numbers by one at least.
NUDGE = 0.05
#: A limit that is a parameter: its tests have to hold where an expert moves it a little.
NUDGE_OF_PARAMETER = 0.2

_OTHER_OPERATION: dict[ArithOp, ArithOp] = {"+": "-", "-": "+", "min": "max", "max": "min"}
_ORDERED = frozenset({"<", "<=", ">", ">="})
_OTHER_END: dict[CompareOp, CompareOp] = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


class Mutant(Struct, frozen=True):
    """A rule with one condition changed. ``expr`` None: the condition is left out."""

    rule: str
    condition: int  # its position in ``when``
    expr: Expr | None
    what: str  # the change in words


def mutants_of(rule: Rule, vocabulary: Vocabulary) -> Iterator[Mutant]:
    """All mutants of a rule, in the order of its conditions."""
    for at, condition in enumerate(rule.when):
        yield Mutant(rule.id, at, None, f"`{condition.text}` left out")
        for expr, what in _changes(condition.expr, vocabulary):
            yield Mutant(rule.id, at, expr, what)


def _changes(expr: Expr, vocabulary: Vocabulary) -> Iterator[tuple[Expr, str]]:
    match expr:
        case And(operands) | Or(operands):
            for at, part in enumerate(operands):
                if isinstance(expr, Or) and len(operands) > 1:
                    others = operands[:at] + operands[at + 1 :]
                    fewer = others[0] if len(others) == 1 else replace(expr, operands=others)
                    yield fewer, f"the alternative `{written(part)}` left out"
                for changed, what in _changes(part, vocabulary):
                    yield replace(expr, operands=(*operands[:at], changed, *operands[at + 1 :])), what
        case Compare():
            yield from _compared(expr, vocabulary)
        case Member() | Known():
            yield from _turned(expr, replace(expr, negated=not expr.negated))
        case Not(operand):
            yield from _turned(expr, operand)
        case FactRef() | Has():
            yield from _turned(expr, Not(expr))
        case _:
            return


def _turned(expr: Expr, turned: Expr) -> Iterator[tuple[Expr, str]]:
    yield turned, f"`{written(expr)}` turned into `{written(turned)}`"


def _compared(expr: Compare, vocabulary: Vocabulary) -> Iterator[tuple[Expr, str]]:
    yield from _turned(expr, replace(expr, op=OPPOSITE[expr.op]))
    left, right = expr.left, expr.right
    for turned in turned_round(left):
        yield from _turned(expr, replace(expr, left=turned))
    for turned in turned_round(right):
        yield from _turned(expr, replace(expr, right=turned))
    if expr.op in _ORDERED and isinstance(left, FactRef) and isinstance(right, FactRef):
        # Where two facts are equal is a case by itself; of a number its neighbours are tried below.
        yield from _turned(expr, replace(expr, op=_OTHER_END[expr.op]))
    if expr.op not in _ORDERED or not isinstance(left, FactRef) or not isinstance(right, Const):
        return
    if isinstance(right.value, bool | str):
        return
    whole = vocabulary.facts[left.name].type == "int"
    unit = vocabulary.facts[left.name].unit
    for limit in (*nudged(right.value, whole=whole, unit=unit), *_other_parameters(right.value, unit)):
        yield from _turned(expr, replace(expr, right=Const(limit)))


def turned_round(expr: Expr) -> Iterator[Expr]:
    """The expression with one mistake in its arithmetic: sides exchanged, a part forgotten, larger for smaller."""
    if not isinstance(expr, Arith):
        return
    if expr.op in ("/", "-"):
        yield replace(expr, left=expr.right, right=expr.left)
    if expr.op in _OTHER_OPERATION:
        yield replace(expr, op=_OTHER_OPERATION[expr.op])
    if expr.op in ("*", "+"):
        yield from (side for side in (expr.left, expr.right) if not isinstance(side, Const))
    yield from (replace(expr, left=turned) for turned in turned_round(expr.left))
    yield from (replace(expr, right=turned) for turned in turned_round(expr.right))


def _other_parameters(limit: float, unit: str | None) -> Iterator[float]:
    """The next parameters of the unit below and above one: what stands there where the wrong name was written."""
    values = sorted({each.value for each in knowledge_in_use().parameters.values() if unit and each.unit == unit})
    if limit in values:
        at = values.index(limit)
        yield from values[max(0, at - 1) : at] + values[at + 1 : at + 2]


def nudged(limit: float, *, whole: bool, unit: str | None = None) -> tuple[Scalar, Scalar]:
    """The limit a little lower and a little higher; more where it is a parameter of that unit."""
    parameters = knowledge_in_use().parameters.values()
    named = unit is not None and any((each.value, each.unit) == (limit, unit) for each in parameters)
    step = abs(limit) * (NUDGE_OF_PARAMETER if named else NUDGE)
    if whole:
        limit, step = int(limit), max(1, round(step))
    step = step or 1.0
    return limit - step, limit + step
