"""The values a fact can hold, how absence is written, and how an amount of money is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard


#: A fact's value. Lists are tuples so that values can be hashed and compared.
#: Unknown is never a value: an unknown fact is absent from its mapping, and ``None`` is what an evaluation returns.
Scalar = bool | int | float | str
Value = Scalar | tuple[Scalar, ...]

#: Facts as rules and calculators read them: name to value, unknown facts absent.
Facts = Mapping[str, Value]


def number(facts: Facts, name: str) -> float | None:
    """The fact as a number; None where it is unknown or no number."""
    value = facts.get(name)
    if value is None or isinstance(value, bool | str | tuple):
        return None
    return 1.0 * value


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is an integer or a float; true and false are neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def usd_words(value: float) -> str:
    """An amount in US dollars: cents below a hundred, more digits below ten cents, whole dollars above a hundred."""
    if abs(value) >= 100:
        return f"${value:,.0f}"
    return f"${value:.3g}" if 0 < abs(value) < 0.1 else f"${value:.2f}"
