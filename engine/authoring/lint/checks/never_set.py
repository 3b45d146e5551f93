"""Fact that a rule reads, and that nothing can ever give.

Why: the rule stays undecided for ever, without anybody being able to change that.

Bad::

      when: [model_weight_class == heavy]  # derived, and no rule or calculator sets it

Good: a derive rule or calculator that sets the fact, or a question in the vocabulary.

Only facts that a person cannot state are looked at: outputs, and derived facts without a question.

Silence: put ``# lint: allow never-set: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.facts import FactDef


def _run(context: LintContext) -> Iterator[Finding]:
    written = {fact for rule in context.rulebook.rules for fact in rule.writes} | context.produced
    for rule in context.rulebook.rules:
        for name in sorted(rule.reads - written):
            fact = context.vocabulary.fact(name)
            if fact is not None and _needs_a_producer(fact):
                yield CHECK.about(
                    rule, f"{rule.id} reads `{name}`, which nothing sets", fix="set it in a derive rule, or ask for it"
                )


def _needs_a_producer(fact: FactDef) -> bool:
    """Whether neither a person nor the catalogue nor a plan gives the fact."""
    return fact.scope == "workload" and (fact.role == "output" or (fact.role == "derived" and not fact.question))


CHECK = Check("never-set", "warning", _run, __doc__ or "")
