"""A decision as the expectations of a scenario look at it: whole, lazily made, or its plans alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import LazyAnswer, Outline
from whichgpu.engine.catalogue import Knowledge


class Outlined(Struct, frozen=True):
    """Of a decision the plans alone: what is expected of them needs nothing else."""

    plans: Outline

    def outline(self) -> Outline:
        """The recommendation and the alternatives, best first, by card and number alone."""
        return self.plans

    def __getitem__(self, key: str) -> Any:
        """Nothing. Raises KeyError."""
        raise KeyError(key)


class SeenDecision(Struct, frozen=True):
    """What expectations read of a decision."""

    decision: Mapping[str, Any] | Outlined
    knowledge: Knowledge

    @property
    def plans(self) -> Sequence[Mapping[str, Any]]:
        """The recommendation and the alternatives, best first; by ``gpu`` and ``count``."""
        if isinstance(self.decision, LazyAnswer | Outlined):
            first, others = self.decision.outline()
        else:
            first, others = self.decision["recommendation"], list(self.decision["alternatives"])
        return ([first] if first else []) + others

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """The recommended plan by ``gpu`` and ``count``: what it costs, and over what it was chosen, is not asked."""
        if isinstance(self.decision, LazyAnswer | Outlined):
            return self.decision.outline()[0]
        first: Mapping[str, Any] | None = self.decision["recommendation"]
        return first

    @property
    def rejecting(self) -> set[str]:
        """The rules that reject some plan."""
        if isinstance(self.decision, LazyAnswer):
            return self.decision.rejecting()
        return {str(plan["rule"]) for plan in self.decision["rejected"] if plan["rule"]}

    def ids(self, name: str) -> frozenset[str]:
        """The accelerators that a name of the scenario means. Raises KeyError for an unknown name."""
        match = self.knowledge.find_gpu(name)
        if not match.found:
            raise KeyError(name)
        return frozenset(match.ids)

    def of(self, name: str) -> list[Mapping[str, Any]]:
        """The plans on an accelerator, best first."""
        ids = self.ids(name)
        return [plan for plan in self.plans if plan["gpu"] in ids]

    def codes(self, key: str) -> set[str]:
        """The codes of the advice or of the warnings."""
        return {entry["code"] for entry in self.decision[key]}

    def verdicts(self, names: Collection[str]) -> list[Mapping[str, Any]]:
        """What became of these rules, and of the rows of these tables."""
        if isinstance(self.decision, LazyAnswer):
            return list(self.decision.rules_named(names))
        return [rule for rule in self.decision["rules"] if {rule["id"], rule["id"].partition("/")[0]} & set(names)]
