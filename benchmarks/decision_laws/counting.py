"""Counts of a law: to how many answers it applies, and every answer that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Miss:
    """An answer that breaks a law."""

    workload: str
    facts: Mapping[str, Any]
    says: str


@dataclass
class Law:
    """A law with what was counted. ``bar`` is the least share of answers that must keep it; None: reported only."""

    name: str
    says: str
    bar: float | None = 1.0
    applies: int = 0
    misses: list[Miss] = field(default_factory=list)

    def judge(self, workload: str, facts: Mapping[str, Any], wrong: str | None) -> None:
        """Count one answer to which the law applies; ``wrong`` says how it breaks it."""
        self.applies += 1
        if wrong is not None:
            self.misses.append(Miss(workload, dict(facts), wrong))

    @property
    def share(self) -> float | None:
        """The share of answers that keep it."""
        return 1 - len(self.misses) / self.applies if self.applies else None

    @property
    def kept(self) -> bool | None:
        """Whether the bar is reached; None where there is none, or nothing was counted."""
        return None if self.bar is None or self.share is None else self.share >= self.bar - 1e-12

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "law": self.name,
            "says": self.says,
            "bar": self.bar,
            "applies": self.applies,
            "missed": len(self.misses),
            "share": self.share,
            "kept": self.kept,
            "misses": [{"workload": m.workload, "facts": m.facts, "says": m.says} for m in self.misses],
        }


class Laws:
    """Laws by name, made when first asked for."""

    def __init__(self) -> None:
        self.by_name: dict[str, Law] = {}

    def law(self, name: str, says: str, bar: float | None = 1.0) -> Law:
        """The law of that name."""
        return self.by_name.setdefault(name, Law(name, says, bar))
