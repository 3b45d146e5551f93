"""How far the figures of a plan may be believed, and the range of its count where it rests on a rule of thumb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.sizing import Job, MemoryEstimate, SpeedEstimate, Support, figure_support, group_of


@dataclass(frozen=True, slots=True)
class Competence:
    """The levels of a plan's figures and the range of its count; computed when asked for."""

    build: Callable[[], Mapping[str, Support]] = field(default=dict, compare=False, repr=False)
    range_of: Callable[[Mapping[str, Support]], tuple[int, int] | None] = field(
        default=lambda _: None, compare=False, repr=False
    )

    @property
    def support(self) -> Mapping[str, Support]:
        """The level of each figure by name, those that are withheld among them."""
        return self.build()

    @property
    def count_range(self) -> tuple[int, int] | None:
        """The fewest and the most GPUs it may come to, where the count rests on a rule of thumb; else None."""
        return self.range_of(self.build())


def competence_of(
    job: Job,
    gpu: Gpu,
    memory: MemoryEstimate | None,
    speed: SpeedEstimate | None,
    counts: Callable[..., tuple[int, int]] | None,
) -> Competence:
    """The competence of one plan.

    Args:
        job: what runs.
        gpu: on what.
        memory: of the plan.
        speed: of the plan.
        counts: its range by ``memory``, ``speed`` or both; None where the count was stated.
    """

    def build() -> Mapping[str, Support]:
        method = memory.method if memory is not None else None
        return figure_support(job, gpu, method, speed.values if speed is not None else ())

    def range_of(support: Mapping[str, Support]) -> tuple[int, int] | None:
        by_memory = support["memory"].level == "rule_of_thumb"
        rates = (each for name, each in support.items() if name != "memory" and group_of(name) == "rates")
        by_speed = any(each.level == "rule_of_thumb" for each in rates)
        if counts is None or support["memory"].level == "none" or not (by_memory or by_speed):
            return None
        return counts(memory=by_memory, speed=by_speed)

    return Competence(build, range_of)
