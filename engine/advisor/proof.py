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
    """For each plan that some rule can neither accept nor dismiss: what that rule lacks, and for which limit.

    Args:
        evaluation: the reject rules on all plans, a row for each.
        unstated: facts whose absence is no objection; those of them that are stated are limits.
    """
    found: dict[int, set[Gap]] = {}
    if evaluation is None:
        return found
    parts = evaluation.parts
    for rule in evaluation.not_dismissed():
        unknown = [part for part in evaluation.parts_of(rule)[0] if evaluation.common(part) is None]
        if any(name in unstated for part in unknown for name in parts[part].reads if name not in evaluation.shared):
            continue
        for rows in evaluation.undecided_alike(rule):
            lacking = set(evaluation.verdict(rule, rows[0]).missing)
            if lacking and not lacking & unstated:
                local = (part for part in evaluation.parts_of(rule)[1] if evaluation.value(part, rows[0]) is None)
                limits: list[str | None] = [*_limits(evaluation, rule, [*unknown, *local], unstated)] or [None]
                gaps = {Gap(name, limit) for name in lacking for limit in limits}
                for row in rows:
                    found.setdefault(row, set()).update(gaps)
    return found


def _limits(evaluation: Evaluation, rule: str, open_parts: Sequence[int], unstated: AbstractSet[str]) -> Iterator[str]:
    """The stated facts that the rule compares with what is missing; else those that make it apply at all."""
    compared = {name for part in open_parts for name in evaluation.parts[part].reads}
    for names in (compared, evaluation.rules[rule].reads):
        stated = sorted(name for name in names if not is_local(name) and name in unstated and name in evaluation.shared)
        if stated:
            yield from stated
            return
