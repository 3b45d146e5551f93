"""Rule that encodes no heuristic of the catalogue.

Why: the catalogue says which claims of the sources the rulebook covers. A rule outside it is either the project's own
judgement or a forgotten link.

Bad::

    - id: slow-link
      sources: [fpt/3.4]

Good::

      encodes: [fpt-multi-pcie-slow-sync]

Silence: put ``# lint: allow missing-encodes: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if not rule.encodes:
            yield CHECK.about(
                rule,
                f"{rule.id} encodes no heuristic of the catalogue",
                fix="add `encodes:` where one states this rule",
            )


CHECK = Check("missing-encodes", "info", _run, __doc__ or "")
