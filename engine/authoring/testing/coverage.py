"""What the tests inside rules exercise, both ways: rules fired and not, conditions true and not, rows taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from whichgpu.engine.authoring.testing.rule_tests import FactsFor
from whichgpu.engine.authoring.testing.rule_tests import Settled
from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.language.compiling import compile_expr
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Rulebook


@dataclass(frozen=True, slots=True)
class Covered:
    """How often the tests of a rule had something hold, and how often not."""

    rule: str
    what: str  # "" for the rule itself, else the condition as written
    held: int
    failed: int
    row: bool = False
    place: Place | None = None

    @property
    def both_ways(self) -> bool:
        """Whether it was seen to hold and to fail."""
        return bool(self.held and self.failed)

    @property
    def missing(self) -> str:
        """What no test shows, in words; "" where nothing is missing."""
        if self.both_ways:
            return ""
        verb = "fires" if not self.what else "is met"
        if not self.held:
            return f"never {verb}"
        return f"always {verb}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of rules (rows of tables among them) and of their conditions."""

    rules: tuple[Covered, ...]
    conditions: tuple[Covered, ...]

    @property
    def gaps(self) -> tuple[Covered, ...]:
        """Everything that the tests show one way only, or not at all."""
        return tuple(entry for entry in (*self.rules, *self.conditions) if not entry.both_ways)

    def to_dict(self) -> dict[str, Any]:
        """Counts and gaps as JSON values."""
        rows = [entry for entry in self.rules if entry.row]
        plain = [entry for entry in self.rules if not entry.row]
        return {
            "rules": _counts(plain),
            "rows": _counts(rows),
            "conditions": _counts(self.conditions),
            "gaps": [
                {
                    "rule": gap.rule,
                    "condition": gap.what or None,
                    "missing": gap.missing,
                    "path": gap.place.path if gap.place else None,
                    "line": gap.place.line if gap.place else None,
                }
                for gap in self.gaps
            ],
        }


def _counts(entries: Iterable[Covered]) -> dict[str, int]:
    found = list(entries)
    return {"total": len(found), "both_ways": sum(entry.both_ways for entry in found)}


def coverage_of_tests(rulebook: Rulebook, facts_for: FactsFor) -> Coverage:
    """What the tests exercise. A condition counts as failed where it is false or unknown.

    A rule is looked at on its own tests, a row of a ``first`` table with the rows above it.
    """
    settled = Settled(facts_for)
    rows: dict[str, list[Rule]] = {}
    for rule in rulebook.rules:
        if rule.table is not None and rule.hit == "first":
            rows.setdefault(rule.table, []).append(rule)
    rules: list[Covered] = []
    conditions: list[Covered] = []
    for rule in rulebook.rules:
        cases = [facts for test in rule.tests if (facts := settled.of(test, rule.each)) is not None]
        above = [row for row in rows.get(rule.table or "", ()) if row.row < rule.row]
        fired = [_matches(rule, facts) and not any(_matches(row, facts) for row in above) for facts in cases]
        whole = Covered(rule.id, "", sum(fired), len(fired) - sum(fired), rule.table is not None, rule.place)
        # A rule without conditions cannot fail, and need not be shown to.
        rules.append(whole if rule.when or above else Covered(rule.id, "", whole.held, 1, whole.row, rule.place))
        for condition in rule.when:
            test = compile_expr(condition.expr)
            held = sum(test(facts) is True for facts in cases)
            conditions.append(Covered(rule.id, condition.text, held, len(cases) - held, False, condition.place))
    return Coverage(tuple(rules), tuple(conditions))


def _matches(rule: Rule, facts: Facts) -> bool:
    return all(compile_expr(condition.expr)(facts) is True for condition in rule.when)
