"""Table that promises to cover every case, and does not.

Why: ``complete: true`` is a promise to the reader. A case that falls between the rows gets no answer from the table.

Bad::

    - table: tiers
      complete: true
      columns: [param_count_b]
      rows:
        - {id: small, if: ['< 7'], then: {set: {tier: low}}}
        - {id: large, if: ['> 7'], then: {set: {tier: high}}}     # 7 itself is in neither

Good: ``>= 7`` in the last row.

Tried are all choices, and for numbers every limit named in a cell and a value on each side of it.

Silence: put ``# lint: allow incomplete-table`` at the end of the line with the table's name, or drop ``complete``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from itertools import product

from engine.language.evaluating import evaluate
from engine.language.tree import And
from engine.language.tree import Arith
from engine.language.tree import Compare
from engine.language.tree import Const
from engine.language.tree import Expr
from engine.language.tree import FactRef
from engine.language.tree import Has
from engine.language.tree import Member
from engine.language.tree import Not
from engine.language.tree import Or
from engine.rulebook.model import Table
from engine.values import Scalar
from engine.values import Value
from engine.verify.boxes import domain_of
from engine.verify.finding import Check
from engine.verify.finding import Desk
from engine.verify.finding import Finding
from engine.verify.finding import Severity
from engine.vocabulary import FactDef


MOST_CASES = 50_000


def _run(desk: Desk) -> Iterator[Finding]:
    for table in desk.rulebook.tables:
        if not table.complete:
            continue
        rows = [desk.rulebook.rule(row) for row in table.rows]
        # What holds for the whole table is the case it speaks of: only cells have to cover it.
        cells = [[condition.expr for condition in row.when if condition.column] for row in rows]
        values = [_values(desk.vocabulary.facts[column], cells) for column in table.columns]
        if math.prod(len(found) for found in values) > MOST_CASES:
            yield _finding(table, f"{table.id} has too many cases to prove that its rows cover all", "info")
            continue
        for case in product(*values):
            facts = dict(zip(table.columns, case, strict=True))
            if not any(all(evaluate(expr, facts) is True for expr in exprs) for exprs in cells):
                shown = ", ".join(f"{name} = {_shown(value)}" for name, value in facts.items())
                yield _finding(table, f"no row of {table.id} matches {shown}", "error")
                break


def _finding(table: Table, message: str, severity: Severity) -> Finding:
    return Finding(CHECK.id, severity, message, table.id, table.place, (), "add a row for it, or drop `complete`")


def _values(fact: FactDef, cells: list[list[Expr]]) -> list[Value]:
    """Values that stand for all others: those named, and one between and beyond them."""
    named = {value for exprs in cells for expr in exprs for value in _constants(expr, fact.name)}
    if fact.type == "list":
        items = sorted(str(value) for value in named)
        return [(), *((item,) for item in items), tuple(items)]
    if not fact.numeric:
        allowed = domain_of(fact).allowed
        # No choice is called like this, so it stands for every text that no cell names.
        return sorted(allowed if allowed is not None else named | {"anything else"}, key=str)
    domain = domain_of(fact)
    limits = sorted({float(value) for value in named if not isinstance(value, str)})
    step = 1 if fact.type == "int" else 0.5
    tried = {value for limit in limits for value in (limit - step, limit, limit + step)}
    tried |= {(low + high) / 2 for low, high in pairwise(limits)} if fact.type != "int" else set()
    tried |= {max(domain.low, -1e12) + (step if domain.low_open else 0), min(domain.high, 1e12)}
    return [int(value) if fact.type == "int" else value for value in sorted(tried) if domain.holds(value)]


def _constants(expr: Expr, fact: str) -> Iterator[Scalar]:
    """Constants beside the fact; cells name no other."""
    if isinstance(expr, And | Or):
        for part in expr.operands:
            yield from _constants(part, fact)
    elif isinstance(expr, Not):
        yield from _constants(expr.operand, fact)
    elif isinstance(expr, Member) and expr.left == FactRef(fact):
        yield from expr.choices
    elif isinstance(expr, Has) and expr.fact.name == fact:
        yield expr.item
    elif isinstance(expr, Compare) and not isinstance(expr.left, Arith) and FactRef(fact) in (expr.left, expr.right):
        yield from (side.value for side in (expr.left, expr.right) if isinstance(side, Const))


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(str(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


CHECK = Check("incomplete-table", "error", _run, __doc__ or "")
