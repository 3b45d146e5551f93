"""Why a plan is not the answer, in words."""

from __future__ import annotations

from collections.abc import Mapping

from whichgpu.engine.advisor.answer.wording import because
from whichgpu.engine.advisor.answer.wording import fallback_text
from whichgpu.engine.advisor.losses import Loss
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Rule


#: Points that one decimal does not show.
_EVEN = 0.05


def loss_text(
    loss: Loss,
    entry: Judged,
    objective: Objective,
    rules: Mapping[str, Rule],
    shared: Facts,
    vocabulary: Vocabulary,
) -> str:
    """One sentence, without a full stop.

    Args:
        loss: where the plan lost.
        entry: the plan.
        objective: tells the share within which preferences choose.
        rules: all rules by id.
        shared: facts of the workload, for the texts of rules.
        vocabulary: for labels.
    """
    rule = rules.get(loss.rules[0]) if loss.rules else None
    facts = {**shared, **(entry if loss.kind == "fallback" else loss.to).facts}
    match loss.kind:
        case "unverified":
            lacking = ", ".join(entry.missing)
            text = f"a stated limit cannot be checked without {lacking}, so every plan that was checked comes first"
        case "fallback":
            own = fallback_text(rule, facts, vocabulary) if rule else "it is a last choice"
            text = f"it is chosen only where nothing else does the work: {own}"
        case "guide_cards" | "guide_counts":
            what = "cards" if loss.kind == "guide_cards" else "number of GPUs"
            text = f"{named(loss.to)} has the {what} that a guide names for the case, and no objective is stated"
            text += f": {because(rule, facts, vocabulary).rstrip('.')}" if rule else ""
        case "dominated":
            text = f"{named(loss.to)} does the same work {_times(loss)}"
        case "merit":
            text = _merit_text(loss, objective)
        case "score":
            text = _score_text(loss)
    return text


def named(entry: Judged) -> str:
    """``2 x L4``."""
    plan = entry.ranked.plan
    return f"{plan.count} x {plan.gpu.name}"


def _times(loss: Loss) -> str:
    """How much cheaper and faster the other plan is."""
    assert loss.cost_ratio is not None  # noqa: S101 - only known figures are beaten
    assert loss.time_ratio is not None  # noqa: S101
    return f"at {100 / loss.cost_ratio:.0f} % of the cost and {loss.time_ratio:.2f} times as fast"


def _merit_text(loss: Loss, objective: Objective) -> str:
    if loss.merit_ratio is None:
        return f"by the stated objective ({objective.name}) it cannot be compared, since its cost is not known"
    worse = f"{100 * (loss.merit_ratio - 1):.0f} % worse than {named(loss.to)}"
    return (
        f"by the stated objective ({objective.name}) it is {worse}, "
        f"and preferences choose only among plans at most {100 * objective.preference_share:.0f} % worse than the best"
    )


def _score_text(loss: Loss) -> str:
    if loss.behind > _EVEN:
        return f"{loss.behind:.1f} points of evidence behind {named(loss.to)}"
    return f"it has as many points of evidence as {named(loss.to)}, which comes first by cost, speed or size"
