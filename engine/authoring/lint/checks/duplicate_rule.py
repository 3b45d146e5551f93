"""Two rules that say the same.

Why: one of them is dead weight today, and tomorrow somebody corrects only one of the two.

Bad::

    - id: slow-link
      when: [training, plan.link == pcie]
      then: {points: -2, reason: interconnect}
    - id: pcie-is-slow
      when: [plan.link == pcie, training]
      then: {points: -2, reason: interconnect}

Good: one rule that names both sources.

Silence: put ``# lint: allow duplicate-rule: why`` at the end of the line with the second rule's id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.layers import canonical
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    first: dict[str, Rule] = {}
    for rule in context.rulebook.rules:
        other = first.setdefault(meaning(rule), rule)
        if other is not rule:
            yield CHECK.about(
                rule,
                f"{rule.id} has the conditions and effects of {other.id} ({other.place})",
                fix="keep one of them, with the sources of both",
            )


def meaning(rule: Rule) -> str:
    """Equal for rules that fire on the same facts and do the same, as far as form shows it."""
    conditions = sorted(json.dumps(canonical(condition.expr), allow_nan=False) for condition in rule.when)
    effects = sorted(json.dumps(canonical(effect), allow_nan=False) for effect in rule.effects)
    return json.dumps([rule.stage, rule.each, conditions, effects, rule.text], allow_nan=False)


CHECK = Check("duplicate-rule", "warning", _run, __doc__ or "")
