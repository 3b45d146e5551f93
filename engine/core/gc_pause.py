"""Python's cyclic garbage collector, kept from walking again and again over what is being made to stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cycles meanwhile.

    Loading makes some 200,000 objects that live on, and searching them again and again was 40 % of its time; a decision
    makes tens of thousands that live until its end. Threads may pause it at the same time: the first that did so sets
    it going again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def collect_rarely() -> None:
    """Search for cycles rarely: for a process that loads much, makes few cycles and does not last.

    The interpreter's own thresholds are 700, 10 and 10; what was loaded lives until the end.
    """
    gc.set_threshold(200_000, 20, 100)


def collect_youngest() -> None:
    """Search what was made lately for cycles, at a moment at which no one waits; later it would be in between."""
    gc.collect(0)
