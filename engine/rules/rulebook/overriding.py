"""Checking ``overrides`` once all rules are known: they name rules that can meet, and never run in a circle."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import replace

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Table
from whichgpu.engine.rules.rulebook.raw_rule import Context


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
    for circle in _circles(expanded):
        first = expanded[circle[0]]
        context.problems.add(
            "override-circle",
            f"these rules override each other in a circle: {' -> '.join(circle)}",
            first.place,
            fix="drop the override of the more general rule",
        )
    return list(expanded.values())


def _check_name(
    rule: Rule, name: Scalar, by_id: Mapping[str, Rule], rows: Mapping[str, tuple[str, ...]], context: Context
) -> None:
    targets = [by_id[row] for row in rows.get(name.text, (name.text,)) if row in by_id]
    if name.text not in context.places:
        nearest = nearest_words(name.text, sorted(context.places), limit=1)
        fix = None if nearest else "name a rule or table of the rulebook"
        context.problems.add(
            "unknown-rule",
            f"{rule.id} overrides {name.text!r}, which no rule is called",
            name,
            nearest=nearest,
            fix=fix,
        )
    elif name.text in {rule.id, rule.table}:
        context.problems.add("unknown-rule", f"{rule.id} overrides itself", name, fix="name another rule")
    for other in targets:
        if (other.stage, other.each) != (rule.stage, rule.each) and other.id != rule.id:
            context.problems.add(
                "unmet-override",
                f"{rule.id} ({rule.stage}, each: {rule.each}) never meets "
                f"{other.id} ({other.stage}, each: {other.each})",
                name,
                fix="override a rule of the same stage and scope",
            )
            break


def without_removed(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, each overriding only what is there: a layer may have disabled or replaced the rest."""
    rules = tuple(rules)
    ids = {rule.id for rule in rules}
    return [
        rule
        if ids.issuperset(rule.overrides)
        else replace(rule, overrides=tuple(name for name in rule.overrides if name in ids))
        for rule in rules
    ]


def _expand(rule: Rule, rows: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    names = {other for name in rule.overrides for other in rows.get(name, (name,))}
    return tuple(sorted(names - {rule.id}))


def _circles(rules: Mapping[str, Rule]) -> list[list[str]]:
    """One circle for each group of rules that override each other, starting at its smallest id."""
    circles: list[list[str]] = []
    done: set[str] = set()
    for start in sorted(rules):
        if start in done:
            continue
        path = _path_back(start, rules)
        if path:
            circles.append(path)
            done.update(path)
    return circles


def _path_back(start: str, rules: Mapping[str, Rule]) -> list[str] | None:
    """The shortest way from ``start`` along overrides back to it."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        longer: list[list[str]] = []
        for path in paths:
            for name in rules[path[-1]].overrides:
                if name == start and path[-1] != start:
                    return [*path, start]
                if name in rules and name not in seen and name != start:
                    seen.add(name)
                    longer.append([*path, name])
        paths = longer
    return None
