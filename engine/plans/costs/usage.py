"""How many hours a year the hardware is busy, from whatever the user said about it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from whichgpu.engine.core import Facts, Value, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.hardware import choose


class Usage(Struct, frozen=True):
    """Busy hours per year of each GPU, and what was read to know them."""

    hours_per_year: float
    formula: str
    inputs: dict[str, Value]


#: Busy hours of one plan or of many, the formula that gives them, and what went into it.
_Hours = tuple[Any, str, dict[str, Value]]


#: Runs a year of jobs that come regularly.
REGULAR_RUNS = {"daily": 365.0, "weekly": 52.0}


def usage_of(
    facts: Facts,
    count: int,
    constants: EconomicsConstants,
    *,
    rent_usd_h: float | None = None,
    years: float | None = None,
    run_hours: Any = None,
) -> Usage | None:
    """``busy_hours`` of one plan with how they came about; None when nothing was said about them.

    ``run_hours`` of the plan count where its runs come regularly.
    """
    regular = run_hours if facts.get("runs_cadence") in REGULAR_RUNS else None
    found = _said(facts, count, constants, rent_usd_h or None, years, regular)
    return None if found is None else Usage(*found)


def busy_hours(
    facts: Facts,
    count: Any,
    constants: EconomicsConstants,
    *,
    rent_usd_h: Any = None,
    years: float | None = None,
    run_hours: Any = None,
) -> Any:
    """Busy hours per year and GPU; the most direct statement wins. None, or NaN in a row, when nothing is known.

    Args:
        facts: what is known.
        count: how many GPUs share the hours: of one plan, or of many.
        constants: of ``economics.yaml``.
        rent_usd_h: the rent of a GPU-hour, which turns a bill into hours; NaN in the rows where there is none.
        years: the years that the hours of a project are spread over, where neither they nor its months are stated.
        run_hours: how long one run of a job takes, of one plan or of each; NaN where it is not known. While nothing is
            said of how busy the hardware is, it does such a run as often as sporadic runs are.
    """
    found = _said(facts, count, constants, rent_usd_h, years, run_hours)
    if found is None and run_hours is not None:
        found = _said({"runs_cadence": "sporadic"}, count, constants, run_hours=run_hours)
    return None if found is None else found[0]


def _said(
    facts: Facts,
    count: Any,
    constants: EconomicsConstants,
    rent_usd_h: Any = None,
    years: float | None = None,
    run_hours: Any = None,
) -> _Hours | None:
    year = constants["hours_per_year"].value
    found = (
        _hours_stated(facts, count)
        or _by_share(facts, year)
        or _hours_of_project(facts, count, years)
        or _by_runs(facts, constants, run_hours)
        or _by_spend(facts, count, rent_usd_h)
    )
    if found is None:
        return None
    hours, formula, inputs = found
    return choose(hours > year, year, hours), formula, inputs


def _hours_stated(facts: Facts, count: Any) -> _Hours | None:
    hours = number(facts, "gpu_hours_per_year")
    if hours is None:
        return None
    return (hours / count, "GPU-hours per year / GPUs", {"gpu_hours_per_year": hours, "plan.count": count})


def _by_share(facts: Facts, year: float) -> _Hours | None:
    share = number(facts, "utilization_pct")
    if share is not None:
        return (year * share / 100, "8,760 h x utilisation", {"utilization_pct": share})
    if facts.get("always_on") is True:
        return (year, "8,760 h: always on", {"always_on": True})
    return None


def _hours_of_project(facts: Facts, count: Any, assumed_years: float | None) -> _Hours | None:
    total, months = number(facts, "gpu_hours_total"), number(facts, "project_months")
    # Hours are spread over the years that owning is planned for.
    years = number(facts, "horizon_years") or (months / 12 if months else assumed_years)
    if total is None or not years:
        return None
    inputs: dict[str, Value] = {"gpu_hours_total": total, "plan.count": count, "horizon_years": years}
    return (total / count / years, "GPU-hours of the project / GPUs / years", inputs)


def _by_runs(facts: Facts, constants: EconomicsConstants, run_hours: Any) -> _Hours | None:
    cadence, year = facts.get("runs_cadence"), constants["hours_per_year"].value
    stated = number(facts, "run_hours")
    hours = run_hours if stated is None else stated
    if cadence == "continuous":
        return (year, "8,760 h: runs continuously", {"runs_cadence": "continuous"})
    runs = {**REGULAR_RUNS, "sporadic": constants["sporadic_runs_per_year"].value, "one_off": 1.0}
    if hours is None or not isinstance(cadence, str) or cadence not in runs:
        return None
    return (runs[cadence] * hours, "runs per year x hours per run", {"runs_cadence": cadence, "run_hours": hours})


def _by_spend(facts: Facts, count: Any, rent_usd_h: Any) -> _Hours | None:
    spend = number(facts, "monthly_cloud_spend_usd")
    if spend is None or rent_usd_h is None:
        return None
    inputs: dict[str, Value] = {"monthly_cloud_spend_usd": spend, "rent_usd_h": rent_usd_h, "plan.count": count}
    return (12 * spend / (rent_usd_h * count), "cloud bill per year / (rent per GPU-hour x GPUs)", inputs)
