"""Band that names no cards, or no number of GPUs.

Why: a band says which cards, or how many, a guide gives for a case. The conditions on the plan are what it names.
Without one the band would bind nothing, or every plan alike.

Bad::

    - id: adapters-on-one-card
      when: [finetuning, peft_method == qlora]
      then: {points: 2, reason: scale, band: counts}

Good::

    - id: adapters-on-one-card
      when: [finetuning, peft_method == qlora, plan.count == 1]
      then: {points: 2, reason: scale, band: counts}

``band: cards`` reads a ``gpu.`` fact, ``plan.gpu`` or ``plan.family``, or ``plan.owned`` where the cards are those that
one has; ``band: counts`` reads ``plan.count``, or ``plan.is_smallest_fit`` where the guide's number is the smallest
that holds the job. Points against a plan are no band either: a guide that warns of cards names none.

Silence: put ``# lint: allow unbound-band: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Rule


_CARDS = frozenset({"plan.gpu", "plan.family", "plan.owned"})
_COUNTS = frozenset({"plan.count", "plan.is_smallest_fit"})


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.of_stage("prefer"):
        for effect in rule.effects:
            if not isinstance(effect, Points) or effect.band is None:
                continue
            if not _names(rule, effect.band):
                what = "cards" if effect.band == "cards" else "number of GPUs"
                wanted = "gpu.series" if effect.band == "cards" else "plan.count"
                yield CHECK.about(
                    rule,
                    f"{rule.id} says `band: {effect.band}`, and none of its conditions says which {what}",
                    fix=f"add a condition on `{wanted}`, or drop the band",
                )
            elif effect.points < 0:
                yield CHECK.about(
                    rule,
                    f"{rule.id} says `band: {effect.band}` and gives points against what it names",
                    fix="drop the band, or turn the points round",
                )


def _names(rule: Rule, band: str) -> bool:
    if band == "counts":
        return not _COUNTS.isdisjoint(rule.reads)
    return any(fact in _CARDS or fact.startswith("gpu.") for fact in rule.reads)


CHECK = Check("unbound-band", "error", _run, __doc__ or "")
