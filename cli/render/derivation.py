"""A derivation as an indented outline."""

from __future__ import annotations

from whichgpu.cli.render.blocks import Block, Heading, Line, Outline
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.names import Names
from whichgpu.engine.explain import Step


_GIVEN = {
    "given": "given",
    "assumed": "assumed",
    "unknown": "not stated",
    "constant": "",
    "condition": "",
    "conclusion": "",
}


def derivation_blocks(step: Step, names: Names) -> list[Block]:
    """The tree under its conclusion."""
    lines: list[Line] = []
    for below in step.steps or ():
        _write(below, 0, names, lines)
    own = beneath(step, names)
    if own:
        lines.insert(0, Line(0, own, "faint"))
    if step.cut:
        lines.append(Line(0, f"{count_of(step.cut, 'more step')}; a larger --depth shows them", "faint"))
    return [Heading(step.says, 1), Outline(tuple(lines))] if lines else [Heading(step.says, 1)]


def outline(step: Step, names: Names) -> list[Line]:
    """A tree as lines, its own conclusion the first."""
    lines: list[Line] = []
    _write(step, 0, names, lines)
    return lines


def _write(step: Step, depth: int, names: Names, lines: list[Line]) -> None:
    lines.append(Line(depth, headline(step), "plain"))
    below = beneath(step, names)
    if below:
        lines.append(Line(depth + 1, below, "faint"))
    if step.cut:
        lines.append(Line(depth + 1, f"{count_of(step.cut, 'more step')}; a larger --depth shows them", "faint"))
    for inner in step.steps:
        _write(inner, depth + 1, names, lines)


def headline(step: Step) -> str:
    """What a step says, with the word for where it came from."""
    note = _GIVEN.get(step.kind, "")
    says = step.says or "all of"
    if step.above:
        return f"{says} (shown above, {step.seq})"
    if step.kind == "unknown":
        return says if "unknown" in says else f"{says} ({note})"
    number = f" [{step.seq}]" if step.seq is not None else ""
    return f"{says} ({note}){number}" if note else says + number


def beneath(step: Step, names: Names) -> str:
    """By what rule or calculator, on what ground, by which source."""
    if step.above:
        return ""
    by = f"rule {step.rule}" if step.rule else ""
    if not by and step.kind in ("looked_up", "computed") and (step.because or step.sources):
        by = "looked up" if step.kind == "looked_up" else "worked out"
    because = step.because if step.because and step.because not in step.says else None
    head = ": ".join(part for part in (by, because) if part)
    sources = "; ".join(names.source(source) for source in step.sources)
    return " - ".join(part for part in (head, f"source: {sources}" if sources else "") if part)
