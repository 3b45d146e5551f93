"""What every package builds on: values, errors, positioned YAML, canonical JSON, layers, constants with sources."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
