"""Rule that adds nothing to another one that fires wherever it does.

Why: it looks like a case of its own, and whoever changes it wonders why nothing happens.

Bad::

    - id: training-wants-nvlink
      when: [training]
      then: {advise: A-NVLINK}
    - id: large-training-wants-nvlink
      when: [training, param_count_b > 30]
      then: {advise: A-NVLINK}

Good: only the general rule, or a special one that does more::

    - id: training-wants-nvlink
      when: [training]
      then: {advise: A-NVLINK}
    - id: large-training-wants-nvlink
      when: [training, param_count_b > 30]
      then: {advise: [A-NVLINK, A-INFINIBAND]}

Within one reason only the strongest points count, so a weaker rule for the same reason adds nothing either. Rules with
a text, a claim or a band of their own say something else and are left alone.

Silence: put ``# lint: allow subsumed-rule: why`` at the end of the line with the special rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.checks.duplicate_rule import meaning
from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Reject
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    by_kind: dict[tuple[str, str], list[Rule]] = {}
    for rule in context.rulebook.rules:
        by_kind.setdefault((rule.stage, rule.each), []).append(rule)
    for rule in context.rulebook.rules:
        where = regions.fires(rule)
        if regions.never(where):
            continue
        for other in by_kind[rule.stage, rule.each]:
            if not _covers(other, rule) or not regions.never(where, opposite(regions.fires(other))):
                continue
            same = regions.never(regions.fires(other), opposite(where))
            # Of two that cover each other the later one is named, and duplicate-rule says it of those alike in form.
            if (same and _covers(rule, other) and rule.id < other.id) or meaning(rule) == meaning(other):
                continue
            yield CHECK.about(
                rule,
                f"{rule.id} adds nothing: {other.id} ({other.place}) does as much wherever it fires",
                fix=f"drop it with its sources moved to {other.id}, or let it say more",
            )
            break


def _covers(other: Rule, rule: Rule) -> bool:
    """Whether the other rule's effects make those of ``rule`` idle where both fire."""
    if other.id == rule.id or not rule.effects or (rule.text and rule.text != other.text):
        return False
    return all(any(_idle(effect, beside) for beside in other.effects) for effect in rule.effects)


def _idle(effect: Effect, beside: Effect) -> bool:
    if isinstance(effect, Points) and isinstance(beside, Points):
        same_side = (effect.points > 0) == (beside.points > 0)
        alike = (effect.reason, effect.claim, effect.band) == (beside.reason, beside.claim, beside.band)
        return alike and same_side and abs(effect.points) <= abs(beside.points)
    return effect == beside and not isinstance(effect, Reject)


CHECK = Check("subsumed-rule", "warning", _run, __doc__ or "")
