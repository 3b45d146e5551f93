"""Versions of software as numbers that compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, TypeVar


class _ByVersion(Protocol):
    @property
    def before(self) -> str | None: ...


_Entry = TypeVar("_Entry", bound=_ByVersion)


def entry_of(entries: Sequence[_Entry], version: str | None) -> _Entry:
    """The entry that holds for a version: the first whose ``before`` lies above it, the last where none is.

    Args:
        entries: the oldest first.
        version: as stated.
    """
    return next((entry for entry in entries if entry.before and older(version, entry.before)), entries[-1])


def older(version: str | None, than: str) -> bool:
    """Whether a version is known to come before another."""
    numbers, limit = version_numbers(version), version_numbers(than)
    return numbers is not None and limit is not None and numbers < limit


@lru_cache(maxsize=256)
def version_numbers(text: str | None) -> tuple[int, ...] | None:
    """A version as numbers that compare; None where there is none to read."""
    if not text:
        return None
    numbers: list[int] = []
    for piece in text.lstrip("v").split(".")[:3]:
        digits = "".join(char for char in piece if char.isdigit())
        if not digits:
            break
        numbers.append(int(digits[:6]))
    return tuple(numbers) or None
