"""Which page of a decision was asked for: one screen, some sections by name, or everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.brief import brief_blocks
from whichgpu.cli.render.decision import SECTIONS, decision_blocks
from whichgpu.cli.render.names import Names
from whichgpu.engine.core import InputError, Problem, nearest_words


def sections_of(shown: str | None) -> tuple[str, ...] | None:
    """The sections that ``--show`` names, ``memory,cost``. Raises InputError for one that there is not."""
    if shown is None:
        return None
    names = tuple(dict.fromkeys(word.strip().casefold() for word in shown.split(",") if word.strip()))
    for name in names or ("",):
        if name not in SECTIONS:
            message = f"--show {name}: there is no such section"
            fix = f"write one or more of {', '.join(SECTIONS)}"
            raise InputError(Problem("unknown-section", message, nearest=nearest_words(name, list(SECTIONS)), fix=fix))
    return names


def page_blocks(
    answer: Mapping[str, Any],
    names: Names,
    sections: tuple[str, ...] | None,
    *,
    everything: bool,
    closing: Sequence[Block] = (),
) -> list[Block]:
    """The page that was asked for.

    Args:
        answer: the decision as JSON.
        names: what things are called.
        sections: the sections that were asked for; None for the page.
        everything: leave nothing out.
        closing: blocks that belong to the page of one screen, and stand at the end of the whole one.
    """
    if sections is not None:
        return decision_blocks(answer, names, everything=everything, sections=sections)
    if everything:
        return [*decision_blocks(answer, names, everything=True), *closing]
    return brief_blocks(answer, names, closing)
