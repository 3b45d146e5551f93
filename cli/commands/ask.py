"""``whichgpu ask`` and ``whichgpu resume``: the questionnaire, line by line."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from whichgpu import Advisor
from whichgpu.cli import exits, output
from whichgpu.cli.advisor import load, names_of, now, read
from whichgpu.cli.inputs import STDIN
from whichgpu.cli.interview.closing import closing_blocks, interview_blocks
from whichgpu.cli.interview.dialogue import Dialogue, StoppedError
from whichgpu.cli.interview.session import Session, latest_session_file, new_session_file
from whichgpu.cli.interview.typing_lines import typed_line
from whichgpu.cli.interview.wording import welcome
from whichgpu.cli.options import (
    Function,
    all_option,
    output_format,
    plain_option,
    rules_options,
    save_option,
    set_option,
)
from whichgpu.cli.pages import page_blocks
from whichgpu.cli.records import save_record
from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.screen import Screen, screen_of
from whichgpu.cli.render.text import to_text
from whichgpu.engine.core import InputError, Problem, collect_youngest
from whichgpu.engine.explain import probing_context
from whichgpu.engine.interview import Done, Interviewer, Question, State, missing_answers
from whichgpu.engine.records import Asked


if TYPE_CHECKING:
    from whichgpu.engine.advisor import Interview
    from whichgpu.engine.rules import FactDef


_session_option = click.option("--session", metavar="FILE", type=click.Path(dir_okay=False), help="Keep answers here.")


def _answer_options(function: Function) -> Function:
    """Where the answer is kept, how it is printed, and by which rules it is decided."""
    for option in (rules_options, all_option, output_format("text", "json", "markdown"), plain_option, save_option):
        function = option(function)
    return function


@click.command()
@click.option("--answers", metavar="FILE", type=click.Path(dir_okay=False), help="Facts that are known already.")
@set_option
@_session_option
@_answer_options
def ask(
    *,
    answers: str | None,
    sets: tuple[str, ...],
    session: str | None,
    save: str | None,
    plain: bool,
    form: str,
    everything: bool,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Answer a few questions in plain words and get a recommendation.

    Only what can still change the GPU, the count or the verdict on renting is asked. Write ? at a question for help.
    Every answer is kept at once; whichgpu resume goes on where you stopped.
    """
    advisor = load(rules, builtin=builtin, tests=False)
    state = _known(advisor, answers, sets)
    saved = Session(Path(session) if session else new_session_file(now()))
    saved.begin()
    return _interview(advisor, state, saved, save=save, plain=plain, form=form, everything=everything)


