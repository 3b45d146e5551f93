"""The interview: which question to ask next, and the proof that what was not asked cannot matter.

In goes a ``State`` (the answers so far), out comes the next question, or a certificate. ``planner`` finds the question.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
