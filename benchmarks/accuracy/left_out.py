"""Answers as they would be without a source: constants that rest on its rows take the value they had without them.

``knowledge/sizing.yaml`` names with each constant the sources that it was chosen on (``rests_on``) and what is known
elsewhere (``prior``). Formulas and framework defaults are computed or quoted; no row gave them their value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean
from typing import Any

from asking import sizes
from msgspec import Struct
from msgspec.structs import fields, force_setattr
from scores import memory_score, source_of

from whichgpu.engine.sizing import sizing_constants
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants_of_training import Constant


Row = dict[str, Any]
#: Of the shipped value, in turn.
FACTORS = (0.77, 0.88, 1.0, 1.15, 1.3)


def fitted() -> dict[str, Constant]:
    """Every constant that rests on rows, by its place in ``knowledge/sizing.yaml``."""
    return dict(_walk(sizing_constants(), ""))


def _walk(held: Any, path: str) -> Iterator[tuple[str, Constant]]:
    if isinstance(held, Constant):
        if held.rests_on:
            yield path, held
    elif isinstance(held, Struct):
        for field in fields(held):
            yield from _walk(getattr(held, field.name), f"{path}.{field.name}".lstrip("."))


def choose_without(source: str, constant: Constant, rows: list[Row], lines: list[dict[str, Any]]) -> float | None:
    """The value that the other sources of a constant choose; what is published elsewhere where there is no other."""
    others = [at for at, row in enumerate(rows) if source_of(row) in set(constant.rests_on) - {source}]
    others = [at for at in others if "memory_error" in rows[at]["suites"]]
    if not others:
        return constant.prior
    shipped, errors = constant.value, {}
    for value in (shipped * factor for factor in FACTORS):
        force_setattr(constant, "value", value)
        composed_network.cache_clear()
        scores = [
            memory_score(rows[at], answer)
            for at, answer in zip(others, sizes(lines[at] for at in others), strict=True)
            if "error" not in answer
        ]
        errors[value] = fmean(abs(score.like_error) for score in scores)
    force_setattr(constant, "value", shipped)
    return min(errors, key=lambda value: errors[value])


@contextmanager
def without(source: str, rows: list[Row], lines: list[dict[str, Any]]) -> Iterator[None]:
    """The constants as they would be without the rows of one source."""
    mine = [constant for constant in fitted().values() if source in constant.rests_on]
    kept = [constant.value for constant in mine]
    chosen = [choose_without(source, constant, rows, lines) for constant in mine]
    for constant, value in zip(mine, chosen, strict=True):
        force_setattr(constant, "value", constant.value if value is None else value)
    composed_network.cache_clear()
    try:
        yield
    finally:
        for constant, value in zip(mine, kept, strict=True):
            force_setattr(constant, "value", value)
        composed_network.cache_clear()


def answers_left_out(rows: list[Row], lines: list[dict[str, Any]], *, apart: bool = False) -> list[dict[str, Any]]:
    """The answer to each line, with its row's own source left out of every constant; as shipped for rows kept apart."""
    answers = sizes(lines)
    if apart:
        return answers
    resting = {source for constant in fitted().values() for source in constant.rests_on}
    for source in sorted(resting):
        own = [at for at, row in enumerate(rows) if source_of(row) == source]
        with without(source, rows, lines):
            for at, answer in zip(own, sizes(lines[at] for at in own), strict=True):
                answers[at] = answer
    return answers
