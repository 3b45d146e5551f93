"""What a person typed at a prompt: an answer, or one of the words that steer the interview."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime

from msgspec import Struct

from whichgpu import Advisor
from whichgpu.cli.interview.plainwords import readings
from whichgpu.engine.core import InputError, Problem, Value
from whichgpu.engine.rules import FactDef, fold


#: Words that steer, with what they do. An answer that looks like one is written with a leading "=".
STEERING = {
    "?": "what the question means",
    "why": "why it is asked, and what each answer would change",
    "back": "take the last answer back",
    "edit N": "change answer number N (or: edit FACT; edit FACT VALUE states any fact)",
    "show": "the answers so far, with their numbers",
    "skip": "ask later",
    "unknown": "you do not know",
    "now": "no more questions: answer with what is known",
    "save FILE": "write the answers as a workload file",
    "quit": "stop here and keep everything",
}
_WORDS = {"?": "?", "help": "?", "why": "why", "back": "back", "edit": "edit", "show": "show", "skip": "skip"}
_WORDS |= {"save": "save", "quit": "quit", "exit": "quit", "unknown": "unknown", "idk": "unknown"}
_WORDS |= {"now": "now", "answer now": "now", "answer": "now", "enough": "now"}
_WORDS |= {"don't know": "unknown", "dont know": "unknown", "not sure": "unknown"}
#: So many letters may stand anywhere in a choice; fewer are found in words that mean something else.
_LONG_ENOUGH = 4
_TAKE_REST = frozenset({"edit", "save"})


class Steer(Struct, frozen=True):
    """A steering word and what was written after it."""

    word: str
    rest: str = ""


def steering(line: str) -> Steer | None:
    """The steering word of a line; None where it is an answer."""
    text = " ".join(line.split())
    folded = text.casefold()
    if folded in _WORDS:
        return Steer(_WORDS[folded])
    first, _, rest = text.partition(" ")
    if first.casefold() in _TAKE_REST:
        return Steer(first.casefold(), rest)
    return None


def on_one_line(line: str) -> list[str]:
    """The answers on a line to several facts: commas stand between them, but not inside a number (2,048)."""
    return [part.strip() for part in re.split(r",(?!\d{3}\b)|;", line.strip())] if line.strip() else []


def shown_choices(fact: FactDef) -> tuple[str, ...]:
    """The choices that are listed with numbers: those that have a label, or all where none has."""
    if fact.type == "bool":
        return ("yes", "no")
    labelled = tuple(choice for choice in fact.choices if choice in fact.choice_labels)
    return labelled or fact.choices


class Reading(Struct, frozen=True):
    """What an answer means, and what should be said of how it was taken."""

    value: Value
    notes: tuple[str, ...] = ()


def answer_to(fact: FactDef, line: str, advisor: Advisor) -> Reading:
    """What an answer means: a number of the list, a word, a unique beginning, or a quantity with its unit.

    Raises:
        InputError: what is wrong with it, and what would do.
    """
    text = line.strip().removeprefix("=").strip()
    if fact.choices or fact.type == "bool":
        text = _chosen(fact, text)
    workload = advisor.read({fact.name: text})
    value = workload.given.get(fact.name)
    if value is None:
        raise InputError(Problem("no-answer", "that says nothing", fix="write unknown if you do not know"))
    for remark in workload.remarks:
        if remark.nearest or remark.elsewhere:  # More likely a slip than something else.
            message, near, ways = f"{text!r} is not a choice", remark.nearest, remark.elsewhere
            raise InputError(Problem("unknown-choice", message, None, None, near, f"or write {value}", ways))
    return Reading(value, tuple(remark.message for remark in workload.remarks))


def understood(fact: FactDef, line: str, advisor: Advisor, moment: datetime) -> tuple[FactDef, Reading]:
    """What an answer means, and of which fact it is: as it is written, or else as people speak.

    Raises:
        InputError: what is wrong with it as it is written, and what would do.
    """
    try:
        return fact, answer_to(fact, line, advisor)
    except InputError:
        for name, text in readings(fact, line.strip().removeprefix("=").strip(), moment):
            other = advisor.vocabulary.facts[name]
            with suppress(InputError):
                return other, answer_to(other, text, advisor)
        raise


def _chosen(fact: FactDef, text: str) -> str:
    listed = shown_choices(fact)
    if text.isdecimal():
        number = int(text)
        if 1 <= number <= len(listed):
            return listed[number - 1]
        raise InputError(Problem("no-such-choice", f"there is no choice {text}", fix=f"write 1 to {len(listed)}"))
    folded = fold(text)
    if fact.type in {"bool", "list"} or not folded or fact.choice(text) is not None:
        return text
    spoken = {fold(choice): choice for choice in fact.choices} | fact.spellings
    spoken |= {fold(label): choice for choice, label in fact.choice_labels.items()}
    begun = sorted({choice for spelling, choice in spoken.items() if spelling.startswith(folded)})
    if not begun and len(folded) >= _LONG_ENOUGH:
        begun = sorted({choice for spelling, choice in spoken.items() if folded in spelling})
    if len(begun) == 1:
        return begun[0]
    if begun:
        fix = f"write more of it: {', '.join(begun)}"
        raise InputError(Problem("ambiguous-choice", f"{text!r} may mean {len(begun)} choices", fix=fix))
    return text
