"""A decision's trace, indexed: which entry settled what, which rule said what, and which plans it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


Entry = Mapping[str, Any]
PlanDict = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The trace of one decision, for look-ups in every direction."""

    decision: Mapping[str, Any]
    by_seq: Mapping[int, Entry]
    by_rule: Mapping[str, tuple[Entry, ...]]
    by_scope: Mapping[str, tuple[Entry, ...]]
    plans: Mapping[str, PlanDict]  # by plan id, the recommendation first

    def producer(self, fact: str, scope: str = "workload") -> Entry | None:
        """The entry that settled a fact: for the workload where it is one of its facts, else in the scope."""
        known = self.decision["facts"].get(fact)
        if known is not None and isinstance(known["seq"], int):
            return self.by_seq.get(known["seq"])
        for entry in self.by_scope.get(scope, ()):
            if fact in entry["effects"] and entry["kind"] not in ("scored", "rejected", "advised"):
                return entry
        return None

    def of_kind(self, scope: str, kind: str) -> tuple[Entry, ...]:
        """The entries of one kind about one plan, or about the workload."""
        return tuple(entry for entry in self.by_scope.get(scope, ()) if entry["kind"] == kind)

    def rejections(self, gpu: str) -> tuple[Entry, ...]:
        """The entries that reject plans of a GPU."""
        found = [entry for entry in self.by_seq.values() if entry["kind"] == "rejected"]
        return tuple(entry for entry in found if entry["effects"].get("gpu") == gpu)

    @property
    def chosen(self) -> str | None:
        """The id of the recommended plan."""
        plan = self.decision["recommendation"]
        return plan_id(plan) if plan else None


def plan_id(plan: PlanDict) -> str:
    """The scope under which the trace holds a plan: ``<gpu id>x<count>``, with its split where that is unusual."""
    return str(plan.get("id") or f"{plan['gpu']}x{plan['count']}")


def gather(decision: Mapping[str, Any]) -> Evidence:
    """Index a decision that has the shape of the contract."""
    by_rule: dict[str, list[Entry]] = {}
    by_scope: dict[str, list[Entry]] = {}
    for entry in decision["trace"]:
        by_scope.setdefault(entry["scope"], []).append(entry)
        if entry.get("rule"):
            by_rule.setdefault(entry["rule"], []).append(entry)
    shown = [decision["recommendation"], *decision["alternatives"]]
    shown += [candidate["plan"] for candidate in decision["candidates"]]
    plans: dict[str, PlanDict] = {}
    for plan in shown:
        if plan:
            plans.setdefault(plan_id(plan), plan)
    return Evidence(
        decision=decision,
        by_seq={entry["seq"]: entry for entry in decision["trace"]},
        by_rule={rule: tuple(entries) for rule, entries in by_rule.items()},
        by_scope={scope: tuple(entries) for scope, entries in by_scope.items()},
        plans=plans,
    )
