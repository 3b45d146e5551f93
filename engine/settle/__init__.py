"""Settling the facts of a workload: look-ups, calculators, derive rules and defaults as one graph of producers."""

from engine.settle.model import Claim
from engine.settle.model import SettledFact
from engine.settle.model import Settlement
from engine.settle.run import Settler


__all__ = ["Claim", "SettledFact", "Settlement", "Settler"]
