"""Two decisions side by side: what the answer is, what differs, and which rule, fact or price is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.explain.causes import causes_of
from whichgpu.engine.explain.comparison import Comparison
from whichgpu.engine.explain.comparison import changes_between
from whichgpu.engine.explain.evidence import plan_id
from whichgpu.engine.explain.rule_effects import rule_changes


_PLAN_PARTS = ("gpu", "count", "nodes", "link", "node_link", "precision")


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Compare two decisions that have the shape of the contract."""
    facts = changes_between(_fact_values(before), _fact_values(after))
    rules = rule_changes(before, after)
    fired = [{entry["id"] for entry in d["rules"] if entry["verdict"] == "fired"} for d in (before, after)]
    figures = changes_between(_figures(before), _figures(after))
    return Comparison(
        answer=changes_between(_answer(before), _answer(after)),
        figures=figures,
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
    found: dict[str, Any] = {}
    memory = plan["memory"] or {}
    for name in ("needed_gb", "per_gpu_gb", "available_per_gpu_gb", "headroom_pct"):
        found[f"plan.{name}"] = memory.get(name)
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
    """Facts that are not worked out from others: those say what else is different, the rest follows."""
    return {
        name: fact["value"]
        for name, fact in sorted(decision["facts"].items())
        if fact["origin"] in ("given", "looked_up", "assumed")
    }


def _rejected(decision: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for entry in decision["rejected"]:
        if entry["rule"] is None:
            continue
        counts = "/".join(map(str, entry["counts"]))
        found.setdefault(entry["gpu"], []).append(f"{entry['rule']} (x {counts})")
    return {gpu: "; ".join(sorted(rules)) for gpu, rules in sorted(found.items())}


def _remarks(decision: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["code"]: entry["rule"] or "stated" for key in ("warnings", "advice") for entry in decision[key]}
