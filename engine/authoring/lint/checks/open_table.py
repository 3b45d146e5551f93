"""Table that does not say that it is complete: what it leaves out, or that it leaves out nothing.

Why: a gap is often meant, for a table may speak of some cases only. Whoever reads it should know one that it leaves to
others; and a table without a gap should say so, so that nobody opens one unseen.

Bad::

    - table: tiers
      columns: [param_count_b]
      rows:
        - {id: small, if: ['< 7'], then: {set: {tier: low}}}
        - {id: large, if: ['>= 7'], then: {set: {tier: high}}}

Good::

    - table: tiers
      complete: true
      columns: [param_count_b]
      rows:
        - {id: small, if: ['< 7'], then: {set: {tier: low}}}
        - {id: large, if: ['>= 7'], then: {set: {tier: high}}}

Silence: put ``# lint: allow open-table: why`` at the end of the line with the table's name.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.checks.incomplete_table import uncovered
from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.regions import shown


def _run(context: LintContext) -> Iterator[Finding]:
    for table in context.rulebook.tables:
        if table.complete:
            continue
        gap = uncovered(table, context)
        case = context.regions.find(*gap)
        if case is not None:
            message = f"{table.id} leaves out {shown(case.example)}, and says nothing of it"
            fix = None
        elif context.regions.never(*gap):
            message, fix = f"{table.id} leaves out no case, and does not say so", "write `complete: true`"
        else:
            continue
        example = case.example if case else None
        yield Finding(CHECK.id, "info", message, table.id, table.place, (), fix, example=example)


CHECK = Check("open-table", "info", _run, __doc__ or "")
