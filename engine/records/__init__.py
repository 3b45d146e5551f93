"""Records of decisions: what was decided with what it rests on, signed, verified, decided again, and registered."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
