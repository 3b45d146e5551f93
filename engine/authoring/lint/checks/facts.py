"""Facts that nothing reads or sets, that are asked for in vain, or worked out from each other in a circle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import Ask, Const, FactDef, Rule, SetFact, facts_read, parse_condition, shortest_circle


@check("warning")
def never_read(context: LintContext) -> Iterator[Finding]:
    """Fact that is set, and that nothing reads.

    Why: a derive rule works for other rules. If none of them reads its fact, it is a leftover, or the reader misspells
    it.

    Bad::

        - id: crowded
          stage: derive
          then: {set: {is_crowded: true}}      # no rule asks for is_crowded

    Good: a rule that reads the fact, or no such rule.

    Facts that calculators and the pipeline read count as read; so does a fact that a text shows, and every output.
    """
    read = set(context.consumed)
    for rule in context.rulebook.rules:
        read |= rule.reads | rule.mentions
    for rule in context.rulebook.rules:
        for name in sorted(rule.writes - read):
            fact = context.vocabulary.fact(name)
            if fact is None or fact.role != "output":
                yield never_read.about(
                    rule, f"{rule.id} sets `{name}`, which nothing reads", fix="let a rule read it, or drop the effect"
                )


@check("warning")
def never_set(context: LintContext) -> Iterator[Finding]:
    """Fact that a rule reads, and that nothing can ever give.

    Why: the rule stays undecided for ever, without anybody being able to change that.

    Bad::

          when: [model_weight_class == heavy]  # derived, and no rule or calculator sets it

    Good: a derive rule or calculator that sets the fact, or a question in the vocabulary.

    Only facts that a person cannot state are looked at: outputs, and derived facts without a question.
    """
    written = {fact for rule in context.rulebook.rules for fact in rule.writes} | context.produced
    for rule in context.rulebook.rules:
        for name in sorted(rule.reads - written):
            fact = context.vocabulary.fact(name)
            if fact is not None and _needs_a_producer(fact):
                yield never_set.about(
                    rule, f"{rule.id} reads `{name}`, which nothing sets", fix="set it in a derive rule, or ask for it"
                )


def _needs_a_producer(fact: FactDef) -> bool:
    """Whether neither a person nor the catalogue nor a plan gives the fact."""
    return fact.scope == "workload" and (fact.role == "output" or (fact.role == "derived" and not fact.question))


@check("warning")
def never_otherwise(context: LintContext) -> Iterator[Finding]:
    """Fact that rules only ever deny.

    Why: a yes-or-no fact that is assumed to be no, or is not assumed at all, and that rules set to no alone, is never
    yes unless somebody states it: most often a rule that should say yes says no.

    Bad::

        - id: large-models-are-urgent
          when: [param_count_b > 70]
          then: {set: {is_serving: false}}

    Good::

        - id: large-models-are-urgent
          when: [param_count_b > 70]
          then: {set: {is_serving: true}}
    """
    setters: dict[str, list[tuple[Rule, object]]] = {}
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact):
                value = effect.expr.value if isinstance(effect.expr, Const) else None
                setters.setdefault(effect.fact, []).append((rule, value))
    for name, found in sorted(setters.items()):
        fact = context.vocabulary.facts[name]
        if all(value is False for _, value in found) and not any(each.assume is True for each in fact.assumptions):
            rule = found[0][0]
            message = f"{rule.id} sets `{name}` to no, as does every rule that sets it; none says yes"
            yield never_otherwise.about(rule, message, fix="set it to yes, or let another rule do so")


@check("warning")
def unneeded_question(context: LintContext) -> Iterator[Finding]:
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
                unneeded_question.id,
                "warning",
                f"`{name}` is asked for, and nothing reads the answer",
                name,
                fix="let a rule read it, or write `askable: never` in the vocabulary",
            )


@check("error")
def cyclic_derivation(context: LintContext) -> Iterator[Finding]:
    """Facts that are worked out from each other in a circle.

    Why: none of them can be worked out first, so all of them stay unknown.

    Bad::

        - id: tier-from-hours
          when: [run_hours > 10]
          then: {set: {tier: high}}
        - id: hours-from-tier
          when: [tier == high]
          then: {set: {run_hours: 20}}

    Good: one of the two reads something that is not derived from the other::

        - id: tier-from-hours
          when: [run_hours > 10]
          then: {set: {tier: high}}
        - id: days-from-tier
          when: [tier == high]
          then: {set: {num_models: 2}}

    Circles of rules alone are refused when the rules are read; here are those that pass through a calculator too.

    Silence: this cannot be silenced, for no decision can be made with such a rulebook.
    """
    derive = context.rulebook.of_stage("derive", "workload")
    feeds: dict[str, dict[str, str]] = {}  # fact -> facts made from it -> by what
    for output, reads in sorted(context.calculated.items()):
        for fact in sorted(reads - {output}):
            feeds.setdefault(fact, {}).setdefault(output, f"the calculator of `{output}`")
    for rule in derive:
        for fact in sorted(rule.reads - rule.writes):
            for made in sorted(rule.writes):
                feeds.setdefault(fact, {}).setdefault(made, rule.id)
    made_from = {fact: sorted(made) for fact, made in feeds.items()}
    reported: set[str] = set()
    for rule in derive:
        path = next((found for fact in sorted(rule.writes) if (found := shortest_circle(fact, made_from))), None)
        if path and not reported.intersection(path):
            reported.update(path)
            steps = "; ".join(f"{feeds[a][b]} makes `{b}` from `{a}`" for a, b in pairwise(path))
            yield cyclic_derivation.about(
                rule, f"{rule.id} is part of a circle: {steps}", fix="let one of them read something else"
            )


@check("warning")
def senseless_question(context: LintContext) -> Iterator[Finding]:
    """Question that makes no sense where the rule fires.

    Why: the vocabulary says with `asked_when` for what work a fact is asked at all. A rule for a service that asks how
    long a training run may take was written for other work.

    Bad, where `run_hours` has ``asked_when: training``::

        when: [serving, qps is unknown]
        then: {ask: run_hours}

    Good::

        when: [training, run_hours is unknown]
        then: {ask: run_hours}
    """
    regions = context.derived
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            when = context.vocabulary.facts[effect.fact].asked_when if isinstance(effect, Ask) else None
            if when is None or not isinstance(effect, Ask):
                continue
            sense = regions.outside(regions.false(parse_condition(when, context.vocabulary, None, "workload")))
            if regions.never(regions.where(rule), sense) and not regions.never(regions.where(rule)):
                message = f"{rule.id} asks for {effect.fact}, which makes sense only where {when}"
                yield senseless_question.about(rule, message, fix="ask for what this work has, or name the work")