@click.command()
@click.argument("session", metavar="[SESSION]", required=False, type=click.Path(dir_okay=False))
@_answer_options
def resume(
    *,
    session: str | None,
    save: str | None,
    plain: bool,
    form: str,
    everything: bool,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Go on with the interview in SESSION, or with the latest one."""
    saved = Session(Path(session) if session else latest_session_file())
    state = saved.load()
    advisor = load(rules, builtin=builtin, tests=False)
    state = _still_valid(advisor, state)
    return _interview(advisor, state, saved, save=save, plain=plain, form=form, everything=everything)


def _known(advisor: Advisor, answers: str | None, sets: tuple[str, ...]) -> State:
    if answers == STDIN:
        raise InputError(Problem("bad-option", "--answers - would read the answers from where you type", fix="a file"))
    workload = read(advisor, answers, sets) if answers else advisor.read({}, sets)
    return State().state_facts(workload.given, "file")


def _still_valid(advisor: Advisor, state: State) -> State:
    """The state with its values read again, so that a changed vocabulary is noticed. Raises InputError."""
    raw = {name: list(value) if isinstance(value, tuple) else value for name, value in state.given.items()}
    values = advisor.read(raw).given
    # What was left open by who wanted the answer at once is asked by who goes on.
    kept = (a for a in state.answers if a.origin != "now")
    return replace(state, answers=tuple(replace(a, value=values.get(a.fact)) for a in kept))


def _interview(
    advisor: Advisor, state: State, saved: Session, *, save: str | None, plain: bool, form: str, everything: bool
) -> int:
    interviewer = Interviewer(advisor, now(), context=probing_context(advisor.context))
    names = names_of(advisor)
    interviewer.decide(state)  # Facts that contradict the catalogue are refused before anything is asked.
    talk = _Talk(advisor, plain=plain, to_stderr=form != "text")
    dialogue = Dialogue(interviewer=interviewer, names=names, session=saved, ask_line=talk.ask_line, show=talk.show)
    if isinstance(interviewer.next_question(state), Question):
        if not sys.stdin.isatty() and talk.is_at_end():
            raise _nothing_to_read(interviewer, state)
        talk.show(welcome(str(saved.file)))
    try:
        if not state.answers:
            state = dialogue.wishes(state)
        elif any(answer.origin != "file" for answer in state.answers):
            dialogue.say_standing(state)  # Of an interview that goes on.
        state, done = dialogue.run(state)
    except StoppedError as stopped:
        return _stopped(stopped, saved, talk)
    except KeyboardInterrupt:
        saved.keep(dialogue.state)
        click.echo(f"\nStopped. {_kept(saved)}", err=True)
        return exits.INTERRUPTED
    return _answer(interviewer, state, done, save=save, plain=plain, form=form, everything=everything)


def _answer(
    interviewer: Interviewer, state: State, done: Done, *, save: str | None, plain: bool, form: str, everything: bool
) -> int:
    decision = interviewer.final(state)
    answer = decision.to_dict(full=True, trade_offs=True)
    answer["interview"] = _interview_dict(interviewer, state, done)
    if save:
        save_record(decision, answer, save, Asked(), sign=None)
    if form == "json":
        output.emit_json(answer)
        return decision.exit_code
    names = names_of(interviewer.advisor)
    interview: Interview = answer["interview"]
    closing = closing_blocks(state, interview, answer, interviewer.advisor, names)
    if everything:
        closing = interview_blocks(state, interview, interviewer.advisor, names)
    blocks = page_blocks(answer, names, None, everything=everything, closing=closing)
    if form == "text":
        output.emit("\n")  # Between the last line of the interview and the answer.
    output.emit_blocks(blocks, form, plain=plain, paged=everything)
    return decision.exit_code


def _interview_dict(interviewer: Interviewer, state: State, done: Done) -> Interview:
    return {
        "answered": [{"fact": answer.fact, "origin": answer.origin} for answer in state.answers],
        "unknown": [missing.to_dict() for missing in missing_answers(interviewer, state)],
        "unasked": [entry.to_dict() for entry in done.certificate],
    }


def _nothing_to_read(interviewer: Interviewer, state: State) -> InputError:
    step = interviewer.next_question(state)
    facts = interviewer.advisor.vocabulary.facts
    asked = [step.fact.name, *step.also_open] if isinstance(step, Question) else []
    asked += [name for name in interviewer.rule_index.ranging if facts[name].askable == "always"]
    missing = [name for name in dict.fromkeys(asked) if name not in state.answered]
    return InputError(
        Problem(
            "nothing-to-read",
            f"there is no terminal and nothing on standard input, and these are missing: {', '.join(missing)}",
            fix="state them with --answers FILE or --set FACT=VALUE, or pipe the answers, one a line",
        )
    )


def _stopped(stopped: StoppedError, saved: Session, talk: _Talk) -> int:
    saved.keep(stopped.state)
    if stopped.by == "end of input" and not sys.stdin.isatty():
        missing = [stopped.question.fact.name, *stopped.question.also_open] if stopped.question else []
        still = f"; still missing: {', '.join(missing)}" if missing else ""
        message = f"the input ended before the questions did{still}. {_kept(saved)}"
        raise InputError(Problem("input-ended", message))
    talk.say(f"Stopped. {_kept(saved)}")
    return exits.NO_RECOMMENDATION


def _kept(saved: Session) -> str:
    return f"Everything is kept; go on with: whichgpu resume {saved.file}"


class _Talk:
    """The person's side: lines of standard input, and blocks on the screen."""

    def __init__(self, advisor: Advisor, *, plain: bool, to_stderr: bool) -> None:
        self._plain = plain
        self._completes = None if plain or to_stderr else advisor
        self._to_stderr = to_stderr  # Where standard output is for a machine, the dialogue goes beside it.
        self._typed = sys.stdin.isatty()
        self._ahead: str | None = None
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def is_at_end(self) -> bool:
        """Whether there is nothing at all to read."""
        self._ahead = sys.stdin.readline()
        return self._ahead == ""

    def ask_line(self, fact: FactDef | None = None) -> str | None:
        """One line; None at the end of the input. A piped line is shown, as a terminal shows what is typed."""
        read = typed_line(fact, self._completes) if self._completes is not None else None
        if read is None:
            self._write("> ")
        collect_youngest()  # While the person reads the question.
        if read is not None:
            return read()
        line = sys.stdin.readline() if self._ahead is None else self._ahead
        self._ahead = None
        if not self._typed or line == "":
            self._write(line.rstrip("\r\n") + "\n")
        return line.rstrip("\r\n") if line else None

    def show(self, blocks: Iterable[Block]) -> None:
        """Show blocks, each call a paragraph of its own."""
        screen = screen_of(sys.stderr if self._to_stderr else sys.stdout)
        if self._plain:
            screen = Screen(screen.width)
        self._write(to_text(list(blocks), screen) + "\n")

    def say(self, text: str) -> None:
        """One line."""
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        if self._to_stderr:
            click.echo(text, nl=False, err=True)
        else:
            output.emit(text)
