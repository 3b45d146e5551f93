"""Many decisions at once: columns of jobs become facts, equal jobs are decided once, and rows say what changes.

In go a table of jobs and a map of its columns, out comes a folder of rows (``store``), and what they sum to
(``figures``).
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
