"""The dialogue: ask, understand, keep, say where things stand; until nothing is left that matters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from whichgpu.cli import output
from whichgpu.cli.interview import standing, wording
from whichgpu.cli.interview.answer_taking import AnswerTaking
from whichgpu.cli.interview.replies import Steer, steering
from whichgpu.cli.interview.wishes import WISHES
from whichgpu.cli.render.blocks import Paragraph
from whichgpu.cli.template import workload_text
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.interview import Done, Question, State, effects_of, waiting_for
from whichgpu.engine.rules import FactDef


class AskLine(Protocol):
    """Reads one line, None at the end of the input; knows the fact that is asked, to complete what is typed."""

    def __call__(self, fact: FactDef | None = None) -> str | None:
        """The line."""


class StoppedError(Exception):
    """The person stopped; what was answered is kept. ``by`` says how: quit, or the end of the input."""

    def __init__(self, by: str, state: State, question: Question | None) -> None:
        super().__init__(by)
        self.by = by
        self.state = state
        self.question = question


@dataclass(kw_only=True)
class Dialogue(AnswerTaking):
    """One interview with one person, through two ports: a line in, blocks out."""

    ask_line: AskLine
    again: str | None = None  # a fact to ask again, out of turn
    ended: Done | None = None  # where the person asked for the answer before the questions ended

    def wishes(self, state: State) -> State:
        """Ask for the five wishes, each of which Enter leaves open.

        Raises:
            StoppedError: the person quit, or the input ended.
        """
        self.state = state
        self.show(wording.wishes_blocks())
        place = 0
        while 0 <= place < len(WISHES):
            place = self._wish(place)
        return self.state

    def _wish(self, place: int) -> int:
        """One wish. Returns the place of the next one; beyond the last where the rest is left open, too."""
        wish = WISHES[place]
        fact = self.interviewer.advisor.vocabulary.facts[wish.facts[0]]
        question = Question(fact, "wish")
        self.show(wording.wish_blocks(place + 1, wish))
        while True:
            line = self.ask_line(fact)
            if line is None:
                raise StoppedError("end of input", self.state, None)
            steer = steering(line)
            if not line.strip() or (steer is not None and steer.word == "unknown"):
                return place + 1
            if steer is not None and steer.word in {"now", "skip"}:
                return len(WISHES)
            if steer is not None and steer.word == "back" and place:
                before = WISHES[place - 1].facts
                kept = tuple(answer for answer in self.state.answers if answer.fact not in before)
                self.keep(replace(self.state, answers=kept), standing=False)
                return place - 1
            if steer is not None:
                self._steer(steer, question)
            elif self.take(fact, line, "stated", standing=False, such_as=wish.such_as):
                return place + 1

    def run(self, state: State) -> tuple[State, Done]:
        """Ask until nothing is left that matters.

        Raises:
            StoppedError: the person quit, or the input ended before the questions did.
        """
        self.state = state
        while True:
            step = self._next()
            if isinstance(step, Done):
                if self._offer(step):
                    return self.state, step
                continue
            self._ask(step)
            if self.ended is not None:
                return self.state, self.ended

    def _next(self) -> Question | Done:
        if self.again is not None:
            fact = self.interviewer.advisor.vocabulary.facts[self.again]
            self.again = None
            return Question(fact, "start" if fact.when_unstated == "must_ask" else "plans")
        return self.interviewer.next_question(self.state)

    def _ask(self, question: Question) -> None:
        """Put one question until it is answered, put off, or left."""
        facts = [answer.fact for answer in self.state.answers]
        number = facts.index(question.fact.name) if question.fact.name in facts else len(facts)
        usual = self.usual(question.fact)
        if question.together:
            usuals = [self.usual(fact) for fact in (question.fact, *question.together)]
            self.show(wording.line_blocks(question, number + 1, usuals))
        else:
            self.show(wording.question_blocks(question, number + 1, usual))
        self.say_sure()
        while True:
            line = self.ask_line(question.fact)
            if line is None:
                raise StoppedError("end of input", self.state, question)
            steer = steering(line)
            if question.together and (steer is None or steer.word in {"unknown", "skip"}):
                if self.take_line(question, line):
                    return
            elif steer is None and not line.strip() and usual is not None:
                self.keep(self.state.answer(question.fact.name, usual, "", "usual"))
                return
            elif steer is None and not line.strip():
                self.show([Paragraph("Write an answer, unknown, or ? for help.")])
            elif steer is None:
                if self.take(question.fact, line, "asked"):
                    return
            elif self._steer(steer, question):
                return

    def _steer(self, steer: Steer, question: Question) -> bool:
        """Follow a steering word. True where the question is left."""
        fact = question.fact
        match steer.word:
            case "?":
                self.show(wording.help_blocks(fact, *question.together))
            case "why":
                rules = waiting_for(self.interviewer, self.state, fact.name)
                wished = question.affects == "wish"  # Nothing is known yet that it could change.
                effects = () if wished else effects_of(self.interviewer, self.state, fact.name)
                self.show(standing.why_blocks(question, rules, effects, self.names, self.owned))
            case "show":
                self.show(wording.show_blocks(self.state, self.interviewer.advisor))
            case "save":
                self._save(steer.rest)
            case "unknown":
                return self._unknown(fact)
            case "skip":
                return self._skip(fact)
            case "back":
                return self._back()
            case "edit":
                return self._edit(steer.rest)
            case "quit":
                raise StoppedError("quit", self.state, question)
            case "now":
                return self._now(question)
        return False

    def _now(self, question: Question) -> bool:
        """Ask no more: what is left counts as not known. True where that can be."""
        if question.affects == "start":
            self.show([Paragraph("Nothing can be said before this is known; unknown will do.")])
            return False
        step: Question | Done = question
        state = self.state
        while isinstance(step, Question):
            state = state.answer(step.fact.name, None, "not asked", "now")
            step = self.interviewer.next_question(state)
        self.state, self.ended = state, step
        self.session.keep(state)
        return True

    def _unknown(self, fact: FactDef) -> bool:
        if fact.unknown_means:
            label = fact.choice_labels.get(fact.unknown_means, fact.unknown_means)
            self.show([Paragraph(f"Then it is taken as: {label}.")])
            return self.take(fact, fact.unknown_means, "asked")
        self.keep(self.state.answer(fact.name, None, "unknown"))
        return True

    def _skip(self, fact: FactDef) -> bool:
        if fact.when_unstated == "must_ask":
            self.show([Paragraph("Nothing can be said before this is known; unknown will do.")])
            return False
        later = fact.name not in self.state.skipped
        self.show([Paragraph("Put off; it is asked again at the end." if later else "Then it counts as not known.")])
        self.keep(self.state.skip(fact.name))
        return True

    def _back(self) -> bool:
        state, fact = self.state.back()
        if fact is None:
            self.show([Paragraph("There is no answer to take back.")])
            return False
        self.again = fact
        self.keep(state)
        return True

    def _edit(self, rest: str) -> bool:
        """Change an earlier answer, or state a fact: ``edit 3``, ``edit task``, ``edit task inference``."""
        which, _, value = rest.replace("=", " ", 1).replace(": ", " ", 1).partition(" ")
        name = self._answered(which) or (self._statable(which) if value.strip() else None)
        if name is None:
            says = f"There is no answer {which!r}; show lists them, and edit FACT VALUE states another fact."
            self.show([Paragraph(says, "bad")])
            return False
        fact = self.interviewer.advisor.vocabulary.facts[name]
        if value.strip():
            if steering(value) == Steer("unknown"):
                return self._unknown(fact)
            return self.take(fact, value, "asked")
        self.again = name
        return True

    def _answered(self, which: str) -> str | None:
        if which.isdecimal() and 1 <= int(which) <= len(self.state.answers):
            return self.state.answers[int(which) - 1].fact
        name = self.interviewer.advisor.vocabulary.resolve(which)
        return name if name in self.state.answered else None

    def _statable(self, which: str) -> str | None:
        """A fact that a workload may state, asked or not."""
        fact = self.interviewer.advisor.vocabulary.fact(which)
        return fact.name if fact is not None and fact.scope == "workload" and fact.role != "output" else None

    def _save(self, file: str) -> None:
        if not file:
            self.show([Paragraph(f"Everything is kept in {self.session.file}. save FILE writes a workload file.")])
            return
        try:
            output.save_private(Path(file), workload_text(self.state.given))
        except OSError as error:
            self.show([Paragraph(f"Cannot write {file}: {error.strerror or error}", "bad")])
            return
        self.show([Paragraph(f"Wrote {file}; it goes with: whichgpu recommend {file}")])

    def _offer(self, done: Done) -> bool:
        """Let wishes and rarer facts be stated. True where the answer is wanted."""
        self.show(wording.offer_blocks(done.offered))
        while True:
            line = self.ask_line()
            if line is None or not line.strip():
                return True
            if steering(line) == Steer("now"):
                return True
            if line.strip().casefold() == "facts":
                self.show(wording.offered_blocks(done.offered, self.interviewer.advisor))
                continue
            before = self.state
            self._stated(line)
            if self.state != before or self.again is not None:
                return False

    def _stated(self, line: str) -> None:
        steer = steering(line)
        if steer is not None:
            if steer.word in ("?", "why", "unknown", "skip"):
                self.show([Paragraph("Write FACT VALUE, FACT?, back, edit N, show, save FILE or quit; Enter decides.")])
            elif steer.word == "quit":
                raise StoppedError("quit", self.state, None)
            else:
                self._steer(steer, Question(next(iter(self.interviewer.advisor.vocabulary.facts.values())), "plans"))
            return
        name, _, value = line.strip().replace("=", " ", 1).partition(" ")
        vocabulary = self.interviewer.advisor.vocabulary
        fact = vocabulary.fact(name.removesuffix("?"))
        if fact is None or fact.scope != "workload" or fact.role == "output":
            problem = Problem("unknown-fact", f"{name!r} is no fact of a workload", nearest=vocabulary.nearest(name))
            self.show([Paragraph(str(InputError(problem)), "bad")])
        elif name.endswith("?"):
            self.show(wording.help_blocks(fact))
        elif not value.strip():
            self.again = fact.name
        else:
            self.take(fact, value, "stated")
