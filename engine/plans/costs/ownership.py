"""What owning so many of a GPU costs: the purchase, what it is worth later, and what keeps it running."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import TURNED, Facts, Pick, Value, number
from whichgpu.engine.plans.costs.constants import Constant, EconomicsConstants, stated
from whichgpu.engine.plans.costs.power import at_desk, in_system, kwh_price, paid_power_w, pue, stands_alone


#: Forms that are sold soldered to a board of several, never singly.
_BOARD_FORMS = frozenset({"sxm", "oam"})
_ASSUMED = (
    "residual_share",
    "capital_cost_share_per_year",
    "staff_usd_per_gpu_month",
    "colocation_usd_per_kw_month",
    "maintenance_share_per_year",
)
#: Less is left of a price than can be told apart from nothing.
_NOTHING_LEFT = 1e-9


class SourcedAmount(Struct, frozen=True):
    """One amount: what it is worth, how it was computed and who says so."""

    value: float
    formula: str
    source: str
    inputs: dict[str, Value]


class Ownership(Struct, frozen=True):
    """The rates of owning one plan, at the low, middle or high end of every assumption (for the owner's cost).

    Every amount over time comes from ``costs``; it is continuous in the years.
    """

    count: int
    purchase: SourcedAmount | None  # US dollars, all GPUs; None where no price is known
    power_w: float | None  # rated draw that is paid for; None leaves energy out
    busy_energy_usd_h: float  # per busy GPU-hour, above what is drawn when idle
    idle_energy_month: float
    busy_staff_usd_h: float  # per busy GPU-hour, where the hardware is owned already
    staff_month: float
    space_month: float
    maintenance_share_year: float  # of the purchase
    capital_share_year: float  # of what the hardware is worth at the time
    depreciation_years: float
    residual_share: float
    rates: dict[str, Constant]

    @property
    def busy_usd_h(self) -> float:
        """What one more busy GPU-hour costs."""
        return self.busy_energy_usd_h + self.busy_staff_usd_h

    @property
    def fixed_month(self) -> float:
        """What owning costs each month however little it is used, beside capital and the loss of value."""
        price = self.purchase.value if self.purchase else 0.0
        return self.idle_energy_month + self.staff_month + self.space_month + self.maintenance_share_year / 12 * price

    def share_left(self, years: float) -> float:
        """Share of the price that a sale brings after some years: ``residual_share`` to the years over its life."""
        if not self.residual_share:
            return max(0.0, 1 - years / self.depreciation_years)
        return float(self.residual_share ** (years / self.depreciation_years))

    def years_tied(self, years: float) -> float:
        """Years that the full price would have to be tied up to cost as much capital as its falling worth does."""
        if not self.residual_share:
            held = min(years, self.depreciation_years)
            return float(held - held**2 / (2 * self.depreciation_years))
        decay = -math.log(self.residual_share) / self.depreciation_years
        return years if decay < _NOTHING_LEFT else float(-math.expm1(-decay * years) / decay)

    def price_share(self, years: float) -> float:
        """What owning for some years costs per dollar of the price: loss of value, capital, maintenance."""
        lost = 1 - self.share_left(years)
        return lost + self.capital_share_year * self.years_tied(years) + self.maintenance_share_year * years

    def costs(self, years: float, busy_hours_month: float) -> dict[str, float]:
        """US dollars by entry over some years, with so many busy GPU-hours a month over all GPUs."""
        price, months = self.purchase.value if self.purchase else 0.0, 12 * years
        energy = self.idle_energy_month + self.busy_energy_usd_h * busy_hours_month
        return {
            "purchase": price,
            "resale": -price * self.share_left(years),
            "capital": price * self.capital_share_year * self.years_tied(years),
            "energy": energy * months,
            "staff": (self.staff_month + self.busy_staff_usd_h * busy_hours_month) * months,
            "space": self.space_month * months,
            "maintenance": price * self.maintenance_share_year * years,
        }

    def total(self, years: float, busy_hours_month: float) -> float:
        """The sum of ``costs``."""
        return sum(self.costs(years, busy_hours_month).values())


def planning_years(facts: Facts, constants: EconomicsConstants) -> tuple[float, bool]:
    """The horizon in years, and whether it was stated."""
    years, months = number(facts, "horizon_years"), number(facts, "project_months")
    if years:
        return years, True
    return (months / 12, True) if months else (constants["horizon_years"].value, False)


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
        owned: whether the user has them: then only what use itself costs counts, power and, where there is no staff,
            its share. What the hardware costs idle is spent either way.
        pick: the end of every band to take, low for a low cost of owning.
    """
    desk = at_desk(gpu, count, facts) if gpu else facts.get("deployment_site") != "datacenter"
    rates = {
        "usd_per_kwh": kwh_price(facts, desk=desk, constants=constants),
        "pue": pue(facts, desk=desk, constants=constants),
        "depreciation_years": _stated_or(facts, "depreciation_years", constants),
        **{name: constants[name] for name in _ASSUMED},
    }
    power = paid_power_w(gpu, count, desk=desk, constants=constants) if gpu else None
    hour = (power or 0.0) / 1000 * rates["usd_per_kwh"].at(pick) * rates["pue"].at(pick)
    # A workstation is switched off; and what is owned draws its idle power whether or not this job is done on it.
    idle = 0.0 if desk or owned else constants["idle_power_share"].at(pick)
    staff = 0.0 if desk else _staff_month(facts, count, constants, pick)
    hours_each_month = constants["hours_per_month"].value * count
    return Ownership(
        count=count,
        purchase=_there_already(count) if owned else _purchase(gpu, count, facts, constants, desk=desk, pick=pick),
        power_w=power,
        busy_energy_usd_h=hour * (1 - idle) / count,
        idle_energy_month=hour * idle * constants["hours_per_month"].value,
        busy_staff_usd_h=staff / hours_each_month if owned else 0.0,
        staff_month=0.0 if owned else staff,
        space_month=0.0 if desk or owned else (power or 0.0) / 1000 * constants["colocation_usd_per_kw_month"].at(pick),
        maintenance_share_year=0.0 if desk else constants["maintenance_share_per_year"].at(pick),
        capital_share_year=rates["capital_cost_share_per_year"].at(pick),
        # What makes owning cheap is a long life and a good price at its end.
        depreciation_years=rates["depreciation_years"].at(TURNED[pick]),
        residual_share=rates["residual_share"].at(TURNED[pick]),
        rates=rates,
    )


def purchase_of(gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants) -> SourcedAmount | None:
    """What so many of a GPU cost to buy with the machine around them; None without a price."""
    return _purchase(gpu, count, facts, constants, desk=at_desk(gpu, count, facts), pick="value")


def quoted_for(gpu: Gpu | None, facts: Facts) -> bool:
    """Whether the user's quotes are about this GPU: it is among those named, or none was named at all."""
    named = facts.get("gpu_candidates") or facts.get("current_gpu") or ()
    names = {str(name) for name in (named if isinstance(named, tuple) else (named,))}
    return gpu is None or not names or bool(names & {gpu.id, gpu.family, gpu.series})


def bought_count(gpu: Gpu, count: int, constants: EconomicsConstants) -> int:
    """How many have to be bought to use ``count``: modules come on boards of four or eight, cards singly."""
    if not on_board(gpu):
        return count
    board = constants.module_boards.smallest.get(gpu.series, gpu.node_gpus)
    return math.ceil(count / board) * board


def on_board(gpu: Gpu) -> bool:
    """Whether it is sold only on a board of several."""
    return (gpu.form_factor or "").casefold() in _BOARD_FORMS


def owned_form(gpu: Gpu, count: int, gpus: Iterable[Gpu], constants: EconomicsConstants) -> Gpu:
    """What one would buy in place of rented GPUs: for less than a board of modules the card of the same family.

    A card that is much slower than the module does not do its work; then the board is bought.
    """
    if bought_count(gpu, count, constants) == count:
        return gpu
    as_fast = constants["card_for_module_speed_share"].value * (gpu.mem_bw_tbs or 0)
    cards = [
        other
        for other in gpus
        if other.family == gpu.family
        and other.buy_usd is not None
        and not on_board(other)
        and not in_superchip(other)
        and (other.vram_gb or 0) >= (gpu.vram_gb or 0)
        and (other.mem_bw_tbs or 0) >= as_fast
    ]
    return min(cards, key=lambda card: (card.buy_usd or 0, card.id)) if cards else gpu


def in_superchip(gpu: Gpu) -> bool:
    """Whether a CPU is soldered to it."""
    return (gpu.form_factor or "").casefold() == "superchip"


def _stated_or(facts: Facts, name: str, constants: EconomicsConstants) -> Constant:
    own = number(facts, name)
    return stated(name, own) if own else constants[name]


def _staff_month(facts: Facts, count: int, constants: EconomicsConstants, pick: Pick) -> float:
    """A share of the people who run servers; none where they are there already, all of what was stated."""
    told = number(facts, "staff_cost_usd")
    if told is not None:
        return told / 36
    return 0.0 if facts.get("has_ops_team") is True else constants["staff_usd_per_gpu_month"].at(pick) * count


def _there_already(count: int) -> SourcedAmount:
    return SourcedAmount(0.0, "the hardware is there already", "stated: gpus_owned", {"plan.count": count})


def _purchase(
    gpu: Gpu | None, count: int, facts: Facts, constants: EconomicsConstants, *, desk: bool, pick: Pick
) -> SourcedAmount | None:
    bought = bought_count(gpu, count, constants) if gpu else count
    inputs: dict[str, Value] = {"plan.count": count}
    words, board = "x GPUs", ""
    if bought != count:
        inputs["bought_count"] = bought
        words, board = "x GPUs on whole boards", f"; boards: {constants.module_boards.because}"
    quote = number(facts, "buy_quote_usd") if quoted_for(gpu, facts) else None
    if quote:
        inputs["buy_quote_usd"] = quote
        return SourcedAmount(
            quote * bought, f"the user's own quote per GPU {words}", f"stated: buy_quote_usd{board}", inputs
        )
    price = _street_price(gpu, pick) if gpu else None
    if gpu is None or price is None:
        return None
    seen = f"price seen {gpu.buy_as_of or 'undated'}" + (f" ({gpu.buy_basis})" if gpu.buy_basis else "")
    inputs["gpu.buy_usd"] = price
    words = f"price per GPU {words}"
    if desk:
        host = 0.0 if "current_gpu" in facts or stands_alone(gpu) else constants["workstation_host_usd"].at(pick)
        source = f"{seen}; host: {constants['workstation_host_usd'].source}"
        return SourcedAmount(price * bought + host, f"{words} + host", source, inputs | {"host_usd": host})
    share = constants["gpu_share_of_system"].at(TURNED[pick])
    source = f"{seen}; {constants['gpu_share_of_system'].source}{board}"
    inputs["gpu_share_of_system"] = share
    slot = 0.0 if in_system(gpu) else constants["server_usd_per_card"].at(pick)
    if price / share - price >= slot:
        return SourcedAmount(price * bought / share, f"{words} / GPU share of a system's price", source, inputs)
    source = f"{seen}; server: {constants['server_usd_per_card'].source}"
    inputs = {**inputs, "server_usd_per_card": slot}
    inputs.pop("gpu_share_of_system")
    return SourcedAmount((price + slot) * bought, f"{words} + share of a server for each", source, inputs)


def _street_price(gpu: Gpu, pick: Pick) -> float | None:
    ends = {"value": gpu.buy_usd, "low": gpu.buy_low_usd, "high": gpu.buy_high_usd}
    return ends[pick] if ends[pick] is not None else gpu.buy_usd
