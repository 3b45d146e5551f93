"""Plans that the gate refused, in the answer: by name, with the figure that cannot be true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.plans.gate import Refusal
from whichgpu.engine.rules.facts import Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types


def refused_list(outcome: Outcome) -> list[answer_types.RefusedPlan]:
    """One entry for each figure that cannot be true, with the plan that it would have stood in."""
    return [
        {
            "plan": refusal.plan.id,
            "gpu": refusal.plan.gpu.id,
            "count": refusal.plan.count,
            "figure": problem.figure,
            "value": problem.value if math.isfinite(problem.value) else str(problem.value),
            "why": problem.why,
        }
        for refusal in (outcome.round.refused if outcome.round else ())
        for problem in refusal.problems
    ]


def refusal_text(refusal: Refusal) -> str:
    """Why a plan is not published, in words."""
    first = refusal.problems[0]
    return f"its figures cannot be true: {first.figure} is {first.value:g}, and {first.why}"


def refusals_text(refused: Sequence[Refusal]) -> str:
    """How many plans are not published, and why the first of them."""
    plural = "plan was" if len(refused) == 1 else "plans were"
    return f"{len(refused)} {plural} left out; of {refused[0].plan.id}, {refusal_text(refused[0])}"


def refusal_warnings(outcome: Outcome, vocabulary: Vocabulary) -> list[answer_types.Remark]:
    """A warning where plans were refused because their figures cannot be true."""
    refused = outcome.round.refused if outcome.round else ()
    if not refused:
        return []
    return [
        {
            "code": "W-FIGURE-REFUSED",
            "text": refusals_text(refused),
            "because": "Such a figure comes from facts that do not belong together, or from a fault in the formulas.",
            "rule": None,
            "also": [],
            "scope": "workload",
            "sources": [],
            "priority": vocabulary.codes["W-FIGURE-REFUSED"].priority,
        }
    ]
