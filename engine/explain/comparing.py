"""Two decisions side by side: what the answer is, what differs, and which rule, fact or price is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.explain.differences import (
    Cause,
    CauseKind,
    Change,
    Comparison,
    RuleChange,
    changes_between,
    rule_changes,
    shown,
)
from whichgpu.engine.records import plan_id


_PLAN_PARTS = ("gpu", "count", "nodes", "link", "node_link", "precision")


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Compare two decisions that have the shape of the contract."""
    facts = changes_between(_fact_values(before), _fact_values(after))
    rules = rule_changes(before, after)
    fired = [{entry["id"] for entry in d["rules"] if entry["verdict"] == "fired"} for d in (before, after)]
    return Comparison(
        answer=changes_between(_answer(before), _answer(after)),
        figures=changes_between(_figures(before), _figures(after)),
        facts=facts,
        fired_before=tuple(sorted(fired[0] - fired[1])),
        fired_after=tuple(sorted(fired[1] - fired[0])),
        rules=rules,
        rejected=changes_between(_rejected(before), _rejected(after)),
        remarks=changes_between(_remarks(before), _remarks(after)),
        causes=causes_of(before, after, facts, rules),
    )


def _answer(decision: Mapping[str, Any]) -> dict[str, Any]:
    plan = decision["recommendation"]
    said: dict[str, Any] = {"recommendation": plan_id(plan) if plan else None}
    said |= {name: plan[name] for name in _PLAN_PARTS} if plan else {}
    if decision["no_answer"]:
        said["no answer"] = decision["no_answer"]["kind"]
    said["procurement"] = decision["procurement"]["verdict"]
    return said


def _figures(decision: Mapping[str, Any]) -> dict[str, Any]:
    plan = decision["recommendation"]
    if not plan:
        return {}
    memory = plan["memory"] or {}
    sums = ("needed_gb", "per_gpu_gb", "available_per_gpu_gb", "headroom_pct")
    found: dict[str, Any] = {f"plan.{name}": memory.get(name) for name in sums}
    found |= {f"memory.{name}": value for name, value in sorted(memory.get("breakdown", {}).items())}
    speed = {name: value for name, value in plan["speed"].items() if not name.endswith(("_low", "_high"))}
    found |= {f"speed.{name}": value for name, value in sorted(speed.items())}
    found |= {
        f"cost.{name}": value for name, value in plan["cost"].items() if name.startswith("usd_") and value is not None
    }
    found["plan.power_w"] = plan["power_w"]
    found["score"] = plan["score"]
    return found


def _fact_values(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that are not computed from others: those say what else is different, the rest follows."""
    return {
        name: fact["value"]
        for name, fact in sorted(decision["facts"].items())
        if fact["origin"] in ("given", "looked_up", "assumed")
    }


def _rejected(decision: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for entry in decision["rejected"]:
        if entry["rule"] is not None:
            counts = "/".join(map(str, dict.fromkeys(entry["counts"])))
            found.setdefault(entry["gpu"], []).append(f"{entry['rule']} (x {counts})")
    return {gpu: "; ".join(sorted(rules)) for gpu, rules in sorted(found.items())}


def _remarks(decision: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["code"]: entry["rule"] or "stated" for key in ("warnings", "advice") for entry in decision[key]}


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
        says = f"decided on {days[0]}, and then on {days[1]}; prices are judged by their age"
        causes.append(Cause("time", "day", says))
    same_ground = before["rulebook"]["digest"] == after["rulebook"]["digest"] and not facts
    versions = before["engine_version"], after["engine_version"]
    if same_ground and versions[0] != versions[1] and before["recommendation"] != after["recommendation"]:
        causes.append(Cause("engine", "engine version", f"version {versions[0]} became {versions[1]}"))
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
    one_sided = known[0] ^ known[1]
    changed = [change for change in rules if change.of_itself and change.rule not in one_sided]
    causes += [Cause("rule", c.rule, f"on {c.where}: {c.before}, now {c.after}") for c in changed]
    return causes or [Cause("rule", "rulebook", "its digest differs, in nothing that either decision shows")]


def _acts(rule: str, rules: tuple[RuleChange, ...]) -> bool:
    """Whether a rule that one side lacks did anything on the other."""
    silent = ("no such rule", "does not fire", "undecided", "does nothing", "overridden")
    return any(
        not said.startswith(silent) for change in rules if change.rule == rule for said in (change.before, change.after)
    )


def _knowledge_causes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Cause]:
    """Which GPU data and which prices changed, over the plans that both decisions show."""
    old, new = _shown_plans(before), _shown_plans(after)
    offers = ((name, _offer(old[name]), _offer(new[name])) for name in sorted(old.keys() & new.keys()))
    causes = [Cause("price", name, f"{one} became {two}") for name, one, two in offers if one != two]
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
    found: dict[str, dict[str, Any]] = {plan: {} for plan in _shown_plans(decision)}
    for entry in decision["trace"]:
        if entry.get("calculator") == "knowledge.gpus" and entry["scope"] in found:
            found[entry["scope"]] |= entry["effects"]
    return found
