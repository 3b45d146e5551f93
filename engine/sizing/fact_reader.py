"""``FactReader``: typed access to workload facts for a ``Job``, which records every assumption that it makes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TypeVar

from whichgpu.engine.core import Facts
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Assumed


Plain = TypeVar("Plain", int, float, str, bool)
#: Families that the formulas see as transformers.
TRANSFORMERS: frozenset[str] = frozenset({"llm", "encoder"})


@dataclass(slots=True)
class FactReader:
    """Reads facts, and writes down what had to be assumed."""

    facts: Facts
    assumed_names: Container[str]
    assumed: list[Assumed] = field(default_factory=list)

    def known(self, name: str) -> bool:
        """Stated, looked up or computed: not assumed by the vocabulary."""
        return name in self.facts and name not in self.assumed_names

    def number(self, name: str) -> float | None:
        """A number, or None."""
        value = self.facts.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value)

    def whole(self, name: str) -> int | None:
        """A number cut to a whole one, not below zero, or None."""
        value = self.number(name)
        return None if value is None else max(0, int(value))

    def text(self, name: str) -> str | None:
        """A word, or None."""
        value = self.facts.get(name)
        return value if isinstance(value, str) else None

    def flag(self, name: str) -> bool | None:
        """Yes or no, or None."""
        value = self.facts.get(name)
        return value if isinstance(value, bool) else None

    def assume(self, name: str, value: Plain, because: str) -> Plain:
        """Take a value for what is not stated, and write it down."""
        self.assumed.append(Assumed(name, value, because))
        return value

    def default(self, name: str, key: str | None = None) -> int:
        """Take a default of knowledge/sizing.yaml, and write it down."""
        entry = sizing_constants().defaults[key or name]
        return int(self.assume(name, int(entry.value), entry.because))
