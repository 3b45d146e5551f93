"""What two decisions differ in, as values, and what each rule did otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.explain.evidence import Evidence, gather
from whichgpu.engine.records import plan_id


CauseKind = Literal["fact", "rule", "knowledge", "price", "objective", "engine", "time"]


class Change(Struct, frozen=True):
    """One thing that differs; None where one side has nothing of the kind."""

    what: str
    before: Any
    after: Any


class RuleChange(Struct, frozen=True):
    """A rule that fired on one side only, or did something else; ``where`` is the plan, else the workload."""

    rule: str
    where: str
    before: str
    after: str
    of_itself: bool  # it met the same values on both sides, so the rule itself was changed


class Cause(Struct, frozen=True):
    """What is behind a difference."""

    kind: CauseKind
    what: str
    says: str


class Comparison(Struct, frozen=True):
    """Everything that differs between two decisions, the answer first."""

    answer: tuple[Change, ...]  # GPU, count, links, procurement verdict, or whether there is an answer
    figures: tuple[Change, ...]  # memory, speed, cost, score of the recommended plans
    facts: tuple[Change, ...]
    fired_before: tuple[str, ...]  # rules that fired before only
    fired_after: tuple[str, ...]
    rules: tuple[RuleChange, ...]
    rejected: tuple[Change, ...]  # GPUs: by which rules before and after
    remarks: tuple[Change, ...]  # codes of warnings and advice on one side only
    causes: tuple[Cause, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs that either decision says."""
        return not any((self.answer, self.figures, self.facts, self.rules, self.rejected, self.remarks, self.causes))


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The names whose values differ, in the order of the first side."""
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        Change(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    )


def shown(value: Any) -> str:
    """A value of a record in a few words."""
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {item}" for name, item in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _effects_by_rule(decision: Mapping[str, Any]) -> dict[tuple[str, str], list[Any]]:
    """What each rule did where, on which conditions; what differs only in the values it met is the same."""
    found: dict[tuple[str, str], list[Any]] = {}
    shown = {plan_id(plan) for plan in (decision["recommendation"], *decision["alternatives"]) if plan}
    for entry in decision["trace"]:
        where = entry["scope"] if entry["scope"] in shown else "workload"
        if entry["kind"] == "rejected":
            where = f"{entry['effects'].get('gpu')} (rejected)"
        if entry.get("rule"):
            found.setdefault((entry["rule"], where), []).append(entry)
    return found


def rule_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[RuleChange, ...]:
    """Rules that do something else, or are judged otherwise; on plans, those that both decisions show."""
    old, new = _effects_by_rule(before), _effects_by_rule(after)
    sides = gather(before), gather(after)
    judged = [{entry["id"]: entry for entry in decision["rules"]} for decision in (before, after)]
    one_sided = sides[0].plans.keys() ^ sides[1].plans.keys()
    changes = []
    for key in sorted({*old, *new}):
        rule, where = key
        if where in one_sided:
            continue
        one = _does(old[key]) if key in old else _idle(judged[0].get(rule), where, sides[0].chosen)
        two = _does(new[key]) if key in new else _idle(judged[1].get(rule), where, sides[1].chosen)
        if one != two:
            met = (old[key], sides[1]) if key in old else (new[key], sides[0])
            changes.append(RuleChange(rule, where, one, two, _met_the_same(*met)))
    listed = {change.rule for change in changes}
    for rule in sorted(judged[0].keys() | judged[1].keys()):
        one, two = _verdict(judged[0].get(rule)), _verdict(judged[1].get(rule))
        if rule not in listed and one != two:
            absent = rule not in judged[0] or rule not in judged[1]
            changes.append(RuleChange(rule, "workload", one, two, absent))
    return tuple(changes)


def _idle(entry: Mapping[str, Any] | None, where: str, chosen: str | None) -> str:
    """What is said of a rule that did nothing there; its verdict holds for the workload and the chosen plan alone."""
    if entry is None or where in ("workload", chosen):
        return _verdict(entry)
    return "does nothing"


def _met_the_same(entries: list[Any], other: Evidence) -> bool:
    """Whether the other decision has the same values for all that these entries of a rule read."""
    for entry in entries:
        for item in entry["matched"]:
            by = other.producer(item["fact"], entry["scope"])
            if (by["effects"].get(item["fact"]) if by else None) != item["value"]:
                return False
    return True


def _does(entries: list[Any]) -> str:
    parts = []
    for entry in entries:
        effects = entry["effects"]
        match entry["kind"]:
            case "scored":
                counted = "" if effects.get("counted", True) else " (a stronger one counts)"
                parts.append(f"{effects['points']:+g} for {effects['reason']}{counted}")
            case "rejected":
                counts = ", ".join(map(str, dict.fromkeys(effects.get("counts", ()))))  # One for all splits.
                parts.append(f"rejects x {counts}")
            case "advised":
                parts.append("; ".join(f"{key} {shown(value)}" for key, value in sorted(effects.items())))
            case _:
                parts.append("sets " + ", ".join(f"{name} = {shown(value)}" for name, value in sorted(effects.items())))
    return "; ".join(parts)


def _verdict(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "no such rule"
    match entry["verdict"]:
        case "not_fired":
            return f"does not fire, as {entry.get('failed')} is false"
        case "undecided":
            return f"undecided without {', '.join(entry.get('missing', ()))}"
        case "overridden":
            return f"overridden by {entry.get('by')}"
        case _:
            return "fires"
