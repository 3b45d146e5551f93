"""Rules that can never fire or count, and conditions that always hold."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check, named
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.rules import Expr, Known, Rule, facts_read, leaves


@check("error")
def unreachable_rule(context: LintContext) -> Iterator[Finding]:
    """Rule that can never fire.

    Why: its conditions contradict each other, the range of a fact, or what other rules derive. It is a mistake, most
    often a limit or an operator the wrong way round.

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

    Facts that rules derive are looked into: ``training`` and ``task == inference`` contradict each other where a rule
    says that inference is no training. For whole numbers ``> 8`` and ``< 9`` leave nothing. A rule that fires only
    where somebody states by hand what no rule derives, ``training`` and ``serving`` at once, is a warning.
    """
    fix = "correct one of the conditions"
    for rule in context.rulebook.rules:
        orders = context.orders(rule)
        if context.regions.never(context.regions.where(rule)):
            reason = _reason(rule, context.regions)
            yield unreachable_rule.about(rule, f"{rule.id} can never fire: {reason}", fix=fix)
        elif orders and context.regions.never(context.regions.where(rule), *orders):
            message = (
                f"{rule.id} can never fire: it compares facts the wrong way round, one is never more than the other"
            )
            yield unreachable_rule.about(rule, message, fix=fix)
        elif context.derived.never(context.derived.where(rule)):
            reason = _reason(rule, context.derived)
            message = f"{rule.id} fires on nothing that rules derive: {reason}"
            yield unreachable_rule.about(rule, message, severity="warning", fix=fix)


def _reason(rule: Rule, regions: Regions) -> str:
    """The condition, or the pair of them, that no facts satisfy."""
    for at, one in enumerate(rule.when):
        if regions.never(regions.true(one.expr)):
            return f"`{one.text}` never holds"
        for two in rule.when[:at]:
            if regions.never(regions.true(one.expr, two.expr)):
                return f"`{one.text}` contradicts `{two.text}`"
    return "its conditions together leave no case"


@check("warning")
def always_true(context: LintContext) -> Iterator[Finding]:
    """Condition that every value passes, or rule that always fires.

    Why: a rule that fires on everything says nothing about the case at hand; a condition that binds nothing is most
    often a limit at the wrong end of the range, or a choice that was forgotten.

    Bad::

        - id: any-model
          when: [param_count_b > 0]

    Good::

        - id: any-model
          when: [param_count_b is known]      # if that is what is meant
    """
    regions = context.regions
    for rule in context.rulebook.rules:
        # A table's last row may well catch everything; its table is then what binds.
        if rule.table is None and regions.never(regions.outside(regions.where(rule))):
            why = "" if rule.when else "has no condition and "
            yield always_true.about(rule, f"{rule.id} {why}always fires", fix="say when it holds")
            continue
        for condition in rule.when:
            if facts_read(condition.expr) and not _can_fail(condition.expr, context):
                yield always_true.about(
                    rule,
                    f"`{condition.text}` in {rule.id} holds for every value",
                    place=condition.place,
                    fix="narrow it, or write `is known` if that is meant",
                )


def _can_fail(expr: Expr, context: LintContext) -> bool:
    """Whether some known value fails the condition. ``is known`` and ``is unknown`` ask just that, and are fine."""
    asks_known = any(isinstance(part, Known) for part in leaves(expr))
    return asks_known or not context.regions.never(context.regions.conditions.false(expr))


@check("error")
def always_overridden(context: LintContext) -> Iterator[Finding]:
    """Rule that other rules override wherever it matches.

    Why: it can match and never counts, so what it says is lost. Most often the rule that overrides it is too wide.

    Bad::

        - id: seven-gb
          when: [param_count_b <= 7]
          then: {set: {tier: low}}
        - id: all-models
          when: [param_count_b is known]
          then: {set: {tier: high}}
          overrides: [seven-gb]

    Good: the special rule overrides the general one::

        - id: seven-gb
          when: [param_count_b <= 7]
          then: {set: {tier: low}}
          overrides: [all-models]

    Several rules that override it together count as well.
    """
    regions = context.regions
    for rule in context.rulebook.rules:
        winners = regions.cover(regions.where(rule), regions.overriding(rule), regions.where)
        if winners:
            override = "overrides" if len(winners) == 1 else "together override"
            yield always_overridden.about(
                rule,
                f"{rule.id} never counts: {named(winners)} {override} it wherever it matches",
                fix=f"narrow {winners[0].id}",
            )
