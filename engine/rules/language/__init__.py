"""The rule language: text to a checked tree, evaluation in three values, wording."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
