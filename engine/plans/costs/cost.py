"""What a plan costs per hour, month, run and million tokens."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.model import Cost, Rental
from whichgpu.engine.plans.costs.offers import OfferIndex
from whichgpu.engine.plans.costs.ownership import ownership_of, planning_years, quoted_for
from whichgpu.engine.plans.costs.power import WHOLE_DEVICES
from whichgpu.engine.plans.costs.usage import usage_of


#: Places where hardware stands that is one's own.
_OWN_SITES = frozenset({"workstation", "edge", "datacenter"})
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


def spending_of(facts: Facts, constants: EconomicsConstants) -> Spending:
    """Read the facts about paying. Whoever wishes to rent pays rent, wherever the machines stand."""
    wish = facts.get("procurement_wish")
    return Spending(
        facts=facts,
        owned=owned_gpus(facts),
        quote_usd_h=number(facts, "rent_quote_usd_h"),
        quoted=_quoted(facts),
        run_hours=number(facts, "run_hours"),
        interruptible=facts.get("interruptible") is True,
        always_paid=facts.get("always_on") is True or usage_of(facts, 1, constants) is None,
        buys=wish == "buy" or (wish != "rent" and facts.get("deployment_site") in _OWN_SITES),
    )


def _quoted(facts: Facts) -> frozenset[str]:
    """A quote is about the GPUs that the user named. It says nothing about others, so it does not reprice them."""
    named = facts.get("gpu_candidates") or facts.get("current_gpu") or ()
    return frozenset(str(name) for name in (named if isinstance(named, tuple) else (named,)))


def quoted_rate(gpu: Gpu, spending: Spending) -> float | None:
    """The user's own price per GPU-hour, where it is about this GPU."""
    if spending.quote_usd_h is None or not spending.quoted & {gpu.id, gpu.family, gpu.series}:
        return None
    return spending.quote_usd_h


def _is_bought(gpu: Gpu, spending: Spending) -> bool:
    """Whether it stands at the user's own place, or is a device that nobody rents out by the hour: a Jetson, a Mac."""
    if spending.buys:
        return True
    device = (gpu.segment or "") in WHOLE_DEVICES or gpu.vendor == "apple"
    rents = spending.facts.get("deployment_site") == "cloud" or spending.facts.get("procurement_wish") == "rent"
    return device and not rents


def cost_of(
    gpu: Gpu,
    count: int,
    spending: Spending,
    index: OfferIndex,
    *,
    together: int,
    linked: bool | None = None,
    tokens_per_s: float | None = None,
    samples_per_s: float | None = None,
    hours: float | None = None,
) -> Cost:
    """The cost of a plan: the power of what the user owns, else their quote, else what offers of its shape ask.

    Where the hardware is to stand at the user's own place, or is a device that nobody rents out, an hour costs its
    share of the purchase and the power, and renting is what is left where no price to buy is known.

    Args:
        gpu: the accelerator.
        count: how many.
        spending: what the facts say about paying.
        index: the offers, narrowed to what the user allows.
        together: how many GPUs must share one machine.
        linked: whether all of them work as one over several machines; see ``OfferIndex.rental``.
        tokens_per_s: speed of the whole plan, for the cost per million tokens.
        samples_per_s: images or clips per second of the whole plan, for the cost per thousand of them.
        hours: wall time of one run; ``run_hours`` where unknown.
    """
    constants = index.constants
    rental = index.rental(gpu, count, together, linked=linked, interruptible=spending.interruptible)
    rent_usd_h = rental.usd_per_hour / count if rental else None
    bought = _bought_hour(gpu, count, spending.facts, constants, rent_usd_h) if _is_bought(gpu, spending) else None
    if spending.owned and count_owned(gpu, spending.owned) >= count:
        origin, per_hour = "owned", _own_hour(gpu, count, spending.facts, constants)
    elif (rate := quoted_rate(gpu, spending)) is not None:
        origin, per_hour = "quote", rate * count
    elif bought is not None:
        origin, per_hour = "purchase", bought
    else:
        origin, per_hour = "offer", None
    rental = None if origin == "quote" else rental
    if origin == "offer":
        if rental is None:
            return Cost()
        per_hour = rental.usd_per_hour
    if per_hour is None:
        return Cost(origin=origin)
    run = hours if hours is not None else spending.run_hours
    duty = 1.0 if spending.always_paid else rental_duty(spending.facts, count, constants)
    beside = rental if origin != "offer" else None
    return Cost(
        **_rented(rental),
        offer=rental.offer if rental and origin == "offer" else None,
        usd_per_hour=per_hour,
        usd_per_month=per_hour * constants["hours_per_month"].value * (1.0 if origin == "purchase" else duty),
        usd_per_run=None if run is None else per_hour * run,
        usd_per_1m_tokens=per_hour / (tokens_per_s * 3600) * 1e6 if tokens_per_s else None,
        usd_per_1k_samples=per_hour / (samples_per_s * 3600) * 1e3 if samples_per_s else None,
        origin=origin,
        rented_from=beside.offer if beside else None,
        rented_usd_per_hour=beside.usd_per_hour if beside else None,
    )


def _rented(rental: Rental | None) -> dict[str, Any]:
    """The part of a cost that tells what is known of renting, whether or not that is the price."""
    if rental is None:
        return {}
    return {
        "lowest_usd_per_hour": rental.lowest.usd_per_hour,
        "lowest_offer": rental.lowest.offer,
        "quotes": rental.quotes,
        "compared": rental.compared,
        "assumed": rental.assumed,
        "nearest_offer": rental.nearest_offer,
        "instances": rental.instances,
        "spot_usd_per_hour": rental.spot_usd_per_hour,
        "committed": rental.committed,
    }


def rental_duty(facts: Facts, count: int, constants: EconomicsConstants) -> float:
    """Share of the month that is paid for, 0 to 1: what is known of the hours, else all of it."""
    if facts.get("always_on") is True:
        return 1.0
    usage = usage_of(facts, count, constants)
    return 1.0 if usage is None else usage.hours_per_year / constants["hours_per_year"].value


def _bought_hour(
    gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants, rent_usd_h: float | None
) -> float | None:
    """What owning costs over the horizon, spread over all its hours; None without a price or a TDP.

    A bought card costs nearly the same when it is idle; where its use is not known it is taken to be busy.
    """
    owning = ownership_of(gpu, count, facts, constants)
    if owning.purchase is None or owning.power_w is None:
        return None
    hours, (years, _) = constants["hours_per_year"].value, planning_years(facts, constants)
    if quoted_for(gpu, facts):
        rent_usd_h = number(facts, "rent_quote_usd_h") or rent_usd_h
    usage = usage_of(facts, count, constants, rent_usd_h=rent_usd_h, years=years)
    busy = (usage.hours_per_year if usage else hours) / 12 * count
    return owning.total(years, busy) / (years * hours)


def _own_hour(gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants) -> float | None:
    """What an hour of hardware that is there already costs: power, and a share of staff where there is none."""
    owning = ownership_of(gpu, count, facts, constants, owned=True)
    return None if owning.power_w is None else owning.busy_usd_h * count
