"""What a result comes to: cost then and now by team, GPU and task, what saves most, and what cannot be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.fleet.columns import Coded, Numbers, groups_of
from whichgpu.engine.fleet.store import Manifest, read_parts
from whichgpu.engine.rules import Say


#: A job had too much where twice what it needs by the high end of the estimate stood there: more than half was empty.
TWICE = 2.0
#: Shared cards have their share of the memory; a rounding of the share is no lack of it.
_SHORT = 0.99
#: Bases on which both sides are of one kind: two computed speeds, or the hours of a service.
_COMPARED = ("scaled", "service")
_READ = (
    "status",
    "team",
    "task",
    "then_gpu",
    "then_count",
    "then_usd",
    "now_plan",
    "saving_usd",
    "now_basis",
    "memory_low_gb",
    "memory_high_gb",
    "rules",
    "unverified",
    "warnings",
    "support",
    "now_price_assumed",
    "missing",
    "error_code",
    "error",
    "then_problem",
    "then_hours",
)


@dataclass(slots=True)
class Sums:
    """Jobs, and the cost of those whose cost is known then and now. US dollars."""

    jobs: int = 0
    compared: int = 0
    then: float = 0.0
    now: float = 0.0
    computed: float = 0.0  # of the saving, where computed speeds are compared with each other, or for services

    @property
    def saving(self) -> float:
        """What the plans that are recommended would have saved; less than 0 where they cost more."""
        return self.then - self.now


@dataclass(slots=True)
class Shift:
    """Jobs that ran on one thing and should have run on another."""

    sums: Sums
    rules: Counter[str] = field(default_factory=Counter)
    risks: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class FleetFigures:
    """The figures of a result."""

    manifest: Manifest
    verdicts: frozenset[str] = frozenset()  # rules that say rent or buy: they decide no GPU
    of_candidates: frozenset[str] = frozenset()  # codes said of what ran then, not of what is recommended
    status: Counter[str] = field(default_factory=Counter)
    whole: Sums = field(default_factory=Sums)
    by: dict[str, dict[str, Sums]] = field(default_factory=lambda: {name: {} for name in ("team", "GPU", "task")})
    shifts: dict[tuple[str, str], Shift] = field(default_factory=dict)
    basis: Counter[str] = field(default_factory=Counter)
    over: Sums = field(default_factory=Sums)  # more than twice the memory that is needed
    under: Sums = field(default_factory=Sums)  # less than is needed by the low end of the estimate
    memory_judged: int = 0
    missing: Counter[str] = field(default_factory=Counter)  # facts, by the jobs that lack them
    errors: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)  # of each kind of error what the first job of it was told
    unsized: Sums = field(default_factory=Sums)  # jobs of unknown size: what they cost then
    unpriced: Counter[str] = field(default_factory=Counter)  # what keeps the cost then from being known

    def best(self, most: int = 10) -> list[tuple[tuple[str, str], Shift]]:
        """The changes that save most."""
        found = [(shift, each) for shift, each in self.shifts.items() if each.sums.saving > 0]
        return sorted(found, key=lambda entry: (-entry[1].sums.saving, entry[0]))[:most]


def figures_of(folder: Path, manifest: Manifest, advisor: Advisor) -> FleetFigures:
    """The figures of a result.

    Args:
        folder: of the result.
        manifest: of it.
        advisor: for the memory of GPUs, and for what its rules speak of.

    Raises:
        InputError: a part cannot be read.
    """
    rules = advisor.rulebook.rules
    found = FleetFigures(
        manifest,
        verdicts=frozenset(rule.id for rule in rules if "procurement" in rule.writes),
        of_candidates=frozenset(
            effect.code
            for rule in rules
            if rule.each == "candidate"
            for effect in rule.effects
            if isinstance(effect, Say) and effect.code
        ),
    )
    for columns, rows in read_parts(folder, manifest, _READ):
        if rows:
            _add(found, columns, rows, advisor.knowledge)
    return found


def _add(found: FleetFigures, columns: Mapping[str, Coded], rows: int, knowledge: Knowledge) -> None:
    basis, saving = columns["now_basis"], columns["saving_usd"].numbers()
    spent = columns["then_usd"].numbers()
    planned = spent - saving
    computed = np.array([value in _COMPARED for value in basis.values], np.bool_)[basis.codes]
    money = (spent, planned, computed)
    for value, amount in _counted(columns["status"]):
        found.status[value] += amount
    decided = _is(columns["status"], "decided")
    _sum_up(found.whole, np.ones(rows, np.bool_), *money)
    for name, column in (("team", "team"), ("GPU", "then_gpu"), ("task", "task")):
        for place, value in enumerate(columns[column].values):
            sums = found.by[name].setdefault("not known" if value is None else str(value), Sums())
            _sum_up(sums, columns[column].codes == place, *money)
    for value, amount in _counted(basis, decided & ~np.isnan(spent) & ~np.isnan(planned)):
        found.basis[value] += amount
    _shifts(found, columns, rows, money)
    _memory(found, columns, decided, money, knowledge)
    _unjudged(found, columns, decided, spent)


def _shifts(found: FleetFigures, columns: Mapping[str, Coded], rows: int, money: tuple[Any, Any, Any]) -> None:
    names = (
        "then_gpu",
        "then_count",
        "now_plan",
        "rules",
        "unverified",
        "warnings",
        "support",
        "now_price_assumed",
        "now_basis",
    )
    parts = [columns[name] for name in names]
    codes, first = groups_of(parts, rows)
    for group, row in enumerate(first.tolist()):
        gpu, count, plan, rules, *risks = (part.values[part.codes[row]] for part in parts)
        if gpu is None or plan is None:
            continue
        shift = found.shifts.setdefault((f"{count:g} x {gpu}" if count else gpu, plan), Shift(Sums()))
        where = codes == group
        _sum_up(shift.sums, where, *money)
        amount = int(where.sum())
        for rule in [rule for rule in rules or () if rule not in found.verdicts][:1]:
            shift.rules[rule] += amount
        for risk in _risks(found.of_candidates, *risks):
            shift.risks[risk] += amount


def _risks(
    of_candidates: frozenset[str], unverified: Any, warnings: Any, support: Any, assumed: Any, basis: Any
) -> Iterable[str]:
    yield from (f"{name} could not be checked" for name in unverified or ())
    if basis == "same_gpu_hours":
        yield "its speed there is not computed"
    elif basis == "run":
        yield "hours as measured then, as computed now"
    if support == "none":
        yield "some figures are withheld"
    elif support == "rule_of_thumb":
        yield "sized by a rule of thumb"
    if assumed:
        yield "no offer has the shape"
    yield from [code for code in warnings or () if code not in of_candidates][:2]


def _memory(
    found: FleetFigures, columns: Mapping[str, Coded], decided: Any, money: tuple[Any, Any, Any], knowledge: Knowledge
) -> None:
    """Memory that stood there beside what is needed, of jobs whose GPU and size are known."""
    gpu = columns["then_gpu"]
    usable = np.array([_usable(name, knowledge) for name in gpu.values] or [np.nan])[gpu.codes]
    had = usable * columns["then_count"].numbers()
    low, high = columns["memory_low_gb"].numbers(), columns["memory_high_gb"].numbers()
    rough = np.array([word in {None, "none", "rule_of_thumb"} for word in columns["support"].values], np.bool_)
    judged = decided & ~np.isnan(had) & ~np.isnan(high) & ~rough[columns["support"].codes]
    found.memory_judged += int(judged.sum())
    _sum_up(found.over, judged & (had > TWICE * high), *money)
    _sum_up(found.under, judged & (had < _SHORT * low), *money)


def _usable(name: str | None, knowledge: Knowledge) -> float:
    gpu = knowledge.gpus.get(name or "")
    usable = gpu.usable_gb if gpu else None
    return np.nan if usable is None else usable


def _unjudged(found: FleetFigures, columns: Mapping[str, Coded], decided: Any, spent: Numbers) -> None:
    for facts, amount in _counted(columns["missing"]):
        for fact in facts or ():
            found.missing[fact] += amount
    for code, amount in _counted(columns["error_code"]):
        if code is not None:
            found.errors[code] += amount
            first = int(np.flatnonzero(columns["error_code"].codes == columns["error_code"].values.index(code))[0])
            found.said.setdefault(code, str(columns["error"].values[columns["error"].codes[first]]))
    unsized = decided & np.isnan(columns["memory_high_gb"].numbers())
    found.unsized.jobs += int(unsized.sum())
    found.unsized.then += float(np.nansum(spent[unsized]))
    unknown = decided & np.isnan(spent)
    hours = np.isnan(columns["then_hours"].numbers())
    gpu = columns["then_gpu"]
    named = np.array([value is not None for value in gpu.values], np.bool_)[gpu.codes]
    for problem, amount in _counted(columns["then_problem"], unknown):
        if problem is not None:
            found.unpriced[problem] += amount
    said = np.array([value is not None for value in columns["then_problem"].values])[columns["then_problem"].codes]
    rest = unknown & ~said
    for why, where in (
        ("the GPU is not stated", ~named),
        ("the hours are not stated", named & hours),
        ("no provider rents these GPUs out, or their count is not stated", named & ~hours),
    ):
        if amount := int((rest & where).sum()):
            found.unpriced[why] += amount


def _sum_up(sums: Sums, where: Any, spent: Numbers, planned: Numbers, computed: Any) -> None:
    both = where & ~np.isnan(spent) & ~np.isnan(planned)
    sums.jobs += int(where.sum())
    sums.compared += int(both.sum())
    sums.then += float(spent[both].sum())
    sums.now += float(planned[both].sum())
    known = both & computed
    sums.computed += float(spent[known].sum() - planned[known].sum())


def _counted(column: Coded, where: Any = None) -> Iterable[tuple[Any, int]]:
    codes = column.codes if where is None else column.codes[where]
    amounts = np.bincount(codes, minlength=len(column.values))
    return ((value, amount) for value, amount in zip(column.values, amounts.tolist(), strict=True) if amount)


def _is(column: Coded, value: str) -> Any:
    return np.array([each == value for each in column.values], np.bool_)[column.codes]
