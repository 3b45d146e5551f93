"""What to know beside the plan: warnings, advice, targets, disagreements, assumptions, open questions, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table, Tone, Verbatim
from whichgpu.cli.render.figures import count_of, joined, number, value_text
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.reasons import origin


JsonObject = Mapping[str, Any]

SHOWN_WARNINGS = 10
SHOWN_ADVICE = 6
SHOWN_ASSUMPTIONS = 8
SHOWN_DISAGREEMENTS = 4
SHOWN_QUESTIONS = 6


def warning_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """Warnings, the most important first."""
    warnings = sorted(decision["warnings"], key=lambda entry: names.priority(entry["code"]))
    return _remarks("Warnings", warnings, SHOWN_WARNINGS, names, everything=everything, tone="bad")


def warnings_by_weight(decision: JsonObject, names: Names) -> list[str]:
    """The warnings in words, each once, the most important first."""
    warnings = sorted(decision["warnings"], key=lambda entry: names.priority(entry["code"]))
    return list(dict.fromkeys(_remark(entry) for entry in warnings))


def advice_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """What to do with the plan, the most important first."""
    advice = sorted(decision["advice"], key=lambda entry: names.priority(entry["code"]))
    return _remarks("Advice", advice, SHOWN_ADVICE, names, everything=everything, tone="plain")


def monitoring_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """Targets to watch once it runs."""
    targets = [{**entry, "code": _target(entry)} for entry in decision["monitoring"]]
    return _remarks("What to watch", targets, len(targets), names, everything=True, tone="plain")


def _target(entry: JsonObject) -> str:
    low, high = entry.get("low"), entry.get("high")
    if low is None:
        return str(entry["code"])
    band = number(low) if high is None or high == low else f"{number(low)} to {number(high)}"
    return f"{entry['code']} {band} {entry.get('unit') or ''}".rstrip()


def _remarks(
    title: str, remarks: Sequence[JsonObject], shown: int, names: Names, *, everything: bool, tone: Tone
) -> list[Block]:
    said = _said_once(remarks)
    if not said:
        return []
    kept = said if everything else said[:shown]
    items = [Item(_remark(entry), _origin(entry, names), tone) for entry in kept]
    if len(kept) < len(said):
        items.append(Item(f"and {len(said) - len(kept)} more; --all shows them"))
    return [Heading(title), Bullets(tuple(items))]


def _said_once(remarks: Sequence[JsonObject]) -> list[JsonObject]:
    """Remarks that one rule makes in the same words under several codes, as one."""
    merged: dict[tuple[str | None, str], JsonObject] = {}
    for entry in remarks:
        key = (entry["rule"], _remark(entry))
        if key in merged:
            merged[key] = {**merged[key], "code": f"{merged[key]['code']}, {entry['code']}"}
        else:
            merged[key] = entry
    return list(merged.values())


def _remark(entry: JsonObject) -> str:
    return str(entry["text"] or entry["because"] or entry["code"])


def _origin(entry: JsonObject, names: Names) -> tuple[str, ...]:
    ground = entry["because"] if entry["text"] and entry["because"] and entry["because"] != entry["text"] else ""
    where = "; ".join(part for part in (entry["code"], origin(entry["rule"], tuple(entry["sources"]), names)) if part)
    return tuple(part for part in (ground, where) if part)


def disagreement_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """Where the sources contradict each other, who says what, and whom the answer follows."""
    found = decision["disagreements"]
    kept = found if everything else found[:SHOWN_DISAGREEMENTS]
    items = []
    for entry in kept:
        positions = [f"{names.source(position['source'])} says: {position['says']}" for position in entry["positions"]]
        followed = [f"This answer follows: {_followed(entry)}"] if entry["followed"] else []
        title = entry.get("title") or "The sources differ here"
        items.append(Item(f"{title} ({entry['id']})", (*positions, *followed)))
    if len(kept) < len(found):
        titles = joined([entry.get("title") or entry["id"] for entry in found[len(kept) :]])
        items.append(Item(f"and {len(found) - len(kept)} more, which --all shows: {titles}"))
    return [Heading("Where the sources disagree"), Bullets(tuple(items))] if items else []


def _followed(entry: JsonObject) -> str:
    return f"{entry['followed']} ({entry['why']})" if entry["why"] else str(entry["followed"])


def assumption_blocks(decision: JsonObject, *, everything: bool) -> list[Block]:
    """What was taken for granted because nothing else was stated."""
    assumptions = decision["assumptions"]
    kept = assumptions if everything else assumptions[:SHOWN_ASSUMPTIONS]
    items = [Item(f"{entry['fact']} = {value_text(entry['value'])}", _because(entry)) for entry in kept]
    if len(kept) < len(assumptions):
        items.append(Item(f"and {len(assumptions) - len(kept)} more; --all shows them"))
    return [Heading("Assumed, because it is not stated"), Bullets(tuple(items))] if items else []


def _because(entry: JsonObject) -> tuple[str, ...]:
    return (entry["because"],) if entry.get("because") else ()


def question_blocks(decision: JsonObject, *, everything: bool) -> list[Block]:
    """What is still worth finding out, and how to say it."""
    questions = decision["open_questions"]
    if not questions:
        return []
    kept = questions if everything else questions[:SHOWN_QUESTIONS]
    items = [Item(str(entry["question"] or entry["fact"]), (f"fact: {entry['fact']}",)) for entry in kept]
    if len(kept) < len(questions):
        items.append(Item(f"and {len(questions) - len(kept)} more; --all shows them"))
    facts = [f"--set {entry['fact']}=..." for entry in kept[:2]]
    return [
        Heading("Open questions"),
        Bullets(tuple(items)),
        Paragraph("Write the answers into the workload file, or add them to the command:"),
        Verbatim("    whichgpu recommend FILE " + " ".join(facts)),
        Paragraph("Which answers would change the decision: --save RECORD, then whichgpu sensitivity RECORD."),
    ]


def figure_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """Figures that concern the case, with their sources."""
    rows = []
    for name, figure in sorted(decision["figures"].items()):
        source = "; ".join(names.source(source) for source in figure["sources"] if source)
        rows.append((name.replace("_", " "), _figure(figure), figure["unit"] or "", source))
    return (
        [Heading("Figures"), Table(("Figure", "Value", "Unit", "Source"), tuple(rows), frozenset({1}))] if rows else []
    )


def _figure(figure: JsonObject) -> str:
    value, low, high = figure["value"], figure.get("low"), figure.get("high")
    if isinstance(value, list) and len(value) == 2:
        return f"{value_text(value[0])} to {value_text(value[1])}"
    if low is not None and high is not None and low != high and not isinstance(value, bool):
        return f"{value_text(value)} ({value_text(low)} to {value_text(high)})"
    return value_text(value)


def sizing_blocks(decision: JsonObject) -> list[Block]:
    """The sizing figures of the workload itself."""
    rows = [
        (name.replace("_", " "), number(value))
        for name, value in sorted(decision["sizing"].items())
        if isinstance(value, int | float)
    ]
    return [Heading("Sizing"), Table(("Figure", "Value"), tuple(rows), frozenset({1}))] if rows else []


def fact_blocks(decision: JsonObject) -> list[Block]:
    """Every resolved fact with where its value came from."""
    rows = [
        (name, value_text(fact["value"]), fact["origin"].replace("_", " "))
        for name, fact in sorted(decision["facts"].items())
    ]
    return (
        [
            Heading("Facts"),
            Paragraph(f"{count_of(len(rows), 'fact')} resolved."),
            Table(("Fact", "Value", "Origin"), tuple(rows)),
        ]
        if rows
        else []
    )


def source_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """The sources that the page cites, in full."""
    cited = sorted(source for source in _cited(decision) if source in names.citations)
    rows = tuple((names.source(source), names.citations[source]) for source in cited)
    return [Heading("Sources"), Bullets(tuple(Item(f"{name}: {citation}") for name, citation in rows))] if rows else []


def _cited(decision: JsonObject) -> set[str]:
    plan = decision["recommendation"] or {"points": []}
    remarks = [*plan["points"], *decision["advice"], *decision["warnings"], *decision["monitoring"]]
    sources = [source for entry in remarks for source in entry.get("sources") or ()]
    sources += [position["source"] for entry in decision["disagreements"] for position in entry["positions"]]
    sources += [*(decision["procurement"].get("sources") or ())]
    sources += [entry["source"] for entry in decision["procurement"]["thresholds"]]
    return {source.partition("/")[0] for source in sources}
