"""What rules override: names of tables become their rows, and nothing may override in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from whichgpu.engine.core import ScalarNode
from whichgpu.engine.rules.rulebook.model import Rule, Table
from whichgpu.engine.rules.rulebook.order import shortest_circle
from whichgpu.engine.rules.rulebook.reading import Context


def check_overrides(rules: Iterable[Rule], tables: Iterable[Table], context: Context) -> list[Rule]:
    """The rules with names of tables in ``overrides`` replaced by the tables' rows. Wrong names are problems."""
    by_id = {rule.id: rule for rule in rules}
    rows = {table.id: table.rows for table in tables}
    for owner, name in context.overrides:
        if owner in by_id:
            _check_name(by_id[owner], name, by_id, rows, context)
    expanded = {
        rule.id: replace(rule, overrides=_expand(rule, rows)) if any(name in rows for name in rule.overrides) else rule
        for rule in by_id.values()
    }
    reported: set[str] = set()
    below = {rule.id: [name for name in rule.overrides if name != rule.id] for rule in expanded.values()}
    for first in sorted(expanded.values(), key=lambda rule: rule.id):
        circle = None if first.id in reported else shortest_circle(first.id, below)
        if circle is None:
            continue
        reported.update(circle)
        message = f"these rules override each other in a circle: {' -> '.join(circle)}"
        context.add("override-circle", message, first.place, fix="drop the override of the more general rule")
    return list(expanded.values())


def _check_name(
    rule: Rule, name: ScalarNode, by_id: Mapping[str, Rule], rows: Mapping[str, tuple[str, ...]], context: Context
) -> None:
    targets = [by_id[row] for row in rows.get(name.text, (name.text,)) if row in by_id]
    if name.text not in context.places:
        message = f"{rule.id} overrides {name.text!r}, which no rule is called"
        context.unknown("unknown-rule", message, name, context.places, fix="name a rule or table of the rulebook")
    elif name.text in {rule.id, rule.table}:
        context.add("unknown-rule", f"{rule.id} overrides itself", name, fix="name another rule")
    for other in targets:
        if (other.stage, other.each) != (rule.stage, rule.each) and other.id != rule.id:
            both = [f"{each.id} ({each.stage}, each: {each.each})" for each in (rule, other)]
            fix = "override a rule of the same stage and scope"
            context.add("unmet-override", " never meets ".join(both), name, fix=fix)
            break


def without_removed(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, each overriding only what is there: a layer may have disabled or replaced the rest."""
    by_id = {rule.id: rule for rule in rules}
    return [
        rule
        if by_id.keys() >= set(rule.overrides)
        else replace(rule, overrides=tuple(name for name in rule.overrides if name in by_id))
        for rule in by_id.values()
    ]


def _expand(rule: Rule, rows: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    names = {other for name in rule.overrides for other in rows.get(name, (name,))}
    return tuple(sorted(names - {rule.id}))
