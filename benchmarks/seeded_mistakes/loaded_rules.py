"""Mistakes made in rules once they are loaded: a rule with a changed line, or others in its place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from whichgpu import Advisor
from whichgpu.engine.authoring import RuleTestFacts
from whichgpu.engine.rules import Compare, Condition, Const, Expr, FactRef, Points, Rule, facts_read, written

from .judging import Found, Seeded, looked_for, said


#: From a rule to one with a mistake in it; None: the mistake finds no place there.
Change = Callable[[Rule, Advisor], Rule | None]
#: The rules that stand in the place of some (by id); none for one left out.
Instead = dict[str, tuple[Rule, ...]]
Exchange = Callable[[Rule, Advisor], Instead | None]


def reading(rule: Rule) -> Rule:
    """The rule with the facts that its lines read now."""
    names = (name for condition in rule.when for name in facts_read(condition.expr))
    return replace(rule, reads=frozenset(names))


def with_line(rule: Rule, at: int, expr: Expr) -> Rule:
    """The rule with another condition in that place."""
    condition = replace(rule.when[at], expr=expr, text=written(expr))
    return reading(replace(rule, when=(*rule.when[:at], condition, *rule.when[at + 1 :])))


def with_further_line(rule: Rule, expr: Expr) -> Rule:
    """The rule with one more condition."""
    return reading(replace(rule, when=(*rule.when, Condition(expr, written(expr), rule.place))))


def with_effect(rule: Rule, at: int, effect: Any) -> Rule:
    """The rule with another effect in that place."""
    return replace(rule, effects=(*rule.effects[:at], effect, *rule.effects[at + 1 :]))


def with_points(rule: Rule, factor: float) -> Rule | None:
    """The rule with its points times a factor."""
    if not any(isinstance(effect, Points) for effect in rule.effects):
        return None
    effects = (replace(e, points=e.points * factor) if isinstance(e, Points) else e for e in rule.effects)
    return replace(rule, effects=tuple(effects))


def comparisons(rule: Rule) -> Iterator[tuple[int, Any]]:
    """The lines that compare one fact with a number above 0."""
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if isinstance(expr, Compare) and isinstance(expr.left, FactRef) and isinstance(expr.right, Const):
            value = expr.right.value
            yield from [(at, expr)] if not isinstance(value, str | bool) and value > 0 else []


def alone(change: Change, *, tests: bool = False) -> Exchange:
    """The changed rule in the place of the old one; with its tests, or as one just written, which has none."""

    def exchange(rule: Rule, advisor: Advisor) -> Instead | None:
        made = change(rule, advisor)
        return made and {rule.id: (made if tests else replace(made, tests=()),)}

    return exchange


def drawn(
    kinds: dict[str, Exchange], rules: Iterable[Rule], advisor: Advisor, each: int
) -> Iterator[tuple[str, str, Instead]]:
    """So many of every kind, in the first rules that have a place for it: kind, rule and what stands instead."""
    for kind, exchange in kinds.items():
        made = ((kind, rule.id, exchange(rule, advisor)) for rule in rules)
        yield from islice(((kind, name, instead) for kind, name, instead in made if instead is not None), each)


def shuffled(advisor: Advisor, seed: int) -> tuple[random.Random, list[Rule]]:
    """The rules in an order drawn with the seed, and the generator that drew it."""
    chance, rules = random.Random(seed), list(advisor.rulebook.rules)
    chance.shuffle(rules)
    return chance, rules


def seeded_in_rules(advisor: Advisor, mistakes: Iterable[tuple[str, str, Instead]]) -> Iterator[Seeded]:
    """Each mistake and what finds it."""
    facts_for, before, book = RuleTestFacts(advisor).facts_for, frozenset(said(advisor)), advisor.rulebook

    def found(instead: Instead) -> Found:
        gone = {name for name, new in instead.items() if not new}
        rules = tuple(new for old in book.rules for new in instead.get(old.id, (old,)))
        tables = tuple(
            replace(table, rows=tuple(row for row in table.rows if row not in gone)) for table in book.tables
        )
        changed = replace(advisor, rulebook=replace(book, rules=rules, tables=tables))
        return looked_for(lambda: changed, before, tested=() if gone else tuple(instead), facts_for=facts_for)

    for kind, where, instead in mistakes:
        yield Seeded(kind, where, (found(instead),))
