"""Facts of the vocabulary as blocks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Table
from whichgpu.cli.render.figures import number, value_text
from whichgpu.engine.rules import FactDef


#: The order in which a person thinks of a job; topics that the vocabulary adds follow by name.
TOPIC_ORDER = (
    "job",
    "model",
    "precision",
    "data",
    "scale",
    "rhythm",
    "serving",
    "software",
    "reliability",
    "money",
    "candidates",
    "measurements",
)

_TYPES = {
    "bool": "yes or no",
    "int": "whole number",
    "number": "number",
    "text": "text",
    "gpu": "a GPU",
    "enum": "a choice",
    "list": "a list",
}


_ASKED = ("always", "if_it_matters", "on_request", "never")


def topic_key(fact: FactDef) -> tuple[int, str, int, str]:
    """Facts by topic, then what is asked first, then by name."""
    order = TOPIC_ORDER.index(fact.topic) if fact.topic in TOPIC_ORDER else len(TOPIC_ORDER)
    return (order, fact.topic, _ASKED.index(fact.askable), fact.name)


def accepts(fact: FactDef) -> str:
    """What may be written, in words: type, unit, range, choices."""
    if fact.type == "enum" or (fact.type == "list" and fact.choices):
        kind = "a list of" if fact.type == "list" else "one of"
        return f"{kind} {', '.join(fact.choices)}{' (others are taken as other)' if fact.open else ''}"
    words = _TYPES[fact.type]
    if fact.type == "list":
        words = {"gpu": "a list of GPUs", "gpu_count": "a list of GPU:count"}.get(fact.items or "", words)
    unit = f" ({fact.unit})" if fact.unit else ""
    return f"{words}{unit}{_range(fact)}"


def _range(fact: FactDef) -> str:
    low = "" if fact.min is None else f"{'above' if fact.exclusive_min else 'from'} {number(fact.min)}"
    high = "" if fact.max is None else f"to {number(fact.max)}"
    words = " ".join(part for part in (low, high) if part)
    return f", {words}" if words else ""


def when_unstated(fact: FactDef) -> str:
    """What happens when the fact is not stated."""
    if isinstance(fact.when_unstated, str):
        return {"must_ask": "must be given", "leave_unknown": "stays unknown"}[fact.when_unstated]
    says = []
    for entry in fact.when_unstated:
        when = entry.when
        because = f": {entry.because.rstrip('.')}" if entry.because else ""
        says.append(f"{value_text(entry.assume)} is assumed{f' where {when}' if when else ''}{because}")
    return "; ".join(says)


def fact_list(facts: Iterable[FactDef]) -> list[Block]:
    """Facts under their topics."""
    listed = sorted(facts, key=topic_key)
    blocks: list[Block] = [Heading("Facts that a workload can state", 1)]
    blocks.append(
        Paragraph("Any fact may be left out: unknown stays unknown. `whichgpu facts NAME` shows one in full.")
    )
    for topic, group in groupby(listed, key=lambda fact: fact.topic):
        rows = tuple((fact.name, accepts(fact), fact.meaning or fact.label) for fact in group)
        blocks += [Heading(topic.capitalize() or "Other"), Table(("Fact", "Accepts", "Meaning"), rows)]
    return blocks


def fact_page(fact: FactDef) -> list[Block]:
    """One fact in full."""
    rows = [("accepts", accepts(fact)), ("if not given", when_unstated(fact)), ("known from", fact.available)]
    if fact.role != "input":
        rows.append(
            ("role", "worked out, though it may be stated" if fact.role == "derived" else "an output, never stated")
        )
    if fact.aliases:
        rows.append(("also called", ", ".join(fact.aliases) + (f" where {fact.alias_when}" if fact.alias_when else "")))
    if fact.question:
        rows.append(("question", fact.question))
    if fact.help:
        rows.append(("help", fact.help))
    if fact.unknown_help:
        rows.append(("if you do not know", fact.unknown_help))
    if fact.sources:
        rows.append(("sources", ", ".join(fact.sources)))
    blocks: list[Block] = [Heading(fact.name, 1), Paragraph(fact.meaning or fact.label), Pairs(tuple(rows))]
    if fact.choice_labels:
        items = tuple(Item(f"{choice}: {label}") for choice, label in fact.choice_labels.items())
        blocks += [Heading("Choices"), Bullets(items)]
    return blocks
