"""What the interview says of where things stand: the plan in front, how sure it is, and what answers would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from whichgpu.cli.render.answered import answer_text, plan_text
from whichgpu.cli.render.blocks import Block, Bullets, Item, Paragraph
from whichgpu.cli.render.figures import count_of, value_text
from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import NoAnswer, Outcome
from whichgpu.engine.interview import Effect, Question, Sureness, answered
from whichgpu.engine.rules import FactDef


_AFFECTS = {
    "wish": "A wish limits the plans or ranks them. Left open, it counts as none.",
    "start": "Nothing can be said before this is known.",
    "plans": "It shapes the plans themselves: their memory, speed, price or number of GPUs.",
    "choice": "The plans are known; its answer could still put another one in front.",
    "verdict": "The plan is certain; its answer could still turn the verdict on renting or buying.",
}


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
