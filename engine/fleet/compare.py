"""Two results over the same jobs, as of two rulebooks or price lists: which decisions differ, and by how much money."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.fleet.columns import Coded, groups_of
from whichgpu.engine.fleet.store import Manifest, read_manifest, read_parts


_READ = ("row", "id", "status", "now_plan", "procurement", "now_usd", "rules")


@dataclass(slots=True)
class Difference:
    """Jobs whose decision became another, in one way."""

    before: str
    after: str
    jobs: int = 0
    compared: int = 0
    usd: float = 0.0  # by how much the plans cost more now than before
    gone: Counter[str] = field(default_factory=Counter)  # rules that decided before and do no longer
    come: Counter[str] = field(default_factory=Counter)
    example: str = ""


@dataclass(slots=True)
class FleetDifference:
    """What differs between two results."""

    before: Manifest
    after: Manifest
    jobs: int = 0
    same: int = 0
    usd_before: float = 0.0  # of all jobs whose money is known in both
    usd_after: float = 0.0
    differences: dict[tuple[str, str], Difference] = field(default_factory=dict)

    def largest(self, most: int) -> list[Difference]:
        """The differences in most jobs."""
        return sorted(self.differences.values(), key=lambda each: (-each.jobs, each.before, each.after))[:most]


def compare_results(before: Path, after: Path) -> FleetDifference:
    """Compare two results row by row.

    Raises:
        InputError: one is no result, or they are not over the same jobs.
    """
    found = FleetDifference(read_manifest(before), read_manifest(after))
    rows = found.before.rows, found.after.rows
    if rows[0] != rows[1]:
        message = f"{before} has {rows[0]} rows and {after} has {rows[1]}: they are not over the same jobs"
        raise InputError(Problem("other-jobs", message, fix="decide the same jobs twice: whichgpu fleet OUT -o OTHER"))
    left = read_parts(before, found.before, _READ)
    right = read_parts(after, found.after, _READ)
    for one, other in _aligned(left, right):
        _add(found, one, other, (before, after))
    return found


def _aligned(left: Any, right: Any) -> Any:
    """Parts of both with as many rows, whatever sizes they were written in."""
    held: list[tuple[dict[str, Coded], int]] = [({}, 0), ({}, 0)]
    sources = [left, right]
    while True:
        for side in (0, 1):
            while not held[side][1]:
                part = next(sources[side], None)
                if part is None:
                    return
                held[side] = part
        rows = min(held[0][1], held[1][1])
        yield tuple({name: Coded(col.codes[:rows], col.values) for name, col in part[0].items()} for part in held)
        held = [
            ({name: Coded(col.codes[rows:], col.values) for name, col in columns.items()}, left_over - rows)
            for columns, left_over in held
        ]


def _add(found: FleetDifference, one: dict[str, Coded], other: dict[str, Coded], names: tuple[Path, Path]) -> None:
    rows = len(one["row"].codes)
    if not rows:
        return
    if one["id"].items() != other["id"].items():
        message = f"{names[0]} and {names[1]} name other jobs in the same rows"
        raise InputError(Problem("other-jobs", message, fix="decide the same jobs twice: whichgpu fleet OUT -o OTHER"))
    money = one["now_usd"].numbers(), other["now_usd"].numbers()
    known = ~np.isnan(money[0]) & ~np.isnan(money[1])
    found.jobs += rows
    found.usd_before += float(money[0][known].sum())
    found.usd_after += float(money[1][known].sum())
    parts = [side[name] for side in (one, other) for name in ("status", "now_plan", "procurement", "rules")]
    codes, first = groups_of(parts, rows)
    for group, row in enumerate(first.tolist()):
        cells = [part.values[part.codes[row]] for part in parts]
        says = _decision(*cells[:3]), _decision(*cells[4:7])
        where = codes == group
        jobs = int(where.sum())
        if says[0] == says[1]:
            found.same += jobs
            continue
        entry = found.differences.setdefault(says, Difference(*says))
        entry.jobs += jobs
        entry.compared += int((where & known).sum())
        entry.usd += float((money[1] - money[0])[where & known].sum())
        rules = [set(cells[3] or ()), set(cells[7] or ())]
        for counter, only in ((entry.gone, rules[0] - rules[1]), (entry.come, rules[1] - rules[0])):
            for rule in only:
                counter[rule] += jobs
        entry.example = entry.example or str(one["id"].values[one["id"].codes[row]] or f"row {row}")


def _decision(status: str, plan: str | None, procurement: str | None) -> str:
    return f"{plan}, {procurement}" if plan else status.replace("_", " ")
