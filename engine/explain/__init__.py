"""Explaining a decision: why, why not, what if, what would flip it, and whether it holds.

In go a decision or a record and a question, out comes a derivation (``why``), the nearest change (``whynot``), the
facts that flip it (``sensitivity_search``) or the verdicts of an audit (``auditing``).
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
