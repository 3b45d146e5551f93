"""Preference for plans that reject rules always rule out.

Why: the points can never count. Either the preference or the rejection says something that its author did not mean.

Bad::

    - id: big-cards
      stage: prefer
      each: plan
      when: [training, gpu.vram_gb >= 80]
      then: {points: 4, reason: fit}
    - id: no-big-cards
      stage: reject
      each: plan
      when: [gpu.vram_gb > 48]
      then: {reject: too large}

Good: the rejection is limited to the case that it is about::

    - id: big-cards
      stage: prefer
      each: plan
      when: [training, gpu.vram_gb >= 80]
      then: {points: 4, reason: fit}
    - id: no-big-cards
      stage: reject
      each: plan
      when: [not training, gpu.vram_gb > 48]
      then: {reject: too large}

Several reject rules that rule it out together count as well. Two rules that give one reason's points for and against
wherever the first fires are found too.

Silence: put ``# lint: allow contradicting-preference: why`` at the end of the line with the preference's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.authoring.lint.regions import named
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    rejects = context.rulebook.of_stage("reject", "plan") + context.rulebook.of_stage("reject", "workload")
    prefers = context.rulebook.of_stage("prefer")
    for rule in prefers:
        where = regions.fires(rule)
        if regions.never(where):
            continue
        guilty = regions.cover(where, rejects, regions.fires)
        if guilty:
            verb = "always rejects" if len(guilty) == 1 else "together always reject"
            yield CHECK.about(
                rule,
                f"{rule.id} gives points to plans that {named(guilty)} {verb}",
                fix="narrow the rejection, or drop the preference",
            )
            continue
        opponent = next((other for other in prefers if _opposes(rule, other, context)), None)
        if opponent is not None:
            yield CHECK.about(
                rule,
                f"wherever {rule.id} gives points for {_points(rule)[0].reason}, {opponent.id} takes as many or more",
                severity="warning",
                fix=f"let one override the other, or exclude its case in {opponent.id}",
            )


def _points(rule: Rule) -> list[Points]:
    return [effect for effect in rule.effects if isinstance(effect, Points)]


def _opposes(rule: Rule, other: Rule, context: LintContext) -> bool:
    """Whether the other rule takes at least what this one gives, for the same reason, wherever this one fires."""
    mine, theirs = _points(rule), _points(other)
    if not mine or not theirs or mine[0].reason != theirs[0].reason or mine[0].points <= 0:
        return False
    if theirs[0].points > -mine[0].points:
        return False
    return context.regions.never(context.regions.fires(rule), opposite(context.regions.fires(other)))


CHECK = Check("contradicting-preference", "error", _run, __doc__ or "")
