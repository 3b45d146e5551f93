"""Why plans that no rule rejects are not the answer, and counts that were not worth planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.choice import below_answer
from whichgpu.engine.advisor.answer.wording import because, fallback_text, larger_words, later_than_tolerable
from whichgpu.engine.advisor.losses import Loss
from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans import NOT_AVAILABLE, Plan, fabric_of, gpus_not_available, ladder
from whichgpu.engine.rules import Rule, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types, plan_types


#: Points that one decimal does not show.
_EVEN = 0.05
#: Counts up to this one are accounted for, one by one as they can be put together.
_MOST = 256

_BELOW = {
    "unverified": "a stated limit could not be checked",
    "fallback": "it is chosen only where nothing else qualifies",
    "guide_cards": "the guides name other cards for the case",
    "guide_counts": "the guides name another count for the case",
    "larger": "it is larger than the work that is stated calls for",
    "late": "its answers come later than people tolerate, which counts as costlier",
    "sooner": "it is sooner than is asked, and costs clearly more",
    "room": "it only just meets the stated targets, and another meets them with room for little more",
}


def outranked(outcome: Outcome, shown: Sequence[Judged]) -> list[plan_types.Outranked]:
    """One line for every plan that no rule rejects and that is not shown whole."""
    return [
        {
            "id": entry.ranked.plan.id,
            "gpu": entry.ranked.plan.gpu.id,
            "count": entry.ranked.plan.count,
            "usd_per_hour": entry.ranked.plan.cost.usd_per_hour,
            "tokens_per_s": number(entry.facts, "plan.tokens_per_s"),
            "samples_per_s": number(entry.facts, "plan.samples_per_s"),
            "latency_ms": number(entry.facts, "plan.latency_ms"),
            "score": entry.ranked.score,
            "proven": entry.ranked.proven,
            **below_answer(entry, outcome),
        }
        for entry in _rest(outcome, shown)
    ]


def passed_over(outcome: Outcome, shown: Sequence[Judged], knowledge: Knowledge) -> list[part_types.Rejection]:
    """Plans that are not shown, and counts that were not planned, as rejections without a rule, each with a reason."""
    found: dict[tuple[str, str], part_types.Rejection] = {}
    for entry in _rest(outcome, shown):
        _add(found, entry.ranked.plan.gpu, [entry.ranked.plan.count], _reason(entry, outcome))
    if outcome.round is not None:
        by_gpu: dict[str, list[Plan]] = {}
        for plan in outcome.round.plans:
            by_gpu.setdefault(plan.gpu.id, []).append(plan)
        stated = "num_gpus" in outcome.intake.facts
        for plans in by_gpu.values():
            _add_unplanned(found, plans, stated=stated)
        for gpu in gpus_not_available(outcome.intake.facts, knowledge):
            inside = fabric_of(gpu).node_gpus
            _add(found, gpu, ladder(inside, inside), NOT_AVAILABLE)
    return [found[key] for key in sorted(found)]


def _rest(outcome: Outcome, shown: Sequence[Judged]) -> list[Judged]:
    ids = {entry.ranked.plan.id for entry in shown}
    return [entry for entry in outcome.judged if entry.ranked.plan.id not in ids]


def _reason(entry: Judged, outcome: Outcome) -> str:
    below = below_answer(entry, outcome)
    if entry.facts.get("plan.assumed_price") is True:
        return "no offer in the price list has this shape, and its price is a guess"
    if below["dominated_by"]:
        better = "stands in for it" if below["below_for"] == "outweighed" else "is both cheaper and faster"
        return f"{below['dominated_by']} {better}"
    if below["below_for"] in _BELOW:
        return _BELOW[below["below_for"]]
    return "others come before it by what the objective and the evidence say"


def _add_unplanned(found: dict[tuple[str, str], part_types.Rejection], plans: Sequence[Plan], *, stated: bool) -> None:
    """The counts of a GPU that were not planned: not asked for, too few for the job, or more than it gains from."""
    first = plans[0]
    planned = {plan.count for plan in plans}
    fitting = [plan.count for plan in plans if plan.facts.get("plan.fits")]
    fabric = fabric_of(first.gpu)
    most = min(fabric.most, _MOST)
    whole = range(fabric.node_gpus, most + 1, fabric.node_gpus)
    usual = [count for count in sorted({*ladder(fabric.node_gpus, most), *whole}) if count not in planned]
    if first.memory is None or (stated and not fitting):
        return
    if stated:
        _add(found, first.gpu, usual, "another number of GPUs is stated")
        return
    least = min(fitting, default=min(planned))  # Where none holds the job, the most in one machine was planned.
    fewer = [count for count in usual if count < least]
    _add(found, first.gpu, fewer, "fewer do not hold the job, or do not meet its targets")
    if not fitting:
        return
    more = [count for count in usual if count > least]
    if all(plan.facts.get("plan.meets_target") is False for plan in plans):
        _add(found, first.gpu, more, "more of them were not found to meet the stated targets either")
    else:
        _add(
            found,
            first.gpu,
            more,
            "more than memory, targets and load call for, or too little faster for twice the GPUs",
        )


def _add(found: dict[tuple[str, str], part_types.Rejection], gpu: Gpu, counts: Sequence[int], reason: str) -> None:
    if not counts:
        return
    entry = found.setdefault(
        (gpu.id, reason),
        {"gpu": gpu.id, "family": gpu.family, "rule": None, "reason": reason, "counts": [], "sources": []},
    )
    entry["counts"] = sorted({*entry["counts"], *counts})


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
        case "outweighed":
            text = f"{named(loss.to)} stands in for it, {_times(loss)}, which a guide's word does not outweigh"
        case "larger":
            text = larger_words(entry, loss.to, vocabulary)
        case "room":
            text = f"it meets what is stated by less than that is known to, and {named(loss.to)} meets it with room"
        case "sooner":
            text = f"{named(loss.to)} is as soon as is asked, and costs clearly less"
        case "late":
            text = f"{later_than_tolerable(entry, shared, vocabulary)}, which counts as costlier"
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
