"""Rule that can never fire.

Why: its conditions contradict each other, the range of a fact, or what other rules derive. It is a mistake, most often
a limit or an operator the wrong way round.

Bad::

    - id: huge-models
      when:
        - param_count_b > 70
        - param_count_b < 7

Good::

    - id: huge-models
      when:
        - param_count_b > 7
        - param_count_b < 70

Facts that rules derive are looked into: ``training`` and ``task == inference`` contradict each other where a rule says
that inference is no training. For whole numbers ``> 8`` and ``< 9`` leave nothing.

Silence: put ``# lint: allow unreachable-rule: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        if context.regions.never(context.regions.where(rule)):
            yield CHECK.about(
                rule, f"{rule.id} can never fire: {_reason(rule, context)}", fix="correct one of the conditions"
            )


def _reason(rule: Rule, context: LintContext) -> str:
    """The condition, or the pair of them, that no facts satisfy."""
    regions = context.regions
    for at, one in enumerate(rule.when):
        if regions.never(regions.true(one.expr)):
            return f"`{one.text}` never holds"
        for two in rule.when[:at]:
            if regions.never(regions.true(one.expr, two.expr)):
                return f"`{one.text}` contradicts `{two.text}`"
    return "its conditions together leave no case"


CHECK = Check("unreachable-rule", "error", _run, __doc__ or "")
