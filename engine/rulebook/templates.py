"""Texts with ``{fact}`` in them: which facts they show, and filling them in."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.values import Facts
from engine.values import Value


_FIELD = re.compile(r"\{([^{}]*)\}")


def template_fields(text: str) -> tuple[tuple[str, int], ...]:
    """Facts named in braces, each with its offset in the text. Names are as written, so they may be wrong."""
    return tuple((match.group(1), match.start(1)) for match in _FIELD.finditer(text))


def stray_brace(text: str) -> int | None:
    """Offset of a brace that belongs to no ``{fact}``, or None."""
    blanked = _FIELD.sub(lambda match: " " * len(match.group()), text)
    return next((index for index, char in enumerate(blanked) if char in "{}"), None)


def fill_template(text: str, facts: Facts, show: Callable[[str, Value], str]) -> str:
    """The text with values in place of names; ``show(fact, value)`` words a value. Unknown facts read "unknown"."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return show(name, facts[name]) if name in facts else "unknown"

    return _FIELD.sub(value, text)
