"""Fact that is set, and that nothing reads.

Why: a derive rule works for other rules. If none of them reads its fact, it is a leftover, or the reader misspells it.

Bad::

    - id: crowded
      stage: derive
      then: {set: {is_crowded: true}}      # no rule asks for is_crowded

Good: a rule that reads the fact, or no such rule.

Facts that calculators and the pipeline read count as read; so does a fact that a text shows, and every output.

Silence: put ``# lint: allow never-read: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext


def _run(context: LintContext) -> Iterator[Finding]:
    read = set(context.consumed)
    for rule in context.rulebook.rules:
        read |= rule.reads | rule.mentions
    for rule in context.rulebook.rules:
        for name in sorted(rule.writes - read):
            fact = context.vocabulary.fact(name)
            if fact is None or fact.role != "output":
                yield CHECK.about(
                    rule, f"{rule.id} sets `{name}`, which nothing reads", fix="let a rule read it, or drop the effect"
                )


CHECK = Check("never-read", "warning", _run, __doc__ or "")
