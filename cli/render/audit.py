"""The outcome of an audit."""

from __future__ import annotations

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Tone
from whichgpu.engine.explain import Check


SHOWN_FINDINGS = 12
_MARKS = {True: "yes", False: "NO", None: "not applicable"}
_QUESTIONS = {
    "intact": "Intact",
    "complete": "Complete",
    "reproducible": "Reproducible on this rulebook",
    "certificate": "What was not asked cannot matter",
}


def audit_blocks(checks: tuple[Check, ...], name: str, *, everything: bool) -> list[Block]:
    """One line a check, with what was found under it."""
    holds = all(check.holds is not False for check in checks)
    verdict = "The record holds." if holds else "The record does not hold."
    items = tuple(_item(check, everything=everything) for check in checks)
    return [Heading(f"Audit of {name}", 1), Bullets(items), Paragraph(verdict, "good" if holds else "bad")]


def _item(check: Check, *, everything: bool) -> Item:
    found = check.findings if everything else check.findings[:SHOWN_FINDINGS]
    more = len(check.findings) - len(found)
    below = (*found, f"and {more} more; --all shows them") if more else found
    tone: Tone = "bad" if check.holds is False else "plain"
    return Item(
        f"{_QUESTIONS[check.name]}: {_MARKS[check.holds]}. {check.says[:1].upper()}{check.says[1:]}.", below, tone
    )
