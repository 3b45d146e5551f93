"""Why this plan and not a cheaper or faster one: what was passed over for which reason, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.plans import unverified_dict
from whichgpu.engine.advisor.answer.wording import because, fallback_text, larger_words, later_than_tolerable
from whichgpu.engine.advisor.contenders import traits_of_plan
from whichgpu.engine.advisor.dominance import joins_no_more
from whichgpu.engine.advisor.losses import (
    PLACES,
    first_by_evidence,
    larger_than_asked_for,
    loss_of,
    rules_behind,
    sooner_than_asked,
    too_late,
)
from whichgpu.engine.advisor.options import gain_of
from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import TARGETS, TOLERABLE
from whichgpu.engine.rules import Rule, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import plan_types


#: The facts that reasons without a rule rest on, where they are stated.
_READ: Mapping[str, tuple[str, ...]] = {
    "larger": ("serving_mode", "utilization_pct", "objective"),
    "room": TARGETS,
    "sooner": TARGETS,
    "late": ("serving_mode", *TOLERABLE),
}
#: Places of a tier that guides give while no objective is stated.
_OF_GUIDES = {"guide_cards", "guide_counts"}
#: Why a faster plan is passed over where it is stated how soon all is due.
SOONER = "the answer is as soon as is asked, and costs clearly less"
#: Why a plan without room is passed over.
ONLY_JUST = "it meets what is stated by less than that is known to, and the answer meets it with room for little more"


def chosen_over(outcome: Outcome, rules: Mapping[str, Rule], vocabulary: Vocabulary) -> list[plan_types.ChosenOver]:
    """The plans that would have been cheaper and faster, or better by the objective, and the reason against each.

    First those that the answer loses to in cost and speed, then those that only the objective would put before it.
    """
    answer = outcome.chosen
    if answer is None:
        return []
    margin = 1 + outcome.objective.dominance_margin
    others = [entry for entry in outcome.judged if entry is not answer]
    beating = [entry for entry in others if _beats(entry, answer, margin)]
    better: dict[tuple[plan_types.ChosenOverReason, str | None], Judged] = {}  # The best for each reason.
    for entry in sorted(others, key=lambda entry: entry.standing.merit or 0.0):
        gains = gain_of(entry.measures, answer.measures, outcome.objective) >= margin
        merits = gains and _has_more_merit(entry, answer, margin)
        if (merits or _cheaper_but_late(entry, answer, margin)) and not _beats(entry, answer, margin):
            better.setdefault(_reason(entry, answer, outcome), entry)
    shown = beating + [entry for (reason, _), entry in better.items() if reason != "evidence"]
    return [_entry(entry, answer, outcome, rules, vocabulary) for entry in shown]


def preference_cost(outcome: Outcome) -> plan_types.PreferenceCost | None:
    """What preferences cost beside the best plan of the same standing; None where the answer is that plan."""
    answer = outcome.chosen
    if answer is None or answer.standing.merit is None:
        return None
    others = [
        entry
        for entry in outcome.judged
        if entry.standing.tier == answer.standing.tier
        and entry.standing.dominated_by is None
        and not entry.standing.just_met
        and entry.standing.larger_than is None
        and entry.standing.merit is not None
        and entry.standing.merit < answer.standing.merit
        and gain_of(entry.measures, answer.measures, outcome.objective) > 1
    ]
    if not others:
        return None
    best = min(others, key=lambda entry: entry.standing.merit or 0.0)
    against_both = _counted_rules(answer, -1)
    for_both = _counted_rules(best, 1)
    return {
        **_beside(best, answer),
        "share": gain_of(best.measures, answer.measures, outcome.objective) - 1,
        "rules_for": [rule for rule in _counted_rules(answer, 1) if rule not in for_both],
        "rules_against": [rule for rule in _counted_rules(best, -1) if rule not in against_both],
    }


def _counted_rules(entry: Judged, side: int) -> list[str]:
    """The rules whose points count for a plan (side 1), or against it (-1)."""
    return [award.rule for award in entry.ranked.awards if award.rule and award.counted and award.points * side > 0]


def stands_in_for(outcome: Outcome) -> plan_types.StandsInFor | None:
    """The plan that the evidence puts first, in whose place the answer is taken; None where the answer is first."""
    answer = outcome.chosen
    if answer is None:
        return None
    first = first_by_evidence(answer, outcome.judged)
    if first is answer:
        return None
    rules = sorted({*first.card_bands, *first.count_bands})
    in_time = answer.standing.in_time_for_less
    return {**_beside(first, answer), "as_soon_as_asked": in_time, "score": first.ranked.score, "rules": rules}


def below_answer(judged: Judged, outcome: Outcome) -> plan_types.Loss:
    """A plan beside the answer by what choosing compares: where it lost, the plan that beats it, and its ratios."""
    loss = loss_of(judged, outcome.chosen, outcome.judged)
    both = _beside(judged, outcome.chosen) if outcome.chosen else None
    return {
        "dominated_by": judged.standing.dominated_by,
        "below_for": loss.kind if loss else None,
        "cost_ratio": both["cost_ratio"] if both else None,
        "speed_ratio": both["speed_ratio"] if both else None,
    }


def _beats(entry: Judged, answer: Judged, margin: float) -> bool:
    mine, its = entry.measures, answer.measures
    if mine.cost is None or its.cost is None or mine.time is None or its.time is None:
        return False
    return mine.cost * margin <= its.cost and mine.time * margin <= its.time


def _has_more_merit(entry: Judged, answer: Judged, margin: float) -> bool:
    mine, its = entry.standing.merit, answer.standing.merit
    return mine is not None and its is not None and mine * margin <= its


def _cheaper_but_late(entry: Judged, answer: Judged, margin: float) -> bool:
    """Whether a plan costs clearly less than the answer, and comes later than people tolerate."""
    mine, its = entry.measures.cost, answer.measures.cost
    return too_late(entry, answer) and mine is not None and its is not None and mine * margin <= its


def _reason(entry: Judged, answer: Judged, outcome: Outcome) -> tuple[plan_types.ChosenOverReason, str | None]:
    """The first way in which the plan stands below the answer, and the rule behind it."""
    if sooner_than_asked(entry, answer):
        return "sooner", None
    for name, mine, its in zip(PLACES, entry.standing.tier, answer.standing.tier, strict=True):
        if mine and not its:
            held = _held_whatever_guides_say(entry, answer, outcome) if name in _OF_GUIDES else None
            if held is not None:
                return held, None
            rules = rules_behind(name, entry, first_by_evidence(answer, outcome.judged))
            return name, rules[0] if rules else None
    if outcome.objective.stated and larger_than_asked_for(entry, answer):
        return "larger", None
    if entry.standing.just_met:
        return "room", None
    return ("late" if too_late(entry, answer) else "evidence"), None


def _held_whatever_guides_say(entry: Judged, answer: Judged, outcome: Outcome) -> plan_types.ChosenOverReason | None:
    """What keeps a cheaper and faster plan from standing in, since a guide's word does not; None of other plans."""
    margin = 1 + outcome.objective.dominance_margin
    if not _beats(entry, answer, margin):
        return None
    hourly, its = entry.measures.usd_per_hour, answer.measures.usd_per_hour
    if hourly is not None and its is not None and hourly > its * margin:
        return "larger"
    joined = joins_no_more(traits_of_plan(entry.ranked.plan), traits_of_plan(answer.ranked.plan))
    return None if joined else "evidence"


