"""What became of every rule, with the first condition that failed or the facts that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.resolution.model import ResolvedFacts
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Verdict
from whichgpu.engine.rules.rulebook.resolve import Resolution
from whichgpu.engine.rules.rulebook.resolve import verdict_of


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import trace_types


def verdicts(outcome: Outcome, rules: Mapping[str, Rule]) -> list[trace_types.RuleVerdict]:
    """One entry a rule, sorted by id: plan rules on the chosen plan, candidate rules on the first candidate."""
    found: dict[str, trace_types.RuleVerdict] = {}
    stages = [outcome.intake, outcome.final] + ([outcome.round.survey] if outcome.round else [])
    for resolved in stages:
        for verdict in _settled(resolved):
            found[verdict.rule] = _entry(verdict, "workload")
    if outcome.chosen is not None:
        plan_id = outcome.chosen.ranked.plan.id
        facts = {**outcome.final.facts, **outcome.chosen.facts}
        for rule in rules.values():
            if rule.each == "plan":
                found[rule.id] = _entry(verdict_of(rule, facts, outcome.chosen.prefer), plan_id)
            elif rule.each == "chosen" and rule.id in found:
                found[rule.id]["scope"] = plan_id
    if outcome.candidates:
        candidate = outcome.candidates[0]
        fired = {item.rule.id: item.scope for item in outcome.fired if item.rule.each == "candidate"}
        for rule in rules.values():
            if rule.each == "candidate":
                verdict = verdict_of(rule, {**outcome.final.facts, **candidate.facts})
                entry = _entry(verdict, f"candidate {candidate.gpu_id}")
                found[rule.id] = {**_entry(Verdict(rule.id, "fired"), fired[rule.id])} if rule.id in fired else entry
    for rule in rules.values():
        if rule.id not in found:
            found[rule.id] = _entry(_out_of_scope(rule, outcome.final.facts), rule.each)
    return [found[name] for name in sorted(found)]


def _settled(resolved: ResolvedFacts) -> list[Verdict]:
    result = []
    for level in resolved.judged:
        for verdict in level.evaluation.verdicts(0):
            by = level.resolution.overridden.get(verdict.rule)
            result.append(Verdict(verdict.rule, "overridden", by=by) if by else verdict)
    return result


def _out_of_scope(rule: Rule, facts: Facts) -> Verdict:
    """A rule for plans or candidates where there was none: judged on the workload alone."""
    return verdict_of(rule, facts, Resolution(()))


def _entry(verdict: Verdict, scope: str) -> trace_types.RuleVerdict:
    entry: trace_types.RuleVerdict = {"id": verdict.rule, "verdict": verdict.outcome, "scope": scope}
    if verdict.by is not None:
        entry["by"] = verdict.by
    if verdict.missing:
        entry["missing"] = list(verdict.missing)
    if verdict.failed is not None:
        entry["failed"], entry["value"] = verdict.failed, verdict.value
    return entry
