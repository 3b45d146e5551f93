"""Versions of software as numbers that compare."""

from __future__ import annotations


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
