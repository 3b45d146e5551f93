"""Row of a ``hit: first`` table that earlier rows always take.

Why: the row is never reached, so what it says never counts.

Bad::

    rows:
      - {id: small, if: ['< 30'], then: {set: {tier: low}}}
      - {id: large, if: ['>= 30'], then: {set: {tier: high}}}
      - {id: huge, if: ['>= 70'], then: {set: {tier: middle}}}

Good: the special row first, the general one last::

    rows:
      - {id: small, if: ['< 30'], then: {set: {tier: low}}}
      - {id: huge, if: ['>= 70'], then: {set: {tier: middle}}}
      - {id: large, if: ['>= 30'], then: {set: {tier: high}}}

A row is found as well that no single row above covers, but several together.

Silence: put ``# lint: allow shadowed-row: why`` at the end of the line with the row's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.regions import named


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    for rule in context.rulebook.rules:
        takers = regions.cover(regions.where(rule), regions.earlier(rule), regions.where)
        if takers:
            match = "matches" if len(takers) == 1 else "together match"
            yield CHECK.about(
                rule,
                f"{rule.id} is never reached: {named(takers)} {match} wherever it does",
                fix=f"move it above {takers[0].id}, or narrow that row",
            )


CHECK = Check("shadowed-row", "error", _run, __doc__ or "")
