"""Explaining a decision: why, why not, what if, what would flip it, and whether it holds."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
