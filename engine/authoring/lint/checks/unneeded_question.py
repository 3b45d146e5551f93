"""Question whose answer nothing reads.

Why: every question costs a person patience, and this one cannot change the answer.

Bad: a fact with ``question:`` in the vocabulary that no rule, calculator or plan reads::

    - id: quiet-cards
      when: [training]
      then: {set: {tier: low}}      # nothing reads the fact that the vocabulary asks for

Good: a rule that reads the fact, or ``askable: never`` in the vocabulary::

    - id: quiet-cards
      when: [cuda_required]
      then: {set: {tier: low}}

Silence: write ``askable: on_request`` and the reason into the fact's entry of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.language.parsing import parse_condition
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.rulebook.model import Ask


def _run(context: LintContext) -> Iterator[Finding]:
    read = set(context.consumed)
    for rule in context.rulebook.rules:
        read |= rule.reads | rule.mentions
        read |= {effect.fact for effect in rule.effects if isinstance(effect, Ask)}
    for fact in context.vocabulary.facts.values():
        for assumption in fact.assumptions:
            if assumption.when:
                read |= facts_read(parse_condition(assumption.when, context.vocabulary, None, "workload"))
    for name, fact in context.vocabulary.facts.items():
        if fact.question and fact.askable in ("always", "if_it_matters") and name not in read:
            yield Finding(
                CHECK.id,
                "warning",
                f"`{name}` is asked for, and nothing reads the answer",
                name,
                fix="let a rule read it, or write `askable: never` in the vocabulary",
            )


CHECK = Check("unneeded-question", "warning", _run, __doc__ or "")
