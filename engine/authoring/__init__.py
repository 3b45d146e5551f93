"""For whoever edits rules: checks over a rulebook, its tests and scenarios, and what those would notice.

In goes a rulebook, out come findings (``lint``), results of tests and of mutation (``testing``), rules and answers that
differ between two editions (``diff``), and where each line of the guides is encoded (``guides``).
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
