"""The pipeline of a decision: settle, plan, reject, survey, prefer, rank, advise.

The room and the shortest way into it share a name. Python puts a package that was imported under its name into the
parent, in place of a function of that name; so the package itself answers when it is called, and
``from engine import decide`` gives something to call whichever of the two came first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        """Decide a workload; see ``engine.offhand.decide``."""
        from engine.offhand import decide  # noqa: PLC0415  (it imports this room)

        return decide(*args, **options)


sys.modules[__name__].__class__ = _Room
