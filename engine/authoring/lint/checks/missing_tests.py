"""Rule without a test that fires.

Why: a rule nobody has seen fire may never do so. A misspelt limit or a condition that is never known stays unnoticed.

Bad::

    - id: slow-link
      when: [training, plan.link == pcie]
      then: {points: -2, reason: interconnect}

Good::

      tests:
        - given: {task: pretraining}
          plan: {gpu: nvidia-l40s, count: 8}
          fires: true

Silence: put ``# lint: allow missing-tests: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if not any(test.fires for test in rule.tests):
            yield CHECK.about(
                rule, f"{rule.id} has no test in which it fires", fix="add `tests:` with a case and `fires: true`"
            )


CHECK = Check("missing-tests", "warning", _run, __doc__ or "")
