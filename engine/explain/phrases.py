"""Facts and values of a record in words, as far as this installation's vocabulary knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language import format_number
from whichgpu.engine.rules.language import format_value


#: Figures of a plan that the trace names apart from the plan's facts.
_SPEED, _COST, _MEMORY = "speed.", "cost.", "memory."


@dataclass(frozen=True, slots=True)
class Phrases:
    """Says names and values for people. A fact that this vocabulary does not know goes by its name."""

    vocabulary: Vocabulary

    def label(self, name: str) -> str:
        """The fact's label, else its name in words."""
        fact = self._fact(name)
        if fact is not None and fact.label:
            return fact.label
        if name.startswith(_MEMORY):
            return f"memory for {name.removeprefix(_MEMORY).removesuffix('_gb').replace('_', ' ')}"
        return name.rpartition(".")[2].replace("_", " ")

    def value(self, name: str, value: Any) -> str:
        """The value with its unit."""
        if value is None:
            return "unknown"
        shown: Value = tuple(value) if isinstance(value, list) else value
        fact = self._fact(name)
        if fact is not None:
            return format_value(fact, shown)
        if isinstance(shown, bool) or not isinstance(shown, int | float):
            return _plain(shown)
        unit = " GB" if name.endswith("_gb") else ""
        return format_number(shown) + unit

    def says(self, name: str, value: Any) -> str:
        """``label: value``."""
        return f"{self.label(name)}: {self.value(name, value)}"

    def _fact(self, name: str) -> FactDef | None:
        found = self.vocabulary.fact(name)
        if found is None and name.startswith((_SPEED, _COST)):
            found = self.vocabulary.fact(f"plan.{name.partition('.')[2]}")
        return found


def _plain(value: Value | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
