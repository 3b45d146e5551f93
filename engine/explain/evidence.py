"""A decision's trace, indexed, and whether all that the decision says walks back through it to an input or a source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import KnowledgeError
from whichgpu.engine.records import plan_id


TraceEntry = Mapping[str, Any]
PlanDict = Mapping[str, Any]


class Evidence(Struct, frozen=True):
    """The trace of one decision, for look-ups in every direction."""

    decision: Mapping[str, Any]
    by_seq: Mapping[int, TraceEntry]
    by_rule: Mapping[str, tuple[TraceEntry, ...]]
    by_scope: Mapping[str, tuple[TraceEntry, ...]]
    plans: Mapping[str, PlanDict]  # by plan id, the recommendation first
    lines: tuple[Mapping[str, Any], ...] = ()  # of all plans that were evaluated, where a record states them

    def producer(self, fact: str, scope: str = "workload") -> TraceEntry | None:
        """The entry that resolved a fact: for the workload where it is one of its facts, else in the scope."""
        known = self.decision["facts"].get(fact)
        if known is not None and isinstance(known["seq"], int):
            return self.by_seq.get(known["seq"])
        for entry in self.by_scope.get(scope, ()):
            if fact in entry["effects"] and entry["kind"] not in ("scored", "rejected", "advised"):
                return entry
        return None

    def of_kind(self, scope: str, kind: str) -> tuple[TraceEntry, ...]:
        """The entries of one kind about one plan, or about the workload."""
        return tuple(entry for entry in self.by_scope.get(scope, ()) if entry["kind"] == kind)

    def rejections(self, gpu: str) -> tuple[TraceEntry, ...]:
        """The entries that reject plans of a GPU."""
        rejected = (entry for entry in self.by_seq.values() if entry["kind"] == "rejected")
        return tuple(entry for entry in rejected if entry["effects"].get("gpu") == gpu)

    @property
    def chosen(self) -> str | None:
        """The id of the recommended plan."""
        plan = self.decision["recommendation"]
        return plan_id(plan) if plan else None


def gather(decision: Mapping[str, Any], lines: Iterable[Mapping[str, Any]] = ()) -> Evidence:
    """Index a decision that has the shape of the contract, with the lines of all plans that were evaluated."""
    by_rule: dict[str, list[TraceEntry]] = {}
    by_scope: dict[str, list[TraceEntry]] = {}
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
        lines=tuple(lines),
    )


#: Figures are recorded at six significant digits, and sums of them are a little off.
_TOLERANCE = 1e-4


def ungrounded(evidence: Evidence) -> list[str]:
    """What does not trace back, in words; empty when everything does."""
    grounded = grounded_entries(evidence)
    found = [*_bad_entries(evidence, grounded), *_facts(evidence, grounded)]
    for scope, plan in evidence.plans.items():
        found += _plan(evidence, scope, plan)
    return [*found, *_rejections(evidence), *_remarks(evidence), *_candidates(evidence), *_other_claims(evidence)]


def grounded_entries(evidence: Evidence) -> frozenset[int]:
    """The entries that end in something given, assumed for a stated reason, or said by a source."""
    grounded: set[int] = set()
    for seq, entry in sorted(evidence.by_seq.items()):
        known = [item for item in entry["matched"] if item["value"] is not None]
        match entry["kind"]:
            case "given":
                ground = True
            case "assumed":
                ground = bool(entry.get("because"))
            case _:  # What a rule read must come with the entry that it came from.
                traced = not entry.get("rule") or all(isinstance(item["seq"], int) for item in known)
                ground = bool(entry["sources"]) and traced
        # Without a source of its own: all that it was made from must be grounded already, so it is earlier.
        if ground or (known and all(item["seq"] in grounded for item in known)):
            grounded.add(seq)
    return frozenset(grounded)


def _bad_entries(evidence: Evidence, grounded: frozenset[int]) -> Iterator[str]:
    for seq, entry in sorted(evidence.by_seq.items()):
        for item in entry["matched"]:
            if isinstance(item["seq"], int) and not (item["seq"] in evidence.by_seq and item["seq"] < seq):
                yield f"entry {seq} rests on entry {item['seq']}, which does not come before it"
        if entry.get("rule") and not entry["sources"]:
            yield f"entry {seq}: rule {entry['rule']} names no source"
        if seq not in grounded:
            yield f"entry {seq} ({', '.join(map(str, entry['effects']))}) ends in no input and no source"


def _facts(evidence: Evidence, grounded: frozenset[int]) -> Iterator[str]:
    for name, fact in sorted(evidence.decision["facts"].items()):
        entry = evidence.by_seq.get(fact["seq"]) if isinstance(fact["seq"], int) else None
        if entry is None or name not in entry["effects"]:
            yield f"fact {name}: no entry of the trace gives it"
        elif entry["effects"][name] != fact["value"] or entry["kind"] != fact["origin"]:
            yield f"fact {name}: the trace says {entry['effects'][name]} ({entry['kind']})"
        elif fact["seq"] not in grounded:
            yield f"fact {name} ends in no input and no source"


def _plan(evidence: Evidence, scope: str, plan: PlanDict) -> Iterator[str]:
    figures: dict[str, Any] = {}
    for entry in evidence.by_scope.get(scope, ()):
        if entry["kind"] in ("computed", "looked_up"):
            for name, value in entry["effects"].items():
                # Several terms may be parts of one: states of an optimizer, and the copy of the weights that it steps.
                figures[name] = value + figures.get(name, 0.0) if name.startswith("memory.") else value
    for name, value in _figures_of(plan):
        traced = figures.get(name)
        if value is not None and (traced is None or not _same(traced, value)):
            yield f"{scope}: {name} = {value} is not in the trace"
    yield from _points(evidence, scope, plan)


_COSTS = (
    "usd_per_hour",
    "usd_per_month",
    "usd_per_1m_tokens",
    "usd_per_1k_samples",
    "usd_per_run",
    "rented_usd_per_hour",
)


def _figures_of(plan: PlanDict) -> Iterator[tuple[str, Any]]:
    memory = plan["memory"]
    if memory:
        for name, value in memory["breakdown"].items():
            yield f"memory.{name}", value
        of_a_plan = ("needed_gb", "per_gpu_gb", "allocated_gb", "low_gb", "high_gb", "headroom_pct")
        for name in (*of_a_plan, "available_per_gpu_gb"):
            yield f"plan.{name}", memory[name]
    for name, value in plan["speed"].items():
        if not name.endswith(("_low", "_high")):
            yield f"speed.{name}", value
    for name in _COSTS:
        yield f"plan.{name}", plan["cost"].get(name)  # Records of earlier versions have fewer of them.
    yield "plan.count", plan["count"]
    yield "plan.power_w", plan["power_w"]


def _points(evidence: Evidence, scope: str, plan: PlanDict) -> Iterator[str]:
    if plan["score"] is None:
        return
    scored = {
        (e.get("rule"), e["effects"]["reason"], e["effects"]["points"]) for e in evidence.of_kind(scope, "scored")
    }
    for entry in plan["points"]:
        if (entry["rule"], entry["reason"], entry["points"]) not in scored:
            yield f"{scope}: {entry['points']} points of {entry['rule'] or entry['reason']} are not in the trace"
    total = math.fsum(entry["points"] for entry in plan["points"] if entry.get("counted", True))
    if not _same(total, plan["score"]):
        yield f"{scope}: the points add up to {total:.6g}, and the score is {plan['score']}"


def _rejections(evidence: Evidence) -> Iterator[str]:
    for entry in evidence.decision["rejected"]:
        if entry["rule"] is None:
            continue  # Passed over by the choice, not rejected by a rule.
        recorded = [e for e in evidence.rejections(entry["gpu"]) if e["rule"] == entry["rule"]]
        if not any(e["effects"].get("counts") == entry["counts"] and e["matched"] and e["sources"] for e in recorded):
            yield f"{entry['gpu']}: the rejection by {entry['rule']} is not in the trace"


def _remarks(evidence: Evidence) -> Iterator[str]:
    decision = evidence.decision
    for key, effect in (("warnings", "warn"), ("advice", "advise"), ("monitoring", "monitor")):
        for remark in decision[key]:
            rule = remark["rule"]
            if rule is None:
                if not remark["sources"]:
                    yield f"{remark['code']} has neither a rule nor a source"
                continue
            said = [e for e in evidence.by_rule.get(rule, ()) if remark["code"] in e["effects"].get(effect, ())]
            if not said:
                yield f"{remark['code']}: the trace does not show rule {rule} saying so"
    for rule in decision["procurement"].get("rules", ()):
        if not any("procurement" in e["effects"].get("set", {}) for e in evidence.by_rule.get(rule, ())):
            yield f"procurement: the trace does not show rule {rule} setting it"


def _candidates(evidence: Evidence) -> Iterator[str]:
    verdicts = {entry["id"] for entry in evidence.decision["rules"]}
    for candidate in evidence.decision["candidates"]:
        if not candidate["reason"]:
            yield f"{candidate['gpu']} is {candidate['verdict']} without a reason"
        if candidate["rule"] is not None and candidate["rule"] not in verdicts:
            yield f"{candidate['gpu']}: rule {candidate['rule']} has no verdict in this decision"


def _other_claims(evidence: Evidence) -> Iterator[str]:
    decision = evidence.decision
    for name, figure in decision["figures"].items():
        if not any(figure["sources"]):
            yield f"figure {name} names no source"
    for conflict in decision["disagreements"]:
        if not conflict["positions"] or not all(position["source"] for position in conflict["positions"]):
            yield f"disagreement {conflict['id']} does not say who says what"
    for assumption in decision["assumptions"]:
        if not assumption.get("because"):
            yield f"{assumption['fact']} is assumed without a reason"
    own = _phase_of(decision["facts"].get("task"))
    for phase in decision["phases"]:
        plan, chosen = phase["recommendation"], decision["recommendation"]
        # The recommendation says more than a phase does, such as what it was chosen over. On the same cards the other
        # phase is another plan.
        same = plan and phase["phase"] == own and plan_id(plan) == evidence.chosen
        if same and any(chosen.get(key) != plan[key] for key in plan):
            yield f"phase {phase['phase']}: its plan is not the one recommended under the same name"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(one == other)


def _phase_of(task: Mapping[str, Any] | None) -> str | None:
    """The phase that a decision itself is about; None where a record names no task that is known."""
    try:
        return ("serving" if profile_of(str(task["value"])).serves else "training") if task else None
    except KnowledgeError:
        return None
