"""The controlled vocabulary: which facts there are, and how a raw value becomes one."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
