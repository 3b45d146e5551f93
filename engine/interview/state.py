"""Where an interview stands: the answers in their order, and what was put off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Value


#: How an answer came: asked for, volunteered, from a file, the usual one that Enter takes, or left open at the end.
Origin = Literal["asked", "stated", "file", "usual", "now"]


class Answer(Struct, frozen=True):
    """One answer. ``value`` None: the person does not know."""

    fact: str
    value: Value | None
    written: str = ""  # as the person wrote it
    origin: Origin = "asked"


class State(Struct, frozen=True):
    """The answers so far, oldest first, one a fact. A new answer to a fact takes the place of the old one."""

    answers: tuple[Answer, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, Value]:
        """What is known."""
        return {answer.fact: answer.value for answer in self.answers if answer.value is not None}

    @property
    def unknown(self) -> tuple[str, ...]:
        """What was answered by not knowing."""
        return tuple(answer.fact for answer in self.answers if answer.value is None)

    @property
    def answered(self) -> frozenset[str]:
        """Every fact with an answer, not knowing included."""
        return frozenset(answer.fact for answer in self.answers)

    def answer(self, fact: str, value: Value | None, written: str = "", origin: Origin = "asked") -> State:
        """The state after an answer."""
        answers = {old.fact: old for old in self.answers} | {fact: Answer(fact, value, written, origin)}
        return State(tuple(answers.values()), tuple(name for name in self.skipped if name != fact))

    def state_facts(self, facts: Mapping[str, Value], origin: Origin) -> State:
        """The state with facts from elsewhere, which count as answered."""
        found = self
        for name in facts:
            found = found.answer(name, facts[name], origin=origin)
        return found

    def skip(self, fact: str) -> State:
        """Put a question off until nothing else is left to ask; a second time, it counts as not known."""
        if fact in self.skipped:
            return self.answer(fact, None, "skip")
        return replace(self, skipped=(*self.skipped, fact))

    def back(self) -> tuple[State, str | None]:
        """The state before the last answer or skip that the person gave, and the fact to ask again."""
        asked = [answer for answer in self.answers if answer.origin != "file"]
        if not asked:
            return self, None
        last = asked[-1].fact
        answers = tuple(answer for answer in self.answers if answer.fact != last)
        return State(answers, tuple(name for name in self.skipped if name != last)), last
