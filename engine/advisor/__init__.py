"""The pipeline of a decision: resolve facts, plan, reject, survey, prefer, choose, advise."""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
