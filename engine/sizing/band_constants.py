"""By how much bands of memory are stretched, read once from ``knowledge/memory_bands.yaml``."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

from whichgpu.engine.core import FrozenModel, read_constants, traceable


class Stretch(FrozenModel):
    """By how much the ends of a formula's band are moved, as powers of their distance from the estimate."""

    low: float
    high: float
    margin: float = 0.0  # by how much the upper end lies further away besides, in natural logarithms
    rows: int  # published runs that it was computed on
    sources: int
    source: str


class Widening(FrozenModel):
    """By how much each end of a band lies further away, as a share, where a fact is not stated."""

    share: float
    of: tuple[str, ...] = ()  # kinds of job that the fact says something of; none: all
    stated: int  # published runs that state it
    open: int  # and that do not


class MemoryBands(FrozenModel):
    """Everything in ``knowledge/memory_bands.yaml``."""

    beyond_each_end: float  # chance that a measurement lies beyond one end of a band
    groups: dict[str, Stretch]
    open_training: dict[str, Widening]
    open_inference: dict[str, Widening]

    def widened(self, group: str, open_facts: Collection[str], *, training: bool) -> float:
        """By how much the open facts of a job move each end of its band, in natural logarithms."""
        widenings = self.open_training if training else self.open_inference
        # By name, so that the sum is the same to the last bit however the file is ordered.
        counted = (w for name, w in sorted(widenings.items()) if (not w.of or group in w.of) and name in open_facts)
        return sum(widening.share for widening in counted)


@traceable("memory_bands")
@cache
def memory_bands(folder: Path | None = None) -> MemoryBands:
    """The bands of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(MemoryBands, "memory_bands.yaml", folder)
