"""Rule that other rules override wherever it matches.

Why: it can match and never counts, so what it says is lost. Most often the rule that overrides it is too wide.

Bad::

    - id: seven-gb
      when: [param_count_b <= 7]
      then: {set: {tier: low}}
    - id: all-models
      when: [param_count_b is known]
      then: {set: {tier: high}}
      overrides: [seven-gb]

Good: the special rule overrides the general one::

    - id: seven-gb
      when: [param_count_b <= 7]
      then: {set: {tier: low}}
      overrides: [all-models]

Several rules that override it together count as well.

Silence: put ``# lint: allow always-overridden: why`` at the end of the line with the rule's id.
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
        winners = regions.cover(regions.where(rule), regions.overriding(rule), regions.where)
        if winners:
            override = "overrides" if len(winners) == 1 else "together override"
            yield CHECK.about(
                rule,
                f"{rule.id} never counts: {named(winners)} {override} it wherever it matches",
                fix=f"narrow {winners[0].id}",
            )


CHECK = Check("always-overridden", "error", _run, __doc__ or "")
