"""The derivation of a conclusion as a tree, from what the trace holds alone: old records need no rulebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Value
from whichgpu.engine.explain.evidence import Evidence, TraceEntry
from whichgpu.engine.rules import FactDef, Vocabulary, format_number, format_value


#: Figures of a plan that the trace names apart from the plan's facts.
_UNITS = {"gb": " GB", "ms": " ms"}  # of figures that are no facts, by the end of their names
_SPEED, _COST, _MEMORY = "speed.", "cost.", "memory."


class Phrases(Struct, frozen=True):
    """Says names and values for people. A fact that this vocabulary does not know goes by its name."""

    vocabulary: Vocabulary

    def label(self, name: str) -> str:
        """The fact's label, else its name in words."""
        fact = self._fact(name)
        if fact is not None and fact.label:
            return fact.label
        if name.startswith(_MEMORY):
            return f"memory for {name.removeprefix(_MEMORY).removesuffix('_gb').replace('_', ' ')}"
        words = name.rpartition(".")[2].split("_")
        return " ".join(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words)

    def value(self, name: str, value: Any) -> str:
        """The value with its unit."""
        if value is None:
            return "unknown"
        shown: Value = tuple(value) if isinstance(value, list) else value
        fact = self._fact(name)
        if fact is not None:
            return format_value(fact, shown)
        if isinstance(shown, bool):
            return "yes" if shown else "no"
        if isinstance(shown, tuple):
            return ", ".join(map(str, shown)) or "none"
        return shown if isinstance(shown, str) else format_number(shown) + _UNITS.get(name.rpartition("_")[2], "")

    def says(self, name: str, value: Any) -> str:
        """``label: value``."""
        return f"{self.label(name)}: {self.value(name, value)}"

    def _fact(self, name: str) -> FactDef | None:
        found = self.vocabulary.fact(name)
        if found is None and name.startswith((_SPEED, _COST)):
            found = self.vocabulary.fact(f"plan.{name.partition('.')[2]}")
        return found


class Step(Struct, frozen=True):
    """One line of a derivation, with the steps that it rests on."""

    says: str
    kind: str  # conclusion, condition, constant, unknown, or the kind of the trace entry
    fact: str | None = None
    value: Any = None
    rule: str | None = None
    calculator: str | None = None
    because: str | None = None
    sources: tuple[str, ...] = ()
    seq: int | None = None
    above: bool = False  # shown in full further up
    steps: tuple[Step, ...] = ()
    cut: int = 0  # steps left out by --depth


@dataclass(slots=True)
class StepBuilder:
    """Builds steps and remembers what it has shown already, so that nothing is unfolded twice."""

    evidence: Evidence
    phrases: Phrases
    shown: dict[int, set[str | None]] = field(default_factory=dict)  # entry -> the facts of it that were shown

    def fact(self, name: str, value: Any, seq: int | None, condition: str | None = None) -> Step:
        """How one fact got its value."""
        entry = self.evidence.by_seq.get(seq) if seq is not None else None
        says = condition or self.phrases.says(name, value)
        if entry is None:
            kind = "unknown" if value is None else "constant"
            return Step(says, kind, fact=name, value=value)
        step = self.entry(entry, says, name)
        return replace(step, fact=name, value=value)

    def entry(self, entry: TraceEntry, says: str, fact: str | None = None) -> Step:
        """A trace entry as a step, with what it was made from below it."""
        shown = self.shown.setdefault(entry["seq"], set())
        step = Step(
            says,
            entry["kind"],
            rule=entry.get("rule"),
            calculator=entry.get("calculator"),
            because=entry.get("because"),
            sources=tuple(entry["sources"]),
            seq=entry["seq"],
        )
        if fact in shown:
            return replace(step, above=bool(entry["matched"]), because=None, sources=())
        if shown and not step.rule:
            step = replace(step, sources=())  # One entry may give many facts; its sources are shown once.
        shown.add(fact)
        return replace(step, steps=self.matched(narrowed(entry, fact), entry["seq"]))

    def matched(self, matched: Sequence[Mapping[str, Any]], seq: int) -> tuple[Step, ...]:
        """What an entry rests on: one step for each condition, or for each input of a calculator."""
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for item in matched:
            groups.setdefault(item.get("condition") or f"\0{item['fact']}", []).append(item)
        steps = []
        for text, items in groups.items():
            condition = None if text.startswith("\0") else text
            distinct = list({item["fact"]: item for item in items}.values())
            if len(distinct) == 1:
                steps.append(self._one(distinct[0], condition, seq))
            else:
                inner = tuple(self._one(item, None, seq) for item in distinct if item["value"] is not None)
                steps.append(Step(condition or "", "condition", steps=inner))
        return tuple(steps)

    def _one(self, item: Mapping[str, Any], condition: str | None, seq: int) -> Step:
        source = item["seq"] if isinstance(item["seq"], int) and item["seq"] < seq else None
        return self.fact(str(item["fact"]), item["value"], source, condition)


def narrowed(entry: TraceEntry, fact: str | None) -> list[Mapping[str, Any]]:
    """The inputs of one fact of an entry that gives several: of a figure that it repeats, that alone."""
    matched: list[Mapping[str, Any]] = list(entry["matched"])
    if fact is None or entry.get("calculator") != "plans":
        return matched
    own = [item for item in matched if str(item["fact"]).partition(".")[2] == fact.partition(".")[2]]
    return own or matched


def cut_at(step: Step, depth: int) -> Step:
    """The tree down to a depth; each step that loses what is below it says how many steps those are."""
    if depth <= 0:
        return replace(step, steps=(), cut=size(step) - 1)
    return replace(step, steps=tuple(cut_at(below, depth - 1) for below in step.steps))


def size(step: Step) -> int:
    """How many steps a tree has."""
    return 1 + sum(size(below) for below in step.steps)


def to_dict(step: Step) -> dict[str, Any]:
    """The tree as JSON values; what is empty is left out."""
    fields = {name: getattr(step, name) for name in ("fact", "value", "rule", "calculator", "because", "seq")}
    fields |= {"sources": step.sources or None, "shown_above": step.above or None, "steps_left_out": step.cut or None}
    known = {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items() if v is not None}
    return {"says": step.says, "kind": step.kind, **known, "steps": [to_dict(below) for below in step.steps]}
