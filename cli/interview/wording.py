"""The words around questions: how they are put, explained and listed, as blocks."""

from __future__ import annotations

from collections.abc import Sequence

from whichgpu.cli.interview.replies import STEERING, shown_choices
from whichgpu.cli.interview.wishes import WISHES, Wish
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Verbatim
from whichgpu.cli.render.facts import accepts
from whichgpu.cli.render.figures import value_text, with_unit
from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview import Answer, Question, State
from whichgpu.engine.rules import FactDef, fold


_UNITS: dict[str | None, str] = {"B": "billions", "%": "percent", "h": "hours", "px": "pixels"}


def welcome(file: str) -> list[Block]:
    """The first lines."""
    return [
        Heading("A few questions about your workload", 1),
        Paragraph(
            "Answer by number, by word, or as you would say it: 8k, 24 GB, 50 users, 10 per second. "
            "Only what can still change the answer is asked, and now answers at once."
        ),
        Paragraph(f"At every question: {', '.join(STEERING)}. Everything is kept in {file}."),
    ]


def wishes_blocks() -> list[Block]:
    """The head of the wishes."""
    return [
        Paragraph("First, what you wish for. Enter leaves a wish open; skip leaves the rest open.", "strong"),
        Bullets(tuple(Item(f"{wish.title} ({wish.such_as})") for wish in WISHES), 1),
    ]


def wish_blocks(number: int, wish: Wish) -> list[Block]:
    """One wish."""
    return [Paragraph(f"Wish {number} of {len(WISHES)}: {wish.title}", "strong")]


def question_blocks(question: Question, number: int, usual: Value | None = None) -> list[Block]:
    """One question with its choices; Enter takes the one that is marked."""
    fact = question.fact
    blocks: list[Block] = [Paragraph(f"{number}. {fact.question}", "strong")]
    listed = shown_choices(fact)
    shown = value_text(usual) if usual is not None else ""
    if fact.choices or fact.type == "bool":
        marked = [" (usual: Enter)" if usual is not None and choice in {usual, shown} else "" for choice in listed]
        items = (f"{_choice(fact, choice)}{mark}" for choice, mark in zip(listed, marked, strict=True))
        blocks.append(Bullets(tuple(Item(text) for text in items), 1))
        if usual is not None and not any(marked):
            blocks.append(Verbatim(f"  Enter: {shown}"))
    elif fact.numeric:
        enter = f"; Enter: {with_unit(usual, fact.unit)}, which is usual" if usual is not None else ""
        of = f", in {_UNITS.get(fact.unit, fact.unit)}" if fact.unit else ""
        blocks.append(Verbatim(f"  a number{of}{enter}"))
    return blocks


def line_blocks(question: Question, number: int, usuals: Sequence[Value | None]) -> list[Block]:
    """Several questions that one line answers; Enter takes what is usual."""
    items = []
    for fact, usual in zip((question.fact, *question.together), usuals, strict=True):
        enter = f" (usual: {value_text(usual)})" if usual is not None else ""
        items.append(Item(f"{fact.question}{enter}"))
    says = "Together on one line, in this order, with commas between; unknown for what you do not know"
    says += ", and Enter takes what is usual." if any(usual is not None for usual in usuals) else "."
    return [Paragraph(says, "strong"), Bullets(tuple(items), number)]


def _choice(fact: FactDef, choice: str) -> str:
    label = fact.choice_labels.get(choice)
    if not label or fold(choice) in fold(label):
        return label or choice
    return f"{label} ({choice})"


def help_blocks(*facts: FactDef) -> list[Block]:
    """What questions mean, what may be written, and what to do without an answer."""
    blocks: list[Block] = []
    for fact in facts:
        rows = [("fact", fact.label or fact.name)] if len(facts) > 1 else []
        rows += [("meaning", fact.meaning)] if fact.meaning else []
        rows += [("help", fact.help)] if fact.help else []
        rows += [("accepts", accepts(fact))]
        rows += [("if you do not know", fact.unknown_help)] if fact.unknown_help else []
        blocks.append(Pairs(tuple(rows)))
    steer = Bullets(tuple(Item(f"{word}: {does}") for word, does in STEERING.items()))
    return [*blocks, Paragraph("You may also write:"), steer]


def error_blocks(error: InputError, fact: FactDef, such_as: str | None = None) -> list[Block]:
    """What is wrong with an answer and what would do, without the names that files use.

    Args:
        error: what is wrong.
        fact: that was asked.
        such_as: answers that would do, as people speak.
    """
    listed = shown_choices(fact)
    blocks: list[Block] = []
    for problem in error.problems:
        says = [problem.message.removeprefix(f"{fact.name}: ")]
        if problem.nearest:
            says.append(f"did you mean {' or '.join(problem.nearest)}?")
        if problem.elsewhere:
            says.append(f"what it says is stated as {'; or '.join(problem.elsewhere)} (edit FACT VALUE takes it here)")
        if problem.code == "other-currency" and problem.fix:
            says.append(problem.fix)
        elif such_as and not problem.nearest:
            says.append(f"write it as here: {such_as}")
        elif listed and problem.code == "unknown-choice" and not problem.nearest:
            says.append(f"write a number from 1 to {len(listed)}, or the word")
        elif fact.otherwise:  # Where a model's name was asked, its size will do.
            says.append(f"{(fact.unknown_help or 'write another').rstrip('.')}, or answer unknown")
        elif problem.fix:
            says.append(problem.fix)
        text = " ".join(f"{each[:1].upper()}{each[1:]}{'' if each.endswith(('.', '?')) else '.'}" for each in says)
        blocks.append(Paragraph(text, "bad"))
    return blocks


def show_blocks(state: State, advisor: Advisor) -> list[Block]:
    """The answers so far, numbered."""
    if not state.answers:
        return [Paragraph("No answers yet.")]
    lines = [f"  {number}. {answer_line(answer, advisor)}" for number, answer in enumerate(state.answers, start=1)]
    lines += [f"  put off: {name}" for name in state.skipped]
    return [Verbatim("\n".join(lines))]


def answer_line(answer: Answer, advisor: Advisor) -> str:
    """One answer: the fact, its value with unit, and where it comes from."""
    fact = advisor.vocabulary.facts[answer.fact]
    value = "unknown" if answer.value is None else with_unit(answer.value, fact.unit)
    origin = {
        "file": " (from the file)",
        "stated": " (stated)",
        "usual": " (the usual answer)",
        "now": " (not asked)",
    }.get(answer.origin, "")
    return f"{answer.fact}: {value}{origin}"


def offer_blocks(names: Sequence[str]) -> list[Block]:
    """The end of the questions."""
    rarer = " Rarer facts may still be stated; facts lists them." if names else ""
    return [
        Paragraph("Nothing else that is asked of everyone can change the GPU, the count or the verdict.", "strong"),
        Paragraph(f"Enter gives the answer.{rarer} Write FACT VALUE (objective cheapest), or FACT? for what it means."),
    ]


def offered_blocks(names: Sequence[str], advisor: Advisor) -> list[Block]:
    """What may still be stated, by topic."""
    facts = advisor.vocabulary.facts
    topics: dict[str, list[str]] = {}
    for name in names:
        topics.setdefault(facts[name].topic, []).append(f"{facts[name].label or name} ({name})")
    return [Bullets(tuple(Item(f"{topic}: {', '.join(found)}") for topic, found in topics.items()))]
