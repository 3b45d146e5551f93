"""Two decisions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import joined, percent
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.whynot import plan_name
from whichgpu.engine.explain import Change, Comparison, Phrases, shown


SHOWN = 12
_DIGITS = 3  # significant ones


def comparison_blocks(
    found: Comparison, names: Names, phrases: Phrases, sides: tuple[str, str], *, everything: bool
) -> list[Block]:
    """The answer first, then what is behind the differences, then all that differs.

    Args:
        found: the comparison.
        names: of GPUs.
        phrases: for facts.
        sides: what the two decisions are called.
        everything: leave nothing out.
    """
    before, after = sides
    blocks: list[Block] = [Heading(f"{before} beside {after}", 1), Paragraph(verdict(found, names), "strong")]
    if found.same:
        return blocks
    most = None if everything else SHOWN
    blocks += _causes(found, most)
    blocks += _table("The answer", [_named(change, names) for change in found.answer], sides)
    figures = [(phrases.label(c.what), *_figures(c, phrases)) for c in found.figures]
    blocks += _table("Memory, speed, cost and score of the recommendation", figures, sides)
    facts = [
        (phrases.label(c.what), phrases.value(c.what, c.before), phrases.value(c.what, c.after)) for c in found.facts
    ]
    blocks += _table("Facts", facts, sides)
    rules = [Item(f"{c.rule} ({c.where}): {c.before}; {after}: {c.after}") for c in found.rules]
    blocks += _bullets(f"Rules that do something else ({before}; {after})", rules, most)
    blocks += _fired(found, sides)
    rejected = [(names.gpu(c.what), c.before or "not rejected", c.after or "not rejected") for c in found.rejected]
    blocks += _table("Rejected GPUs", rejected[:most], sides, more=len(rejected) - len(rejected[:most]))
    remarks = [(c.what, c.before or "not said", c.after or "not said") for c in found.remarks]
    return blocks + _table(
        "Warnings and advice, by rule", remarks[:most], sides, more=len(remarks) - len(remarks[:most])
    )


def verdict(found: Comparison, names: Names) -> str:
    """Whether the answer is the same."""
    if found.same:
        return "Nothing differs."
    if not found.answer:
        return "The answer is the same; some of what stands behind it differs."
    changed = {change.what: change for change in found.answer}
    parts = []
    if "recommendation" in changed:
        parts.append(
            f"{_plan(changed['recommendation'].before, names)} became {_plan(changed['recommendation'].after, names)}"
        )
    if "procurement" in changed:
        parts.append(f"{changed['procurement'].before} became {changed['procurement'].after}")
    return f"The answer differs: {joined(parts) or ', '.join(changed)}."


def _plan(plan: str | None, names: Names) -> str:
    if plan is None:
        return "no recommendation"
    return plan_name(plan, names)


def _named(change: Change, names: Names) -> tuple[str, str, str]:
    def say(value: Any) -> str:
        if change.what == "recommendation":
            return _plan(value, names)
        return names.gpu(value) if change.what == "gpu" and value else shown(value) if value is not None else "none"

    return (change.what.replace("_", " "), say(change.before), say(change.after))


def _figures(change: Change, phrases: Phrases) -> tuple[str, str]:
    """Both sides to three digits, or as exactly as they are known where they differ by less."""
    before, after = (_figure(value, change.what, phrases, _DIGITS) for value in (change.before, change.after))
    if before != after:
        return before, after
    return _figure(change.before, change.what, phrases), _figure(change.after, change.what, phrases)


def _figure(value: Any, what: str, phrases: Phrases, digits: int | None = None) -> str:
    if value is None:
        return "none"
    if what == "score":
        return f"{value:.2f}"
    if what.endswith("utilization"):
        return percent(100 * value)
    if digits and isinstance(value, float):
        value = float(f"{value:.{digits}g}") if abs(value) < 10**digits else round(value)
    return phrases.value(what, value)


def _causes(found: Comparison, most: int | None) -> list[Block]:
    items = [Item(f"{cause.kind} {cause.what}: {cause.says}") for cause in found.causes]
    if not items:
        return []
    kept = items[:most]
    if len(kept) < len(items):
        kept.append(Item(f"and {len(items) - len(kept)} more; --all shows them"))
    return [Heading("What is behind it"), Bullets(tuple(kept))]


def _bullets(title: str, items: Sequence[Item], most: int | None) -> list[Block]:
    if not items:
        return []
    left = len(items) - len(items[:most])
    more = [Item(f"and {left} more; --all shows them")] if left else []
    return [Heading(title), Bullets((*items[:most], *more))]


def _table(title: str, rows: Sequence[tuple[str, str, str]], sides: tuple[str, str], *, more: int = 0) -> list[Block]:
    if not rows:
        return []
    blocks: list[Block] = [Heading(title), Table(("", *sides), tuple(rows))]
    return [*blocks, Paragraph(f"and {more} more; --all shows them", "faint")] if more else blocks


def _fired(found: Comparison, sides: tuple[str, str]) -> list[Block]:
    items = [
        Item(f"Only in {side}: {joined(list(rules))}")
        for side, rules in zip(sides, (found.fired_before, found.fired_after), strict=True)
        if rules
    ]
    return [Heading("Rules that fired on one side only"), Bullets(tuple(items))] if items else []
