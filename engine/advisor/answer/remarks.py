"""Advice, warnings, monitoring targets, figures, disagreements, and plans whose figures cannot be true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from whichgpu.engine.advisor.answer.wording import because, spoken
from whichgpu.engine.advisor.outcome import Fired, Outcome, fired_rules
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import Refusal
from whichgpu.engine.rules import Difference, Disagree, Monitor, ResolvedFacts, Rule, Say, ShowFigure, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types


_Kind = TypeVar("_Kind", Say, Monitor, Disagree)


def remarks(fired: Iterable[Fired], kind: str, vocabulary: Vocabulary) -> list[part_types.Remark]:
    """One entry a code, the most important first; other rules that say the same are named beside the first."""
    entries: dict[str, part_types.Remark] = {}
    for item, effect in _effects_of(fired, Say):
        if effect.kind != kind:
            continue
        if effect.code in entries:
            _add_witness(entries[effect.code], item)
        else:
            entries[effect.code] = {
                "code": effect.code,
                "text": spoken(item.rule, item.facts, vocabulary),
                "because": because(item.rule, item.facts, vocabulary),
                "rule": item.rule.id,
                "also": [],
                "scope": item.scope,
                "sources": list(dict.fromkeys(item.rule.sources)),
                "priority": vocabulary.codes[effect.code].priority,
            }
    return sorted(entries.values(), key=lambda entry: (entry["priority"], entry["code"]))


def said_codes(fired: Iterable[Fired], kind: str, vocabulary: Vocabulary) -> list[str]:
    """The codes of the same entries alone, in the same order."""
    codes = {
        effect.code for item in fired for effect in item.rule.effects if isinstance(effect, Say) and effect.kind == kind
    }
    return sorted(codes, key=lambda code: (vocabulary.codes[code].priority, code))


def aged_rules(outcome: Outcome, rules: Mapping[str, Rule], today: str) -> list[str]:
    """The rules behind the answer that are past the day by which they were to be checked again, by id.

    Args:
        outcome: what was decided.
        rules: all rules by id.
        today: the day of the decision, as 2026-12-31.
    """
    aged = {rule.id for rule in rules.values() if rule.valid_until and rule.valid_until < today}
    return sorted(aged.intersection(fired_rules(outcome))) if aged else []


def aged_warnings(
    outcome: Outcome, rules: Mapping[str, Rule], today: str, vocabulary: Vocabulary
) -> list[part_types.Remark]:
    """A warning where there are such rules."""
    aged = aged_rules(outcome, rules, today)
    if not aged:
        return []
    days = [f"{rule_id} (by {rules[rule_id].valid_until})" for rule_id in aged]
    text = f"Rules behind this answer were to be checked again: {', '.join(days)}"
    ground = "What is said of prices, availability and the newest hardware ages."
    sources = dict.fromkeys(source for rule_id in aged for source in rules[rule_id].sources)
    return [_warning("W-RULE-PAST-ITS-DAY", text, ground, vocabulary, rules=aged, sources=sources)]


def difference_warnings(differences: Sequence[Difference], vocabulary: Vocabulary) -> list[part_types.Remark]:
    """A warning where durable-rules did not confirm what the generated evaluator says, which counts."""
    if not differences:
        return []
    first, more = differences[0].what, len(differences) - 1
    text = f"The two engines that judge rules differ: {first}{f', and {more} more' if more else ''}"
    ground = "One of the two is wrong. The generated evaluator answers; whichgpu doctor lists the facts for a report."
    rules = list(dict.fromkeys(each.rule for each in differences if each.rule is not None))
    return [_warning("W-ENGINES-DIFFER", text, ground, vocabulary, rules=rules)]


def contradiction_warnings(resolved: ResolvedFacts, vocabulary: Vocabulary) -> list[part_types.Remark]:
    """Given values that differ from what was looked up or computed."""
    entries = []
    for fact, other in resolved.contradictions():
        label = vocabulary.facts[fact.name].label or fact.name
        text = f"{label}: {fact.value} was given and is used, but {other.by} says {other.value} ({other.formula})"
        ground = "A stated value that differs by more than 5 % from a known one is often a slip."
        entries.append(_warning("W-GIVEN-CONTRADICTED", text, ground, vocabulary, sources=other.sources))
    return entries


def monitoring(fired: Iterable[Fired], vocabulary: Vocabulary) -> list[part_types.Target]:
    """Targets to watch, one entry for each figure and rule."""
    return [
        {
            "code": effect.figure,
            "text": spoken(item.rule, item.facts, vocabulary),
            "because": because(item.rule, item.facts, vocabulary),
            "rule": item.rule.id,
            "sources": list(item.rule.sources),
            "low": effect.low,
            "high": effect.high,
            "unit": fact.unit if (fact := vocabulary.fact(effect.figure)) else None,
        }
        for item, effect in _effects_of(fired, Monitor)
    ]


def figures(fired: Iterable[Fired], knowledge: Knowledge) -> dict[str, part_types.Figure]:
    """Figures of the knowledge base that fired rules report."""
    shown: dict[str, part_types.Figure] = {}
    for item in sorted(fired, key=lambda item: item.rule.id):
        for effect in item.rule.effects:
            if isinstance(effect, ShowFigure):
                entry = _known_figure(knowledge.figures[effect.figure], item.facts)
                if entry is not None:
                    shown[effect.figure] = entry
            elif isinstance(effect, Monitor):
                value = effect.low if effect.high is None or effect.high == effect.low else [effect.low, effect.high]
                shown.setdefault(effect.figure, {"value": value, "unit": None, "sources": list(item.rule.sources)})
    return dict(sorted(shown.items()))


def _known_figure(figure: Mapping[str, Any], facts: Facts) -> part_types.Figure | None:
    """A figure's value: as the knowledge base states it, or as this case's facts say; None while those are unknown."""
    value: Any = figure.get("value")
    if "facts" in figure:
        if not facts.keys() >= set(figure["facts"]):
            return None
        values = [facts[name] for name in figure["facts"]]
        value = values[0] if len(values) == 1 else values
    return {"value": value, "unit": figure.get("unit"), "sources": list(figure["sources"])}


def disagreements(fired: Iterable[Fired], knowledge: Knowledge) -> list[part_types.Disagreement]:
    """Disagreements between sources that bear on the case, both sides in plain words."""
    rules: dict[str, list[str]] = {}
    for item, effect in _effects_of(fired, Disagree):
        rules.setdefault(effect.conflict, []).append(item.rule.id)
    return [
        {
            "id": name,
            "title": conflict["title"],
            "positions": [{"source": p["source"], "says": p["says"]} for p in conflict["positions"]],
            "followed": conflict["resolution"],
            "why": conflict.get("why"),
            "rules": sorted(behind),
        }
        for name, behind in sorted(rules.items())
        for conflict in (knowledge.disagreements[name],)
    ]


def _effects_of(fired: Iterable[Fired], kind: type[_Kind]) -> Iterator[tuple[Fired, _Kind]]:
    """The effects of one kind, each with the rule that had it, in the order in which they are shown."""
    for item in sorted(fired, key=_display_order):
        yield from ((item, effect) for effect in item.rule.effects if isinstance(effect, kind))


def _display_order(item: Fired) -> tuple[int, int, str, str]:
    """The chosen plan comes first, then the workload, then other GPUs; an own text before a general reason."""
    scope = 2 if item.scope.startswith("candidate ") else 1 if item.scope == "workload" else 0
    return (scope, 0 if item.rule.text else 1, item.rule.id, item.scope)


def _add_witness(entry: part_types.Remark, item: Fired) -> None:
    if item.rule.id != entry["rule"] and item.rule.id not in entry["also"]:
        entry["also"].append(item.rule.id)
        entry["sources"] = list(dict.fromkeys([*entry["sources"], *item.rule.sources]))


def refused_list(outcome: Outcome) -> list[part_types.RefusedPlan]:
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


def refusal_warnings(outcome: Outcome, vocabulary: Vocabulary) -> list[part_types.Remark]:
    """A warning where plans were refused because their figures cannot be true."""
    refused = outcome.round.refused if outcome.round else ()
    if not refused:
        return []
    ground = "Such a figure comes from facts that do not belong together, or from a fault in the formulas."
    return [_warning("W-FIGURE-REFUSED", refusals_text(refused), ground, vocabulary)]


def _warning(
    code: str,
    text: str,
    ground: str,
    vocabulary: Vocabulary,
    *,
    rules: Sequence[str] = (),
    sources: Iterable[str] = (),
) -> part_types.Remark:
    """A warning about the workload that no rule gives."""
    return {
        "code": code,
        "text": text,
        "because": ground,
        "rule": rules[0] if rules else None,
        "also": list(rules[1:]),
        "scope": "workload",
        "sources": list(sources),
        "priority": vocabulary.codes[code].priority,
    }
