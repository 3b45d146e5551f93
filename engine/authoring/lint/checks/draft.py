"""Rule that is still a draft, or deprecated.

Why: a draft fires like any other rule. Whoever releases the rulebook should know which rules nobody has vouched for.

Bad::

      status: draft

Good::

      status: stable

Silence: put ``# lint: allow draft: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if rule.status == "draft":
            yield CHECK.about(rule, f"{rule.id} is a draft", fix="have it reviewed, then write `status: stable`")
        elif rule.status == "deprecated":
            yield CHECK.about(rule, f"{rule.id} is deprecated", fix="remove it once nothing overrides it")


CHECK = Check("draft", "info", _run, __doc__ or "")
