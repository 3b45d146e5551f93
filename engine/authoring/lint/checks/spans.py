"""Money of another span of time, and bands whose ends are exchanged."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import Arith, Compare, Const, Expr, FactRef, Rule, SetFact, leaves, written


_MONEY = "USD"
_PER = ("per hour", "per month", "per year")
_LOW, _HIGH = "_low", "_high"


@check("warning")
def another_span(context: LintContext) -> Iterator[Finding]:
    """Amounts of money that are held against each other, and are of different spans of time.

    Why: what a month may cost is no limit of what a run or a purchase costs, and all are dollars.

    Bad::

        when: [plan.usd_per_run > budget_usd_per_month]

    Good::

        when: [plan.usd_per_month > budget_usd_per_month]

    Looked at is what facts are called: "per hour", "per month", "per year", or none of these.
    """
    for rule in context.rulebook.rules:
        for condition in rule.when:
            for part in leaves(condition.expr):
                match part:
                    case Compare(_, FactRef(one), FactRef(other)):
                        spans = _span(one, context), _span(other, context)
                        if None not in spans and spans[0] != spans[1]:
                            message = f"`{written(part)}` in {rule.id} compares money {spans[0]} with money {spans[1]}"
                            fix = "name two amounts of the same span"
                            yield another_span.about(rule, message, place=condition.place, fix=fix)


def _span(name: str, context: LintContext) -> str | None:
    """What an amount of money is paid for; None of other facts, and of money by another unit, which is a type error."""
    fact = context.vocabulary.fact(name)
    if fact is None or fact.unit != _MONEY:
        return None
    return next((span for span in _PER if span in (fact.label or "")), "in all")


@check("error", silence="with the rule's id, or of the figure")
def exchanged_ends(context: LintContext) -> Iterator[Finding]:
    """Band whose lower end is above its upper end.

    Why: a band of 95 to 85 holds nothing; the two ends were exchanged, or one has a slip in its digits.

    Bad::

        then: {set: {power_low: 1.5, power_high: 1.3}}

    Good::

        then: {set: {power_low: 1.3, power_high: 1.5}}

    Looked at are figures of two numbers, and facts of one name but for ``low`` and ``high`` that a rule sets
    together, to numbers or to so many times one fact.
    """
    for name, figure in sorted(context.figures.items()):
        match figure.get("value"):
            case [int() | float() as low, int() | float() as high] if low > high:
                message = f"the figure {name} reaches from {low:g} to {high:g}"
                yield Finding(exchanged_ends.id, exchanged_ends.severity, message, name, fix="exchange the two ends")
    for rule in context.rulebook.rules:
        ends = _set_numbers(rule)
        for lower, (least, of, text) in ends.items():
            upper = lower.replace(_LOW, _HIGH)
            most = ends.get(upper)
            if upper != lower and most is not None and most[1] == of and most[0] < least:
                message = f"{rule.id} sets {lower} to {text} and {upper} to {most[2]}"
                yield exchanged_ends.about(rule, message, fix="exchange the two values")


def _set_numbers(rule: Rule) -> dict[str, tuple[float, str, str]]:
    """The facts that a rule sets to a number, or to so many times another fact: how many, of which, and as written."""
    found = {}
    for effect in rule.effects:
        times = _times(effect.expr) if isinstance(effect, SetFact) else None
        if isinstance(effect, SetFact) and times is not None:
            found[effect.fact] = (*times, effect.text)
    return found


def _times(expr: Expr) -> tuple[float, str] | None:
    """A number of times a fact, or a number alone."""
    match expr:
        case Const(int() | float() as value):
            return value, ""
        case Arith("*", Const(int() | float() as value), FactRef(of)) | Arith(
            "*", FactRef(of), Const(int() | float() as value)
        ):
            return value, of
        case Arith("/", FactRef(of), Const(int() | float() as value)) if value:
            return 1 / value, of
    return None
