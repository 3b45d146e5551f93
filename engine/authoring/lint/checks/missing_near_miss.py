"""Rule without a test that just misses.

Why: a test that fires does not show that the conditions bind. Only a case that differs in one thing and does not fire
shows what the rule hangs on.

Bad::

      tests:
        - given: {task: pretraining}
          plan: {gpu: nvidia-l40s, count: 16}
          fires: true

Good::

        - near_miss: {plan.count: 8}

Silence: put ``# lint: allow missing-near-miss: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        # A rule without conditions has no near miss; without any test, missing-tests says it.
        if rule.when and rule.tests and all(test.fires for test in rule.tests):
            yield CHECK.about(
                rule, f"{rule.id} has no test in which it just misses", fix="add `near_miss:` below a test that fires"
            )


CHECK = Check("missing-near-miss", "warning", _run, __doc__ or "")
