"""Many decisions at once: columns of jobs become facts, equal jobs are decided once, and rows say what changes."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
