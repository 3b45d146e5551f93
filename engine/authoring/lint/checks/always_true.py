"""Condition that every value passes, or rule that always fires.

Why: a rule that fires on everything says nothing about the case at hand; a condition that binds nothing is most often a
limit at the wrong end of the range, or a choice that was forgotten.

Bad::

    - id: any-model
      when: [param_count_b > 0]

Good::

    - id: any-model
      when: [param_count_b is known]      # if that is what is meant

Silence: put ``# lint: allow always-true: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or
from whichgpu.engine.rules.language.tree import facts_read


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    for rule in context.rulebook.rules:
        # A table's last row may well catch everything; its table is then what binds.
        if rule.table is None and regions.never(opposite(regions.where(rule))):
            why = "" if rule.when else "has no condition and "
            yield CHECK.about(rule, f"{rule.id} {why}always fires", fix="say when it holds")
            continue
        for condition in rule.when:
            if facts_read(condition.expr) and not _can_fail(condition.expr, context):
                yield CHECK.about(
                    rule,
                    f"`{condition.text}` in {rule.id} holds for every value",
                    place=condition.place,
                    fix="narrow it, or write `is known` if that is meant",
                )


def _can_fail(expr: Expr, context: LintContext) -> bool:
    """Whether some known value fails the condition. ``is known`` and ``is unknown`` ask just that, and are fine."""
    return _asks_known(expr) or not context.regions.never(context.regions.conditions.false(expr))


def _asks_known(expr: Expr) -> bool:
    if isinstance(expr, And | Or):
        return any(_asks_known(part) for part in expr.operands)
    return isinstance(expr, Known) or (isinstance(expr, Not) and _asks_known(expr.operand))


CHECK = Check("always-true", "warning", _run, __doc__ or "")
