"""What the facts say about paying: what is there already, at whose quote, and whether hardware is bought."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from whichgpu.engine.catalogue import Gpu, profile_of
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.usage import REGULAR_RUNS, usage_of
from whichgpu.engine.sizing import Bools, Floats


#: Places where hardware stands that is one's own.
_OWN_SITES = frozenset({"workstation", "edge", "datacenter"})
#: The fact that machines are rented at a place of one's own, since nothing that is bought keeps a budget.
RENTED_INSTEAD = "rented_instead"
#: Percent of its time for which hardware is taken to be busy at the least.
_LEAST_USE_PCT = 1.0
_OWNED = re.compile(
    r"^\s*(?:(?P<before>\d+)\s*[x*]\s*)?(?P<gpu>.+?)(?:\s*(?:[:=*]|\s[xX]|(?<=[\s\d])[xX])\s*(?P<after>\d+))?\s*$"
)


def owned_gpus(facts: Facts) -> dict[str, int]:
    """GPU name to how many the user has, from entries like ``nvidia-l4 x2``, ``2 x nvidia-l4`` or ``nvidia-l4``."""
    entries = facts.get("gpus_owned", ())
    found: dict[str, int] = {}
    for entry in entries if isinstance(entries, tuple) else (entries,):
        match = _OWNED.match(str(entry))
        if match:
            name = match["gpu"].strip().casefold()
            found[name] = found.get(name, 0) + int(match["before"] or match["after"] or 1)
    return found


def count_owned(gpu: Gpu, owned: dict[str, int]) -> int:
    """How many of a GPU the user has, named by id, family, series, name or alias; the most exact name wins."""
    if not owned:
        return 0
    for name in (gpu.id, gpu.family, gpu.series, gpu.name, *gpu.aliases):
        if name.casefold() in owned:
            return owned[name.casefold()]
    return 0


class Spending(Struct, frozen=True):
    """What the facts say about paying, read once for all plans."""

    facts: Facts
    owned: dict[str, int]
    quote_usd_h: float | None
    quoted: frozenset[str]  # ids, families or series that the quote is about
    run_hours: float | None
    interruptible: bool
    always_paid: bool  # nothing says that the hardware stands idle some of the time
    buys: bool  # the hardware is to stand at the user's own place, or is to be bought
    rents: bool  # even a device that no provider rents out by the hour
    runs_per_year: float | None  # that come regularly, where nothing else is said of hours
    spreads: bool  # the work can go on in any month: a batch job without a deadline
    budget_month: float | None  # that hours of renting are taken to keep, since nothing is said of how many there are


def spending_of(facts: Facts, constants: EconomicsConstants) -> Spending:
    """Read the facts about paying. Whoever wishes to rent, or can afford nothing else, pays rent anywhere."""
    wish, site = facts.get("procurement_wish"), facts.get("deployment_site")
    return Spending(
        facts=facts,
        owned=owned_gpus(facts),
        quote_usd_h=number(facts, "rent_quote_usd_h"),
        quoted=_quoted(facts),
        run_hours=number(facts, "run_hours"),
        interruptible=facts.get("interruptible") is True,
        always_paid=facts.get("always_on") is True or usage_of(facts, 1, constants) is None,
        buys=_buys(facts),
        rents=wish == "rent" or site == "cloud",
        runs_per_year=None if facts.get("always_on") is True else REGULAR_RUNS.get(str(facts.get("runs_cadence"))),
        spreads="requests_total" in facts and "deadline_hours" not in facts,
        budget_month=_budget_of_hours(facts, constants),
    )


def _budget_of_hours(facts: Facts, constants: EconomicsConstants) -> float | None:
    """A stated budget a month that says how many hours are rented: of jobs, where nothing else is said of them.

    A service is there all month. Whoever trains or works off a batch rents for as long as he can pay.
    """
    task = facts.get("task")
    serves = isinstance(task, str) and profile_of(task).serves and facts.get("serving_mode") != "batch"
    if serves or facts.get("always_on") is True or usage_of(facts, 1, constants) is not None:
        return None
    return number(facts, "budget_usd_per_month")


def within_budget(
    spending: Spending, usd_per_hour: Floats, usd_per_month: Floats, usd_per_run: Floats, rented: Bools
) -> tuple[Floats, Floats]:
    """What plans cost a month, and the hours of it that a budget pays for; NaN where that is no matter.

    What is rented for as long as a budget pays for it costs the budget, but a run at the least. Of a batch job that
    may take several months each costs no more than the budget.
    """
    if spending.budget_month is None:
        return usd_per_month, np.full(len(usd_per_month), np.nan)
    least = 0.0 if spending.spreads else usd_per_run
    within = np.minimum(usd_per_month, np.fmax(spending.budget_month, least))
    paid = np.where(rented, within, usd_per_month)
    return paid, np.where(paid < usd_per_month, np.floor(spending.budget_month / usd_per_hour), np.nan)


def paid_idle(facts: Facts, constants: EconomicsConstants) -> bool:
    """Whether hardware is to be bought, and paid for while it does nothing, since nothing is said of how busy it is."""
    return _buys(facts) and usage_of(facts, 1, constants) is None


def busy_share(facts: Facts) -> float:
    """The share of its time that bought hardware is said to be busy; all of it where nothing is said of that.

    What is said to be idle all the time does some work after all, or it would not be asked for.
    """
    use = number(facts, "utilization_pct") if _buys(facts) else None
    return 1.0 if use is None else max(use, _LEAST_USE_PCT) / 100


def _buys(facts: Facts) -> bool:
    wish, site = facts.get("procurement_wish"), facts.get("deployment_site")
    return wish == "buy" or (wish != "rent" and site in _OWN_SITES and facts.get(RENTED_INSTEAD) is not True)


def _quoted(facts: Facts) -> frozenset[str]:
    """A quote is about the GPUs that the user named. It says nothing about others, so it does not reprice them."""
    named = facts.get("gpu_candidates") or facts.get("current_gpu") or ()
    return frozenset(str(name) for name in (named if isinstance(named, tuple) else (named,)))


def quoted_rate(gpu: Gpu, spending: Spending) -> float | None:
    """The user's own price per GPU-hour, where it is about this GPU."""
    if spending.quote_usd_h is None or not spending.quoted & {gpu.id, gpu.family, gpu.series}:
        return None
    return spending.quote_usd_h
