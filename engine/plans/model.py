"""A plan: one GPU type, how many, linked how, split how, and the numbers that follow."""

from __future__ import annotations

from msgspec import Struct, field

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Value
from whichgpu.engine.plans.competence import Competence
from whichgpu.engine.plans.costs.model import Cost
from whichgpu.engine.sizing import Layout, MemoryEstimate, SpeedEstimate


__all__ = ["Cost", "Layout", "Partition", "Plan"]


class Partition(Struct, frozen=True):
    """Cards cut into MIG slices: the profile, how many slices serve, how many a card holds, what each can give."""

    profile: str
    slices: int
    per_card: int
    usable_gb: float | None


class Plan(Struct, frozen=True):
    """A candidate answer. ``id`` is ``<gpu id>x<count>``; ``facts`` are its ``plan.*`` facts as rules read them."""

    id: str
    gpu: Gpu
    count: int
    nodes: int
    link: str
    node_link: str
    layout: Layout
    precision: str | None
    memory: MemoryEstimate | None
    speed: SpeedEstimate | None
    cost: Cost
    power_w: float | None
    why_count: str  # "one card", "smallest count that fits", "meets the target", "asked by RULE", "stated"
    facts: dict[str, Value] = field(default_factory=dict)
    partition: Partition | None = None
    competence: Competence = Competence()

    @property
    def units(self) -> int:
        """What the memory estimate is for one of: slices where the cards are cut, else GPUs."""
        return self.partition.slices if self.partition else self.count

    @property
    def usable_gb(self) -> float | None:
        """What one unit can give, in decimal GB."""
        return self.partition.usable_gb if self.partition else self.gpu.usable_gb
