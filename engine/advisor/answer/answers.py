"""Parts of the answer about what is known, assumed, missing, needed and out of the question, and about every rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from whichgpu.engine.advisor.answer.outranked import loss_text
from whichgpu.engine.advisor.answer.plans import plan_dict
from whichgpu.engine.advisor.answer.remarks import refusal_text, refusals_text
from whichgpu.engine.advisor.answer.wording import rejection_text, say
from whichgpu.engine.advisor.losses import loss_of
from whichgpu.engine.advisor.outcome import CandidateJudgement, NoAnswer, Outcome
from whichgpu.engine.advisor.pipeline import asked_facts
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.rules import (
    Resolution,
    ResolvedFacts,
    Rule,
    Verdict,
    Vocabulary,
    conditions_of,
    evaluate,
    verdict_of,
)


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types, trace_types


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
        example = min(hit, key=lambda entry: (len(entry.rules), entry.plan.id))
        text = rejection_text(rule, {**outcome.intake.facts, **example.facts}, vocabulary)
        reasons.append(f"{rule.title} ({len(hit)} of {len(round_.plans)} plans; for example {text})")
    left_out = f"; {refusals_text(round_.refused)}" if round_.refused else ""
    return f"every plan is rejected. {'; '.join(reasons)}{left_out}"


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


def open_questions(
    outcome: Outcome, undecided: Mapping[str, frozenset[str]], vocabulary: Vocabulary
) -> list[part_types.OpenQuestion]:
    """Facts worth asking: those that block, then those that rules ask for, then what undecided rules lack.

    Of each kind those come first for which a rule on plans waits.
    Which answers would change the decision is a search of its own (``explain.sensitivity``): that a rule waits for a
    fact does not say so.
    """
    facts = outcome.final.facts
    blocking: tuple[str, ...] = outcome.chosen.missing if outcome.chosen else ()
    if outcome.no_answer and outcome.no_answer.kind == "facts_missing":
        blocking = outcome.no_answer.facts
    asked = asked_facts([*outcome.intake.fired, *(item.rule for item in outcome.fired)])
    no_plan_waits = {name for name in (*asked, *undecided) if "recommendation" not in undecided.get(name, ())}
    rest = sorted(
        (name for name in undecided if _worth_asking(name, facts, vocabulary)),
        key=lambda name: (
            name in no_plan_waits,
            vocabulary.facts[name].askable != "always",
            -len(undecided[name]),
            name,
        ),
    )
    questions: list[part_types.OpenQuestion] = []
    for name in dict.fromkeys([*blocking, *sorted(asked, key=lambda name: (name in no_plan_waits, name)), *rest]):
        fact = vocabulary.facts.get(name)
        source = outcome.final.resolved.get(name)
        if fact is None or fact.scope != "workload":
            continue
        if name in facts and (source is None or source.candidate.origin != "assumed"):
            continue
        text = say(fact.question or f"What is the {fact.label or name}?", facts, vocabulary)
        questions.append(
            {
                "fact": name,
                "question": text,
                "blocking": name in blocking,
                "asked_by": asked.get(name),
            }
        )
    return questions


def _worth_asking(name: str, facts: Facts, vocabulary: Vocabulary) -> bool:
    """Whether a fact is one that people are asked for, about work of this kind."""
    fact = vocabulary.facts.get(name)
    if fact is None or fact.askable not in ("always", "if_it_matters") or fact.question is None:
        return False
    when = conditions_of(vocabulary).questions.get(name)
    return when is None or evaluate(when, facts) is not False


def undecided_facts(outcome: Outcome, rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """For each unknown fact that some rule waits for: what that rule would have a say in.

    Rules on plans count where they wait on the chosen plan.
    """
    found: dict[str, set[str]] = {}
    if outcome.chosen is not None:
        facts = {**outcome.final.facts, **outcome.chosen.facts}
        for rule in rules:
            if rule.each == "plan" and not rule.reads <= facts.keys():  # What reads only known facts waits for none.
                for name in verdict_of(rule, facts).missing:
                    found.setdefault(name, set()).add(_say_in(rule))
    for resolved in (outcome.intake, outcome.final):
        for level in resolved.judged:
            for rule_id, rule in level.evaluation.rules.items():
                if level.evaluation.outcome(rule_id, 0) is None:
                    for name in level.evaluation.verdict(rule_id, 0).missing:
                        found.setdefault(name, set()).add(_say_in(rule))
    return {name: frozenset(kinds) for name, kinds in found.items()}


def _say_in(rule: Rule) -> str:
    if "procurement" in rule.writes:
        return "procurement"
    return "advice" if rule.stage == "advise" else "recommendation"


def sizing_dict(outcome: Outcome) -> dict[str, Any]:
    """What the job needs in all: rules of thumb and formulas over the workload's facts, and the chosen plan's sum."""
    facts = outcome.final.facts
    sizes: dict[str, Any] = {name: facts[name] for name in _SIZES if name in facts}
    if outcome.chosen and (memory := outcome.chosen.ranked.plan.memory):
        sizes["planned_vram_gb"] = memory.per_gpu_gb * outcome.chosen.ranked.plan.count
    return sizes


def verdicts(outcome: Outcome, rules: Mapping[str, Rule]) -> list[trace_types.RuleVerdict]:
    """One entry for each of these rules, sorted by id.

    Plan rules are judged on the chosen plan, candidate rules on the first candidate.
    """
    found: dict[str, trace_types.RuleVerdict] = {}
    stages = [outcome.intake, outcome.final] + ([outcome.round.survey] if outcome.round else [])
    for resolved in stages:
        for verdict in _verdicts_of(resolved, rules):
            found[verdict.rule] = _entry(verdict, "workload")
    chosen, candidate = outcome.chosen, next(iter(outcome.candidates), None)
    on_candidates = {item.rule.id: item.scope for item in outcome.fired if item.rule.each == "candidate"}
    shared = outcome.final.facts
    on_plan = {**shared, **chosen.facts} if chosen else {}
    for rule in rules.values():
        if rule.each == "plan" and chosen:
            found[rule.id] = _entry(verdict_of(rule, on_plan, chosen.prefer), chosen.ranked.plan.id)
        elif rule.each == "chosen" and chosen and rule.id in found:
            found[rule.id]["scope"] = chosen.ranked.plan.id
        elif rule.each == "candidate" and rule.id in on_candidates:
            found[rule.id] = _entry(Verdict(rule.id, "fired"), on_candidates[rule.id])
        elif rule.each == "candidate" and candidate:
            verdict = verdict_of(rule, {**shared, **candidate.facts})
            found[rule.id] = _entry(verdict, f"candidate {candidate.gpu_id}")
        elif rule.id not in found:  # For plans or candidates, of which there are none: judged on the workload alone.
            found[rule.id] = _entry(verdict_of(rule, shared, Resolution(())), rule.each)
    return [found[name] for name in sorted(found)]


def _verdicts_of(resolved: ResolvedFacts, rules: Mapping[str, Rule]) -> list[Verdict]:
    result = []
    for level in resolved.judged:
        for name in level.evaluation.rules:
            if name not in rules:
                continue
            verdict = level.evaluation.verdict(name)
            by = level.resolution.overridden.get(verdict.rule)
            result.append(Verdict(verdict.rule, "overridden", by=by) if by else verdict)
    return result


def _entry(verdict: Verdict, scope: str) -> trace_types.RuleVerdict:
    entry: trace_types.RuleVerdict = {"id": verdict.rule, "verdict": verdict.outcome, "scope": scope}
    if verdict.by is not None:
        entry["by"] = verdict.by
    if verdict.missing:
        entry["missing"] = list(verdict.missing)
    if verdict.failed is not None:
        entry["failed"], entry["value"] = verdict.failed, verdict.value
    return entry
