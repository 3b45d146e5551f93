"""What two decisions differ in, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import Literal


CauseKind = Literal["fact", "rule", "knowledge", "price", "objective", "engine", "time"]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs; None where one side has nothing of the kind."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that fired on one side only, or did something else; ``where`` is the plan, else the workload."""

    rule: str
    where: str
    before: str
    after: str
    of_itself: bool  # it met the same values on both sides, so the rule itself was changed


@dataclass(frozen=True, slots=True)
class Cause:
    """What is behind a difference."""

    kind: CauseKind
    what: str
    says: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs between two decisions, the answer first."""

    answer: tuple[Change, ...]  # GPU, count, links, procurement verdict, or whether there is an answer
    figures: tuple[Change, ...]  # memory, speed, cost, score of the recommended plans
    facts: tuple[Change, ...]
    fired_before: tuple[str, ...]  # rules that fired before only
    fired_after: tuple[str, ...]
    rules: tuple[RuleChange, ...]
    rejected: tuple[Change, ...]  # GPUs: by which rules before and after
    remarks: tuple[Change, ...]  # codes of warnings and advice on one side only
    causes: tuple[Cause, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs that either decision says."""
        return not any((self.answer, self.figures, self.facts, self.rules, self.rejected, self.remarks, self.causes))


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The names whose values differ, in the order of the first side."""
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        Change(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    )


def shown(value: Any) -> str:
    """A value of a record in a few words."""
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {item}" for name, item in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
