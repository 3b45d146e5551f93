"""Rules as JSON values, and what to say of a name that no rule has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whichgpu import Advisor
from whichgpu.cli.render.figures import number
from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.rules import Rule


def rule_names(advisor: Advisor) -> set[str]:
    """The ids of all rules and tables."""
    return {rule.id for rule in advisor.rulebook.rules} | {table.id for table in advisor.rulebook.tables}


def unknown_rule(advisor: Advisor, name: str) -> Problem:
    """The problem of a name that no rule or table has."""
    nearest = nearest_words(name, sorted(rule_names(advisor)))
    return Problem("unknown-rule", f"there is no rule {name!r}", nearest=nearest, fix="whichgpu rules list names them")


def check_rule_names(advisor: Advisor, names: Iterable[str]) -> None:
    """Raise InputError for every name that no rule or table has."""
    known = rule_names(advisor)
    problems = [unknown_rule(advisor, name) for name in names if name not in known]
    if problems:
        raise InputError(problems)


def brief_rule(rule: Rule) -> dict[str, Any]:
    """A rule as a list shows it."""
    return {
        "id": rule.id,
        "title": rule.title,
        "topic": rule.topic,
        "stage": rule.stage,
        "each": rule.each,
        "status": rule.status,
        "tests": len(rule.tests),
        "sources": list(rule.sources),
        "encodes": list(rule.encodes),
        "layer": rule.layer,
        "place": str(rule.place) if rule.place else None,
    }


def full_rule(rule: Rule) -> dict[str, Any]:
    """Everything about a rule."""
    return {
        **brief_rule(rule),
        "table": rule.table,
        "when": [condition.text for condition in rule.when],
        "then": [effect.words(number) for effect in rule.effects],
        "text": rule.text,
        "because": rule.because,
        "overrides": list(rule.overrides),
        "replaces": rule.replaces,
        "valid_until": rule.valid_until,
        **rule.responsible.stated(),
        "reads": sorted(rule.reads),
        "writes": sorted(rule.writes),
    }
