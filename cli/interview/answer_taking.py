"""Taking an answer: it is understood, tried, kept on disk, and the plan that is then in front is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from whichgpu.cli.interview import standing, wording
from whichgpu.cli.interview.replies import answer_to, on_one_line, steering, understood
from whichgpu.cli.interview.session import Session
from whichgpu.cli.render.answered import owned_cards
from whichgpu.cli.render.blocks import Block, Paragraph
from whichgpu.cli.render.figures import value_text
from whichgpu.cli.render.names import Names
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview import Interviewer, Origin, Question, State
from whichgpu.engine.rules import FactDef


@dataclass(kw_only=True)
class AnswerTaking:
    """What one person has said so far, and what takes a further answer."""

    interviewer: Interviewer
    names: Names
    session: Session
    show: Callable[[Iterable[Block]], None]
    state: State = field(default_factory=State)
    offered: bool = False  # whether it was said that the answer may be taken
    unsaid: bool = False  # whether it is still to be said how sure the answer is

    def take_line(self, question: Question, line: str) -> bool:
        """Take the answers of a line to several facts, one for each as far as it goes. False where one was wrong.

        Enter takes what is usual. What the line leaves out is asked on its own.
        """
        state, notes = self.state, list[str]()
        parts = on_one_line(line)
        for place, fact in enumerate((question.fact, *question.together)):
            part = parts[place] if place < len(parts) else (parts[0] if len(parts) == 1 and steering(line) else "")
            steer = steering(part)
            if steer is not None and steer.word == "skip":
                state = state.skip(fact.name)
            elif steer is not None and steer.word == "unknown":
                state = state.answer(fact.name, None, "unknown")
            elif part:
                try:
                    taken, reading = understood(fact, part, self.interviewer.advisor, self.interviewer.moment)
                    state = state.answer(taken.name, reading.value, part)
                    self.interviewer.decide(state)
                except InputError as error:
                    self.show(wording.error_blocks(error, fact))
                    return False
                notes += reading.notes
            elif not line.strip() and (usual := self.usual(fact)) is not None:
                state = state.answer(fact.name, usual, "", "usual")
        if state == self.state:
            self.show([Paragraph("Write an answer to each, with commas between, unknown, or ? for help.")])
            return False
        if notes:
            self.show([Paragraph(f"Note: {note}.") for note in notes])
        self.keep(state)
        return True

    def usual(self, fact: FactDef) -> Value | None:
        """What Enter stands for at a question: what is assumed as long as nothing is said."""
        known = self.interviewer.decide(self.state).outcome.intake.resolved.get(fact.name)
        return known.candidate.value if known is not None and known.candidate.origin == "assumed" else None

    def take(
        self, fact: FactDef, line: str, origin: Origin, *, standing: bool = True, such_as: str | None = None
    ) -> bool:
        """Take an answer. False where it was wrong, after saying why."""
        try:
            taken, reading = understood(fact, line, self.interviewer.advisor, self.interviewer.moment)
            state = self.state.answer(taken.name, reading.value, line.strip(), origin)
            self.interviewer.decide(state)
        except InputError as error:
            if self._take_otherwise(fact, line, origin):
                return True
            self.show(wording.error_blocks(error, fact, such_as))
            return False
        if reading.notes:
            self.show([Paragraph(f"Note: {note}.") for note in reading.notes])
        self.keep(state, standing=standing)
        return True

    def _take_otherwise(self, fact: FactDef, line: str, origin: Origin) -> bool:
        """Take an answer that says nothing of one fact as one to the fact beside it: a size where a name was asked."""
        facts = self.interviewer.advisor.vocabulary.facts
        if fact.otherwise is None:
            return False
        other = facts[fact.otherwise]
        try:
            value = answer_to(other, line, self.interviewer.advisor).value
            state = self.state.answer(fact.name, None, "unknown")
            state = state.answer(other.name, value, line.strip(), origin)
            self.interviewer.decide(state)
        except InputError:
            return False
        self.show([Paragraph(f"Taken as {other.label}: {value_text(value)}{f' {other.unit}' if other.unit else ''}.")])
        self.keep(state)
        return True

    def keep(self, state: State, *, standing: bool = True) -> None:
        """Take over a state, keep it on disk, and say which plan is in front."""
        self.state = state
        self.session.keep(state)
        if standing:
            self.say_standing(state)

    def say_standing(self, state: State) -> None:
        """Say which plan is in front, once anything can be said; how sure that is follows the next question."""
        self.state = state
        outcome = self.interviewer.decide(state).outcome
        self.unsaid = outcome.chosen is not None
        if outcome.no_answer is not None and outcome.no_answer.kind == "facts_missing":
            return
        facts = self.interviewer.advisor.vocabulary.facts
        numbers = {answer.fact: number for number, answer in enumerate(state.answers, start=1)}
        self.show(standing.standing_blocks(outcome, self.names, facts, numbers=numbers, owned=self.owned))

    def say_sure(self) -> None:
        """Say how sure the plan in front is, below the question: that is read while the ways are tried."""
        if not self.unsaid:
            return
        self.unsaid = False
        sure = self.interviewer.sureness(self.state)
        offer = sure.likely and not self.offered
        self.offered = self.offered or offer
        left = self.interviewer.questions_left(self.state)
        self.show(standing.sureness_blocks(sure, self.names, left=left, offer=offer))

    @property
    def owned(self) -> Mapping[str, int]:
        """How many of each GPU the person has, by id."""
        return owned_cards(self.state.given, self.interviewer.advisor)
