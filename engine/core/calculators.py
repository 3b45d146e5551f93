"""Calculators: plain typed functions that produce facts, registered with what an explanation needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct


Trend = Literal["rises", "falls", "mixed"]


class Calculator(Struct, frozen=True):
    """A producer of one fact. ``function`` takes its inputs by keyword and returns None where it cannot say."""

    name: str
    function: Callable[..., Any]
    output: str
    unit: str
    needs: tuple[str, ...]  # without these it does not run
    uses: tuple[str, ...]  # read when known, passed as None when not
    trends: dict[str, Trend]  # how the output moves as a numeric input grows
    formula: str
    source: str


_REGISTRY: dict[str, Calculator] = {}


def calculator(
    *,
    output: str,
    unit: str,
    needs: tuple[str, ...],
    uses: tuple[str, ...] = (),
    trends: dict[str, Trend] | None = None,
    formula: str,
    source: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the calculator of ``output``. Two calculators of one fact are a programming error."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if output in _REGISTRY:
            raise ValueError(f"{output} is computed by {_REGISTRY[output].name} already")
        name = f"{function.__module__.removeprefix('whichgpu.engine.')}.{function.__name__}"
        _REGISTRY[output] = Calculator(name, function, output, unit, needs, uses, trends or {}, formula, source)
        return function

    return register


def registered() -> dict[str, Calculator]:
    """All calculators by the fact they produce. Import the rooms that hold them first."""
    return dict(_REGISTRY)
