"""What a comparison of two rulebooks comes to."""

from __future__ import annotations

from dataclasses import dataclass

from whichgpu.engine.authoring.diff.answers import Answer
from whichgpu.engine.authoring.diff.rulediff import RuleChange
from whichgpu.engine.authoring.diff.workloads import Named


@dataclass(frozen=True, slots=True)
class Region:
    """Facts on which a changed rule does something else, with a case. ``proved_empty``: there are none."""

    says: str  # now fires, no longer fires
    conditions: tuple[str, ...]  # what must hold, in the rule language
    excluded: tuple[str, ...]  # of these at least one must fail
    example: str | None = None
    certain: bool = True
    proved_empty: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A changed rule with the region of facts that it concerns."""

    change: RuleChange
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """A workload with another answer: the parts that differ, and the rules that fired on one side only."""

    workload: Named
    old: Answer
    new: Answer
    parts: tuple[str, ...]
    rules: tuple[str, ...]  # changed rules that fired on one side only or do something else, else any others


@dataclass(frozen=True, slots=True)
class Names:
    """What came, went and changed of one kind of knowledge."""

    kind: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two editions side by side."""

    old: str
    new: str
    digests: tuple[str, str]
    rules: tuple[Told, ...]
    knowledge: tuple[Names, ...]
    moved: tuple[Moved, ...]  # the weightiest first
    compared: dict[str, int]  # origin -> workloads
    seed: int

    @property
    def workloads(self) -> int:
        """How many workloads were answered by both."""
        return sum(self.compared.values())
