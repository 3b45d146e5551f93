"""Rent or own, reckoned from the bottom up: the figures of procurement and what would turn the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.economics.constants import EconomicsConstants
from engine.economics.ledger import Entry
from engine.economics.ledger import Ledger
from engine.economics.ledger import ledger_of
from engine.sizing.model import Figure
from engine.values import Facts
from engine.values import Value


if TYPE_CHECKING:
    from engine.plans.model import Plan


#: Figures that say yes (1) or no (0).
YES_NO = "yes/no"


@dataclass(frozen=True, slots=True)
class Flip:
    """The value of one input at which renting and owning cost the same over the horizon."""

    fact: str
    now: float
    needed: float
    verdict: str  # what the reckoning says beyond it: rent or own

    @property
    def change(self) -> float:
        """Relative distance."""
        return abs(self.needed - self.now) / self.now


def procurement_figures(facts: Facts, plan: Plan | None, constants: EconomicsConstants) -> dict[str, Figure]:
    """Every figure of renting against owning that can be reckoned; those that lack an input are left out.

    Bands run over the bands of the assumptions. Nothing is charged for capital, and resale counts only once the
    hardware is written off.
    """
    ledgers = {pick: ledger_of(facts, plan, constants, pick) for pick in ("value", "low", "high")}
    middle, low, high = ledgers["value"], ledgers["low"], ledgers["high"]
    figures: dict[str, Figure] = {}
    for name, (unit, formula, reckon) in _FIGURES.items():
        value = reckon(middle)
        if value is None:
            continue
        ends = [end for end in (reckon(low), reckon(high), value) if end is not None]
        words = middle.purchase.formula if name == "purchase_usd" and middle.purchase else formula
        figures[name] = Figure(value, min(ends), max(ends), unit, words, _source(name, middle), _inputs(name, middle))
    return figures


def procurement_facts(figures: dict[str, Figure]) -> dict[str, Value]:
    """The figures as outcome facts: numbers, and true or false where the figure is a yes or no."""
    return {name: figure.value > 0 if figure.unit == YES_NO else figure.value for name, figure in figures.items()}


def nearest_flip(facts: Facts, plan: Plan | None, constants: EconomicsConstants) -> Flip | None:
    """The smallest relative change of one input that turns the verdict; None where there is no verdict to turn."""
    ledger = ledger_of(facts, plan, constants)
    flips = [flip for flip in all_flips(ledger) if flip.needed > 0 and flip.now > 0]
    return min(flips, key=lambda flip: (flip.change, flip.fact)) if flips else None


def all_flips(ledger: Ledger) -> tuple[Flip, ...]:
    """Where each input alone makes both cost the same; inputs that no reachable value turns are left out."""
    own, rent, busy = _lifetime_own(ledger), _lifetime_rent(ledger), ledger.busy_hours_month
    if own is None or rent is None or busy is None or not busy or ledger.purchase is None or ledger.rent is None:
        return ()
    if not ledger.purchase.value:
        return ()  # Nothing is left to decide for what is paid for.
    months = ledger.horizon_years * 12
    other = "rent" if own < rent else "own"
    net = ledger.purchase.value - ledger.resale
    gain = ledger.rent.value - ledger.busy_energy_usd_h
    per_price = net / ledger.purchase.value + ledger.maintenance_share_year / 12 * months
    running = (ledger.fixed_month - ledger.maintenance_month) * months
    flips = [
        Flip("rent_quote_usd_h", ledger.rent.value, own / (busy * months), other),
        Flip(
            "buy_quote_usd",
            ledger.purchase.value / ledger.count,
            (gain * busy * months - running) / per_price / ledger.count,
            other,
        ),
    ]
    if gain > 0:
        hours = (net + ledger.fixed_month * months) / (gain * months) / ledger.count * 12
        if hours <= 8760:
            shares = ledger.usage is not None and {"utilization_pct", "always_on"} & ledger.usage.inputs.keys()
            now = busy / ledger.count * 12
            flips.append(
                Flip("utilization_pct", now / 87.6, hours / 87.6, other)
                if shares
                else Flip("gpu_hours_per_year", now * ledger.count, hours * ledger.count, other)
            )
    if gain * busy > ledger.fixed_month:
        years = ledger.purchase.value / (gain * busy - ledger.fixed_month) / 12
        if years < ledger.depreciation_years or not ledger.resale:
            flips.append(Flip("horizon_years", ledger.horizon_years, years, other))
    return tuple(flips)


def _purchase(ledger: Ledger) -> float | None:
    return ledger.purchase.value if ledger.purchase else None


def _monthly_rent(ledger: Ledger) -> float | None:
    busy = ledger.busy_hours_month
    return None if busy is None or ledger.rent is None else ledger.rent.value * busy


def _monthly_energy(ledger: Ledger) -> float | None:
    busy = ledger.busy_hours_month
    if busy is None or ledger.power_w is None:
        return None
    return ledger.idle_energy_month + ledger.busy_energy_usd_h * busy


def _monthly_depreciation(ledger: Ledger) -> float | None:
    if ledger.purchase is None:
        return None
    return ledger.purchase.value * (1 - ledger.residual_share) / (12 * ledger.depreciation_years)


def _monthly_own(ledger: Ledger) -> float | None:
    depreciation, running = _monthly_depreciation(ledger), _monthly_running(ledger)
    return None if depreciation is None or running is None else depreciation + running


def _monthly_running(ledger: Ledger) -> float | None:
    busy = ledger.busy_hours_month
    return None if busy is None else ledger.fixed_month + ledger.busy_energy_usd_h * busy


def _staff(ledger: Ledger) -> float | None:
    return ledger.staff_month * 36 if ledger.staff_month else None


def _lifetime_rent(ledger: Ledger) -> float | None:
    month = _monthly_rent(ledger)
    return None if month is None else month * 12 * ledger.horizon_years


def _lifetime_own(ledger: Ledger) -> float | None:
    running = _monthly_running(ledger)
    if running is None or ledger.purchase is None:
        return None
    return ledger.purchase.value - ledger.resale + running * 12 * ledger.horizon_years


def _breakeven_months(ledger: Ledger) -> float | None:
    """Months until rent saved has paid for the purchase; None when it never does or cannot be told."""
    busy = ledger.busy_hours_month
    if busy is None or ledger.purchase is None or ledger.rent is None:
        return None
    saved = (ledger.rent.value - ledger.busy_energy_usd_h) * busy - ledger.fixed_month
    return ledger.purchase.value / saved if saved > 0 else None


def _breakeven_hours(ledger: Ledger) -> float | None:
    """GPU-hours until the purchase is paid for; with use unknown, the monthly fixed cost is left out."""
    if ledger.purchase is None or ledger.rent is None:
        return None
    if (busy := ledger.busy_hours_month) is not None:
        months = _breakeven_months(ledger)
        return None if months is None else months * busy
    gain = ledger.rent.value - ledger.busy_energy_usd_h
    return ledger.purchase.value / gain if gain > 0 else None


def _own_cheaper(ledger: Ledger) -> float | None:
    own, rent = _lifetime_own(ledger), _lifetime_rent(ledger)
    return None if own is None or rent is None else float(own < rent)


def _within_horizon(ledger: Ledger) -> float | None:
    if ledger.purchase is None or ledger.rent is None or ledger.busy_hours_month is None:
        return None
    months = _breakeven_months(ledger)
    return float(months is not None and months <= ledger.horizon_years * 12)


_FIGURES: dict[str, tuple[str, str, Callable[[Ledger], float | None]]] = {
    "purchase_usd": ("USD", "price of the hardware", _purchase),
    "monthly_rent_usd": ("USD/month", "rent per GPU-hour x busy GPU-hours a month", _monthly_rent),
    "monthly_energy_usd": ("USD/month", "kW x PUE x price per kWh x hours, idle hours at idle draw", _monthly_energy),
    "monthly_depreciation_usd": ("USD/month", "purchase x (1 - residual) / months of life", _monthly_depreciation),
    "monthly_own_usd": ("USD/month", "depreciation + energy + staff + space + maintenance", _monthly_own),
    "staff_cost_usd": ("USD", "share of an engineer x 36 months", _staff),
    "lifetime_rent_usd": ("USD", "monthly rent x months of the horizon", _lifetime_rent),
    "lifetime_cost_usd": ("USD", "purchase - resale + running cost x months of the horizon", _lifetime_own),
    "breakeven_gpu_hours": ("h", "purchase / (rent per hour - cost per hour of owning)", _breakeven_hours),
    "breakeven_months": ("months", "purchase / (monthly rent - monthly running cost)", _breakeven_months),
    "own_cheaper_over_horizon": (YES_NO, "lifetime cost of owning < lifetime rent", _own_cheaper),
    "breakeven_within_horizon": (YES_NO, "break-even months <= months of the horizon", _within_horizon),
}
_OF_RENT = frozenset({"monthly_rent_usd", "lifetime_rent_usd"})


def _inputs(name: str, ledger: Ledger) -> dict[str, Value]:
    inputs: dict[str, Value] = {}
    if ledger.purchase is not None and name not in _OF_RENT:
        inputs["purchase_usd"] = ledger.purchase.value
        if name == "purchase_usd":
            return dict(ledger.purchase.inputs)
    if ledger.rent is not None and name not in {"monthly_energy_usd", "monthly_depreciation_usd", "monthly_own_usd"}:
        inputs["rent_usd_h"] = ledger.rent.value
    if ledger.usage is not None:
        inputs["busy_hours_per_year"] = ledger.usage.hours_per_year
    if name not in _OF_RENT:
        inputs |= ledger.inputs
    inputs["horizon_years"] = ledger.horizon_years
    inputs["horizon_assumed"] = not ledger.horizon_stated
    return inputs


def _source(name: str, ledger: Ledger) -> str:
    entries: tuple[Entry | None, ...] = (ledger.purchase, ledger.rent)
    if name == "purchase_usd" and ledger.purchase is not None:
        return ledger.purchase.source
    if name in _OF_RENT and ledger.rent is not None:
        return ledger.rent.source
    return "; ".join([*(entry.source for entry in entries if entry is not None), ledger.sources])
