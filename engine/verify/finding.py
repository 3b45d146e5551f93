"""What a check reports, and what checks are made of."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from typing import Literal

from engine.problems import Place
from engine.rulebook.model import Known
from engine.rulebook.model import Rule
from engine.rulebook.model import Rulebook
from engine.vocabulary import Vocabulary


#: error: the rulebook is wrong; warning: it may well be; info: worth knowing.
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark of a check about one rule, table or fact."""

    check: str
    severity: Severity
    message: str
    rule: str | None = None  # id of the rule, table or fact it is about
    place: Place | None = None
    nearest: tuple[str, ...] = ()
    fix: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        place = self.place
        return {
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
            "rule": self.rule,
            "path": place.path if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "nearest": list(self.nearest),
            "fix": self.fix,
        }

    def sort_key(self) -> tuple[str, int, int, str, str, str]:
        """By file, line and column, then check; findings without a place come first."""
        place = self.place or Place("", 0, 0)
        return (place.path, place.line, place.column, self.check, self.rule or "", self.message)


@dataclass(frozen=True, slots=True)
class Desk:
    """All that a check may look at."""

    rulebook: Rulebook
    vocabulary: Vocabulary
    known: Known
    today: datetime.date
    produced: frozenset[str] = frozenset()  # facts that calculators, look-ups and plans produce
    consumed: frozenset[str] = frozenset()  # facts that calculators and the pipeline read


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``page`` says what it finds, why that matters, a bad and a good example, and how to silence it."""

    id: str
    severity: Severity
    run: Callable[[Desk], Iterator[Finding]]
    page: str

    def about(
        self,
        rule: Rule,
        message: str,
        *,
        place: Place | None = None,
        severity: Severity | None = None,
        nearest: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> Finding:
        """A finding of this check about ``rule``."""
        return Finding(self.id, severity or self.severity, message, rule.id, place or rule.place, nearest, fix)
