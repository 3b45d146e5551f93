"""Rule without a source.

Why: every claim of an answer has to be traced to somebody who made it. A rule without source is an opinion.

Bad::

    - id: slow-link
      because: PCIe leaves the GPUs waiting.

Good::

      sources: [fpt/3.4]

Silence: put ``# lint: allow missing-source: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if not rule.sources:
            yield CHECK.about(
                rule, f"{rule.id} names no source", fix="add `sources:` with ids of knowledge/sources.yaml"
            )


CHECK = Check("missing-source", "error", _run, __doc__ or "")
