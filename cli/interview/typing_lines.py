"""Lines typed at a terminal, completed as they are typed, where prompt_toolkit is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec

from whichgpu import Advisor
from whichgpu.cli.interview.replies import STEERING, shown_choices
from whichgpu.engine.rules import FactDef


ReadLine = Callable[[FactDef | None], str | None]


def typed_lines(advisor: Advisor) -> ReadLine | None:
    """Reads lines with completion; None where this is no terminal that can show it, or nothing is there to do it."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if not terminal or find_spec("prompt_toolkit") is None:
        return None
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - half a second that only a terminal needs
    from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415

    session: PromptSession[str] = PromptSession()

    def read(fact: FactDef | None) -> str | None:
        completer = WordCompleter(completions(fact, advisor), ignore_case=True, sentence=True, match_middle=True)
        try:
            return session.prompt("> ", completer=completer, complete_while_typing=True)
        except EOFError:
            return None

    return read


def completions(fact: FactDef | None, advisor: Advisor) -> list[str]:
    """What may be typed at a question: names of models or GPUs, choices, and the words that steer."""
    steering = [word.partition(" ")[0] for word in STEERING]
    if fact is None:
        return steering
    words = [*shown_choices(fact)]
    if fact.name == "model_name":
        words = sorted(advisor.knowledge.models)
    elif fact.type == "gpu" or fact.items in {"gpu", "gpu_count"}:
        words = sorted(gpu.id for gpu in advisor.knowledge.plannable)
    return [*words, *steering]
