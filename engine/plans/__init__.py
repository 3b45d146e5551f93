"""Candidate plans: GPU x count x nodes x layout, each with memory, speed, cost and power."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
