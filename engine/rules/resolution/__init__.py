"""Settling the facts of a workload: look-ups, calculators, derive rules and defaults as one graph of producers."""

from whichgpu.engine.rules.resolution.model import FactCandidate
from whichgpu.engine.rules.resolution.model import ResolvedFact
from whichgpu.engine.rules.resolution.model import ResolvedFacts
from whichgpu.engine.rules.resolution.run import FactResolver


__all__ = ["FactCandidate", "FactResolver", "ResolvedFact", "ResolvedFacts"]
