"""Names of properties, chosen so that the C engine finds a test in one or two steps.

The engine keeps the tests under a node in a table in which only 32 home slots are ever used (FNV-1a hash of the
property's name, last five bits), and looks every property of a fact up in it, at every node it reaches, walking on to
the first empty slot. So flags get the lower home slots, those under one node each its own, and facts share the upper
ones evenly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count


SLOTS = 32
HALF = SLOTS // 2
_PRIME, _BASIS, _WORD = 16777619, 2166136261, 2**32
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def hash_of(name: str, basis: int = _BASIS) -> int:
    """FNV-1a, 32 bits; ``basis`` is the hash of what stands before the name."""
    value = basis
    for letter in name.encode():
        value = ((value ^ letter) * _PRIME) % _WORD
    return value


def slot_of(name: str, basis: int = _BASIS) -> int:
    """The engine's home slot for a property."""
    return hash_of(name, basis) % SLOTS


class FlagNames:
    """Names ``b0``, ``b3``, ... in the lower half of the slots, never the same twice."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self._start = hash_of(letter)
        self._numbers = count()

    def take(self, wanted: int) -> list[str]:
        """At most HALF names for flags under one node, each in a slot of its own."""
        found: dict[int, str] = {}
        while len(found) < wanted:
            number = str(next(self._numbers))
            slot = slot_of(number, self._start)
            if slot < HALF:
                found.setdefault(slot, self._letter + number)
        return list(found.values())


def property_names(stems: Iterable[str]) -> list[str]:
    """A name for each stem that the engine takes for a plain property: ``plan.count`` -> ``plan_count_3``.

    The number keeps names apart that differ only in signs, and off the engine's ``id``, ``sid`` and ``$s``.
    """
    found: list[str] = []
    used: set[str] = set()
    load = [0] * SLOTS
    for stem in stems:
        plain = f"{_NOT_IN_NAMES.sub('_', stem.casefold())}_"
        start = hash_of(plain)
        most = len(found) // HALF + 1
        for number in map(str, count()):
            slot = slot_of(number, start)
            if slot >= HALF and load[slot] <= most and plain + number not in used:
                load[slot] += 1
                used.add(plain + number)
                found.append(plain + number)
                break
    return found
