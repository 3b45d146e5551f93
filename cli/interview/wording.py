"""What the interview says, as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whichgpu.cli.interview.replies import STEERING, shown_choices
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Verbatim
from whichgpu.cli.render.facts import accepts
from whichgpu.cli.render.figures import count_of, joined, value_text
from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import Advisor, Outcome
from whichgpu.engine.interview import Answer, Answered, Effect, Question, State
from whichgpu.engine.rules import FactDef, fold


if TYPE_CHECKING:
    from whichgpu.engine.advisor import Interview, UnknownFact


_BEARS_ON = {
    "start": "Nothing can be said before this is known.",
    "plans": "It shapes the plans themselves: their memory, speed, price or number of GPUs.",
    "choice": "The plans are known; its answer could still put another one in front.",
    "verdict": "The plan is settled; its answer could still turn the verdict on renting or buying.",
}
_UNITS: dict[str | None, str] = {"B": "billions", "%": "percent", "h": "hours", "px": "pixels"}
_VERDICTS = {"rent": "rent", "buy": "buy", "hybrid": "own some, rent the rest", "undecided": "rent or buy still open"}


def welcome(file: str) -> list[Block]:
    """The first lines."""
    return [
        Heading("A few questions about your workload", 1),
        Paragraph(
            "Answer by number, by word, or with a quantity such as 24 GB or 1.5k. "
            "Only what can still change the answer is asked."
        ),
        Paragraph(f"At every question: {', '.join(STEERING)}. Everything is kept in {file}."),
    ]


def question_blocks(question: Question, number: int) -> list[Block]:
    """One question with its choices."""
    fact = question.fact
    blocks: list[Block] = [Paragraph(f"{number}. {fact.question}", "strong")]
    listed = shown_choices(fact)
    if fact.choices or fact.type == "bool":
        lines = [f"  {index}. {_choice(fact, choice)}" for index, choice in enumerate(listed, start=1)]
        blocks.append(Verbatim("\n".join(lines)))
    elif fact.numeric:
        blocks.append(Verbatim(f"  a number, in {_UNITS.get(fact.unit, fact.unit)}" if fact.unit else "  a number"))
    return blocks


def _choice(fact: FactDef, choice: str) -> str:
    label = fact.choice_labels.get(choice)
    if not label or fold(choice) in fold(label):
        return label or choice
    return f"{label} ({choice})"


def help_blocks(fact: FactDef) -> list[Block]:
    """What a question means, what may be written, and what to do without an answer."""
    rows = [("meaning", fact.meaning)] if fact.meaning else []
    rows += [("help", fact.help)] if fact.help else []
    rows += [("accepts", accepts(fact))]
    rows += [("if you do not know", fact.unknown_help)] if fact.unknown_help else []
    steer = Bullets(tuple(Item(f"{word}: {does}") for word, does in STEERING.items()))
    return [Pairs(tuple(rows)), Paragraph("You may also write:"), steer]


def why_blocks(question: Question, rules: Sequence[str], effects: Sequence[Effect], names: Names) -> list[Block]:
    """Why a question is asked: the rules that wait for it, and what each answer would change."""
    blocks: list[Block] = [Paragraph(_BEARS_ON[question.bears_on])]
    if not rules and not effects:
        blocks.append(Paragraph(question.fact.meaning))
    if rules:
        blocks += [Paragraph("Rules that wait for it:"), Bullets(tuple(Item(rule) for rule in rules))]
    if effects:
        blocks += [
            Paragraph("What each answer would come to, as things stand:"),
            Bullets(tuple(_effect(effect, names) for effect in effects)),
        ]
    return blocks


def _effect(effect: Effect, names: Names) -> Item:
    if effect.answer is None:
        return Item(f"{value_text(effect.value)}: contradicts what was said before")
    below = []
    if effect.ruled_out:
        below.append(f"rules out {_some(effect.ruled_out, names)}")
    if effect.ruled_in:
        below.append(f"lets in {_some(effect.ruled_in, names)}")
    plans = count_of(effect.plans, "plan")
    return Item(f"{value_text(effect.value)}: {answer_text(effect.answer, names)}; {plans}", tuple(below))


def _some(gpus: Sequence[str], names: Names) -> str:
    first = ", ".join(names.gpu(gpu) for gpu in gpus[:4])
    return f"{first} and {len(gpus) - 4} more" if len(gpus) > 4 else first


def answer_text(answer: Answered, names: Names) -> str:
    """GPU, count and verdict in words."""
    plan = f"{answer.count} x {names.gpu(answer.gpu)}" if answer.gpu else "no plan"
    return f"{plan}, {_VERDICTS.get(str(answer.procurement), str(answer.procurement))}"


def standing_blocks(outcome: Outcome, answer: Answered, names: Names) -> list[Block]:
    """How many plans remain and which is in front."""
    gap = outcome.no_answer
    if gap is not None and gap.kind == "contradictory":
        text = f"These answers contradict each other: {', '.join(gap.facts)}. Change one with edit."
        return [Paragraph(text, "bad"), *[Paragraph(rule.because) for rule in gap.rules]]
    remain = len(outcome.round.judged) if outcome.round else 0
    if answer.gpu is None:
        return [Paragraph("No plan remains that the rules accept.", "bad")]
    return [Paragraph(f"{count_of(remain, 'plan')} left; in front: {answer_text(answer, names)}.", "faint")]


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
    value = "unknown" if answer.value is None else value_text(answer.value)
    unit = f" {fact.unit}" if fact.unit and answer.value is not None else ""
    origin = {"file": " (from the file)", "stated": " (stated)"}.get(answer.origin, "")
    return f"{answer.fact}: {value}{unit}{origin}"


def offer_blocks(names: Sequence[str], advisor: Advisor) -> list[Block]:
    """The end of the questions: what may still be stated."""
    facts = advisor.vocabulary.facts
    topics: dict[str, list[str]] = {}
    for name in names:
        topics.setdefault(facts[name].topic, []).append(name)
    items = tuple(Item(f"{topic}: {', '.join(found)}") for topic, found in topics.items())
    return [
        Paragraph("Nothing else that is asked of everyone can change the GPU, the count or the verdict.", "strong"),
        Paragraph(
            "Wishes and rarer facts count as none until you state them. Write FACT VALUE (as in: objective cheapest), "
            "FACT? for what it means, or press Enter for the answer. You may state:"
        ),
        Bullets(items),
    ]


def interview_blocks(interview: Interview, names: Names, *, everything: bool) -> list[Block]:
    """What was not known and what was not asked, under the decision."""
    blocks: list[Block] = []
    if interview["unknown"]:
        blocks += [Heading("What you did not know"), Bullets(tuple(_missing(m, names) for m in interview["unknown"]))]
    unasked = interview["unasked"]
    if unasked:
        blocks.append(Heading("What was not asked"))
        blocks.append(
            Paragraph(
                f"{count_of(len(unasked), 'question')} left out: no answer can change the GPU, the count or the "
                "verdict, as long as all else stays as it was answered or assumed. This is said of these facts and of "
                f"no others: {joined([entry['fact'] for entry in unasked])}. With --all, and in a saved record, each "
                "stands with its reason."
            )
        )
        if everything:
            blocks.append(
                Bullets(tuple(Item(f"{u['fact']}: {u['why']}", (f"checked by: {u['checked']}",)) for u in unasked))
            )
    return blocks


def _missing(missing: UnknownFact, names: Names) -> Item:
    assumed = missing["assumed"]
    taken = "nothing was assumed in its place" if assumed is None else f"{value_text(assumed)} was assumed"
    if missing["robust"]:
        return Item(f"{missing['fact']}: the answer holds whatever it is; {taken}")
    below = tuple(
        f"{value_text(c['value'])}: {answer_text(Answered(c['gpu'], c['count'], c['procurement']), names)}"
        for c in missing["changes"][:4]
    )
    return Item(f"{missing['fact']}: {taken}, and the answer hangs on it", below)
