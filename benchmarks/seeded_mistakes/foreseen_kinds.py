"""Kinds of mistakes that the checks were made for, and changes of effects and conditions that mutation makes.

Those of ``KINDS`` stand in rules whose tests were taken out, as in a rule that was just written.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from whichgpu import Advisor, load_advisor
from whichgpu.engine.authoring.testing.effect_mutants import EffectMutants
from whichgpu.engine.authoring.testing.mutants import Mutant, mutants_of
from whichgpu.engine.rules import Compare, Const, FactRef, Or, Reject, Rule, constants, facts_read

from .judging import Seeded
from .loaded_rules import (
    Change,
    Exchange,
    Instead,
    alone,
    comparisons,
    drawn,
    reading,
    seeded_in_rules,
    shuffled,
    with_further_line,
    with_line,
    with_points,
)


LOWER, UPPER = (">", ">="), ("<", "<=")


def scaled(factor: float, *, percent: bool = False) -> Change:
    def change(rule: Rule, advisor: Advisor) -> Rule | None:
        for at, expr in comparisons(rule):
            unit = advisor.vocabulary.facts[expr.left.name].unit
            if (unit == "%") == percent and unit:
                return with_line(rule, at, replace(expr, right=Const(float(expr.right.value) * factor)))
        return None

    return change


def other_name(rule: Rule, _: Advisor) -> Rule | None:
    """A series misspelt."""
    names = ("gpu.series", "gpu.family", "gpu.architecture", "plan.provider")
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if isinstance(expr, Compare) and expr.op == "==" and isinstance(expr.left, FactRef) and expr.left.name in names:
            assert isinstance(expr.right, Const)
            return with_line(rule, at, replace(expr, right=Const(f"{expr.right.value}0")))
    return None


def no_card(rule: Rule, _: Advisor) -> Rule | None:
    """A size that the cards named do not have."""
    names = [value for condition in rule.when for fact, value in constants(condition.expr) if fact == "gpu.series"]
    return with_further_line(rule, Compare(">", FactRef("gpu.vram_gb"), Const(400))) if len(names) == 1 else None


def implied(rule: Rule, _: Advisor) -> Rule | None:
    """A second, weaker limit of the same fact."""
    for _at, expr in comparisons(rule):
        if expr.op in (*LOWER, *UPPER) and rule.table is None:
            weaker = float(expr.right.value) * (0.5 if expr.op in LOWER else 2)
            return with_further_line(rule, replace(expr, right=Const(weaker)))
    return None


def contradiction(rule: Rule, _: Advisor) -> Rule | None:
    for _at, expr in comparisons(rule):
        if expr.op in (*LOWER, *UPPER):
            op, factor = ("<", 0.5) if expr.op in LOWER else (">", 2)
            return with_further_line(rule, Compare(op, expr.left, Const(float(expr.right.value) * factor)))
    return None


def dead_alternative(rule: Rule, _: Advisor) -> Rule | None:
    for _at, expr in comparisons(rule):
        if expr.op in LOWER and rule.table is None and rule.each == "workload":
            dead = Compare("<", expr.left, Const(float(expr.right.value) / 2))
            return with_further_line(rule, Or((FactRef("training"), dead)))
    return None


def all_plans(rule: Rule, _: Advisor) -> Rule | None:
    """A reject rule that lost what it says of plans."""
    if rule.each != "plan" or not any(isinstance(effect, Reject) for effect in rule.effects) or rule.table:
        return None
    kept = tuple(c for c in rule.when if not any("." in name for name in facts_read(c.expr)))
    return reading(replace(rule, when=kept)) if len(kept) < len(rule.when) else None


def unmet(rule: Rule, advisor: Advisor) -> Rule | None:
    """An override of a rule that cannot match with it: another row of a task."""
    if rule.overrides or rule.table is not None:
        return None
    tasks = {value for condition in rule.when for fact, value in constants(condition.expr) if fact == "task"}
    for other in advisor.rulebook.rules:
        theirs = {value for condition in other.when for fact, value in constants(condition.expr) if fact == "task"}
        same = (other.stage, other.each) == (rule.stage, rule.each) and other.table is None
        if same and len(tasks) == 1 and len(theirs) == 1 and tasks != theirs:
            return replace(rule, overrides=(other.id,))
    return None


def title_left(rule: Rule, advisor: Advisor) -> Rule | None:
    """A threshold that moved while the title stayed."""
    for _at, expr in comparisons(rule):
        if advisor.vocabulary.facts[expr.left.name].unit == "GB" and rule.table is None:
            return replace(rule, title=f"What holds at {float(expr.right.value) * 1.5:g} GB", encodes=())
    return None


def always(rule: Rule, _: Advisor) -> Rule | None:
    """A limit that every card meets."""
    for at, expr in comparisons(rule):
        if expr.left.name.startswith("gpu.") and expr.op in LOWER:
            return with_line(rule, at, replace(expr, right=Const(0.001)))
    return with_further_line(rule, Compare(">", FactRef("gpu.vram_gb"), Const(0.5))) if rule.each == "plan" else None


KINDS: dict[str, Exchange] = {
    "a number a thousand times as large": alone(scaled(1000)),
    "a number a thousandth as large": alone(scaled(0.001)),
    "a share for a percentage": alone(scaled(0.01, percent=True)),
    "a name that does not exist": alone(other_name),
    "a card that does not exist": alone(no_card),
    "a line that asks nothing": alone(implied),
    "lines that contradict each other": alone(contradiction),
    "an alternative that cannot hold": alone(dead_alternative),
    "a reject of every plan": alone(all_plans),
    "points off the scale": alone(lambda rule, _: with_points(rule, 10)),
    "no source": alone(lambda rule, _: replace(rule, sources=()), tests=True),
    "a source that does not exist": alone(lambda rule, _: replace(rule, sources=(*rule.sources, "runpod/multi-gpu"))),
    "a heuristic that does not exist": alone(lambda rule, _: replace(rule, encodes=(*rule.encodes, "gmi-roi-71-pct"))),
    "an override that never meets": alone(unmet),
    "a title left behind": alone(title_left),
    "a limit that every card meets": alone(always),
}


def mistakes(advisor: Advisor, seed: int, each: int) -> Iterator[tuple[str, str, Instead]]:
    """So many of every kind, and five times as many in effects and in conditions of rules with their tests."""
    chance, rules = shuffled(advisor, seed)
    yield from drawn(KINDS, rules, advisor, each)
    making = EffectMutants(advisor.rulebook, advisor.vocabulary)
    effects = [mutant for rule in rules[: 6 * each] for mutant in [*making.of(rule)][:3]]
    chance.shuffle(effects)
    for effect in effects[: 5 * each]:
        yield "a mistake in an effect", f"{effect.rule.id}, {effect.what}", {effect.rule.id: (effect.rule,)}
    changed = [(rule, mutant) for rule in rules[-6 * each :] for mutant in mutants_of(rule, advisor.vocabulary)]
    chance.shuffle(changed)
    for rule, mutant in changed[: 5 * each]:
        yield "a mistake in a condition", f"{rule.id}, {mutant.what}", {rule.id: (mutated(rule, mutant),)}


def mutated(rule: Rule, mutant: Mutant) -> Rule:
    if mutant.expr is None:
        return reading(replace(rule, when=(*rule.when[: mutant.condition], *rule.when[mutant.condition + 1 :])))
    return with_line(rule, mutant.condition, mutant.expr)


def seeded(seed: int, each: int) -> Iterator[Seeded]:
    """Each mistake and what finds it."""
    advisor = load_advisor()
    return seeded_in_rules(advisor, mistakes(advisor, seed, each))
