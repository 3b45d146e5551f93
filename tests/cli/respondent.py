"""A person for the tests of the interview: knows the facts, steers where asked to, types one line after another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from whichgpu import Advisor
from whichgpu.cli.interview.replies import answer_to, understood
from whichgpu.cli.interview.wishes import WISHES
from whichgpu.engine.interview import Done, Interviewer, State
from whichgpu.engine.rules import FactDef


MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def lines_for(
    advisor: Advisor,
    answers: Mapping[str, str],
    before: Mapping[str, list[str]] | None = None,
    after_all: list[str] | None = None,
    state: State | None = None,
) -> list[str]:
    """What such a person types, in the order in which the questions come.

    Args:
        advisor: asks.
        answers: the line by fact; what is not there is not known.
        before: lines typed at a question before it is answered, that leave it open: help, why, show, wrong answers,
            edits of earlier answers, quit (to be resumed), and back, after which the question before it is answered as
            it was.
        after_all: lines at the end of the questions.
        state: where the interview begins.
    """
    interviewer = Interviewer(advisor, MOMENT)
    state = state or State()
    lines: list[str] = []
    for wish in () if state.answers else WISHES:
        name = next((name for name in wish.facts if name in answers), wish.facts[0])
        lines.append(answers.get(name, ""))
        if lines[-1]:
            fact, reading = understood(advisor.vocabulary.facts[wish.facts[0]], lines[-1], advisor, MOMENT)
            state = state.answer(fact.name, reading.value, lines[-1], "stated")
    while not isinstance(step := interviewer.next_question(state), Done):
        facts = (step.fact, *step.together)
        for steer in [line for fact in facts for line in (before or {}).get(fact.name, [])]:
            lines += [steer, state.answers[-1].written] if steer == "back" else [steer]
            state = _edited(state, steer, advisor)
        said = [answers.get(fact.name, "unknown") for fact in facts]
        if "now" in said:
            return [*lines, "now"]
        lines.append(", ".join(said) if any(line != "unknown" for line in said) else "unknown")
        for fact, line in zip(facts, said, strict=True):
            state = _answered(state, fact, line, interviewer)
    return [*lines, *(after_all or [""])]


def _answered(state: State, fact: FactDef, line: str, interviewer: Interviewer) -> State:
    """The state after a line to one fact."""
    if line == "":
        known = interviewer.decide(state).outcome.intake.resolved[fact.name]
        return state.answer(fact.name, known.candidate.value, "", "usual")
    value = None if line == "unknown" else understood(fact, line, interviewer.advisor, MOMENT)[1].value
    if value is None and fact.unknown_means:
        value = fact.unknown_means
    return state.answer(fact.name, value, line)


def _edited(state: State, steer: str, advisor: Advisor) -> State:
    """The state after ``edit 4 4k``; any other line leaves it as it is."""
    word, _, rest = steer.partition(" ")
    number, _, value = rest.partition(" ")
    if word != "edit" or not value or not number.isdecimal() or int(number) > len(state.answers):
        return state
    name = state.answers[int(number) - 1].fact
    return state.answer(name, answer_to(advisor.vocabulary.facts[name], value, advisor).value, value)
