"""Which GPUs and which time of a plan are paid for: whole orders, and the run or the time until the next job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core import Numbers
from whichgpu.engine.plans import Plan, PlanTable


def time_of_a_piece(table: PlanTable) -> Numbers:
    """How long each plan takes for a token, or else a sample; NaN where that is not known."""
    tokens = table.numbers("plan.tokens_per_s")
    rate = np.where(tokens > 0, tokens, table.numbers("plan.samples_per_s"))
    found: Numbers = 1 / np.where(rate > 0, rate, np.nan)
    return found


def ordered_gpus(table: PlanTable) -> Numbers:
    """How many GPUs each plan is a larger order by: none more of those that are there, whole boards of those to buy."""
    bought = table.numbers("plan.gpus_bought")
    found: Numbers = np.where(np.isnan(bought), table.numbers("plan.count"), bought)
    return np.where(table.yes("plan.owned"), 1.0, found)


def paid_length(
    table: PlanTable, hourly: Numbers, time: Numbers, *, by_run: bool, stands_idle: bool, comes_every: Any
) -> Numbers:
    """How long each plan of a job is paid for: the run, or a piece of work where the length of the run is not known."""
    unknown = np.full(len(table), np.nan)
    hours = table.numbers("plan.hours") if by_run else unknown
    # Of hardware that is kept, a run is charged the hours that it stands idle for as well.
    charged = np.where(hourly > 0, table.numbers("plan.usd_per_run") / hourly, np.nan) if by_run else unknown
    length = np.where(charged > 0, charged, np.where(hours > 0, hours, time))
    if comes_every is not None:  # What is bought is paid for at least until the next piece of work comes in.
        worked = np.fmax(np.where(hours > 0, hours, time), comes_every)
        length = np.where(_kept(table, stands_idle=stands_idle) & ~np.isnan(worked), worked, length)
    # One whose speed is not known is taken to be paid for as long as the longest run.
    untimed = np.fmax.reduce(length, initial=np.nan) if by_run else 1.0
    return np.where(np.isnan(time), untimed, length)


def _kept(table: PlanTable, *, stands_idle: bool) -> NDArray[np.bool_]:
    """Which plans are paid for while they do nothing."""
    found: NDArray[np.bool_] = ~table.yes("plan.owned") & (stands_idle | table.yes("plan.bought"))
    return found


def work_comes_every(
    plans: Sequence[Plan], *, by_run: bool, stands_idle: bool, busy: float, share: float
) -> float | None:
    """The time until the next piece of work, or run, comes in, where hardware is kept for it.

    None where no hardware is kept, and of runs where nothing is said of how often they come.

    Work comes in as fast as the owned hardware does it; else, where hardware stands idle, as fast as the plan whose
    hours cost least. Where it is said how busy hardware is, it comes in as fast as a plan that is cheap by the piece
    does it in that share of its time: a faster plan would be less busy, and not cheaper. Of several that are as cheap
    but for what preferences may cost (``share``), as far as they stand idle, it is the smallest purchase: no one said
    that there is work for more.
    """
    table = PlanTable.of(plans)
    hourly, time = table.numbers("plan.usd_per_hour"), time_of_a_piece(table)
    if by_run:
        if stands_idle or busy == 1.0:
            return None
        time = table.numbers("plan.hours")
    owned, able = table.yes("plan.owned"), ~np.isnan(time) & ~np.isnan(hourly)
    kept = _kept(table, stands_idle=stands_idle) & able
    if not kept.any():
        return None
    if stands_idle or (owned & able).any():
        return float(time[np.lexsort((time, np.where(owned, 0.0, hourly), ~owned, ~able))[0]])
    piece = np.where(kept, hourly * time, np.inf)
    least = piece[np.lexsort((time, piece))[0]]
    as_cheap = piece <= least * (1 + share * (1 - busy))
    return float(time[np.lexsort((time, hourly, ~as_cheap))[0]]) / busy
