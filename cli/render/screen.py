"""What the output can show: its width, whether it takes colour, whether it takes block characters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from msgspec import Struct


PLAIN_WIDTH = 100
NARROWEST = 40
WIDEST = 120


class Screen(Struct, frozen=True):
    """How to decorate. Nothing here changes what is said."""

    width: int = PLAIN_WIDTH
    colour: bool = False
    blocks: bool = False


def screen_of(stream: TextIO | None, environment: Mapping[str, str] | None = None) -> Screen:
    """The screen behind a stream: a pipe, a file and ``TERM=dumb`` get plain text, a hundred columns wide."""
    env = os.environ if environment is None else environment
    if stream is None:  # It was closed before the program began.
        return Screen()
    terminal = stream.isatty()
    dumb = env.get("TERM", "") == "dumb"
    width = _terminal_width() if terminal else PLAIN_WIDTH
    colour = terminal and not dumb and not env.get("NO_COLOR")
    blocks = terminal and not dumb and (stream.encoding or "").lower().replace("-", "") == "utf8"
    return Screen(min(max(width, NARROWEST), WIDEST), colour, blocks)


def _terminal_width() -> int:
    import shutil  # noqa: PLC0415 - it loads every compression there is, and a pipe has no width.

    return shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
