"""Rule past its day.

Why: claims about prices, availability and "the newest" age. ``valid_until`` says when somebody has to look again.

Bad::

      valid_until: 2024-12-31

Good::

      valid_until: 2027-06-30    # after checking the sources again

Silence: put ``# lint: allow expired: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if rule.valid_until is not None and rule.valid_until < context.today.isoformat():
            yield CHECK.about(
                rule, f"{rule.id} was valid until {rule.valid_until}", fix="check its sources again and move the day"
            )


CHECK = Check("expired", "warning", _run, __doc__ or "")
