"""Mistakes of nineteen kinds on which no check was tuned at first: how many lint and the rules' tests find.

``python benchmarks/planted_anew.py [SEED]`` plants three of each kind in the shipped rules, one at a time. Rules whose
tests would have been written beside the mistake (``without tests`` below) lose theirs first.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from planted import TODAY

from whichgpu import Advisor, load_advisor
from whichgpu.engine.authoring import Finding, RuleTestFacts, run_rule_tests
from whichgpu.engine.authoring.inspection import inspect
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.rules import (
    OPPOSITE,
    Ask,
    Compare,
    Condition,
    Const,
    Disagree,
    Expr,
    FactRef,
    Not,
    Or,
    Points,
    Rule,
    Rulebook,
    SetFact,
    constants,
    facts_read,
    written,
)


EACH_KIND = 3

#: From a rule and the rulebook to the rules that stand in the place of some (by id; none for one left out), or None.
Plant = Callable[[Rule, Advisor], "dict[str, tuple[Rule, ...]] | None"]


class Planted(Struct, frozen=True):
    """A rulebook with a mistake in it."""

    kind: str
    where: str
    rulebook: Rulebook
    tested: tuple[str, ...]  # rules whose tests are run


def _reading(rule: Rule) -> Rule:
    named = {name for condition in rule.when for name in facts_read(condition.expr)}
    return replace(rule, reads=frozenset(named))


def _joined_by_or(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    if len(rule.when) < 2 or rule.table:
        return None
    both = Or((rule.when[-2].expr, rule.when[-1].expr))
    return {rule.id: (replace(rule, when=(*rule.when[:-2], Condition(both, written(both), rule.place))),)}


def _rows_exchanged(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A row and the one below it, where the first that holds counts."""
    rows = [other for other in advisor.rulebook.rules if other.table and other.table == rule.table]
    below = next((other for other in rows if other.row == rule.row + 1), None)
    if rule.hit != "first" or below is None or not rule.when:
        return None
    regions = Regions(advisor.rulebook, advisor.vocabulary)
    if regions.never(regions.where(rule), regions.where(below)):
        return None  # No case knows which of the two comes first.
    return {rule.id: (replace(below, row=rule.row),), below.id: (replace(rule, row=below.row),)}


