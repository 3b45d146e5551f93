"""The entries of owning against renting one plan, each with its ground."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

from engine.economics.constants import Constant
from engine.economics.constants import EconomicsConstants
from engine.economics.constants import stated
from engine.economics.power import at_desk
from engine.economics.power import in_system
from engine.economics.power import kwh_price
from engine.economics.power import plan_power_w
from engine.economics.power import pue
from engine.economics.usage import Usage
from engine.economics.usage import number
from engine.economics.usage import usage_of
from engine.knowledge.model import Gpu
from engine.values import Facts
from engine.values import Value


if TYPE_CHECKING:
    from engine.plans.model import Plan


Pick = Literal["value", "low", "high"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One amount: what it is worth, how it was reckoned and on whose word."""

    value: float
    formula: str
    source: str
    inputs: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the comparison needs to know, at the low, middle or high end of every assumption (for the owner's cost)."""

    count: int
    purchase: Entry | None  # US dollars, all GPUs
    rent: Entry | None  # US dollars per GPU-hour
    power_w: float | None  # rated draw of the plan; None leaves energy out
    busy_energy_usd_h: float  # per busy GPU-hour
    idle_energy_month: float
    staff_month: float
    space_month: float
    maintenance_share_year: float  # of the purchase
    depreciation_years: float
    residual_share: float
    horizon_years: float
    horizon_stated: bool
    usage: Usage | None
    inputs: dict[str, Value]  # the assumptions, for display
    sources: str

    @property
    def maintenance_month(self) -> float:
        """Maintenance, US dollars a month."""
        return self.maintenance_share_year / 12 * (self.purchase.value if self.purchase else 0.0)

    @property
    def fixed_month(self) -> float:
        """What owning costs each month however little it is used: idle draw, staff, space, maintenance."""
        return self.idle_energy_month + self.staff_month + self.space_month + self.maintenance_month

    @property
    def busy_hours_month(self) -> float | None:
        """Busy GPU-hours a month, over all GPUs."""
        return self.usage.hours_per_year / 12 * self.count if self.usage else None

    @property
    def resale(self) -> float:
        """What the hardware still brings at the horizon; nothing is counted before it is written off."""
        if self.purchase is None or self.horizon_years < self.depreciation_years:
            return 0.0
        return self.residual_share * self.purchase.value


def ledger_of(facts: Facts, plan: Plan | None, constants: EconomicsConstants, pick: Pick = "value") -> Ledger:
    """The ledger of a plan, or of quoted prices alone when there is no plan yet."""
    count = plan.count if plan else max(1, int(number(facts, "num_gpus") or 1))
    desk = at_desk(plan.gpu, count, facts) if plan else facts.get("deployment_site") != "datacenter"
    rent = _rent(facts, plan)
    usage = usage_of(facts, count, constants, rent_usd_h=rent.value if rent else None)
    horizon = _horizon_years(facts)
    power = plan_power_w(plan.gpu, count, constants) if plan else None
    rates = {
        "usd_per_kwh": kwh_price(facts, desk=desk, constants=constants),
        "pue": pue(facts, desk=desk, constants=constants),
        "depreciation_years": _stated_or(facts, "depreciation_years", constants),
        "residual_share": constants["residual_share"],
    }
    hour = (power or 0.0) / 1000 * at_end(rates["usd_per_kwh"], pick) * at_end(rates["pue"], pick)
    idle = 0.0 if desk else at_end(constants["idle_power_share"], pick)  # A workstation is switched off.
    nodes = plan.nodes if plan else 1
    upkeep = {} if desk else _upkeep(facts, power, nodes, constants, pick)
    return Ledger(
        count=count,
        purchase=_purchase(facts, plan, constants, desk=desk, pick=pick),
        rent=rent,
        power_w=power,
        busy_energy_usd_h=hour * (1 - idle) / count,
        idle_energy_month=hour * idle * constants["hours_per_month"].value,
        staff_month=upkeep.get("staff", 0.0),
        space_month=upkeep.get("space", 0.0),
        maintenance_share_year=upkeep.get("maintenance", 0.0),
        # What makes owning cheap is a long life and a good price at its end.
        depreciation_years=at_end(rates["depreciation_years"], _turned(pick)),
        residual_share=at_end(rates["residual_share"], _turned(pick)),
        horizon_years=horizon if horizon is not None else constants["horizon_years"].value,
        horizon_stated=horizon is not None,
        usage=usage,
        inputs={**{name: rate.value for name, rate in rates.items()}, **({"power_w": power} if power else {})},
        sources="; ".join(f"{name}: {rate.source}" for name, rate in rates.items()),
    )


def at_end(constant: Constant, pick: Pick) -> float:
    """The constant at the asked end of its band."""
    return {"value": constant.value, "low": constant.low, "high": constant.high}[pick]


def _turned(pick: Pick) -> Pick:
    ends: dict[Pick, Pick] = {"value": "value", "low": "high", "high": "low"}
    return ends[pick]


def _stated_or(facts: Facts, name: str, constants: EconomicsConstants) -> Constant:
    own = number(facts, name)
    return stated(name, own) if own else constants[name]


def _horizon_years(facts: Facts) -> float | None:
    years, months = number(facts, "horizon_years"), number(facts, "project_months")
    if years:
        return years
    return months / 12 if months else None


def _upkeep(
    facts: Facts, power: float | None, nodes: int, constants: EconomicsConstants, pick: Pick
) -> dict[str, float]:
    """Monthly staff and space, and yearly maintenance share, in a data centre; staff is stated over three years."""
    staff = number(facts, "staff_cost_usd")
    shares = math.ceil(nodes / constants["nodes_per_staff_share"].value)
    return {
        "staff": staff / 36 if staff is not None else at_end(constants["staff_usd_per_month"], pick) * shares,
        "space": (power or 0.0) / 1000 * at_end(constants["colocation_usd_per_kw_month"], pick),
        "maintenance": at_end(constants["maintenance_share_per_year"], pick),
    }


def _rent(facts: Facts, plan: Plan | None) -> Entry | None:
    quote = number(facts, "rent_quote_usd_h")
    if quote:
        return Entry(
            quote, "the user's own quote per GPU-hour", "stated: rent_quote_usd_h", {"rent_quote_usd_h": quote}
        )
    if plan is None:
        return None
    rented = plan.cost.origin == "offer"
    offer = plan.cost.offer if rented else plan.cost.rented_from
    per_hour = plan.cost.usd_per_hour if rented else plan.cost.rented_usd_per_hour
    if per_hour is None or offer is None:
        return None
    source = f"{offer.provider} {offer.instance or ''} seen {offer.as_of} ({offer.source})"
    inputs: dict[str, Value] = {"plan.usd_per_hour": per_hour} if rented else {"plan.rented_usd_per_hour": per_hour}
    words = "price per hour of the rented machines / GPUs used"
    return Entry(per_hour / plan.count, words, source, inputs | {"plan.count": plan.count})


def _purchase(
    facts: Facts, plan: Plan | None, constants: EconomicsConstants, *, desk: bool, pick: Pick
) -> Entry | None:
    if plan is not None and plan.cost.origin == "owned":
        return Entry(0.0, "the hardware is there already", "stated: gpus_owned", {"plan.count": plan.count})
    quote = number(facts, "buy_quote_usd")
    count = plan.count if plan else max(1, int(number(facts, "num_gpus") or 1))
    if quote:
        inputs: dict[str, Value] = {"buy_quote_usd": quote, "plan.count": count}
        return Entry(quote * count, "the user's own quote per GPU x GPUs", "stated: buy_quote_usd", inputs)
    return _list_purchase(plan.gpu, count, facts, constants, desk=desk, pick=pick) if plan else None


def purchase_of(gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants) -> Entry | None:
    """What so many of a GPU cost to buy with the machine around them, at catalogue prices; None without one."""
    return _list_purchase(gpu, count, facts, constants, desk=at_desk(gpu, count, facts), pick="value")


def _list_purchase(
    gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants, *, desk: bool, pick: Pick
) -> Entry | None:
    price = _street_price(gpu, pick)
    if price is None:
        return None
    seen = f"price seen {gpu.buy_as_of or 'undated'}" + (f" ({gpu.buy_basis})" if gpu.buy_basis else "")
    inputs: dict[str, Value] = {"gpu.buy_usd": price, "plan.count": count}
    if desk:
        host = 0.0 if "current_gpu" in facts else at_end(constants["workstation_host_usd"], pick)
        source = f"{seen}; host: {constants['workstation_host_usd'].source}"
        return Entry(price * count + host, "price per GPU x GPUs + host", source, inputs | {"host_usd": host})
    share = at_end(constants["gpu_share_of_system"], _turned(pick))
    words = "price per GPU x GPUs / GPU share of a system's price" + ("" if in_system(gpu) else " (server of cards)")
    source = f"{seen}; {constants['gpu_share_of_system'].source}"
    return Entry(price * count / share, words, source, inputs | {"gpu_share_of_system": share})


def _street_price(gpu: Gpu, pick: Pick) -> float | None:
    ends = {"value": gpu.buy_usd, "low": gpu.buy_low_usd, "high": gpu.buy_high_usd}
    return ends[pick] if ends[pick] is not None else gpu.buy_usd
