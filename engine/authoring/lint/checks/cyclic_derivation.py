"""Facts that are worked out from each other in a circle.

Why: none of them can be worked out first, so all of them stay unknown.

Bad::

    - id: tier-from-hours
      when: [run_hours > 10]
      then: {set: {tier: high}}
    - id: hours-from-tier
      when: [tier == high]
      then: {set: {run_hours: 20}}

Good: one of the two reads something that nobody derives from the other::

    - id: tier-from-hours
      when: [run_hours > 10]
      then: {set: {tier: high}}
    - id: days-from-tier
      when: [tier == high]
      then: {set: {num_models: 2}}

Circles of rules alone are refused when the rules are read; here are those that pass through a calculator too.

Silence: this cannot be silenced, for no decision can be made with such a rulebook.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from itertools import pairwise

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.model import Rule


def _run(context: LintContext) -> Iterator[Finding]:
    derive = context.rulebook.of_stage("derive", "workload")
    feeds: dict[str, dict[str, str]] = {}  # fact -> facts made from it -> by what
    for output, reads in sorted(context.calculated.items()):
        for fact in sorted(reads - {output}):
            feeds.setdefault(fact, {}).setdefault(output, f"the calculator of `{output}`")
    for rule in derive:
        for fact in sorted(rule.reads - rule.writes):
            for made in sorted(rule.writes):
                feeds.setdefault(fact, {}).setdefault(made, rule.id)
    told: set[str] = set()
    for rule in derive:
        path = _circle(rule, feeds)
        if path and not told.intersection(path):
            told.update(path)
            steps = "; ".join(f"{feeds[a][b]} makes `{b}` from `{a}`" for a, b in pairwise(path))
            yield CHECK.about(
                rule, f"{rule.id} is part of a circle: {steps}", fix="let one of them read something else"
            )


def _circle(rule: Rule, feeds: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """The shortest way from a fact that the rule sets back to itself through the rule; empty if there is none."""
    for start in sorted(rule.writes):
        paths: list[tuple[str, ...]] = [(start,)]
        seen: set[str] = set()
        while paths:
            path = paths.pop(0)
            for fact in sorted(feeds.get(path[-1], ())):
                if fact == start and len(path) > 1:
                    return (*path, fact)
                if fact not in seen:
                    seen.add(fact)
                    paths.append((*path, fact))
    return ()


CHECK = Check("cyclic-derivation", "error", _run, __doc__ or "")
