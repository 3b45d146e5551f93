"""Values and names as the C engine can read them without coercing, rounding or choking.

The engine compares ``80`` with ``"80"`` as equal, parses no exponents and wraps integers at 64 bits. So numbers are
written exactly and without exponent, truth values as 1 and 0, and words behind a mark that no number starts with. What
cannot be written so raises ``Unencodable``; the caller then lets the generated evaluator judge the conditions.

It keeps the tests under a node in a table in which only 32 home slots are ever used (FNV-1a hash of the property's
name, last five bits), and looks every property of a fact up in it, at every node it reaches, walking on to the first
empty slot. So flags get the lower home slots, those under one node each its own, and facts share the upper ones evenly:
a test is then found in one or two steps.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from itertools import count
from typing import Literal

from whichgpu.engine.core import Value


Kind = Literal["number", "word", "bool"]

#: Integers up to here survive exactly a comparison with a float and a product with a factor of at most MAX_FACTOR: a
#: double holds every integer below 2^53.
MAX_INT = 2**40
MAX_FACTOR = 2**12

#: The engine copies numbers into fixed buffers; fixed notation of very small or large floats can have 300 digits.
MAX_DIGITS = 40
MAX_WORD = 200
MAX_CACHED = 20_000

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.+/ :-]*", re.ASCII)


class Unencodable(Exception):  # noqa: N818 - a signal between two modules, not an error anyone sees
    """A value that the engine might misread."""


def number_text(value: object) -> str:
    """The number in plain decimals, exactly: ``1e-05`` becomes ``0.00001``.

    Raises:
        Unencodable: not a finite number, too large for exact arithmetic, or too long.
    """
    if value.__class__ is float and (text := repr(value)).replace(".", "", 1).isdecimal() and len(text) <= MAX_DIGITS:
        return text  # As most are.
    if isinstance(value, int):
        if abs(value) > MAX_INT:
            raise Unencodable(value)
        return str(int(value))
    if not isinstance(value, float) or not math.isfinite(value):
        raise Unencodable(value)
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
        if "." not in text:
            text += ".0"  # Without a point the engine would read an integer and could overflow.
    if len(text) > MAX_DIGITS:
        raise Unencodable(value)
    return text


def word_text(value: object) -> str:
    """The word as a JSON string that no number can be mistaken for; injective.

    Raises:
        Unencodable: not a word, or too long.
    """
    if not isinstance(value, str) or len(value) > MAX_WORD:
        raise Unencodable(value)
    if _PLAIN_WORD.fullmatch(value):
        return f'"={value}"'
    # Quotes, escapes and other alphabets never reach the engine's parser.
    return f'"x{value.encode("utf-8", "surrogatepass").hex()}"'


def kind_of(value: Value) -> Kind | None:
    """What sort of value this is, or None for a list."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "word" if isinstance(value, str) else None


class TextCache(dict[Value, str]):
    """Texts of the values seen, so that a value costs one look-up; bounded, so that memory stays flat."""

    __slots__ = ("_kind",)

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, value: Value) -> str:
        text = encode(value, self._kind)
        if len(self) >= MAX_CACHED:
            self.clear()
        self[value] = text
        return text


def encode(value: Value, kind: Kind) -> str:
    """The value as JSON text, a truth value as ``1`` or ``0``.

    Raises:
        Unencodable: it is of another kind, or the engine might misread it.
    """
    if kind_of(value) != kind:
        raise Unencodable(value)
    if kind == "bool":
        return "1" if value else "0"
    return number_text(value) if kind == "number" else word_text(value)


SLOTS = 32
HALF = SLOTS // 2
_PRIME, _BASIS, _WORD = 16777619, 2166136261, 2**32


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


def property_names(wanted: int) -> list[str]:
    """Names ``p1``, ``p4``, ... in the upper half of the slots, spread evenly over them.

    They are short because facts are passed to the engine, and returned with every match, under all their names.
    """
    found: list[str] = []
    start = hash_of("p")
    load = [0] * SLOTS
    for number in map(str, count()):
        if len(found) == wanted:
            break
        slot = slot_of(number, start)
        if slot >= HALF and load[slot] <= len(found) // HALF:
            load[slot] += 1
            found.append("p" + number)
    return found
