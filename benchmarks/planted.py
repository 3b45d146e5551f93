"""How many mistakes of an expert are found: a hundred planted in the shipped rules, tried by lint and the rules' tests.

``python benchmarks/planted.py`` plants them one by one and prints the share found of each kind. Kinds under
``UNTESTED`` are planted in rules whose tests were taken out first, as in a rule that was just written.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from whichgpu import Advisor, load_advisor
from whichgpu.engine.authoring import Finding, RuleTestFacts, run_rule_tests
from whichgpu.engine.authoring.inspection import inspect
from whichgpu.engine.authoring.testing.effect_mutants import EffectMutants
from whichgpu.engine.authoring.testing.mutants import mutants_of
from whichgpu.engine.rules import (
    Compare,
    Condition,
    Const,
    Expr,
    FactRef,
    Or,
    Points,
    Reject,
    Rule,
    Rulebook,
    constants,
    facts_read,
    written,
)


TODAY = date(2026, 11, 20)
EACH_KIND = 4

Plant = Callable[[Rule, Advisor], Rule | None]


class Defect(Struct, frozen=True):
    """A rule with a mistake in it, and of which kind."""

    kind: str
    rule: Rule
    what: str


def _with(rule: Rule, at: int, expr: Expr) -> Rule:
    condition = replace(rule.when[at], expr=expr, text=written(expr))
    return _read(replace(rule, when=(*rule.when[:at], condition, *rule.when[at + 1 :])))


def _added(rule: Rule, expr: Expr) -> Rule:
    return _read(replace(rule, when=(*rule.when, Condition(expr, written(expr), rule.place))))


def _read(rule: Rule) -> Rule:
    names = (name for condition in rule.when for name in facts_read(condition.expr))
    return replace(rule, reads=frozenset(names))


def _limits(rule: Rule, *, gpu: bool | None = None) -> Iterator[tuple[int, Compare]]:
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if isinstance(expr, Compare) and isinstance(expr.left, FactRef) and isinstance(expr.right, Const):
            number = not isinstance(expr.right.value, str | bool) and expr.right.value > 0
            if number and (gpu is None or expr.left.name.startswith("gpu.") == gpu):
                yield at, expr


def _scaled(factor: float, *, percent: bool = False) -> Plant:
    def plant(rule: Rule, advisor: Advisor) -> Rule | None:
        for at, expr in _limits(rule):
            assert isinstance(expr.left, FactRef)
            assert isinstance(expr.right, Const)
            unit = advisor.vocabulary.facts[expr.left.name].unit
            if (unit == "%") == percent and unit:
                return _with(rule, at, replace(expr, right=Const(float(expr.right.value) * factor)))
        return None

    return plant


def _other_name(rule: Rule, _: Advisor) -> Rule | None:
    """A series misspelt."""
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if not isinstance(expr, Compare) or expr.op != "==" or not isinstance(expr.left, FactRef):
            continue
        if expr.left.name in ("gpu.series", "gpu.family", "gpu.architecture", "plan.provider"):
            assert isinstance(expr.right, Const)
            return _with(rule, at, replace(expr, right=Const(f"{expr.right.value}0")))
    return None


def _no_card(rule: Rule, _: Advisor) -> Rule | None:
    """A size that the cards named do not have."""
    names = [value for condition in rule.when for fact, value in constants(condition.expr) if fact == "gpu.series"]
    return _added(rule, Compare(">", FactRef("gpu.vram_gb"), Const(400))) if len(names) == 1 else None


def _implied(rule: Rule, _: Advisor) -> Rule | None:
    """A second, weaker limit of the same fact."""
    for _at, expr in _limits(rule):
        assert isinstance(expr.right, Const)
        if expr.op in (">", ">=") and rule.table is None:
            return _added(rule, replace(expr, right=Const(float(expr.right.value) / 2)))
        if expr.op in ("<", "<=") and rule.table is None:
            return _added(rule, replace(expr, right=Const(float(expr.right.value) * 2)))
    return None


def _contradiction(rule: Rule, _: Advisor) -> Rule | None:
    for _at, expr in _limits(rule):
        assert isinstance(expr.right, Const)
        if expr.op in (">", ">="):
            return _added(rule, Compare("<", expr.left, Const(float(expr.right.value) / 2)))
        if expr.op in ("<", "<="):
            return _added(rule, Compare(">", expr.left, Const(float(expr.right.value) * 2)))
    return None


def _dead_alternative(rule: Rule, _: Advisor) -> Rule | None:
    for _at, expr in _limits(rule):
        assert isinstance(expr.right, Const)
        if expr.op in (">", ">=") and rule.table is None and rule.each == "workload":
            dead = Compare("<", expr.left, Const(float(expr.right.value) / 2))
            return _added(rule, Or((FactRef("training"), dead)))
    return None


def _all_plans(rule: Rule, _: Advisor) -> Rule | None:
    """A reject rule that lost what it says of plans."""
    if rule.each != "plan" or not any(isinstance(effect, Reject) for effect in rule.effects) or rule.table:
        return None
    kept = tuple(c for c in rule.when if not any("." in name for name in facts_read(c.expr)))
    return _read(replace(rule, when=kept)) if len(kept) < len(rule.when) else None


def _ten_times(rule: Rule, _: Advisor) -> Rule | None:
    if not any(isinstance(effect, Points) for effect in rule.effects):
        return None
    effects = (replace(e, points=e.points * 10) if isinstance(e, Points) else e for e in rule.effects)
    return replace(rule, effects=tuple(effects))


def _without_source(rule: Rule, _: Advisor) -> Rule | None:
    return replace(rule, sources=())


def _unknown_source(rule: Rule, _: Advisor) -> Rule | None:
    return replace(rule, sources=(*rule.sources, "runpood/multi-gpu"))


def _unknown_heuristic(rule: Rule, _: Advisor) -> Rule | None:
    return replace(rule, encodes=(*rule.encodes, "gmi-roi-71-pct"))


def _unmet(rule: Rule, advisor: Advisor) -> Rule | None:
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


def _title(rule: Rule, advisor: Advisor) -> Rule | None:
    """A threshold that moved while the title stayed."""
    for _at, expr in _limits(rule):
        assert isinstance(expr.left, FactRef)
        assert isinstance(expr.right, Const)
        if advisor.vocabulary.facts[expr.left.name].unit == "GB" and rule.table is None:
            return replace(rule, title=f"What holds at {float(expr.right.value) * 1.5:g} GB", encodes=())
    return None


def _always(rule: Rule, _: Advisor) -> Rule | None:
    """A limit that every card meets."""
    for at, expr in _limits(rule, gpu=True):
        if expr.op in (">", ">="):
            return _with(rule, at, replace(expr, right=Const(0.001)))
    return _added(rule, Compare(">", FactRef("gpu.vram_gb"), Const(0.5))) if rule.each == "plan" else None


#: Kinds that lint has to find alone.
UNTESTED: dict[str, Plant] = {
    "a number a thousand times as large": _scaled(1000),
    "a number a thousandth as large": _scaled(0.001),
    "a share for a percentage": _scaled(0.01, percent=True),
    "a name that does not exist": _other_name,
    "a card that does not exist": _no_card,
    "a line that asks nothing": _implied,
    "lines that contradict each other": _contradiction,
    "an alternative that cannot hold": _dead_alternative,
    "a reject of every plan": _all_plans,
    "points off the scale": _ten_times,
    "no source": _without_source,
    "a source that does not exist": _unknown_source,
    "a heuristic that does not exist": _unknown_heuristic,
    "an override that never meets": _unmet,
    "a title left behind": _title,
    "a limit that every card meets": _always,
}


def planted(advisor: Advisor, seed: int = 17, each_kind: int = EACH_KIND) -> Iterator[Defect]:
    """Defects of every kind: a few of each that only lint can find, the rest in effects and conditions."""
    chance = random.Random(seed)
    rules = list(advisor.rulebook.rules)
    chance.shuffle(rules)
    for kind, plant in UNTESTED.items():
        found = 0
        for rule in rules:
            made = plant(rule, advisor) if found < each_kind else None
            if made is not None:
                found += 1
                tests = () if kind not in ("no source",) else made.tests
                yield Defect(kind, replace(made, tests=tests), rule.id)
    making = EffectMutants(advisor.rulebook, advisor.vocabulary)
    effects = [mutant for rule in rules[: 6 * each_kind] for mutant in [*making.of(rule)][:3]]
    chance.shuffle(effects)
    yield from (Defect("a mistake in an effect", mutant.rule, mutant.what) for mutant in effects[: 5 * each_kind])
    changed = [(rule, mutant) for rule in rules[-6 * each_kind :] for mutant in mutants_of(rule, advisor.vocabulary)]
    chance.shuffle(changed)
    for rule, mutant in changed[: 5 * each_kind]:
        if mutant.expr is None:
            kept = tuple(c for at, c in enumerate(rule.when) if at != mutant.condition)
            yield Defect("a mistake in a condition", _read(replace(rule, when=kept)), mutant.what)
        else:
            yield Defect("a mistake in a condition", _with(rule, mutant.condition, mutant.expr), mutant.what)


#: That the tests were taken out is no discovery.
_OF_TESTS = ("missing-tests", "missing-near-miss")


class Judge:
    """Tries defects against lint and the tests of the rule."""

    def __init__(self, advisor: Advisor) -> None:
        self._advisor = advisor
        self._facts = RuleTestFacts(advisor)
        self._before = {self._key(finding) for finding in inspect(advisor, TODAY)}

    def by(self, defect: Defect) -> str | None:
        """What finds the defect: a check, or the tests; None where nothing does."""
        book = self._advisor.rulebook
        rules = tuple(defect.rule if rule.id == defect.rule.id else rule for rule in book.rules)
        changed: Rulebook = replace(book, rules=rules)
        facts_for, vocabulary = self._facts.facts_for, self._advisor.vocabulary
        if any(not r.passed for r in run_rule_tests(changed, facts_for, vocabulary, rules=[defect.rule.id])):
            return "the rule's tests"
        for finding in inspect(replace(self._advisor, rulebook=changed), TODAY):
            if (
                finding.severity != "info"
                and finding.check != "missing-tests"
                and self._key(finding) not in self._before
            ):
                return finding.check
        return None

    @staticmethod
    def _key(finding: Finding) -> tuple[str, str | None, str]:
        return finding.check, finding.rule, finding.message


def main() -> int:
    """Plant, try and print."""
    advisor = load_advisor()
    judge = Judge(advisor)
    total, found = Counter[str](), Counter[str]()
    for defect in planted(advisor):
        by = judge.by(defect)
        total[defect.kind] += 1
        found[defect.kind] += by is not None
        if by is None:
            print(f"not found: {defect.kind} in {defect.rule.id} ({defect.what})", flush=True)
    for kind, number in total.items():
        print(f"{found[kind]:3} of {number:3}  {kind}")
    print(f"{found.total()} of {total.total()} found: {100 * found.total() / total.total():.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
