"""What the interview says, as blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from whichgpu.cli.interview.replies import STEERING, shown_choices
from whichgpu.cli.interview.wishes import WISHES, Wish
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Verbatim
from whichgpu.cli.render.facts import accepts
from whichgpu.cli.render.figures import count_of, value_text, with_unit
from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import Advisor, NoAnswer, Outcome
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview import Answer, Answered, Effect, Question, State, Sureness, answered
from whichgpu.engine.plans import count_owned, owned_gpus
from whichgpu.engine.rules import FactDef, fold


_AFFECTS = {
    "wish": "A wish limits the plans or ranks them. Left open, it counts as none.",
    "start": "Nothing can be said before this is known.",
    "plans": "It shapes the plans themselves: their memory, speed, price or number of GPUs.",
    "choice": "The plans are known; its answer could still put another one in front.",
    "verdict": "The plan is certain; its answer could still turn the verdict on renting or buying.",
}
_UNITS: dict[str | None, str] = {"B": "billions", "%": "percent", "h": "hours", "px": "pixels"}
_VERDICTS = {"rent": "rent", "buy": "buy", "hybrid": "own some, rent the rest", "undecided": "rent or buy still open"}
_VERDICTS["owned"] = "which you have"


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
        if such_as and not problem.nearest:
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


def why_blocks(
    question: Question, rules: Sequence[str], effects: Sequence[Effect], names: Names, owned: Mapping[str, int]
) -> list[Block]:
    """Why a question is asked: the rules that wait for it, and what each answer would change."""
    blocks: list[Block] = [Paragraph(_AFFECTS[question.affects])]
    if not rules and not effects:
        blocks.append(Paragraph(question.fact.meaning))
    if rules:
        blocks += [Paragraph("Rules that wait for it:"), Bullets(tuple(Item(rule) for rule in rules))]
    if effects:
        blocks += [
            Paragraph("What each answer would come to, as things stand:"),
            Bullets(tuple(_effect(question.fact, alike, names, owned) for alike in _alike(question.fact, effects))),
        ]
    return blocks


def _alike(fact: FactDef, effects: Sequence[Effect]) -> list[list[Effect]]:
    """The effects, those of neighbouring numbers together where they come to the same."""
    found: list[list[Effect]] = []
    for effect in effects:
        if fact.numeric and found and replace(found[-1][0], value=effect.value) == effect:
            found[-1].append(effect)
        else:
            found.append([effect])
    return found


def _effect(fact: FactDef, alike: Sequence[Effect], names: Names, owned: Mapping[str, int]) -> Item:
    effect = alike[0]
    values = " to ".join(dict.fromkeys(value_text(end.value) for end in (effect, alike[-1])))
    said = f"{values} {fact.unit}" if fact.unit else values
    if effect.answer is None:
        return Item(f"{said}: contradicts what was said before")
    below = []
    if effect.ruled_out:
        below.append(f"rules out {_some(effect.ruled_out, names)}")
    if effect.ruled_in:
        below.append(f"lets in {_some(effect.ruled_in, names)}")
    plans = count_of(effect.plans, "plan")
    return Item(f"{said}: {answer_text(effect.answer, names, owned)}; {plans}", tuple(below))


def _some(gpus: Sequence[str], names: Names) -> str:
    first = ", ".join(names.gpu(gpu) for gpu in gpus[:4])
    return f"{first} and {len(gpus) - 4} more" if len(gpus) > 4 else first


def answer_text(answer: Answered, names: Names, owned: Mapping[str, int]) -> str:
    """GPU, count and verdict in words; what somebody has already is not bought.

    Args:
        answer: the answer.
        names: of GPUs.
        owned: how many of each GPU the person has.
    """
    verdict = str(answer.procurement)
    if verdict == "buy" and answer.count and owned.get(answer.gpu or "", 0) >= answer.count:
        verdict = "owned"
    return f"{plan_text(answer.gpu, answer.count, names)}, {_VERDICTS.get(verdict, verdict)}"


def standing_blocks(
    outcome: Outcome,
    names: Names,
    labels: Mapping[str, FactDef],
    *,
    numbers: Mapping[str, int],
    owned: Mapping[str, int],
) -> list[Block]:
    """Which plan is in front, or why none is.

    Args:
        outcome: on what is known.
        names: of GPUs.
        labels: the facts, by name.
        numbers: of the answers, by fact.
        owned: how many of each GPU the person has.
    """
    gap = outcome.no_answer
    if gap is not None and gap.kind == "contradictory":
        text = f"These answers contradict each other: {', '.join(gap.facts)}. Change one with edit."
        return [Paragraph(text, "bad"), *[Paragraph(rule.because) for rule in gap.rules]]
    answer = answered(outcome)
    if answer.gpu is None:
        return [Paragraph(f"No plan remains that the rules accept.{_relaxing(gap, labels, numbers)}", "bad")]
    return [Paragraph(f"Leading plan: {answer_text(answer, names, owned)}.")]


def sureness_blocks(sure: Sureness, names: Names, *, left: int, offer: bool) -> list[Block]:
    """How sure the plan in front is, and how much is left to ask.

    Args:
        sure: in how many samples of the open answers it stays.
        names: of GPUs.
        left: about how many questions are left; 0 says nothing of it.
        offer: say that this is sure enough to stop.
    """
    says = _how_sure(sure, names)
    if left:
        says += f" About {count_of(left, 'question')} left."
    blocks: list[Block] = [Paragraph(says, "faint")]
    if offer:
        blocks.append(Paragraph("The GPUs are likely to stay: now gives the answer, or go on.", "good"))
    return blocks


def _relaxing(gap: NoAnswer | None, labels: Mapping[str, FactDef], numbers: Mapping[str, int]) -> str:
    """Which of the answers, taken back alone, would let a plan in."""
    found = gap.find_relaxable() if gap is not None and gap.find_relaxable is not None else ()
    if not found:
        return ""
    said = [" and ".join(labels[name].label or name for name in facts) for facts in found]
    first = numbers.get(found[0][0], found[0][0])
    if len(said) == 1:
        return f" Without your answer on {said[0]} one would remain: edit {first} changes it."
    return f" Without your answer on any of these one would remain: {'; '.join(said)}. edit {first} changes the first."


def _how_sure(sure: Sureness, names: Names) -> str:
    """In how many ways the answer stays, and what comes in its place most often."""
    if sure.all_stays == sure.of:
        return "It stays the same in every sample of the open answers."
    says = f"The GPUs stay the same in {sure.plan_stays} of {sure.of} samples of the open answers"
    if sure.plan_stays == sure.of:
        return f"{says}, in {sure.all_stays} the verdict as well."
    return f"{says}; next likely: {plan_text(*sure.runner_up, names)}." if sure.runner_up else f"{says}."


def owned_cards(given: Mapping[str, Value], advisor: Advisor) -> dict[str, int]:
    """How many of each GPU a person has, by id."""
    owned = owned_gpus(given)
    each = ((gpu.id, count_owned(gpu, owned)) for gpu in advisor.knowledge.plannable)
    return {name: count for name, count in each if count}


def plan_text(gpu: str | None, count: int | None, names: Names) -> str:
    """GPU and count in words."""
    return f"{count} x {names.gpu(gpu)}" if gpu else "no plan"


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
