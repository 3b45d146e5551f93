"""Rows of a ``hit: first`` table that overlap without one being the special case of the other.

Why: where both match, the order of the rows decides, and whoever sorts the table changes answers without noticing.

Bad::

    rows:
      - {id: small, if: ['< 30', '-'], then: {set: {tier: low}}}
      - {id: many, if: ['-', '> 8'], then: {set: {tier: high}}}      # a small model on 16 GPUs is in both

Good: cells that exclude each other, or a special row above a general one::

    rows:
      - {id: small, if: ['< 30', '<= 8'], then: {set: {tier: low}}}
      - {id: many, if: ['-', '> 8'], then: {set: {tier: high}}}

Rows that do the same may overlap. So may a row whose cases all lie in a later row: that is an exception and its rule.

Silence: put ``# lint: allow overlapping-rows: why`` at the end of the line with the lower row's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.authoring.lint.regions import shown


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    for rule in context.rulebook.rules:
        for row in regions.earlier(rule):
            if (row.effects, row.text) == (rule.effects, rule.text):
                continue
            upper, lower = regions.where(row), regions.where(rule)
            # Rows that cover each other are the matter of shadowed-row, or an exception above its rule.
            if regions.never(upper, opposite(lower)) or regions.never(lower, opposite(upper)):
                continue
            case = regions.find(upper, lower, *(opposite(regions.where(other)) for other in regions.earlier(row)))
            if case:
                yield CHECK.about(
                    rule,
                    f"{rule.id} and {row.id} both match where {shown(case.example)}, and only the order decides",
                    fix="let the cells exclude each other, or put the special row above the general one",
                    case=case,
                )
                break


CHECK = Check("overlapping-rows", "info", _run, __doc__ or "")
