"""What became of every rule on one set of facts, and why."""

from __future__ import annotations

from collections.abc import Iterable

from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.language.compiling import evaluate
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Verdict
from whichgpu.engine.rules.rulebook.resolve import Resolution


def verdict_of(rule: Rule, facts: Facts, resolution: Resolution | None = None) -> Verdict:
    """The verdict on one rule by the reference evaluation; ``resolution`` tells which matches were overridden."""
    undecided = False
    unknown: set[str] = set()
    for condition in rule.when:
        outcome = evaluate(condition.expr, facts)
        if outcome is None:
            undecided = True
            unknown |= missing_facts(condition.expr, facts)
        elif not outcome:
            culprit = sole_fact(condition.expr)
            return Verdict(
                rule.id, "not_fired", failed=condition.text, value=facts.get(culprit) if culprit is not None else None
            )
    if undecided:
        return Verdict(rule.id, "undecided", missing=tuple(sorted(unknown)))
    by = resolution.overridden.get(rule.id) if resolution else None
    return Verdict(rule.id, "overridden", by=by) if by is not None else Verdict(rule.id, "fired")


def verdicts_of(rules: Iterable[Rule], facts: Facts, resolution: Resolution | None = None) -> tuple[Verdict, ...]:
    """Verdicts on all ``rules``, sorted by rule id."""
    return tuple(verdict_of(rule, facts, resolution) for rule in sorted(rules, key=lambda rule: rule.id))


def missing_facts(expr: Expr, facts: Facts) -> set[str]:
    """Facts whose absence leaves ``expr`` unknown. Parts of a conjunction that hold are left out."""
    if isinstance(expr, And):
        return {name for part in expr.operands if evaluate(part, facts) is None for name in missing_facts(part, facts)}
    return {name for name in facts_read(expr) if name not in facts}


def sole_fact(expr: Expr) -> str | None:
    """The fact that ``expr`` reads, if it reads exactly one."""
    read = facts_read(expr)
    return next(iter(read)) if len(read) == 1 else None
