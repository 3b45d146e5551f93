"""Nineteen kinds of mistakes on which no check was tuned at first.

Most stand in rules without tests, since the tests would have been written beside the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from whichgpu import Advisor, load_advisor
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.rules import (
    OPPOSITE,
    Ask,
    Compare,
    Condition,
    Const,
    Disagree,
    FactRef,
    Not,
    Or,
    Rule,
    SetFact,
    constants,
    written,
)

from .judging import Seeded
from .loaded_rules import (
    Exchange,
    Instead,
    alone,
    comparisons,
    drawn,
    seeded_in_rules,
    shuffled,
    with_effect,
    with_further_line,
    with_line,
    with_points,
)


def joined_by_or(rule: Rule, _: Advisor) -> Rule | None:
    if len(rule.when) < 2 or rule.table:
        return None
    both = Or((rule.when[-2].expr, rule.when[-1].expr))
    return replace(rule, when=(*rule.when[:-2], Condition(both, written(both), rule.place)))


def rows_exchanged(rule: Rule, advisor: Advisor) -> Instead | None:
    """A row and the one below it, where the first that holds counts."""
    rows = [other for other in advisor.rulebook.rules if other.table and other.table == rule.table]
    below = next((other for other in rows if other.row == rule.row + 1), None)
    if rule.hit != "first" or below is None or not rule.when:
        return None
    regions = Regions(advisor.rulebook, advisor.vocabulary)
    if regions.never(regions.where(rule), regions.where(below)):
        return None  # No case knows which of the two comes first.
    return {rule.id: (replace(below, row=rule.row),), below.id: (replace(rule, row=below.row),)}


def row_left_out(rule: Rule, advisor: Advisor) -> Instead | None:
    complete = {table.id for table in advisor.rulebook.tables if table.complete}
    return {rule.id: ()} if rule.table in complete and rule.when else None


def copied(rule: Rule, _: Advisor) -> Instead | None:
    """The same under another name, with other points and no tests: pasted, and the condition never changed."""
    other = None if rule.table else with_points(rule, -0.5)
    return other and {rule.id: (rule, replace(other, id=f"{rule.id}-anew", tests=(), overrides=()))}


def other_work(rule: Rule, _: Advisor) -> Rule | None:
    """A rule about training that asks for serving as well, or the other way round."""
    texts = {condition.text for condition in rule.when}
    other = "serving" if "training" in texts else "training" if "serving" in texts else None
    return with_further_line(rule, FactRef(other)) if other else None


def set_in_another_unit(rule: Rule, _: Advisor) -> Rule | None:
    """A number that a rule sets, a thousandth as large."""
    for at, effect in enumerate(rule.effects):
        constant = effect.expr if isinstance(effect, SetFact) else None
        if isinstance(constant, Const) and not isinstance(constant.value, bool | str):
            small = constant.value / 1000
            return with_effect(rule, at, replace(effect, expr=Const(small), text=f"{small:g}"))
    return None


def another_card(rule: Rule, _: Advisor) -> Rule | None:
    """Another maker's card in the condition, while titles and texts stay."""
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if isinstance(expr, Compare) and expr.op == "==" and expr.left == FactRef("gpu.series"):
            assert isinstance(expr.right, Const)
            other = "amd-mi300x" if str(expr.right.value).startswith("nvidia") else "nvidia-h100"
            return with_line(rule, at, replace(expr, right=Const(other)))
    return None


def text_of_another_fact(rule: Rule, advisor: Advisor) -> Rule | None:
    """A text that shows another fact than the rule reads, of the same unit."""
    facts = advisor.vocabulary.facts
    for name in sorted(rule.mentions & rule.reads):
        like = (facts[name].unit, facts[name].scope)
        same = [fact.name for fact in facts.values() if (fact.unit, fact.scope) == like]
        others = [other for other in same if other not in rule.reads | rule.mentions]
        if facts[name].unit and others and f"{{{name}}}" in rule.text:
            text = rule.text.replace(f"{{{name}}}", f"{{{others[0]}}}")
            return replace(rule, text=text, mentions=rule.mentions - {name} | {others[0]})
    return None


def override_turned_round(rule: Rule, advisor: Advisor) -> Instead | None:
    others = [advisor.rules[name] for name in rule.overrides if advisor.rules[name].table is None]
    if rule.table or not others:
        return None
    other = others[0]
    kept = tuple(name for name in rule.overrides if name != other.id)
    turned = replace(other, overrides=(*other.overrides, rule.id))
    return {rule.id: (replace(rule, overrides=kept),), other.id: (turned,)}


