"""Parts of the answer beside its plans: why there is none, rejections, GPUs that were named, assumptions, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from whichgpu.engine.advisor.answer.outranked import loss_text
from whichgpu.engine.advisor.answer.plans import plan_dict
from whichgpu.engine.advisor.answer.remarks import refusal_text, refusals_text
from whichgpu.engine.advisor.answer.wording import missed_by, rejection_text
from whichgpu.engine.advisor.losses import loss_of
from whichgpu.engine.advisor.outcome import CandidateJudgement, NoAnswer, Outcome, Rejection
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.rules import (
    Rule,
    Vocabulary,
)


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types


#: Memory of the job itself, before any plan.
_SIZES = (
    "weights_gb",
    "gradients_gb",
    "optimizer_gb",
    "activations_gb",
    "inference_vram_gb",
    "training_vram_gb",
    "required_vram_gb",
    "required_vram_gb_after_techniques",
    "recommended_vram_gb",
    "vram_low_gb",
    "vram_high_gb",
)


def no_answer_dict(no_answer: NoAnswer | None, outcome: Outcome, vocabulary: Vocabulary) -> part_types.NoAnswer | None:
    """Why there is no recommendation, in words."""
    if no_answer is None:
        return None
    if no_answer.kind == "facts_missing":
        labels = [vocabulary.facts[name].label or name for name in no_answer.facts]
        why = f"nothing can be recommended before this is known: {', '.join(labels)}"
    elif no_answer.kind == "contradictory":
        why = "; ".join(rejection_text(rule, outcome.intake.facts, vocabulary) for rule in no_answer.rules)
    else:
        why = _nothing_fits(outcome, no_answer.rules, vocabulary)
    relaxable = no_answer.find_relaxable() if no_answer.find_relaxable else ()
    return {
        "kind": no_answer.kind,
        "why": why,
        "facts": [*no_answer.facts, *dict.fromkeys(name for each in relaxable for name in each)],
        "relaxable": [list(names) for names in relaxable],
        "rules": [r.id for r in no_answer.rules],
    }


def _nothing_fits(outcome: Outcome, rules: tuple[Rule, ...], vocabulary: Vocabulary) -> str:
    round_ = outcome.round
    if round_ is not None and round_.refused and not round_.rejections:
        return refusals_text(round_.refused)
    if round_ is None or not round_.rejections:
        return "no accelerator is left to plan with; look at the candidates and exclusions"
    reasons = []
    for rule in rules[:3]:
        hit = [entry for entry in round_.rejections if any(rule.id == other.id for other in entry.rules)]
        example = min(hit, key=partial(_by_nearness, rule, outcome, vocabulary))
        text = rejection_text(rule, {**outcome.intake.facts, **example.facts}, vocabulary)
        plan = f"{example.plan.count} x {example.plan.gpu.name}"
        reasons.append(f"{rule.title}: {len(hit)} of {len(round_.plans)} plans, such as {plan} ({text.rstrip('.')}).")
    if round_.refused:
        reasons.append(f"Besides, {refusals_text(round_.refused)}.")
    return f"every plan is rejected. {' '.join(reasons)}"


def _by_nearness(
    rule: Rule, outcome: Outcome, vocabulary: Vocabulary, entry: Rejection
) -> tuple[int, float, tuple[int, str]]:
    """The plan that the fewest rules reject comes first, then that which misses what this one asks for by least."""
    missed = missed_by(rule, {**outcome.intake.facts, **entry.facts}, vocabulary)
    return len(entry.rules), missed, (entry.plan.count, entry.plan.id)


def rejected_list(outcome: Outcome, vocabulary: Vocabulary) -> list[part_types.Rejection]:
    """One entry for each GPU and rule, with the counts that the rule rejects."""
    grouped: dict[tuple[str, str], part_types.Rejection] = {}
    for entry in outcome.round.rejections if outcome.round else ():
        for rule in entry.rules:
            key = (entry.plan.gpu.id, rule.id)
            if key not in grouped:
                facts = {**outcome.intake.facts, **entry.facts}
                grouped[key] = {
                    "gpu": entry.plan.gpu.id,
                    "family": entry.plan.gpu.family,
                    "rule": rule.id,
                    "reason": rejection_text(rule, facts, vocabulary),
                    "counts": [],
                    "sources": list(rule.sources),
                }
            grouped[key]["counts"].append(entry.plan.count)
    for value in grouped.values():
        value["counts"].sort()
    return [grouped[key] for key in sorted(grouped)]


def candidate_dict(
    candidate: CandidateJudgement,
    outcome: Outcome,
    knowledge: Knowledge,
    rules: Mapping[str, Rule],
    vocabulary: Vocabulary,
) -> part_types.Candidate:
    """The verdict on a GPU that the user named, with its facts."""
    shared = outcome.final.facts
    reason, rule = _candidate_reason(candidate, outcome, knowledge, rules, vocabulary)
    known = knowledge.gpu_facts[candidate.gpu_id]
    return {
        "gpu": candidate.gpu_id,
        "family": candidate.family,
        "verdict": candidate.verdict,
        "reason": reason,
        "rule": rule,
        "plan": plan_dict(candidate.plan, candidate.judged, rules, shared, vocabulary) if candidate.plan else None,
        "facts": {name.removeprefix("gpu."): value for name, value in sorted(known.items())},
        "is_current": candidate.is_current,
    }


def _candidate_reason(
    candidate: CandidateJudgement,
    outcome: Outcome,
    knowledge: Knowledge,
    rules: Mapping[str, Rule],
    vocabulary: Vocabulary,
) -> tuple[str, str | None]:
    """Why a GPU cannot be the answer, or where its plan stands beside it; and the rule behind that."""
    judged, rule = candidate.judged, None
    loss = loss_of(judged, outcome.chosen, outcome.judged) if judged else None
    if candidate.rejection is not None:
        first = candidate.rejection.rules[0]
        text, rule = rejection_text(first, {**outcome.final.facts, **candidate.facts}, vocabulary), first.id
    elif candidate.refused is not None:
        text = refusal_text(candidate.refused)
    elif candidate.plan is None:
        text = knowledge.gpus[candidate.gpu_id].not_plannable_because or "it cannot be planned with"
    elif candidate.verdict == "unproven":
        text = f"cannot be proven without: {', '.join(judged.missing if judged else ())}"
    elif outcome.chosen is None:
        text = "nothing speaks against it, and nothing is recommended before more is known"
    elif candidate.verdict == "recommended":
        text = "it is the recommendation"
    elif judged is None or loss is None:
        text = "it does the job, but this count of it was not among the plans"
    else:
        text = loss_text(loss, judged, outcome.objective, rules, outcome.final.facts, vocabulary)
        rule = loss.rules[0] if loss.kind == "fallback" else None
    return text, rule


def assumptions(outcome: Outcome) -> list[part_types.Assumption]:
    """What was taken for granted: defaults of the vocabulary, and inputs that the sizing filled in."""
    resolved = outcome.intake.resolved
    assumed = {item.fact: (item.value, item.because) for item in reversed(outcome.assumed) if item.fact not in resolved}
    for name, fact in resolved.items():
        if fact.candidate.origin == "assumed":
            assumed[name] = (fact.value, fact.candidate.formula)
    return [{"fact": name, "value": value, "because": reason} for name, (value, reason) in sorted(assumed.items())]


def sizing_dict(outcome: Outcome) -> dict[str, Any]:
    """What the job needs in all: rules of thumb and formulas over the workload's facts, and the chosen plan's sum."""
    facts = outcome.final.facts
    sizes: dict[str, Any] = {name: facts[name] for name in _SIZES if name in facts}
    if outcome.chosen and (memory := outcome.chosen.ranked.plan.memory):
        sizes["planned_vram_gb"] = memory.per_gpu_gb * outcome.chosen.ranked.plan.count
    return sizes