def _row_left_out(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    complete = {table.id for table in advisor.rulebook.tables if table.complete}
    return {rule.id: ()} if rule.table in complete and rule.when else None


def _copied(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """The same under another name, with other points and no tests: pasted, and the condition never changed."""
    if rule.table or not any(isinstance(effect, Points) for effect in rule.effects):
        return None
    effects = tuple(replace(e, points=-e.points / 2) if isinstance(e, Points) else e for e in rule.effects)
    return {rule.id: (rule, replace(rule, id=f"{rule.id}-anew", effects=effects, tests=(), overrides=()))}


def _other_work(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A rule about training that asks for serving as well, or the other way round; without tests."""
    texts = {condition.text for condition in rule.when}
    other = "serving" if "training" in texts else "training" if "serving" in texts else None
    if other is None:
        return None
    added = Condition(FactRef(other), other, rule.place)
    return {rule.id: (_reading(replace(rule, when=(*rule.when, added), tests=())),)}


def _set_in_another_unit(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A number that a rule sets, a thousandth as large; without tests."""
    for at, effect in enumerate(rule.effects):
        if (
            isinstance(effect, SetFact)
            and isinstance(effect.expr, Const)
            and not isinstance(effect.expr.value, bool | str)
        ):
            small = effect.expr.value / 1000
            changed = replace(effect, expr=Const(small), text=f"{small:g}")
            return {rule.id: (replace(rule, effects=(*rule.effects[:at], changed, *rule.effects[at + 1 :]), tests=()),)}
    return None


def _another_card(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """Another maker's card in the condition, while titles and texts stay; without tests."""
    for at, condition in enumerate(rule.when):
        expr = condition.expr
        if isinstance(expr, Compare) and expr.op == "==" and expr.left == FactRef("gpu.series"):
            assert isinstance(expr.right, Const)
            other = "amd-mi300x" if str(expr.right.value).startswith("nvidia") else "nvidia-h100"
            changed = replace(expr, right=Const(other))
            when = (*rule.when[:at], replace(condition, expr=changed, text=written(changed)), *rule.when[at + 1 :])
            return {rule.id: (replace(rule, when=when, tests=()),)}
    return None


def _text_of_another_fact(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A text that shows another fact than the rule reads, of the same unit; without tests."""
    facts = advisor.vocabulary.facts
    for name in sorted(rule.mentions & rule.reads):
        same = [
            fact.name for fact in facts.values() if (fact.unit, fact.scope) == (facts[name].unit, facts[name].scope)
        ]
        others = [other for other in same if other not in rule.reads | rule.mentions]
        if facts[name].unit and others and f"{{{name}}}" in rule.text:
            text = rule.text.replace(f"{{{name}}}", f"{{{others[0]}}}")
            return {rule.id: (replace(rule, text=text, mentions=rule.mentions - {name} | {others[0]}, tests=()),)}
    return None


def _override_turned_round(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    others = [advisor.rules[name] for name in rule.overrides if advisor.rules[name].table is None]
    if rule.table or not others:
        return None
    other = others[0]
    kept = tuple(name for name in rule.overrides if name != other.id)
    turned = replace(other, overrides=(*other.overrides, rule.id))
    return {rule.id: (replace(rule, overrides=kept),), other.id: (turned,)}


def _asked_though_known(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A question for a fact that the rule compares with a value, so that it is known; without tests."""
    plain = (condition.expr for condition in rule.when if isinstance(condition.expr, Compare))
    known = [fact for expr in plain for fact, _ in constants(expr) if "." not in fact]
    asked = [effect for effect in rule.effects if isinstance(effect, Ask)]
    free = [fact for fact in known if advisor.vocabulary.facts[fact].role == "input"]
    if rule.stage != "advise" or rule.each != "workload" or asked or not free:
        return None
    return {rule.id: (replace(rule, effects=(*rule.effects, Ask(free[0])), tests=()),)}


def _changed_line(rule: Rule, at: int, expr: Expr) -> dict[str, tuple[Rule, ...]]:
    condition = replace(rule.when[at], expr=expr, text=written(expr))
    when = (*rule.when[:at], condition, *rule.when[at + 1 :])
    return {rule.id: (_reading(replace(rule, when=when, tests=())),)}


def _days_for_hours(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A limit of hours in days; without tests."""
    for at, expr in _comparisons(rule):
        if advisor.vocabulary.facts[expr.left.name].unit == "h":
            return _changed_line(rule, at, replace(expr, right=Const(float(expr.right.value) / 24)))
    return None


def _neighbouring_fact(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A figure of the plan for another of its unit; without tests."""
    facts = advisor.vocabulary.facts
    for at, expr in _comparisons(rule):
        fact = facts[expr.left.name]
        others = [each.name for each in facts.values() if (each.scope, each.unit) == ("plan", fact.unit)]
        others = [name for name in others if name not in rule.reads]
        if fact.scope == "plan" and fact.unit and others:
            return _changed_line(rule, at, replace(expr, left=FactRef(others[0])))
    return None


def _lost_not(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """``not X`` without its ``not``; without tests."""
    found = ((at, line.expr.operand) for at, line in enumerate(rule.when) if isinstance(line.expr, Not))
    return next((_changed_line(rule, at, expr) for at, expr in found), None)


def _another_stack(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """CUDA demanded of AMD's cards, or ROCm of NVIDIA's; without tests."""
    named = {str(value) for line in rule.when for fact, value in constants(line.expr) if fact == "gpu.series"}
    if not named:
        return None
    stack = "rocm" if any(name.startswith("nvidia") for name in named) else "cuda"
    expr = Compare("==", FactRef("gpu.sw_stack"), Const(stack))
    when = (*rule.when, Condition(expr, written(expr), rule.place))
    return {rule.id: (_reading(replace(rule, when=when, tests=())),)}


def _another_conflict(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """Another disagreement reported; without tests."""
    known = sorted(advisor.knowledge.disagreements)
    for at, effect in enumerate(rule.effects):
        if isinstance(effect, Disagree):
            other = Disagree(known[(known.index(effect.conflict) + 7) % len(known)])
            return {rule.id: (replace(rule, effects=(*rule.effects[:at], other, *rule.effects[at + 1 :]), tests=()),)}
    return None


def _override_dropped(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    return {rule.id: (replace(rule, overrides=()),)} if rule.overrides else None


def _last_row_first(rule: Rule, advisor: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """The row that catches the rest put on top."""
    rows = [other for other in advisor.rulebook.rules if other.table and other.table == rule.table]
    if rule.hit != "first" or not rows or rule.row != len(rows) - 1 or len(rule.when) > 1:
        return None
    first = rows[0]
    moved = [replace(rule, row=first.row), *(replace(row, row=row.row + 1) for row in rows[:-1])]
    return {first.id: tuple(moved), **{row.id: () for row in rows[1:]}}


def _turned_comparison(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """A limit turned round, its tests kept."""
    for at, expr in _comparisons(rule):
        if expr.op in OPPOSITE and expr.op not in ("==", "!="):
            made = _changed_line(rule, at, replace(expr, op=OPPOSITE[expr.op]))[rule.id][0]
            return {rule.id: (replace(made, tests=rule.tests),)}
    return None


def _a_share_of_points(rule: Rule, _: Advisor) -> dict[str, tuple[Rule, ...]] | None:
    """Points of hundredths; without tests."""
    if not any(isinstance(effect, Points) for effect in rule.effects):
        return None
    effects = tuple(replace(e, points=e.points / 100) if isinstance(e, Points) else e for e in rule.effects)
    return {rule.id: (replace(rule, effects=effects, tests=()),)}


def _comparisons(rule: Rule) -> Iterator[tuple[int, Any]]:
    """The lines that compare one fact with a number above 0."""
    for at, line in enumerate(rule.when):
        expr = line.expr
        if isinstance(expr, Compare) and isinstance(expr.left, FactRef) and isinstance(expr.right, Const):
            value = expr.right.value
            yield from [(at, expr)] if not isinstance(value, bool | str) and value > 0 else []


KINDS: dict[str, Plant] = {
    "two lines joined by or": _joined_by_or,
    "two rows exchanged": _rows_exchanged,
    "a row of a complete table left out": _row_left_out,
    "a copy with other points": _copied,
    "the other kind of work as well": _other_work,
    "a value set in another unit": _set_in_another_unit,
    "another maker's card": _another_card,
    "a text that shows another fact": _text_of_another_fact,
    "an override turned round": _override_turned_round,
    "a question for what is known": _asked_though_known,
}
#: Nine more, planted when the checks for those above stood, and not tuned on.
MORE: dict[str, Plant] = {
    "days for hours": _days_for_hours,
    "another figure of the plan": _neighbouring_fact,
    "a lost not": _lost_not,
    "another stack than the cards'": _another_stack,
    "another disagreement": _another_conflict,
    "an override dropped": _override_dropped,
    "the last row first": _last_row_first,
    "a comparison turned round": _turned_comparison,
    "hundredths for points": _a_share_of_points,
}


def planted(advisor: Advisor, seed: int) -> Iterator[Planted]:
    """Three of each kind, in rules drawn with ``seed``."""
    book, rules = advisor.rulebook, list(advisor.rulebook.rules)
    random.Random(seed).shuffle(rules)
    for kind, plant in (KINDS | MORE).items():
        made = ((rule, plant(rule, advisor)) for rule in rules)
        for rule, changed in islice(((rule, found) for rule, found in made if found is not None), EACH_KIND):
            every = tuple(new for old in book.rules for new in changed.get(old.id, (old,)))
            gone = {name for name, new in changed.items() if not new}
            tables = tuple(
                replace(each, rows=tuple(row for row in each.rows if row not in gone)) for each in book.tables
            )
            tested = tuple(changed) if all(new for new in changed.values()) else ()
            yield Planted(kind, rule.id, replace(book, rules=every, tables=tables), tested)


class Judge:
    """Tries rulebooks against lint and the tests of what was changed."""

    def __init__(self, advisor: Advisor) -> None:
        self._advisor = advisor
        self._facts = RuleTestFacts(advisor)
        self._before = {self._key(finding) for finding in inspect(advisor, TODAY)}

    def by(self, defect: Planted) -> str | None:
        """The check that finds it, or the tests; None where nothing does. Missing tests are no discovery."""
        facts_for, vocabulary = self._facts.facts_for, self._advisor.vocabulary
        results = run_rule_tests(defect.rulebook, facts_for, vocabulary, rules=defect.tested)
        if any(not result.passed for result in results):
            return "the rules' tests"
        for finding in inspect(replace(self._advisor, rulebook=defect.rulebook), TODAY):
            said = finding.severity != "info" and not finding.check.startswith("missing-")
            if said and self._key(finding) not in self._before:
                return finding.check
        return None

    @staticmethod
    def _key(finding: Finding) -> tuple[str, str | None, str]:
        return finding.check, finding.rule, re.sub(r"\s+", " ", finding.message)


def main(seed: int) -> int:
    """Plant, try and print."""
    advisor = load_advisor()
    judge = Judge(advisor)
    total, found = Counter[str](), Counter[str]()
    for defect in planted(advisor, seed):
        by = judge.by(defect)
        total[defect.kind] += 1
        found[defect.kind] += by is not None
        print(f"{by or 'NOT FOUND':28} {defect.kind} in {defect.where}", flush=True)
    for kind, number in total.items():
        print(f"{found[kind]:3} of {number:3}  {kind}")
    for name, kinds in (("the first ten kinds", KINDS), ("nine more", MORE)):
        planted_of, found_of = (sum(counts[kind] for kind in kinds) for counts in (total, found))
        print(f"{found_of} of {planted_of} found of {name}: {100 * found_of / planted_of:.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
