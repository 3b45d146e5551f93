"""Two rules that set one fact to different values.

Why: where both fire, the fact stays unknown, and everything that hangs on it with it. One has to override the other, or
their conditions have to exclude each other.

Bad::

    - id: size-small
      when: [param_count_b <= 7]
      then: {set: {model_size_class: small}}
    - id: size-medium
      when: [param_count_b >= 7]
      then: {set: {model_size_class: medium}}

Good: exclude one case, or write ``overrides: [size-small]``::

    - id: size-small
      when: [param_count_b <= 7]
      then: {set: {model_size_class: small}}
    - id: size-medium
      when: [param_count_b > 7]
      then: {set: {model_size_class: medium}}

An error with the workload where both fire; a warning ("possibly") where a comparison or an expression is too involved
to tell.

Silence: put ``# lint: allow conflicting-sets: why`` at the end of the line with the second rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.regions import Case
from whichgpu.engine.authoring.lint.regions import shown
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import SetFact


def _run(context: LintContext) -> Iterator[Finding]:
    setters: dict[str, list[tuple[Rule, SetFact]]] = {}
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact):
                setters.setdefault(effect.fact, []).append((rule, effect))
    for _, found in sorted(setters.items()):
        for (one, first), (two, second) in combinations(found, 2):
            if first.expr == second.expr or (one.stage, one.each) != (two.stage, two.each):
                continue
            case = context.regions.find(context.regions.fires(one), context.regions.fires(two))
            if case:
                yield _finding(one, first, two, second, case)


def _finding(one: Rule, first: SetFact, two: Rule, second: SetFact, case: Case) -> Finding:
    constant = isinstance(first.expr, Const) and isinstance(second.expr, Const)
    case = replace(case, certain=case.certain and constant)
    clash = f"{two.id} sets `{first.fact}` to {second.text} and {one.id} ({one.place}) to {first.text}"
    where = f"where {shown(case.example)}" if case.example else "always"
    return CHECK.about(
        two,
        f"{clash}, both {where}" if case.certain else f"{clash}, possibly both {where}",
        fix=f"exclude one case in the conditions, or write `overrides: [{one.id}]`",
        case=case,
    )


CHECK = Check("conflicting-sets", "error", _run, __doc__ or "")
