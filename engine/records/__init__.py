"""Records of decisions: what was decided with what it rests on, signed, verified, decided again, and registered.

In goes a ``Decision``, out comes a file (``statement``); in goes a file, out comes what can be believed of it
(``reading``), whether its arithmetic holds (``arithmetic``) and what is decided by its own data (``as_of``).
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
