"""What is behind the differences of two decisions: a fact, a rule, a price, other knowledge, the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.explain.comparison import Cause
from whichgpu.engine.explain.comparison import CauseKind
from whichgpu.engine.explain.comparison import Change
from whichgpu.engine.explain.comparison import RuleChange
from whichgpu.engine.explain.comparison import changes_between
from whichgpu.engine.explain.comparison import shown
from whichgpu.engine.explain.evidence import plan_id


def causes_of(
    before: Mapping[str, Any], after: Mapping[str, Any], facts: tuple[Change, ...], rules: tuple[RuleChange, ...]
) -> tuple[Cause, ...]:
    """The rule, fact, knowledge or price behind the differences."""
    causes: list[Cause] = []
    origins = before["facts"] | after["facts"]
    for change in facts:
        kind: CauseKind = "knowledge" if origins[change.what]["origin"] == "looked_up" else "fact"
        if change.what == "objective":
            kind = "objective"
        causes.append(Cause(kind, change.what, f"{shown(change.before)} became {shown(change.after)}"))
    if before["objective"] != after["objective"] and all(cause.kind != "objective" for cause in causes):
        causes.append(Cause("objective", "objective", f"{before['objective']} became {after['objective']}"))
    if before["rulebook"]["digest"] != after["rulebook"]["digest"]:
        causes += _rulebook_causes(before, after, rules)
    if before["knowledge"]["digest"] != after["knowledge"]["digest"]:
        causes += _knowledge_causes(before, after)
    days = before["decided_at"][:10], after["decided_at"][:10]
    if rules and days[0] != days[1]:
        causes.append(
            Cause("time", "day", f"decided on {days[0]}, and then on {days[1]}; prices are judged by their age")
        )
    same_ground = before["rulebook"]["digest"] == after["rulebook"]["digest"] and not facts
    if (
        same_ground
        and before["engine_version"] != after["engine_version"]
        and before["recommendation"] != after["recommendation"]
    ):
        says = f"version {before['engine_version']} became {after['engine_version']}"
        causes.append(Cause("engine", "engine version", says))
    return tuple(causes)


def _rulebook_causes(before: Mapping[str, Any], after: Mapping[str, Any], rules: tuple[RuleChange, ...]) -> list[Cause]:
    causes: list[Cause] = []
    known = [{entry["id"] for entry in decision["rules"]} for decision in (before, after)]
    for here, gone, says in ((1, 0, "new in the rulebook"), (0, 1, "gone from the rulebook")):
        listed = sorted(known[here] - known[gone])
        causes += [Cause("rule", rule, f"is {says}") for rule in listed if _acts(rule, rules)]
        idle = [rule for rule in listed if not _acts(rule, rules)]
        if idle:
            causes.append(Cause("rule", f"{len(idle)} rules", f"are {says} and did nothing here"))
    told = known[0] ^ known[1]
    for change in rules:
        if change.of_itself and change.rule not in told:
            says = f"on {change.where}: {change.before}, now {change.after}"
            causes.append(Cause("rule", change.rule, says))
    return causes or [Cause("rule", "rulebook", "its digest differs, in nothing that either decision shows")]


def _acts(rule: str, rules: tuple[RuleChange, ...]) -> bool:
    """Whether a rule that one side lacks did anything on the other."""
    silent = ("no such rule", "does not fire", "undecided", "does nothing", "overridden")
    return any(
        not said.startswith(silent) for change in rules if change.rule == rule for said in (change.before, change.after)
    )


def _knowledge_causes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Cause]:
    """Which GPU data and which prices changed, over the plans that both decisions show."""
    causes: list[Cause] = []
    old, new = _shown_plans(before), _shown_plans(after)
    for name in sorted(old.keys() & new.keys()):
        one, two = _offer(old[name]), _offer(new[name])
        if one != two:
            causes.append(Cause("price", name, f"{one} became {two}"))
    data = [_gpu_data(before), _gpu_data(after)]
    changed: dict[Cause, None] = {}  # Plans of one GPU all show its data; each change is named once.
    for scope in sorted(data[0].keys() & data[1].keys(), key=lambda scope: (old[scope]["gpu"], scope)):
        for change in changes_between(data[0][scope], data[1][scope]):
            says = f"{shown(change.before)} became {shown(change.after)}"
            changed[Cause("knowledge", f"{old[scope]['gpu']} {change.what}", says)] = None
    causes += changed
    dates = before["knowledge"]["prices_as_of"], after["knowledge"]["prices_as_of"]
    if dates[0] != dates[1]:
        causes.append(Cause("price", "price list", f"of {dates[0]}, now of {dates[1]}"))
    return causes or [Cause("knowledge", "knowledge", "its digest differs, in nothing that either decision shows")]


def _shown_plans(decision: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {plan_id(plan): plan for plan in (decision["recommendation"], *decision["alternatives"]) if plan}


def _offer(plan: Mapping[str, Any]) -> str:
    offer, cost = plan["offer"] or {}, plan["cost"]["usd_per_hour"]
    price = "no price" if cost is None else f"${cost:,.6g} an hour"
    by = ", ".join(str(offer[key]) for key in ("provider", "instance", "as_of") if offer.get(key))
    return f"{price} ({by})" if by else price


def _gpu_data(decision: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The data of the GPU of every plan that is shown, by plan."""
    plans = _shown_plans(decision)
    return {
        entry["scope"]: dict(entry["effects"])
        for entry in decision["trace"]
        if entry.get("calculator") == "knowledge.gpus" and entry["scope"] in plans
    }
