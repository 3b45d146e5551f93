"""The gate between sizing and choosing: a plan whose figures cannot be true is refused by name, and never published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from whichgpu.engine.core import Codes, Column, NumberColumn
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.table import PlanTable
from whichgpu.engine.sizing import Bools, Figure, Floats


#: Facts that may be negative: a job that does not fit leaves less than nothing free.
_MAY_BE_NEGATIVE = frozenset({"plan.headroom_pct"})
#: Shares of a whole, by name.
_SHARES = frozenset({"mfu", "utilization"})
#: Ends of a band are computed by another path than the value; so much may be rounding.
_ROUNDING = 1e-9


class FigureProblem(NamedTuple):
    """A figure of a plan that cannot be true, and why."""

    figure: str  # plan.latency_ms, memory.high_gb, speed.mfu
    value: float
    why: str


class Refusal(Struct, frozen=True):
    """A plan that the gate refuses, with everything that is wrong with its figures."""

    plan: Plan
    problems: tuple[FigureProblem, ...]


def through_gate(plans: PlanTable) -> tuple[PlanTable, tuple[Refusal, ...]]:
    """The plans whose numbers can be true, in their order, and those that are refused."""
    refused: dict[int, Refusal] = {}
    for row in plans.doubtful.tolist():
        if problems := figure_problems(plans[row]):
            refused[row] = Refusal(plans[row], problems)
    if not refused:
        return plans, ()
    passed = [row for row in range(len(plans)) if row not in refused]
    return plans.take(np.array(passed, np.intp)), tuple(refused.values())


def doubtful(facts: Mapping[str, Column], speed: Mapping[str, Floats]) -> Codes:
    """The rows in which some figure is infinite, negative, more than the whole, or outside its band."""
    numbers = {name: column.values for name, column in facts.items() if isinstance(column, NumberColumn)}
    free = np.stack([values for name, values in (*numbers.items(), *speed.items()) if name not in _MAY_BE_NEGATIVE])
    wrong: Bools = (free < 0).any(axis=0) | (free == math.inf).any(axis=0)
    for name in _MAY_BE_NEGATIVE & numbers.keys():
        wrong |= np.isinf(numbers[name])
    for name in _SHARES & speed.keys():
        wrong |= speed[name] > 1
    if "plan.needed_gb" in numbers:
        low, value, high = (numbers[f"plan.{name}_gb"] for name in ("low", "needed", "high"))
        slack = _ROUNDING * np.abs(value)
        wrong |= (value < low - slack) | (value > high + slack)
    return np.flatnonzero(wrong)


def figure_problems(plan: Plan) -> tuple[FigureProblem, ...]:
    """Every figure of memory, speed, cost and power that is not finite, is negative, or lies outside its band."""
    found = [*_of_facts(plan), *_of_memory(plan)]
    if plan.speed is not None:
        found += _of_numbers(plan.speed.values.items(), "speed.")
    if plan.power_w is not None and "plan.power_w" not in plan.facts:
        found += _of_numbers([("power_w", plan.power_w)], "plan.")
    return tuple(found)


def band_problems(plan: Plan) -> tuple[FigureProblem, ...]:
    """Figures of speed that lie outside their band, or whose band cannot be true; for plans that are shown.

    Bands of speed are built when they are asked for, which is why not every plan is judged by them.
    """
    return tuple(_of_bands(plan.speed.figures)) if plan.speed is not None else ()


def _of_facts(plan: Plan) -> Iterator[FigureProblem]:
    for name, value in plan.facts.items():
        if (value.__class__ is not float and value.__class__ is not int) or 0 <= value < math.inf:
            continue
        problem = _problem(name, value, signed=name in _MAY_BE_NEGATIVE)
        if problem is not None:
            yield problem


def _of_memory(plan: Plan) -> Iterator[FigureProblem]:
    memory = plan.memory
    if memory is None:
        return
    parts = {"low_gb": memory.low_gb, "per_gpu_gb": memory.per_gpu_gb, "high_gb": memory.high_gb}
    wrong = list(_of_numbers(parts.items(), "memory."))
    yield from wrong
    if not wrong:
        yield from _outside("memory.per_gpu_gb", memory.per_gpu_gb, memory.low_gb, memory.high_gb)


def _of_bands(figures: Mapping[str, Figure]) -> Iterator[FigureProblem]:
    for name, figure in figures.items():
        ends = {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
        wrong = list(_of_numbers(ends.items(), "speed."))
        yield from wrong
        if not wrong:
            yield from _outside(f"speed.{name}", figure.value, figure.low, figure.high)


def _of_numbers(named: Iterable[tuple[str, float]], prefix: str) -> Iterator[FigureProblem]:
    for name, value in named:
        if 0 <= value < math.inf and name not in _SHARES:
            continue
        problem = _problem(f"{prefix}{name}", value, share=name in _SHARES)
        if problem is not None:
            yield problem


def _problem(name: str, value: float, *, signed: bool = False, share: bool = False) -> FigureProblem | None:
    if not math.isfinite(value):
        return FigureProblem(name, value, "it is not a finite number")
    if value < 0 and not signed:
        return FigureProblem(name, value, "it is negative")
    if share and value > 1:
        return FigureProblem(name, value, "it is a share and more than the whole")
    return None


def _outside(name: str, value: float, low: float, high: float) -> Iterator[FigureProblem]:
    slack = _ROUNDING * abs(value)
    if value < low - slack:
        yield FigureProblem(name, value, f"it lies below the lower end of its band, {low:g}")
    if value > high + slack:
        yield FigureProblem(name, value, f"it lies above the upper end of its band, {high:g}")
