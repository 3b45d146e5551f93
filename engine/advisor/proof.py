"""Proof: which surviving plans no reject rule can clear, because a fact is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from typing import NamedTuple

from whichgpu.engine.rules import Evaluation, Vocabulary, is_local


class Gap(NamedTuple):
    """A fact that keeps a reject rule from clearing a plan, and the stated limit that the rule upholds, if one."""

    figure: str
    limit: str | None


def wishes(vocabulary: Vocabulary) -> frozenset[str]:
    """Workload facts that stay unknown until said. A rule that waits for one has no objection: no wish, no limit."""
    return frozenset(
        name
        for name, fact in vocabulary.facts.items()
        if fact.scope == "workload" and fact.when_unstated == "leave_unknown"
    )


def missing_for_proof(evaluation: Evaluation | None, unstated: AbstractSet[str]) -> dict[int, set[Gap]]:
    """For each fact set that some rule can neither accept nor dismiss: what that rule lacks, and for which limit.

    Args:
        evaluation: the reject rules on all plans.
        unstated: facts whose absence is no objection; those of them that are stated are limits.
    """
    found: dict[int, set[Gap]] = {}
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
                open_parts = [*unknown, *(part for part, value in zip(local, row, strict=True) if value is None)]
                limits: list[str | None] = [*_limits(evaluation, rule, open_parts, unstated)] or [None]
                found.setdefault(index, set()).update(Gap(name, limit) for name in lacking for limit in limits)
    return found


def _limits(evaluation: Evaluation, rule: str, open_parts: Sequence[int], unstated: AbstractSet[str]) -> Iterator[str]:
    """The stated facts that the rule compares with what is missing; else those that make it apply at all."""
    parts = evaluation.matcher.conjunctions.parts
    compared = {name for part in open_parts for name in parts[part].reads}
    read = evaluation.matcher.rules[rule].reads
    for names in (compared, read):
        stated = sorted(name for name in names if not is_local(name) and name in unstated and name in evaluation.shared)
        if stated:
            yield from stated
            return
