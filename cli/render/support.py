"""How far the figures of a plan may be believed, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Paragraph
from whichgpu.cli.render.figures import joined
from whichgpu.cli.render.speed import BESIDE


JsonObject = Mapping[str, Any]

LEVELS = {
    "measured": "by a formula calibrated on measured runs",
    "computed": "computed",
    "rule_of_thumb": "rule of thumb",
}


def level_of(plan: JsonObject, figure: str) -> str | None:
    """The level of a figure in words; None in records of before there were levels."""
    entry = plan.get("support", {}).get(figure)
    return LEVELS.get(entry["level"]) if entry else None


def count_words(plan: JsonObject) -> str:
    """What stands beside the count of a plan that rests on a rule of thumb: its range."""
    ends = plan.get("count_range")
    if ends is None:
        return ""
    low, high = ends
    return " (by rule of thumb)" if low == high else f" ({low} to {high}, by rule of thumb)"


def memory_withheld(plan: JsonObject) -> str:
    """Why the memory of a plan cannot be computed, and what to measure; empty where nothing says so."""
    entry = plan.get("support", {}).get("memory")
    if entry is None or entry["level"] != "none":
        return ""
    return f"Not given, because {entry['reason']}. Measure {entry['measure']}."


def support_blocks(plan: JsonObject, labels: Mapping[str, str]) -> list[Block]:
    """Why figures of speed are no better founded and which are withheld, each with what to measure.

    Args:
        plan: with its ``support``.
        labels: what its figures of speed are called.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name, entry in plan.get("support", {}).items():
        is_speed = name != "memory" and not name.endswith(BESIDE)
        if is_speed and entry["level"] in {"none", "rule_of_thumb"}:
            groups.setdefault((entry["level"], entry["reason"], entry["measure"]), []).append(labels.get(name, name))
    shown = [name for name in plan["speed"] if name in plan.get("support", ()) and not name.endswith(BESIDE)]
    blocks: list[Block] = []
    for (level, reason, measure), names in groups.items():
        text = _said(level, reason, measure, names, alike=len(names) == len(shown))
        blocks.append(Paragraph(text, "bad" if level == "none" else "plain"))
    if groups and not plan["speed"] and plan.get("memory"):
        blocks.append(Paragraph("The number of GPUs rests on the memory alone.", "bad"))
    return blocks


def support_sentences(plan: JsonObject, labels: Mapping[str, str], *, withheld: bool) -> list[str]:
    """Support levels as sentences: of the figures that are withheld, or of all."""
    tones = ("bad",) if withheld else ("bad", "plain")
    return [b.text for b in support_blocks(plan, labels) if isinstance(b, Paragraph) and b.tone in tones]


def _said(level: str, reason: str, measure: str, names: list[str], *, alike: bool) -> str:
    if level == "none":
        return f"Not given: {joined(names)}, because {reason}. Measure {measure}."
    what = "" if alike else f" for {joined(names)}"
    return f"Rule of thumb{what}, because {reason}. To know better, measure {measure}."
