"""Cost and time of plans, in the units by which the plans of one decision are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from whichgpu.engine.advisor.paid_length import ordered_gpus, paid_length, time_of_a_piece, work_comes_every
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import Codes, Facts
from whichgpu.engine.plans import Plan, PlanTable, busy_share, load_economics, paid_idle


class Measures(Struct, frozen=True):
    """Cost and time of one plan, in units that all plans of a decision share; None where not known.

    A job is measured by the run, or by the piece of work where its length is not known; a service by what it costs a
    month at its hours and by the time of one answer at the stated load. Hardware that is bought is paid for while it
    does nothing, too: beside hardware that is owned, and where nothing is said of how busy it is, speed makes a piece
    of work no cheaper, nor does hardware that is said to be busy for a share of its time and would be so for less
    (docs/decisions/0136). ``weighed_cost`` adds what surrounds rented GPUs, for the weighing of evidence; where no
    price is known it is that of the highest rate of the whole price list (docs/decisions/0006), which does not depend
    on the other plans. ``perceived_time`` takes an answer that is there at once for one that is there a little later,
    where cost counts beside it (docs/decisions/0043). ``lateness`` takes an answer that comes later than people
    tolerate, where no target is stated, for one that costs as many times more (docs/decisions/0077).
    """

    cost: float | None
    time: float | None
    weighed_cost: float | None = None
    weighed_time: float | None = None  # raised by what twice as many GPUs have to bring
    usd_per_hour: float | None = None  # of a job whose length is not known: its cost is then that of a piece of work
    perceived_time: float | None = None  # time as merit counts it
    lateness: float | None = 1.0  # how many times the cost counts, for an answer that comes later than people tolerate

    @property
    def perceived_cost(self) -> float | None:
        """Cost as merit counts it."""
        return None if self.cost is None else self.cost * (self.lateness or 1.0)

    @property
    def speed(self) -> float | None:
        """Work, or answers, per unit of time."""
        return 1.0 / self.time if self.time else None

    @property
    def weighed_speed(self) -> float | None:
        """Speed as evidence weighs it."""
        return 1.0 / self.weighed_time if self.weighed_time else None

    @property
    def figures(self) -> MeasureColumns:
        """These measures as columns of one row, for comparisons that take columns."""
        return MeasureColumns(*(math.nan if value is None else value for value in astuple(self)))


class MeasureColumns(Struct, frozen=True):
    """The measures of plans as columns, or those of one plan; NaN where a figure is not known."""

    cost: Any
    time: Any
    weighed_cost: Any
    weighed_time: Any
    usd_per_hour: Any
    perceived_time: Any
    lateness: Any

    @property
    def perceived_cost(self) -> Any:
        """Cost as merit counts it."""
        return self.cost * self.lateness

    @classmethod
    def of(cls, measures: Sequence[Measures]) -> MeasureColumns:
        """The columns of measures."""
        table = np.array([astuple(each) for each in measures], np.float64).reshape(-1, len(cls.__struct_fields__))
        return cls(*table.T)

    def row(self, row: int) -> Measures:
        """The measures of one plan."""
        return Measures(*(known(column[row]) for column in astuple(self)))

    def each(self, change: Callable[[Any], Any]) -> MeasureColumns:
        """The measures with every column changed alike."""
        return MeasureColumns(*map(change, astuple(self)))

    def take(self, rows: Codes) -> MeasureColumns:
        """The measures of some plans."""
        return self.each(lambda column: column[rows])


def known(value: Any) -> float | None:
    """A figure of a column as a plain number; None where it is not known."""
    return None if np.isnan(value) else float(value)


#: A plan of which neither cost nor time was asked.
UNMEASURED = Measures(None, None)


def is_job(workload: Facts) -> bool:
    """Whether the work is done piece by piece, and not a service that is there to be asked."""
    task = workload.get("task")
    serves = isinstance(task, str) and profile_of(task).serves
    return not serves or workload.get("serving_mode") == "batch"


def is_long(workload: Facts) -> bool:
    """Whether the work is long by its nature, whatever is stated of it: a model is trained from nothing."""
    task = workload.get("task")
    return isinstance(task, str) and profile_of(task).sized_as == "from_scratch"


def length_known(plans: Sequence[Plan]) -> bool:
    """Whether the length of the run is known on every plan whose rate is."""
    table = PlanTable.of(plans)
    timed = ~(np.isnan(table.numbers("plan.tokens_per_s")) & np.isnan(table.numbers("plan.samples_per_s")))
    return bool(timed.any() and not np.isnan(table.numbers("plan.hours")[timed]).any())


def measures_of(
    plans: Sequence[Plan],
    *,
    job: bool,
    by_run: bool,
    objective: Objective,
    highest_usd_per_gpu_hour: float,
    stands_idle: bool = False,
    busy: float = 1.0,
    rate_stated: bool = False,
    tried_out: bool = False,
    comes_every: Any = None,
) -> MeasureColumns:
    """Cost and time of plans as choosing compares them.

    Args:
        plans: best as a table.
        job: compare by the piece of work, not by the month.
        by_run: the length of the run is known on all plans, and the piece of work is the run.
        objective: tells what surrounds rented GPUs, without which two prices of a few cents would lie as far apart as
            two of a hundred dollars, and what twice as many GPUs have to bring.
        highest_usd_per_gpu_hour: the highest rate of the price list, for a plan whose price is not known.
        stands_idle: hardware is bought, and nothing is said of how busy it is.
        busy: the share of its time that it is said to be busy.
        rate_stated: how many requests come is stated. Of a load that is not stated speed is how much of it is served.
        tried_out: somebody tries things out: hours are paid for in which he thinks, and evidence weighs their price.
        comes_every: ``work_comes_every`` of other plans than these.
    """
    table = PlanTable.of(plans)
    hourly, count = table.numbers("plan.usd_per_hour"), table.numbers("plan.count")
    time = perceived_time = time_of_a_piece(table)
    if not job:
        latency = table.numbers("plan.latency_mean_ms")
        time = perceived_time = np.where(latency > 0, latency, time)
        if rate_stated:
            perceived_time = np.where(latency > 0, np.maximum(time, objective.at_once_ms), time)
    feared = np.where(np.isnan(hourly), highest_usd_per_gpu_hour * count, hourly)
    weighed_cost = feared + objective.around_usd_per_hour
    shared = objective.sharing(count, ordered_gpus(table))
    weighed_time = perceived_time * objective.gain_of_doubling ** np.log2(shared)
    unknown, lateness = np.full(len(table), np.nan), _lateness(table, objective)
    if not job:
        monthly = table.numbers("plan.usd_per_month")
        cost = np.where(np.isnan(monthly), hourly, monthly)
        return MeasureColumns(cost, time, weighed_cost * lateness, weighed_time, unknown, perceived_time, lateness)
    timed = ~np.isnan(time)
    if comes_every is None:
        share = objective.preference_share
        comes_every = work_comes_every(table, by_run=by_run, stands_idle=stands_idle, busy=busy, share=share)
    length = paid_length(table, hourly, time, by_run=by_run, stands_idle=stands_idle, comes_every=comes_every)
    return MeasureColumns(
        hourly * length,
        time,
        weighed_cost if tried_out and not by_run else weighed_cost * length * lateness,
        weighed_time,
        unknown if by_run else np.where(timed, hourly, np.nan),
        perceived_time,
        lateness,
    )


def _lateness(table: PlanTable, objective: Objective) -> Any:
    """How many times each plan's cost counts, since it is later than people tolerate; 1 where no cost counts."""
    if not objective.cost_exponent:
        return np.ones(len(table))
    return np.fmax(table.numbers("plan.lateness") / objective.patience, 1.0)


def measures_among(
    plans: Sequence[Plan], workload: Facts, objective: Objective, highest_usd_per_gpu_hour: float
) -> MeasureColumns:
    """Cost and time of plans that are compared with each other alone; see ``measures_of``."""
    table = PlanTable.of(plans)
    how = compared_by(workload)
    return measures_of(
        table,
        by_run=how.job and length_known(table),
        objective=objective,
        highest_usd_per_gpu_hour=highest_usd_per_gpu_hour,
        **how._asdict(),
    )


class ComparedBy(NamedTuple):
    """What measures take of the workload itself; see ``measures_of``."""

    job: bool
    stands_idle: bool
    busy: float
    rate_stated: bool
    tried_out: bool


def compared_by(workload: Facts) -> ComparedBy:
    """How the plans of a workload are compared."""
    task = workload.get("task")
    tried_out = isinstance(task, str) and profile_of(task).sized_as == "trial"
    idle, busy = paid_idle(workload, load_economics()), busy_share(workload)
    return ComparedBy(is_job(workload), idle, busy, "peak_qps" in workload, tried_out)
