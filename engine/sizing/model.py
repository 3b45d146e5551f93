"""Inputs and results of sizing: the job as the formulas see it, and estimates made of named terms."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

from engine.values import Value


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of an estimate: what it is, how it was reckoned, from what, and on whose word."""

    name: str  # weights, kv_cache, activations, gradients, optimizer, logits, adapters, reserve, ...
    value: float  # in the estimate's unit
    formula: str  # in words
    inputs: dict[str, Value] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Device memory at peak on the fullest GPU, in decimal GB, with a band and its reason."""

    per_gpu_gb: float
    low_gb: float  # per GPU
    high_gb: float  # per GPU
    allocated_gb: float  # per GPU, tensors only: without context and fragmentation
    terms: tuple[Term, ...]  # per GPU; they sum to per_gpu_gb
    band_reason: str
    method: str  # "architecture" or "rule of thumb"


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

    figures: dict[str, Figure] = field(default_factory=dict)
