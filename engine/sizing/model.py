"""Inputs and results of sizing: the job as the formulas see it, and estimates made of named terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from whichgpu.engine.core import Value
from whichgpu.engine.sizing.rows import Bools, Floats, plain


class Term(Struct, frozen=True):
    """One summand of an estimate: what it is, how it was computed, from what, and by which source."""

    name: str  # weights, kv_cache, activations, gradients, optimizer, logits, adapters, reserve, ...
    value: float  # in the estimate's unit
    formula: str  # in words
    inputs: dict[str, Value] = msgspec.field(default_factory=dict)
    source: str = ""


class TermKind(Struct, frozen=True):
    """What every term of one name has in common, so that an estimate need carry only its numbers."""

    name: str
    formula: str
    inputs: tuple[str, ...]  # names of the values that a part carries, in order
    source: str


#: One summand before anyone asks to see it: its kind, its value in GB, the values of its inputs.
Part = tuple[TermKind, float, tuple[Value, ...]]


class PartColumn(NamedTuple):
    """One summand over all rows. Inputs are columns, or values that are the same in every row."""

    kind: TermKind
    gb: Any
    inputs: tuple[Any, ...]
    where: Bools | None = None  # rows that have this summand; elsewhere ``gb`` is 0. None: all of them


def total_gb(parts: Iterable[PartColumn], *kinds: TermKind) -> Any:
    """The sum of the summands over all rows; of some kinds only, where they are named."""
    return sum(part.gb for part in parts if not kinds or part.kind in kinds)


class Band(NamedTuple):
    """How far the memory of each row may lie from its estimate, in decimal GB, and why."""

    low_gb: Any
    high_gb: Any
    reason: str


class MemoryColumns(Struct, frozen=True, dict=True):
    """Device memory at peak on the fullest GPU for each row, in decimal GB, with a band and its reason.

    The band is computed when it is first asked for: a search for what fits tries many splits and asks for none.
    """

    per_gpu_gb: Floats
    allocated_gb: Floats  # tensors only: without context and fragmentation
    parts: tuple[PartColumn, ...]  # their values sum to per_gpu_gb
    method: str  # "architecture", "rule of thumb" or "stated"
    find_band: Callable[[], Band]

    @cached_property
    def band(self) -> Band:
        """The band of each row."""
        return self.find_band()

    @property
    def low_gb(self) -> Floats:
        """The lower end of the band."""
        low: Floats = self.band.low_gb
        return low

    @property
    def high_gb(self) -> Floats:
        """The upper end of the band."""
        high: Floats = self.band.high_gb
        return high

    @property
    def band_reason(self) -> str:
        """Where the band comes from."""
        return self.band.reason

    def row(self, at: int) -> MemoryEstimate:
        """The estimate of one row."""
        ends = (self.per_gpu_gb, self.low_gb, self.high_gb, self.allocated_gb)
        value, low, high, allocated = (column.item(at) for column in ends)
        return MemoryEstimate(value, low, high, allocated, self.band_reason, self.method, self, at)

    def rows(self) -> list[MemoryEstimate]:
        """The estimate of each row."""
        ends = (self.per_gpu_gb, self.low_gb, self.high_gb, self.allocated_gb)
        each = zip(*(column.tolist() for column in ends), strict=True)
        return [
            MemoryEstimate(value, low, high, allocated, self.band_reason, self.method, self, at)
            for at, (value, low, high, allocated) in enumerate(each)
        ]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Device memory at peak on the fullest GPU, in decimal GB, with a band and its reason."""

    per_gpu_gb: float
    low_gb: float  # per GPU
    high_gb: float  # per GPU
    allocated_gb: float  # per GPU, tensors only: without context and fragmentation
    band_reason: str
    method: str  # "architecture", "rule of thumb" or "stated"
    columns: MemoryColumns = field(repr=False, compare=False)
    at: int = field(repr=False, compare=False)  # its row in the columns

    @property
    def parts(self) -> tuple[Part, ...]:
        """The summands of this row; their values sum to ``per_gpu_gb``."""
        at = self.at
        return tuple(
            (part.kind, plain(part.gb, at), tuple(plain(value, at) for value in part.inputs))
            for part in self.columns.parts
            if part.where is None or part.where[at]
        )

    @property
    def terms(self) -> tuple[Term, ...]:
        """The summands with their formulas, inputs and sources; their values sum to ``per_gpu_gb``."""
        return tuple(
            Term(kind.name, value, kind.formula, dict(zip(kind.inputs, inputs, strict=True)), kind.source)
            for kind, value, inputs in self.parts
        )

    @property
    def breakdown(self) -> dict[str, float]:
        """GB per GPU by the name of the term."""
        shares: dict[str, float] = {}
        for kind, value, _ in self.parts:
            shares[kind.name] = shares.get(kind.name, 0.0) + value
        return shares


class Figure(Struct, frozen=True):
    """A number with its band."""

    value: float
    low: float
    high: float
    unit: str
    formula: str
    source: str
    inputs: dict[str, Value] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """Named speed figures over all GPUs of the plan: tokens_per_s, samples_per_s, ttft_ms, tpot_ms, hours, ..."""

    values: dict[str, float] = field(default_factory=dict)
    build: Callable[[], dict[str, Figure]] = field(default=dict, compare=False, repr=False)

    @property
    def figures(self) -> dict[str, Figure]:
        """The same numbers with bands, formulas, inputs and sources; made when asked for."""
        return self.build()
