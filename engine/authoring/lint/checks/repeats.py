"""Rules that say what others say, or the contrary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check, shown
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.authoring.lint.regions import Case
from whichgpu.engine.rules import Const, Effect, Points, Reject, Rule, SetFact, canonical


@check("warning", silence="with the second rule's id")
def duplicate_rule(context: LintContext) -> Iterator[Finding]:
    """Two rules that say the same.

    Why: one of them is dead weight today, and tomorrow somebody corrects only one of the two.

    Bad::

        - id: slow-link
          when: [training, plan.link == pcie]
          then: {points: -2, reason: interconnect}
        - id: pcie-is-slow
          when: [plan.link == pcie, training]
          then: {points: -2, reason: interconnect}

    Good: one rule that names both sources.
    """
    first: dict[str, Rule] = {}
    for rule in context.rulebook.rules:
        other = first.setdefault(meaning(rule), rule)
        if other is not rule:
            yield duplicate_rule.about(
                rule,
                f"{rule.id} has the conditions and effects of {other.id} ({other.place})",
                fix="keep one of them, with the sources of both",
            )


def meaning(rule: Rule) -> str:
    """Equal for rules that fire on the same facts and do the same, as far as form shows it."""
    conditions = sorted(json.dumps(canonical(condition.expr), allow_nan=False) for condition in rule.when)
    effects = sorted(json.dumps(canonical(effect), allow_nan=False) for effect in rule.effects)
    return json.dumps([rule.stage, rule.each, conditions, effects, rule.text], allow_nan=False)


@check("warning", silence="with the special rule's id")
def subsumed_rule(context: LintContext) -> Iterator[Finding]:
    """Rule that adds nothing to another one that fires wherever it does.

    Why: it looks like a case of its own, and whoever changes it wonders why nothing happens.

    Bad::

        - id: training-wants-nvlink
          when: [training]
          then: {advise: A-NVLINK}
        - id: large-training-wants-nvlink
          when: [training, param_count_b > 30]
          then: {advise: A-NVLINK}

    Good: only the general rule, or a special one that does more::

        - id: training-wants-nvlink
          when: [training]
          then: {advise: A-NVLINK}
        - id: large-training-wants-nvlink
          when: [training, param_count_b > 30]
          then: {advise: [A-NVLINK, A-INFINIBAND]}

    Within one reason only the strongest points count, so a weaker rule for the same reason adds nothing either. Rules
    with a text, a claim or a band of their own say something else and are left alone.
    """
    regions = context.regions
    by_kind: dict[tuple[str, str], list[Rule]] = {}
    for rule in context.rulebook.rules:
        by_kind.setdefault((rule.stage, rule.each), []).append(rule)
    for rule in context.rulebook.rules:
        where = regions.fires(rule)
        if regions.never(where):
            continue
        for other in by_kind[rule.stage, rule.each]:
            if not _covers(other, rule) or not regions.never(where, regions.outside(regions.fires(other))):
                continue
            same = regions.never(regions.fires(other), opposite(where))
            # Of two that cover each other the later one is named, and duplicate-rule says it of those alike in form.
            if (same and _covers(rule, other) and rule.id < other.id) or meaning(rule) == meaning(other):
                continue
            yield subsumed_rule.about(
                rule,
                f"{rule.id} adds nothing: {other.id} ({other.place}) does as much wherever it fires",
                fix=f"drop it with its sources moved to {other.id}, or let it say more",
            )
            break


def _covers(other: Rule, rule: Rule) -> bool:
    """Whether the other rule's effects make those of ``rule`` idle where both fire."""
    if other.id == rule.id or not rule.effects or (rule.text and rule.text != other.text):
        return False
    return all(any(_idle(effect, beside) for beside in other.effects) for effect in rule.effects)


def _idle(effect: Effect, beside: Effect) -> bool:
    if isinstance(effect, Points) and isinstance(beside, Points):
        same_side = (effect.points > 0) == (beside.points > 0)
        alike = (effect.reason, effect.claim, effect.band) == (beside.reason, beside.claim, beside.band)
        return alike and same_side and abs(effect.points) <= abs(beside.points)
    return effect == beside and not isinstance(effect, Reject)


@check("error", silence="with the second rule's id")
def conflicting_sets(context: LintContext) -> Iterator[Finding]:
    """Two rules that set one fact to different values.

    Why: where both fire, the fact stays unknown, and everything that depends on it with it. One has to override the
    other, or their conditions have to exclude each other.

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

    An error with the workload where both fire; a warning ("possibly") where a comparison or an expression is too
    involved to decide.
    """
    setters: dict[str, list[tuple[Rule, SetFact]]] = {}
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact):
                setters.setdefault(effect.fact, []).append((rule, effect))
    for _, found in sorted(setters.items()):
        for (one, first), (two, second) in combinations(found, 2):
            if first.expr == second.expr or (one.stage, one.each) != (two.stage, two.each):
                continue
            both_fire = (context.regions.fires(one), context.regions.fires(two))
            case = None if context.regions.never(*both_fire) else context.regions.find(*both_fire)
            if case:
                yield _finding(one, first, two, second, case)


def _finding(one: Rule, first: SetFact, two: Rule, second: SetFact, case: Case) -> Finding:
    constant = isinstance(first.expr, Const) and isinstance(second.expr, Const)
    case = replace(case, certain=case.certain and constant)
    clash = f"{two.id} sets `{first.fact}` to {second.text} and {one.id} ({one.place}) to {first.text}"
    where = f"where {shown(case.example)}" if case.example else "always"
    return conflicting_sets.about(
        two,
        f"{clash}, both {where}" if case.certain else f"{clash}, possibly both {where}",
        fix=f"exclude one case in the conditions, or write `overrides: [{one.id}]`",
        case=case,
    )
