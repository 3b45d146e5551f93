"""What became of every rule: fired, overridden, undecided or not fired, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.rules import (
    Resolution,
    ResolvedFacts,
    Rule,
    Verdict,
    verdict_of,
)


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import trace_types


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
