"""Settling the facts of a workload: look-ups, calculators, derive rules and defaults as one graph of producers."""

from whichgpu.engine.rules.resolution.model import FactCandidate, ResolvedFact, ResolvedFacts
from whichgpu.engine.rules.resolution.run import FactResolver


__all__ = ["FactCandidate", "FactResolver", "ResolvedFact", "ResolvedFacts"]
