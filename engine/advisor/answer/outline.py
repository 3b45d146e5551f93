"""The plans of a choice in order, by card and number alone."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.advisor.outcome import Judged, PlanRound


#: The recommendation and the alternatives, best first, by card and number alone.
Outline = tuple[dict[str, Any] | None, list[dict[str, Any]]]


def outline_of(chosen: Judged | None, plan_round: PlanRound | None) -> Outline:
    """The outline of a choice: no plan is put in words, and none of those beside the answer is made whole."""
    first = {"gpu": chosen.ranked.plan.gpu.id, "count": chosen.ranked.plan.count} if chosen else None
    if plan_round is None or not plan_round.alternatives:
        return first, []
    table = plan_round.surviving
    counts = table.numbers("plan.count")
    return first, [{"gpu": table.gpus[at].id, "count": int(counts[at])} for at in plan_round.alternatives]
