"""Lines typed at a terminal: names of models and cards complete as one types, where prompt_toolkit is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec

from whichgpu import Advisor
from whichgpu.engine.rules import FactDef


ReadLine = Callable[[], str | None]

#: So many names are shown below the line that is typed.
_NAMES_SHOWN = 6


def typed_line(fact: FactDef | None, advisor: Advisor) -> ReadLine | None:
    """Reads one line, None at its end, and completes the names that may be typed; None where there is no terminal.

    All lines of an interview are read in the same way: what is typed ahead of one question stays in order.
    """
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if not terminal or find_spec("prompt_toolkit") is None:
        return None
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - a tenth of a second that only a terminal needs
    from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415

    names = names_for(fact, advisor)

    def read() -> str | None:
        completer = WordCompleter(names, ignore_case=True, sentence=True, match_middle=True) if names else None
        room = _NAMES_SHOWN if names else 0
        session: PromptSession[str] = PromptSession(completer=completer, reserve_space_for_menu=room)
        try:
            return session.prompt("> ")
        except EOFError:
            return None

    return read


def names_for(fact: FactDef | None, advisor: Advisor) -> list[str]:
    """The names that may be typed at a question: of models or cards; none where it asks for something else."""
    if fact is None:
        return []
    if fact.name == "model_name":
        return sorted(advisor.knowledge.models)
    if fact.type == "gpu" or fact.items in {"gpu", "gpu_count"}:
        return sorted(gpu.id for gpu in advisor.knowledge.plannable)
    return []
