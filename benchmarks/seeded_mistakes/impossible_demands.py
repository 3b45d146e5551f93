"""Slips that ask for what cannot be, or for ten times as much; written after the checks for ``names_and_amounts``."""

from __future__ import annotations

from functools import partial
from typing import Any

from .rule_files import Entry, Kind, seeded_in_files
from .slips import NUMBER, added, cell, claim, drop_line, in_text, key, line, put, rows, then, times


def lines_of_alternatives(entry: Entry) -> bool:
    """All of some alternatives asked for."""
    for at, each in enumerate(entry.get("when") or []):
        if isinstance(each, dict) and "any" in each:
            entry["when"][at : at + 1] = each["any"]
            return True
    return False


def value_of_the_row_above(found: list[dict[str, Any]], _: Entry) -> bool:
    """What the first row does, done by the second."""
    if len(found) < 2 or "then" not in found[0] or found[0]["then"] == found[1].get("then"):
        return False
    found[1]["then"] = found[0]["then"]
    return True


KINDS: tuple[Kind, ...] = tuple(
    Kind(name, slip, new)
    for name, slip, new in (
        ("fewer machines than joined", added(r".*plan\.count.*", "plan.joined_nodes > plan.nodes"), True),
        ("usable memory beyond the card's", added(r"gpu\..*", "gpu.usable_gb > gpu.vram_gb"), True),
        (
            "a link that the card cannot have",
            added(r"gpu\.series == nvidia-(l4|t4|l40s).*", "gpu.link == nvlink"),
            True,
        ),
        ("a stack of another maker", added(r"gpu\.series == nvidia-.*", "gpu.sw_stack == rocm"), True),
        ("a memory that the series lacks", added(r"gpu\.series == ([\w-]+)", "gpu.vram_gb == 33"), True),
        ("two series at once", added(r"gpu\.series == ([\w-]+)", "gpu.series == nvidia-v100"), True),
        ("not in for in", line(r" in \[", " not in ["), False),
        ("not in for in, new", line(r" in \[", " not in ["), True),
        ("and for or", lines_of_alternatives, True),
        ("half of a product", added(r"plan\.needed_gb .*", "plan.needed_gb * 2 < plan.low_gb"), True),
        ("serving asked of a trainer", added(r"training|finetuning", "peak_qps > 5 and serving"), True),
        ("a threshold a tenth", times(rf"(?:_gb|_b|_hours) [<>]=? {NUMBER}", 0.1), True),
        ("a threshold tenfold", times(rf"(?:_gb|_b|_hours) [<>]=? {NUMBER}", 10), True),
        ("a threshold doubled", times(rf"(?:_gb|_b|_hours|_pct) [<>]=? {NUMBER}", 2), True),
        ("reviewed before it is written", key("approved_on", "2019-01-01"), False),
        ("a band on an advice", then(lambda t, e: e["stage"] == "advise" and not t.update(band="cards")), False),
        ("another section of the same guide", key("sources", ["runpod/faq"]), False),
        ("no encodes any more", lambda e: bool(e.get("encodes")) and not e.update(encodes=[]), False),
        ("a warning as advice", then(lambda t, _: "warn" in t and not t.update(advise=t.pop("warn"))), False),
        ("points for the worse", put("points", -4, where=lambda t: t.get("points", 0) > 0), True),
        ("a claim's card left out for a class", claim(over="consumer"), True),
        ("a silent text", in_text(r"\{plan\.[a-z_]+\}", "{plan.speed}", "text"), True),
        ("months shown as hours", in_text(r"\{project_months\}", "{run_hours}", "text"), True),
        ("a title of another card", in_text(r"\b(H100|A100|L40S|T4|L4|H200)\b", "V100", "title"), True),
        ("up to for beyond in the title", in_text(r"\b([Bb]eyond|[Mm]ore than)\b", "up to", "title"), True),
        ("fine-tuning for serving in the text", in_text(r"\bserv(ing|es)\b", "pretraining", "because"), True),
        ("a copy that fires on less", key("overrides", ["does-not-fit"]), False),
        ("a rejection of the rest", then(lambda t, e: "reject" in t and not e.update(when=["plan.count >= 1"])), True),
        (
            "a reject without its plan's line",
            lambda e: "reject" in (e.get("then") or {}) and drop_line(r"gpu\.|plan\.")(e),
            True,
        ),
        ("a range too wide", cell(r"^(\d+)\.\.(\d+)$", r"0..\2"), False),
        ("a range too far", cell(r"^(\d+)\.\.(\d+)$", r"\1..999"), False),
        ("a row's value of the row above", rows(value_of_the_row_above), False),
        ("a parameter's name wrong", line(r"\d+$", "$rent_below"), False),
        (
            "a table without its default",
            rows(lambda found, e: e.get("complete") is True and found.pop() is not None),
            False,
        ),
    )
)


seeded = partial(seeded_in_files, KINDS)
