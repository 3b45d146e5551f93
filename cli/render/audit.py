"""The outcome of an audit."""

from __future__ import annotations

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Tone
from whichgpu.engine.explain import Check, Verdict


SHOWN_FINDINGS = 12
_MARKS = {True: "yes", False: "NO"}
#: What is said where a question has no answer.
_OPEN = {"certificate": "not applicable", "authentic": "not vouched for", "true_then": "cannot be determined"}
_QUESTIONS = {
    "authentic": "Authentic",
    "complete": "Complete",
    "true_then": "True as of its day",
    "certificate": "What was not asked cannot matter",
    "same_today": "Would be decided the same today",
}
_VERDICTS: dict[Verdict, tuple[str, Tone]] = {
    "sound": ("The record holds.", "good"),
    "altered": ("The record was altered since it was saved. Nothing in it can be believed.", "bad"),
    "contradicted": ("The record contradicts itself: what it was decided with does not lead to what it says.", "bad"),
    "outdated": ("The record holds for its day; today the answer would be another.", "bad"),
    "incomplete": ("The record is incomplete: not all of it can be checked.", "bad"),
    "unsigned": (
        "The record holds, but it is not signed by a key that is trusted here: anyone could have written it.",
        "plain",
    ),
}


def audit_blocks(checks: tuple[Check, ...], verdict: Verdict, name: str, *, everything: bool) -> list[Block]:
    """One line a check, with what was found under it, and the verdict on all."""
    items = tuple(_item(check, everything=everything) for check in checks)
    says, tone = _VERDICTS[verdict]
    return [Heading(f"Audit of {name}", 1), Bullets(items), Paragraph(says, tone)]


def _item(check: Check, *, everything: bool) -> Item:
    found = check.findings if everything else check.findings[:SHOWN_FINDINGS]
    more = len(check.findings) - len(found)
    below = (*found, f"and {more} more; --all shows them") if more else found
    tone: Tone = "bad" if check.holds is False else "plain"
    mark = _OPEN[check.name] if check.holds is None else _MARKS[check.holds]
    return Item(f"{_QUESTIONS[check.name]}: {mark}. {check.says[:1].upper()}{check.says[1:]}.", below, tone)
