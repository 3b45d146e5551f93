"""Facts, the rule language, rulebooks and their inference. Knows no hardware.

In go rule files and facts, out comes which rules hold and what follows. ``facts`` has the vocabulary, ``language``
conditions, ``rulebook`` files and layers, ``inference`` the two evaluators, ``resolution`` the order of derived facts.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