def _entry(
    entry: Judged, answer: Judged, outcome: Outcome, rules: Mapping[str, Rule], vocabulary: Vocabulary
) -> plan_types.ChosenOver:
    reason, name = _reason(entry, answer, outcome)
    rule = rules.get(name) if name else None
    shared: Facts = outcome.final.facts
    if rule is None:
        gaps = [str(unverified_dict(gap, vocabulary)["text"]) for gap in entry.unverified]
        lacking = "; ".join(gaps) or f"not verified without {', '.join(entry.missing)}"
        text = lacking if entry.missing else _without_rule(reason, entry, answer, outcome, vocabulary)
    elif reason == "fallback":
        text = fallback_text(rule, {**shared, **entry.facts}, vocabulary)
    else:
        first = first_by_evidence(answer, outcome.judged)
        text = because(rule, {**shared, **first.facts}, vocabulary)
    read = _READ.get(reason, ())
    targets = [name for name in read if name in outcome.intake.facts]
    stated = _stated(rule, outcome) if rule else [*targets, *entry.missing]
    waits = sorted(f for f in rule.reads if f not in shared and "." not in f) if rule else []
    return {
        **_beside(entry, answer),
        "reason": reason,
        "rule": name,
        "because": text,
        "facts": stated,
        "waits_for": waits,
        "sources": list(rule.sources) if rule else [],
    }


def _without_rule(
    reason: plan_types.ChosenOverReason, entry: Judged, answer: Judged, outcome: Outcome, vocabulary: Vocabulary
) -> str:
    """Why a plan is not the answer where no rule says so."""
    match reason:
        case "larger":
            by_id = {other.ranked.plan.id: other for other in outcome.judged}
            return larger_words(entry, by_id.get(entry.standing.larger_than or "", answer), vocabulary)
        case "room":
            return ONLY_JUST
        case "sooner":
            return SOONER
        case "late":
            return later_than_tolerable(entry, outcome.intake.facts, vocabulary)
        case _:
            return _because_of_evidence(entry, answer)


def _because_of_evidence(entry: Judged, answer: Judged) -> str:
    """Why a plan of the same standing that is cheaper and faster is not the answer."""
    if joins_no_more(traits_of_plan(entry.ranked.plan), traits_of_plan(answer.ranked.plan)):
        return "the rules give it fewer points of evidence"
    return "it joins more cards over PCIe or takes more machines, which no stated objective asks for"


def _stated(rule: Rule, outcome: Outcome) -> list[str]:
    """The facts of the workload that a rule reads, and those behind figures that it reads of all plans."""
    found = {name for name in rule.reads if name in outcome.intake.facts}
    surveyed = outcome.round.survey.resolved if outcome.round else {}
    for name in rule.reads & surveyed.keys():
        found |= {inner for inner in surveyed[name].candidate.inputs if inner in outcome.intake.facts}
    return sorted(found)


def _beside(entry: Judged, answer: Judged) -> plan_types.BesideAnswer:
    """A plan beside the answer: what it costs and how fast it is, as shares, and what the answer costs more."""
    plan, its = entry.ranked.plan, answer.ranked.plan
    mine, other = entry.measures, answer.measures
    hour, own_hour = plan.cost.usd_per_hour, its.cost.usd_per_hour
    return {
        "id": plan.id,
        "gpu": plan.gpu.id,
        "count": plan.count,
        "usd_per_hour": hour,
        "cost_ratio": mine.cost / other.cost if mine.cost is not None and other.cost else None,
        "speed_ratio": other.time / mine.time if mine.time and other.time else None,
        "price_usd_per_hour": own_hour - hour if hour is not None and own_hour is not None else None,
    }
