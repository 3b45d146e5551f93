"""Inputs and results of sizing: the job as the formulas see it, and estimates made of named terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field

from whichgpu.engine.core import Value


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of an estimate: what it is, how it was computed, from what, and on whose word."""

    name: str  # weights, kv_cache, activations, gradients, optimizer, logits, adapters, reserve, ...
    value: float  # in the estimate's unit
    formula: str  # in words
    inputs: dict[str, Value] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class TermKind:
    """What every term of one name has in common, so that an estimate need carry only its numbers."""

    name: str
    formula: str
    inputs: tuple[str, ...]  # names of the values that a part carries, in order
    source: str


#: One summand before anyone asks to see it: its kind, its value in GB, the values of its inputs.
Part = tuple[TermKind, float, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Device memory at peak on the fullest GPU, in decimal GB, with a band and its reason."""

    per_gpu_gb: float
    low_gb: float  # per GPU
    high_gb: float  # per GPU
    allocated_gb: float  # per GPU, tensors only: without context and fragmentation
    parts: tuple[Part, ...]  # per GPU; their values sum to per_gpu_gb
    band_reason: str
    method: str  # "architecture", "rule of thumb" or "stated"

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


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its band."""

    value: float
    low: float
    high: float
    unit: str
    formula: str
    source: str
    inputs: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """Named speed figures over all GPUs of the plan: tokens_per_s, samples_per_s, ttft_ms, tpot_ms, hours, ..."""

    values: dict[str, float] = field(default_factory=dict)
    build: Callable[[], dict[str, Figure]] = field(default=dict, compare=False, repr=False)

    @property
    def figures(self) -> dict[str, Figure]:
        """The same numbers with bands, formulas, inputs and sources; made when asked for."""
        return self.build()
