"""Which facts flip a decision, nearest first."""

from __future__ import annotations

from collections.abc import Mapping

from whichgpu.cli.render.answered import answer_text, plan_text, verdict_text
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of, joined
from whichgpu.cli.render.names import Names
from whichgpu.engine.explain import NoFlip, Phrases, Sensitivity, Turn


SHOWN = 15
SHOWN_VALUES = 8


def sensitivity_blocks(
    found: Sensitivity, names: Names, phrases: Phrases, owned: Mapping[str, int], *, everything: bool
) -> list[Block]:
    """The flips, what does not flip it, and how far the analysis went."""
    blocks: list[Block] = [
        Heading("What would flip the decision", 1),
        Paragraph(f"Now: {answer_text(found.verdict, names, owned)}."),
    ]
    kept = found.turns if everything else found.turns[:SHOWN]
    items = [turn_item(turn, names, phrases, owned) for turn in kept]
    if len(kept) < len(found.turns):
        items.append(Item(f"and {len(found.turns) - len(kept)} more; --all shows them"))
    blocks.append(Bullets(tuple(items)) if items else Paragraph("No value that was tried flips it."))
    if found.steady:
        steady = tuple(_steady(entry, phrases, everything=everything) for entry in found.steady)
        blocks += [Heading("No flip found, alone, at the values tried"), Bullets(steady)]
    limits = "" if found.complete else " The limit was reached before everything was tried."
    note = (
        f"{count_of(found.decisions, 'decision')} of at most {found.limit}. One fact at a time: at the thresholds of "
        "the rules, at the figures of plans that rules hold against it, at the ends of ranges, and for numbers at a "
        "half to twice the value; then narrowed by halving, to three digits. "
        f"Between two values that were tried nothing is claimed.{limits}"
    )
    return [*blocks, Paragraph(note, "faint")]


def turn_item(turn: Turn, names: Names, phrases: Phrases, owned: Mapping[str, int]) -> Item:
    """From what to what one fact flips the decision, and to which."""
    change = turn.change
    label, after = phrases.label(change.fact), phrases.value(change.fact, change.after)
    bound = "" if turn.rises is None else "from " if turn.rises else "down from "
    before = phrases.value(change.fact, change.before)
    note = {"given": "", "assumed": ", assumed", "unknown": ""}[turn.origin]
    return Item(
        f"{label}: {bound}{after}{_until(turn, phrases)} (now {before}{note})",
        (f"then {_flipped(turn, names, owned)}",),
    )


def _until(turn: Turn, phrases: Phrases) -> str:
    """How far a number keeps the flip."""
    if turn.until is None or turn.until == turn.change.after:
        return ", and nowhere beyond it that was tried" if turn.until is not None and not turn.open_ended else ""
    last = ", the last value tried" if turn.open_ended else ""
    return f" to {phrases.value(turn.change.fact, turn.until)}{last}"


def _steady(entry: NoFlip, phrases: Phrases, *, everything: bool) -> Item:
    values = entry.tried if everything else entry.tried[:SHOWN_VALUES]
    tried = [phrases.value(entry.fact, value) for value in values]
    more = [f"{len(entry.tried) - len(values)} more"] if len(values) < len(entry.tried) else []
    label = phrases.label(entry.fact)
    return Item(f"{label[:1].upper()}{label[1:]}: {joined([*tried, *more])}")


def _flipped(turn: Turn, names: Names, owned: Mapping[str, int]) -> str:
    if turn.verdict.gpu is None:
        return "no plan qualifies"
    parts = []
    if {"gpu", "count"} & set(turn.flips):
        parts.append(plan_text(turn.verdict.gpu, turn.verdict.count, names))
    if "procurement" in turn.flips:
        parts.append(verdict_text(turn.verdict, owned))
    return ", ".join(parts)