def asked_though_known(rule: Rule, advisor: Advisor) -> Rule | None:
    """A question for a fact that the rule compares with a value, so that it is known."""
    plain = (condition.expr for condition in rule.when if isinstance(condition.expr, Compare))
    known = [fact for expr in plain for fact, _ in constants(expr) if "." not in fact]
    asked = [effect for effect in rule.effects if isinstance(effect, Ask)]
    free = [fact for fact in known if advisor.vocabulary.facts[fact].role == "input"]
    if rule.stage != "advise" or rule.each != "workload" or asked or not free:
        return None
    return replace(rule, effects=(*rule.effects, Ask(free[0])))


def days_for_hours(rule: Rule, advisor: Advisor) -> Rule | None:
    """A limit of hours in days."""
    for at, expr in comparisons(rule):
        if advisor.vocabulary.facts[expr.left.name].unit == "h":
            return with_line(rule, at, replace(expr, right=Const(float(expr.right.value) / 24)))
    return None


def neighbouring_fact(rule: Rule, advisor: Advisor) -> Rule | None:
    """A figure of the plan for another of its unit."""
    facts = advisor.vocabulary.facts
    for at, expr in comparisons(rule):
        fact = facts[expr.left.name]
        others = [each.name for each in facts.values() if (each.scope, each.unit) == ("plan", fact.unit)]
        others = [name for name in others if name not in rule.reads]
        if fact.scope == "plan" and fact.unit and others:
            return with_line(rule, at, replace(expr, left=FactRef(others[0])))
    return None


def lost_not(rule: Rule, _: Advisor) -> Rule | None:
    found = ((at, line.expr.operand) for at, line in enumerate(rule.when) if isinstance(line.expr, Not))
    return next((with_line(rule, at, expr) for at, expr in found), None)


def another_stack(rule: Rule, _: Advisor) -> Rule | None:
    """CUDA demanded of AMD's cards, or ROCm of NVIDIA's."""
    named = {str(value) for line in rule.when for fact, value in constants(line.expr) if fact == "gpu.series"}
    stack = "rocm" if any(name.startswith("nvidia") for name in named) else "cuda"
    return with_further_line(rule, Compare("==", FactRef("gpu.sw_stack"), Const(stack))) if named else None


def another_conflict(rule: Rule, advisor: Advisor) -> Rule | None:
    """Another disagreement reported."""
    known = sorted(advisor.knowledge.disagreements)
    found = ((at, effect) for at, effect in enumerate(rule.effects) if isinstance(effect, Disagree))
    others = ((at, known[(known.index(effect.conflict) + 7) % len(known)]) for at, effect in found)
    return next((with_effect(rule, at, Disagree(other)) for at, other in others), None)


def last_row_first(rule: Rule, advisor: Advisor) -> Instead | None:
    """The row that catches the rest put on top."""
    rows = [other for other in advisor.rulebook.rules if other.table and other.table == rule.table]
    if rule.hit != "first" or not rows or rule.row != len(rows) - 1 or len(rule.when) > 1:
        return None
    first = rows[0]
    moved = [replace(rule, row=first.row), *(replace(row, row=row.row + 1) for row in rows[:-1])]
    return {first.id: tuple(moved), **{row.id: () for row in rows[1:]}}


def turned_comparison(rule: Rule, _: Advisor) -> Rule | None:
    for at, expr in comparisons(rule):
        if expr.op in OPPOSITE and expr.op not in ("==", "!="):
            return with_line(rule, at, replace(expr, op=OPPOSITE[expr.op]))
    return None


KINDS: dict[str, Exchange] = {
    "two lines joined by or": alone(joined_by_or, tests=True),
    "two rows exchanged": rows_exchanged,
    "a row of a complete table left out": row_left_out,
    "a copy with other points": copied,
    "the other kind of work as well": alone(other_work),
    "a value set in another unit": alone(set_in_another_unit),
    "another maker's card": alone(another_card),
    "a text that shows another fact": alone(text_of_another_fact),
    "an override turned round": override_turned_round,
    "a question for what is known": alone(asked_though_known),
    # Planted when the checks for those above stood, and not tuned on.
    "days for hours": alone(days_for_hours),
    "another figure of the plan": alone(neighbouring_fact),
    "a lost not": alone(lost_not),
    "another stack than the cards'": alone(another_stack),
    "another disagreement": alone(another_conflict),
    "an override dropped": alone(lambda rule, _: replace(rule, overrides=()) if rule.overrides else None, tests=True),
    "the last row first": last_row_first,
    "a comparison turned round": alone(turned_comparison, tests=True),
    "hundredths for points": alone(lambda rule, _: with_points(rule, 0.01)),
}


def seeded(seed: int, each: int) -> Iterator[Seeded]:
    """Each mistake and what finds it."""
    advisor = load_advisor()
    _, rules = shuffled(advisor, seed)
    return seeded_in_rules(advisor, drawn(KINDS, rules, advisor, each))
