"""Table declared ``complete`` that leaves a case out.

Why: in that case the table says nothing, and whoever relies on its completeness is left with an unknown fact.

Bad::

    - table: tiers
      complete: true
      columns: [param_count_b]
      rows:
        - {id: small, if: ['< 7'], then: {set: {tier: low}}}
        - {id: large, if: ['> 7'], then: {set: {tier: high}}}     # 7 itself is in neither

Good: ``>= 7`` in the last row::

    - table: tiers
      complete: true
      columns: [param_count_b]
      rows:
        - {id: small, if: ['< 7'], then: {set: {tier: low}}}
        - {id: large, if: ['>= 7'], then: {set: {tier: high}}}

Proved for all values of the columns. That a column is unknown is a case only where some cell says ``is unknown``.

Silence: put ``# lint: allow incomplete-table: why`` at the end of the line with the table's name, or drop ``complete``.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.formulas import Formula
from whichgpu.engine.authoring.lint.formulas import both
from whichgpu.engine.authoring.lint.formulas import literal
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.authoring.lint.regions import shown
from whichgpu.engine.rules.language.shaping import to_nnf
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Or
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Table


def _run(context: LintContext) -> Iterator[Finding]:
    for table in context.rulebook.tables:
        if not table.complete:
            continue
        gap = uncovered(table, context)
        case = context.regions.find(*gap)
        if case is None and not context.regions.never(*gap):
            message = f"{table.id} has too many cases to prove that its rows cover all"
            yield Finding(CHECK.id, "info", message, table.id, table.place)
        elif case:
            yield Finding(
                CHECK.id,
                "error",
                f"no row of {table.id} matches {shown(case.example)}",
                table.id,
                table.place,
                (),
                "add a row for it, or drop `complete`",
                not case.certain,
                case.example,
            )


def uncovered(table: Table, context: LintContext) -> tuple[Formula, ...]:
    """Where no row of a table matches. Together they hold in its gaps."""
    rows = [context.rulebook.rule(row) for row in table.rows]
    conditions = context.regions.conditions
    # What holds for the whole table is the case it speaks of, and derived columns stand for themselves.
    missed = (
        opposite(both(*(conditions.true(condition.expr) for condition in row.when if condition.column))) for row in rows
    )
    return (*missed, *_domain(table, rows, context))


def _domain(table: Table, rows: list[Rule], context: LintContext) -> Iterator[Formula]:
    """The columns are known, unless a cell asks whether they are; and hold some value that a row speaks of."""
    asked = {cell.column for row in rows for cell in row.when if cell.column and _asks(to_nnf(cell.expr))}
    for column in table.columns:
        classes = context.regions.conditions.domains.of(column)
        if column not in asked:
            yield literal(column, classes.known, classes.full)


def _asks(expr: Expr) -> bool:
    """Whether a condition, in negation normal form, says ``is unknown`` somewhere."""
    if isinstance(expr, And | Or):
        return any(_asks(part) for part in expr.operands)
    return isinstance(expr, Known) and expr.negated


CHECK = Check("incomplete-table", "error", _run, __doc__ or "")
