"""Facts, the rule language, rulebooks and their inference. Knows no hardware."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
