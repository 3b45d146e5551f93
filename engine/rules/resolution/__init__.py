"""Settling the facts of a workload: look-ups, calculators, derive rules and defaults as one graph of producers."""

from whichgpu.engine.rules.resolution.model import Claim
from whichgpu.engine.rules.resolution.model import SettledFact
from whichgpu.engine.rules.resolution.model import Settlement
from whichgpu.engine.rules.resolution.run import Settler


__all__ = ["Claim", "SettledFact", "Settlement", "Settler"]
