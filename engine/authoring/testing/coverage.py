"""What the tests inside rules exercise, both ways: rules fired and not, conditions true and not, rows taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from whichgpu.engine.authoring.testing.rule_tests import FactsFor
from whichgpu.engine.authoring.testing.rule_tests import TestCases
from whichgpu.engine.core.errors import Place
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
    tests = TestCases(rulebook, facts_for)
    rules: list[Covered] = []
    conditions: list[Covered] = []
    for rule in rulebook.rules:
        cases = list(tests.of(rule))
        held = [[test(facts) is True for test in tests.conditions(rule)] for facts in cases]
        fired = sum(all(each) and not tests.row_before(rule, facts) for each, facts in zip(held, cases, strict=True))
        # A rule without conditions cannot fail, and need not be shown to.
        binds = rule.when or tests.rows_above.get(rule.id)
        failed = len(cases) - fired if binds else 1
        rules.append(Covered(rule.id, "", fired, failed, rule.table is not None, rule.place))
        for at, condition in enumerate(rule.when):
            met = sum(each[at] for each in held)
            conditions.append(Covered(rule.id, condition.text, met, len(cases) - met, False, condition.place))
    return Coverage(tuple(rules), tuple(conditions))
