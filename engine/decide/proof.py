"""Proof: which surviving plans no reject rule can clear, because a fact is missing."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from engine.rete.reference import Evaluation
from engine.vocabulary import Vocabulary


def wishes(vocabulary: Vocabulary) -> frozenset[str]:
    """Workload facts that stay unknown until said. A rule that waits for one has no objection: no wish, no limit."""
    return frozenset(
        name for name, fact in vocabulary.facts.items() if fact.scope == "workload" and fact.settle == "leave_unknown"
    )


def missing_for_proof(evaluation: Evaluation | None, unstated: AbstractSet[str]) -> dict[int, set[str]]:
    """For each fact set that some rule can neither accept nor dismiss: the facts which that rule lacks.

    Args:
        evaluation: the reject rules on all plans.
        unstated: facts whose absence is no objection.
    """
    found: dict[int, set[str]] = {}
    if evaluation is None:
        return found
    matcher = evaluation.matcher
    parts = matcher.conjunctions.parts
    for rule, (common, local) in matcher.split.items():
        values = {part: evaluation.common(part) for part in common}
        if False in values.values():
            continue
        unknown = [part for part, value in values.items() if value is None]
        if any(name in unstated for part in unknown for name in parts[part].reads if name not in evaluation.shared):
            continue
        columns = [evaluation.column(part) for part in local]
        for index in range(len(evaluation.fact_sets)):
            row = [column[index] for column in columns]
            if False in row or not (unknown or None in row):
                continue
            lacking = set(evaluation.verdict(rule, index).missing)
            if lacking and not lacking & unstated:
                found.setdefault(index, set()).update(lacking)
    return found
