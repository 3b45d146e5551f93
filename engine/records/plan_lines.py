"""One line for every plan that was evaluated: its money, speed, memory and score, and what ruled it out or beat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whichgpu.engine.advisor import Decision, Judged, Outcome, PlanRound, loss_of, loss_text
from whichgpu.engine.core import Value, rounded
from whichgpu.engine.plans import PlanTable


#: The figures of a line, as rules read them.
FIGURES = (
    *("usd_per_hour", "usd_per_month", "usd_per_run"),
    *("tokens_per_s", "samples_per_s", "latency_ms", "ttft_ms", "hours"),
    *("per_gpu_gb", "headroom_pct", "smallest_count"),
)


def plan_id(plan: Mapping[str, Any]) -> str:
    """The scope under which a trace holds a plan: ``<gpu id>x<count>``, with its split where that is unusual.

    Records of the first versions state no id of a plan.
    """
    return str(plan.get("id") or f"{plan['gpu']}x{plan['count']}")


def plan_lines(decision: Decision, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines, in the order of the choice, the rejected plans after them.

    Args:
        decision: what was decided.
        answer: the same under the keys of the contract: its words for rejections are taken.
    """
    found = decision.outcome.round
    if found is None:
        return []
    shown = {plan["id"] for plan in answer["alternatives"]}
    lines = [*_surviving(decision, found, shown), *_rejected(found, answer)]
    listed = {line["id"] for line in lines}
    return lines + [
        _line(
            refusal.plan.id,
            refusal.plan.gpu.id,
            refusal.plan.facts,
            "refused",
            "; ".join(f"{p.figure}: {p.why}" for p in refusal.problems),
        )
        for refusal in found.refused
        if refusal.plan.id not in listed
    ]


def _surviving(decision: Decision, found: PlanRound, shown: set[str]) -> Iterator[dict[str, Any]]:
    outcome = decision.outcome
    for entry in found.judged:
        plan = entry.ranked.plan
        standing = "alternative" if plan.id in shown else "outranked"
        if entry is outcome.chosen or (outcome.chosen and plan.id == outcome.chosen.ranked.plan.id):
            standing = "recommended"
        because = "" if standing == "recommended" else _beaten_by(entry, decision, outcome, found)
        yield _line(plan.id, plan.gpu.id, entry.facts, standing, because, count=plan.count, score=entry.ranked.score)


def _beaten_by(entry: Judged, decision: Decision, outcome: Outcome, found: PlanRound) -> str:
    advisor = decision.advisor
    loss = loss_of(entry, outcome.chosen, found.judged)
    if loss is None:
        return "it stands level with the answer"
    return loss_text(loss, entry, outcome.objective, advisor.rules, outcome.final.facts, advisor.vocabulary)


def _rejected(found: PlanRound, answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    said = {(entry["gpu"], entry["rule"]): entry["reason"] for entry in answer["rejected"]}
    for row, (name, gpu, rules) in enumerate(
        zip(found.rejected.ids, found.rejected.gpus, found.rejected_by, strict=True)
    ):
        because = "; ".join(dict.fromkeys(said.get((gpu.id, rule.id)) or rule.title for rule in rules))
        facts = _facts(found.rejected, row)
        yield _line(name, gpu.id, facts, "rejected", because, rules=[rule.id for rule in rules])


def _facts(table: PlanTable, row: int) -> dict[str, Value | None]:
    columns = {name: table.facts.column(f"plan.{name}") for name in (*FIGURES, "count")}
    return {f"plan.{name}": column.at(row) for name, column in columns.items() if column is not None}


def _line(
    name: str,
    gpu: str,
    facts: Mapping[str, Any],
    standing: str,
    because: str,
    *,
    count: int | None = None,
    score: float | None = None,
    rules: list[str] | None = None,
) -> dict[str, Any]:
    figures = {figure: facts.get(f"plan.{figure}") for figure in FIGURES}
    return {
        "id": name,
        "gpu": gpu,
        "count": count or facts.get("plan.count") or 1,
        "standing": standing,
        "because": because,
        "rules": rules or [],
        "score": None if score is None else rounded(score),
        "figures": {figure: rounded(value) for figure, value in figures.items() if isinstance(value, int | float)},
    }
