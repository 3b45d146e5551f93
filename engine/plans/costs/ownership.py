"""What owning so many of a GPU costs over time: what the purchase loses, and what keeps it running.

A sum is written once, over the rates of one plan or of many as columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import TURNED, Facts, Pick, as_number, made, number
from whichgpu.engine.plans.costs.constants import Constant, EconomicsConstants, stated
from whichgpu.engine.plans.costs.hardware import NO_HARDWARE, choose, hardware_of
from whichgpu.engine.plans.costs.power import at_desk, kwh_price, paid_power_w, pue
from whichgpu.engine.plans.costs.purchase import SourcedAmount, purchase_of
from whichgpu.engine.sizing import Floats


Amount = TypeVar("Amount", float, Floats)

_ASSUMED = (
    "residual_share",
    "capital_cost_share_per_year",
    "staff_usd_per_gpu_month",
    "colocation_usd_per_kw_month",
    "maintenance_share_per_year",
)
#: Less is left of a price than can be distinguished from nothing.
_NOTHING_LEFT = 1e-9


class OwningRates(Struct, Generic[Amount], frozen=True):
    """The rates of owning a plan, or many plans, at one end of every assumption.

    Every amount over time comes from ``costs``; it is continuous in the years.
    """

    price_usd: Amount  # all GPUs; 0 where no price is known
    busy_energy_usd_h: Amount  # per busy GPU-hour, above what is drawn when idle
    idle_energy_month: Amount
    staff_month: Amount
    space_month: Amount
    maintenance_share_year: Amount  # of the purchase
    capital_share_year: float  # of what the hardware is worth at the time
    depreciation_years: float
    residual_share: float

    @property
    def fixed_month(self) -> Amount:
        """What owning costs each month however little it is used, beside capital and the loss of value."""
        kept = self.maintenance_share_year / 12 * self.price_usd
        return self.idle_energy_month + self.staff_month + self.space_month + kept

    def share_left(self, years: float) -> float:
        """Share of the price that a sale brings after some years: ``residual_share`` to the years over its life."""
        if not self.residual_share:
            return max(0.0, 1 - years / self.depreciation_years)
        return as_number(self.residual_share ** (years / self.depreciation_years))

    def years_tied(self, years: float) -> float:
        """Years that the full price would have to be tied up to cost as much capital as its falling worth does."""
        if not self.residual_share:
            held = min(years, self.depreciation_years)
            return 1.0 * held - held**2 / (2 * self.depreciation_years)
        decay = -made("log", self.residual_share) / self.depreciation_years
        return years if decay < _NOTHING_LEFT else -made("expm1", -decay * years) / decay

    def price_share(self, years: float) -> Amount:
        """What owning for some years costs per dollar of the price: loss of value, capital, maintenance."""
        lost = 1 - self.share_left(years)
        return lost + self.capital_share_year * self.years_tied(years) + self.maintenance_share_year * years

    def costs(self, years: float, busy_hours_month: Amount) -> dict[str, Amount]:
        """US dollars by entry over some years, with so many busy GPU-hours a month over all GPUs."""
        price, months = self.price_usd, 12 * years
        energy = self.idle_energy_month + self.busy_energy_usd_h * busy_hours_month
        return {
            "purchase": price,
            "resale": -price * self.share_left(years),
            "capital": price * self.capital_share_year * self.years_tied(years),
            "energy": energy * months,
            "staff": self.staff_month * months,
            "space": self.space_month * months,
            "maintenance": price * self.maintenance_share_year * years,
        }

    def total(self, years: float, busy_hours_month: Amount) -> Amount:
        """The sum of ``costs``."""
        return reduce(add, self.costs(years, busy_hours_month).values())


class Ownership(OwningRates[float], frozen=True):
    """The rates of owning one plan, with where they come from."""

    count: int
    purchase: SourcedAmount | None  # US dollars, all GPUs; None where no price is known
    power_w: float | None  # rated draw that is paid for; None leaves energy out
    rates: dict[str, Constant]

    def not_sold(self) -> Ownership:
        """These rates without a purchase price, for hardware that cannot be bought."""
        return replace(self, purchase=None, price_usd=0.0)


def planning_years(facts: Facts, constants: EconomicsConstants) -> tuple[float, bool]:
    """The horizon in years, and whether it was stated.

    Of demand that is said not to last no one can tell that it does for longer than the short end of what is usual.
    """
    years, months = number(facts, "horizon_years"), number(facts, "project_months")
    if years:
        return years, True
    if months:
        return months / 12, True
    return constants["horizon_years"].at("low" if facts.get("demand_predictable") is False else "value"), False


def ownership_of(
    gpu: Gpu | None,
    count: int,
    facts: Facts,
    constants: EconomicsConstants,
    *,
    owned: bool = False,
    pick: Pick = "value",
) -> Ownership:
    """The rates of owning so many of a GPU; of the user's quotes alone where there is no GPU yet.

    Args:
        gpu: the accelerator.
        count: how many.
        facts: what the user stated.
        constants: of ``economics.yaml``.
        owned: whether the user has them; see ``owning_rates``.
        pick: the end of every band to take, low for a low cost of owning.
    """
    hardware = hardware_of(gpu, constants) if gpu else NO_HARDWARE
    desk = at_desk(hardware, count, facts, owned=owned) if gpu else facts.get("deployment_site") != "datacenter"
    power = paid_power_w(hardware, count, desk=desk, constants=constants)
    known_power = None if math.isnan(power) else power
    purchase = _there_already(count) if owned else purchase_of(gpu, count, facts, constants, desk=desk, pick=pick)
    price = purchase.value if purchase else 0.0
    found: OwningRates[float] = owning_rates(
        count, price, known_power or 0.0, facts, constants, desk=desk, owned=owned, pick=pick
    )
    sources = {
        "usd_per_kwh": kwh_price(facts, desk=desk, constants=constants),
        "pue": pue(facts, desk=desk, constants=constants),
        "depreciation_years": _depreciation_years(facts, constants),
        **{name: constants[name] for name in _ASSUMED},
    }
    return Ownership(**asdict(found), count=count, purchase=purchase, power_w=known_power, rates=sources)


def owning_rates(
    count: Any,
    price_usd: Any,
    power_w: Any,
    facts: Facts,
    constants: EconomicsConstants,
    *,
    desk: Any,
    owned: bool = False,
    pick: Pick = "value",
) -> OwningRates[Any]:
    """The rates of owning a plan, or many plans.

    Args:
        count: GPUs.
        price_usd: of all of them.
        power_w: rated draw that is paid for.
        facts: what the user stated.
        constants: of ``economics.yaml``.
        desk: whether they stand at a desk rather than in a rack.
        owned: whether the user has them: then only what use itself costs counts, its power. What the hardware costs
            idle, and the people who look after it, are paid either way.
        pick: the end of every band to take, low for a low cost of owning.
    """

    def rated(rate: Callable[..., Constant], *, at: bool) -> float:
        return rate(facts, desk=at, constants=constants).at(pick)

    kwh, overhead = (
        _by_place(desk, partial(rated, rate, at=True), partial(rated, rate, at=False)) for rate in (kwh_price, pue)
    )
    month = constants["hours_per_month"].value
    hour = power_w / 1000 * kwh * overhead
    # A workstation is switched off; and what is owned draws its idle power whether or not this job is done on it.
    idle = 0.0 if owned else choose(desk, 0.0, constants["idle_power_share"].at(pick))
    staff = _by_place(desk, lambda: 0.0, lambda: _staff_month(facts, count, constants, pick))
    space = power_w / 1000 * constants["colocation_usd_per_kw_month"].at(pick)
    return OwningRates(
        price_usd=price_usd,
        busy_energy_usd_h=hour * (1 - idle) / count,
        idle_energy_month=hour * idle * month,
        staff_month=0.0 if owned else staff,
        space_month=0.0 if owned else choose(desk, 0.0, space),
        maintenance_share_year=choose(desk, 0.0, constants["maintenance_share_per_year"].at(pick)),
        capital_share_year=constants["capital_cost_share_per_year"].at(pick),
        # What makes owning cheap is a long life and a good price at its end.
        depreciation_years=_depreciation_years(facts, constants).at(TURNED[pick]),
        residual_share=constants["residual_share"].at(TURNED[pick]),
    )


def _by_place(desk: Any, of_desks: Callable[[], Any], of_racks: Callable[[], Any]) -> Any:
    """The value for the place of the hardware, desk or rack.

    A value that no row needs is not computed, so that a traced run does not record it as an input.
    """
    if not isinstance(desk, np.ndarray):
        return of_desks() if desk else of_racks()
    if np.all(desk):
        return of_desks()
    return choose(desk, of_desks(), of_racks()) if np.any(desk) else of_racks()


def _depreciation_years(facts: Facts, constants: EconomicsConstants) -> Constant:
    """Years over which hardware loses its value: as stated, else as sources have it."""
    years = number(facts, "depreciation_years")
    return stated("depreciation_years", years) if years else constants["depreciation_years"]


def _staff_month(facts: Facts, count: Any, constants: EconomicsConstants, pick: Pick) -> Any:
    """A share of the people who run servers; none where they are there already, all of what was stated."""
    staff_usd = number(facts, "staff_cost_usd")
    if staff_usd is not None:
        return staff_usd / 36
    return 0.0 if facts.get("has_ops_team") is True else constants["staff_usd_per_gpu_month"].at(pick) * count


def _there_already(count: int) -> SourcedAmount:
    return SourcedAmount(0.0, "the hardware is there already", "stated: gpus_owned", {"plan.count": count})
