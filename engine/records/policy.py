"""Policy checks: the rules of a layer, held against what a record says, from the record alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules import Rule, evaluate, facts_read


class Breach(Struct, frozen=True):
    """A rule that a recorded decision breaks, or of which that cannot be determined without some facts."""

    rule: str
    title: str
    missing: tuple[str, ...] = ()  # facts that the record does not know; none where it breaks the rule


def facts_of_record(decision: Mapping[str, Any]) -> dict[str, Value]:
    """All facts that a record states: of the workload, and of the recommended plan and its GPU."""
    found = {name: _value(fact["value"]) for name, fact in decision["facts"].items() if fact["value"] is not None}
    plan = decision["recommendation"]
    scope = (plan.get("id") or f"{plan['gpu']}x{plan['count']}") if plan else None
    for entry in decision["trace"]:
        if entry["scope"] == scope and entry["kind"] in ("computed", "looked_up", "derived"):
            found |= {name: _value(value) for name, value in entry["effects"].items() if value is not None}
    return found


def breaches(decision: Mapping[str, Any], rules: tuple[Rule, ...]) -> tuple[Breach, ...]:
    """Which of these rules a recorded decision breaks: those that reject its plan, or the workload itself.

    A rule that warns counts like one that rejects; one that only prefers or advises does not.
    """
    facts = facts_of_record(decision)
    found = []
    for rule in rules:
        if not forbids(rule) or (rule.each != "workload" and decision["recommendation"] is None):
            continue
        missing = _missing(rule, facts)
        if missing is not None:
            found.append(Breach(rule.id, rule.title, missing))
    return tuple(found)


def forbids(rule: Rule) -> bool:
    """Whether a rule says that something must not be."""
    return rule.stage == "reject" or any(effect.word == "warn" for effect in rule.effects)


def _missing(rule: Rule, facts: Facts) -> tuple[str, ...] | None:
    """None where the rule does not fire; else the facts without which that cannot be determined, none where it does."""
    missing: set[str] = set()
    for condition in rule.when:
        holds = evaluate(condition.expr, facts)
        if holds is False:
            return None
        if holds is None:
            missing |= {name for name in facts_read(condition.expr) if name not in facts}
    return tuple(sorted(missing))


def _value(value: Any) -> Value:
    return tuple(value) if isinstance(value, list) else value
