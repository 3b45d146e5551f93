"""One heuristic paid under two reasons for the same plan.

Why: within a reason only the strongest points count, so that saying a thing twice adds nothing. Two rules that rest on
one heuristic and give their points for different reasons get round that: the plan is paid twice for one piece of
evidence.

Bad::

    - id: 4090-for-tuning
      when: [finetuning, gpu.series == nvidia-rtx-4090]
      then: {points: 3, reason: fit}
      encodes: [4090-best-for-tuning]
    - id: 4090-at-home
      when: [gpu.series == nvidia-rtx-4090]
      then: {points: 2, reason: availability}
      encodes: [4090-best-for-tuning]

Good: the same reason, or each rule with evidence of its own::

    - id: 4090-at-home
      when: [gpu.series == nvidia-rtx-4090]
      then: {points: 2, reason: availability}
      encodes: [desktop-cards-fit-desktops]

Found are rules that can fire for the same plan and both speak for it, or both against it. A guide's line that names
cards and a number of them is two statements: the rule with ``band: cards`` and the one with ``band: counts`` may share
it.

Silence: put ``# lint: allow evidence-twice: why`` at the end of the line with the later rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    prefers = [rule for rule in context.rulebook.of_stage("prefer") if rule.encodes]
    for rule, other in combinations(prefers, 2):
        shared = sorted(set(rule.encodes) & set(other.encodes))
        if not shared or not _paid_apart(rule, other) or {rule.id, other.id} & {*rule.overrides, *other.overrides}:
            continue
        case = regions.find(regions.fires(rule), regions.fires(other))
        if case is None:
            continue
        mine, theirs = _points(rule)[0].reason, _points(other)[0].reason
        yield CHECK.about(
            other,
            f"{other.id} gives points for {theirs} on the evidence of {shared[0]}, and {rule.id} for {mine}",
            fix="give both the same reason, or leave the heuristic to one of them",
            case=case,
        )


def _points(rule: Rule) -> list[Points]:
    return [effect for effect in rule.effects if isinstance(effect, Points)]


def _paid_apart(rule: Rule, other: Rule) -> bool:
    """Whether both speak for a plan, or both against it, and the two would add up."""
    mine, theirs = _points(rule), _points(other)
    if not mine or not theirs or mine[0].reason == theirs[0].reason:
        return False
    if (mine[0].points > 0) != (theirs[0].points > 0):
        return False
    return {mine[0].band, theirs[0].band} != {"cards", "counts"}


CHECK = Check("evidence-twice", "warning", _run, __doc__ or "")
