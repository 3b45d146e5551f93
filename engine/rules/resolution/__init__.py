"""Resolving the facts of a workload: look-ups, calculators, derive rules and defaults as one graph of producers."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
