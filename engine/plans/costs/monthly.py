"""What plans cost a month: by the hours that are stated, the runs that come regularly, or what a budget pays for."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import Facts
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.spending import Spending, within_budget
from whichgpu.engine.plans.costs.usage import busy_hours
from whichgpu.engine.sizing import Bools, Floats, Ints


def monthly(
    usd_per_hour: Floats,
    usd_per_run: Floats,
    counts: Ints,
    spending: Spending,
    constants: EconomicsConstants,
    rented: Bools,
    bought: Bools,
) -> tuple[Floats, Floats]:
    """What a month of each plan costs, and the hours of it that a budget pays for, NaN where that is no matter.

    What is bought costs a whole month; what is rented, the hours of it in which it is kept.

    Args:
        usd_per_hour: of each plan.
        usd_per_run: of each; NaN where no length of a run is known.
        counts: GPUs of each.
        spending: what the facts say about paying.
        constants: of ``economics.yaml``.
        rented: which plans are rented, by an offer or a quote.
        bought: which are bought.
    """
    duty = 1.0 if spending.always_paid else rental_duty(spending.facts, counts, constants)
    whole: Floats = usd_per_hour * constants["hours_per_month"].value * np.where(bought, 1.0, duty)
    paid, hours_kept = within_budget(spending, usd_per_hour, whole, usd_per_run, rented)
    if not (spending.always_paid and spending.runs_per_year):
        return paid, hours_kept
    by_runs = np.where(bought, np.nan, np.minimum(whole, usd_per_run * spending.runs_per_year / 12))
    known = ~np.isnan(by_runs)
    return np.where(known, by_runs, paid), np.where(known, np.nan, hours_kept)


def rental_duty(facts: Facts, count: Any, constants: EconomicsConstants) -> Any:
    """Share of the month that is paid for, 0 to 1: what is known of the hours, else all of it."""
    if facts.get("always_on") is True:
        return 1.0
    hours = busy_hours(facts, count, constants)
    return 1.0 if hours is None else hours / constants["hours_per_year"].value
