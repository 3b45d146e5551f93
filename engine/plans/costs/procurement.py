"""The figures of renting and owning a plan, with bands, inputs and sources, and as facts that rules read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans.costs.comparison import CostComparison, Side, compare_costs
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.purchase import SourcedAmount
from whichgpu.engine.sizing import Figure


if TYPE_CHECKING:
    from whichgpu.engine.plans.model import Plan


#: Figures that say yes (1) or no (0).
YES_NO = "yes/no"


def procurement_figures(
    facts: Facts, plan: Plan | None, constants: EconomicsConstants, owned_as: Gpu | None = None
) -> dict[str, Figure]:
    """Every figure of renting against owning that can be computed; those that lack an input are left out.

    Bands run over the bands of the assumptions.
    """
    middle, *ends = (
        compare_costs(facts, plan, constants, pick, owned_as=owned_as) for pick in ("value", "low", "high")
    )
    figures = figures_of_comparison(middle)
    for name, figure in figures.items():
        band = [end for end in (*(_FIGURES[name][2](end) for end in ends), figure.value) if end is not None]
        figures[name] = replace(figure, low=min(band), high=max(band))
    return figures


def figures_of_comparison(comparison: CostComparison) -> dict[str, Figure]:
    """``procurement_figures`` of one comparison, without bands: low and high are the value."""
    figures: dict[str, Figure] = {}
    for name, (unit, formula, compute) in _FIGURES.items():
        value = compute(comparison)
        if value is None:
            continue
        purchase = comparison.owning.purchase
        words = purchase.formula if name == "purchase_usd" and purchase else formula
        if name in _OF_RENT and comparison.bill_month is not None:
            words = "the stated cloud bill" + (" x months of the horizon" if name == "lifetime_rent_usd" else "")
        source, inputs = _source(name, comparison), _inputs(name, comparison)
        figures[name] = Figure(value, value, value, unit, words, source, inputs)
    return figures


def procurement_facts(figures: dict[str, Figure]) -> dict[str, Value]:
    """The figures as outcome facts: numbers, and true or false where the figure is a yes or no."""
    return {name: figure.value > 0 if figure.unit == YES_NO else figure.value for name, figure in figures.items()}


def facts_of_comparison(comparison: CostComparison) -> dict[str, Value]:
    """``procurement_facts`` of one comparison: values alone, without bands and sources."""
    found = {name: (unit, compute(comparison)) for name, (unit, _, compute) in _FIGURES.items()}
    return {name: value > 0 if unit == YES_NO else value for name, (unit, value) in found.items() if value is not None}


def _purchase(comparison: CostComparison) -> float | None:
    return comparison.owning.purchase.value if comparison.owning.purchase else None


def _monthly_energy(comparison: CostComparison) -> float | None:
    busy = comparison.busy_hours_month
    if busy is None or comparison.owning.power_w is None:
        return None
    return comparison.owning.costs(comparison.years, busy)["energy"] / comparison.years / 12


def _monthly_depreciation(comparison: CostComparison) -> float | None:
    purchase = _purchase(comparison)
    if purchase is None:
        return None
    return purchase * (1 - comparison.owning.share_left(comparison.years)) / comparison.years / 12


def _monthly_own(comparison: CostComparison) -> float | None:
    return None if comparison.own_usd is None else comparison.own_usd / comparison.years / 12


def _staff(comparison: CostComparison) -> float | None:
    return comparison.owning.staff_month * 36 if comparison.owning.staff_month else None


def _saved_month(comparison: CostComparison) -> float | None:
    """Rent saved a month, less what running the hardware costs."""
    busy, rent = comparison.busy_hours_month, comparison.rent_month
    if busy is None or rent is None or comparison.owning.purchase is None:
        return None
    return rent - comparison.owning.busy_energy_usd_h * busy - comparison.owning.fixed_month


def _breakeven_months(comparison: CostComparison) -> float | None:
    """Months until rent saved has paid for the purchase; None when it never does or cannot be determined."""
    saved, purchase = _saved_month(comparison), _purchase(comparison)
    return purchase / saved if saved is not None and saved > 0 and purchase is not None else None


def _breakeven_hours(comparison: CostComparison) -> float | None:
    """GPU-hours until the purchase is paid for; with use unknown, the monthly fixed cost is left out."""
    purchase = _purchase(comparison)
    if purchase is None or comparison.rent is None:
        return None
    if (busy := comparison.busy_hours_month) is not None:
        months = _breakeven_months(comparison)
        return None if months is None else months * busy
    gain = comparison.rent.value - comparison.owning.busy_energy_usd_h
    return purchase / gain if gain > 0 else None


def _own_cheaper(comparison: CostComparison) -> float | None:
    return None if comparison.ratio is None else float(comparison.ratio < 1)


def _within_horizon(comparison: CostComparison) -> float | None:
    if _saved_month(comparison) is None:
        return None
    months = _breakeven_months(comparison)
    return float(months is not None and months <= comparison.years * 12)


_FIGURES: dict[str, tuple[str, str, Callable[[CostComparison], float | None]]] = {
    "purchase_usd": ("USD", "price of the hardware", _purchase),
    "monthly_rent_usd": ("USD/month", "rent per GPU-hour x busy GPU-hours a month", lambda c: c.rent_month),
    "monthly_energy_usd": ("USD/month", "kW x PUE x price per kWh x hours, idle hours at idle draw", _monthly_energy),
    "monthly_depreciation_usd": ("USD/month", "(purchase - resale) / months of the horizon", _monthly_depreciation),
    "monthly_own_usd": ("USD/month", "lifetime cost of owning / months of the horizon", _monthly_own),
    "staff_cost_usd": ("USD", "share of an engineer x 36 months", _staff),
    "lifetime_rent_usd": ("USD", "monthly rent x months of the horizon", lambda c: c.rent_usd),
    "lifetime_cost_usd": (
        "USD",
        "purchase - resale + capital + energy + staff + space + maintenance over the horizon",
        lambda c: c.own_usd,
    ),
    "breakeven_gpu_hours": ("h", "purchase / (rent per hour - running cost per hour)", _breakeven_hours),
    "breakeven_months": ("months", "purchase / (monthly rent - monthly running cost)", _breakeven_months),
    "own_cheaper_over_horizon": (YES_NO, "lifetime cost of owning < lifetime rent", _own_cheaper),
    "breakeven_within_horizon": (YES_NO, "break-even months <= months of the horizon", _within_horizon),
    "own_vs_rent_cost_ratio": ("", "lifetime cost of owning / lifetime rent", lambda c: c.ratio),
}
_OF_RENT = frozenset({"monthly_rent_usd", "lifetime_rent_usd"})
_OF_OWNING = frozenset({"monthly_energy_usd", "monthly_depreciation_usd", "monthly_own_usd"})


def _inputs(name: str, comparison: CostComparison) -> dict[str, Value]:
    inputs: dict[str, Value] = {}
    owning = comparison.owning
    if owning.purchase is not None and name not in _OF_RENT:
        inputs["purchase_usd"] = owning.purchase.value
        if name == "purchase_usd":
            return dict(owning.purchase.inputs)
    if comparison.bill_month is not None and name not in _OF_OWNING:
        inputs["monthly_cloud_spend_usd"] = comparison.bill_month
    elif comparison.rent is not None and name not in _OF_OWNING:
        inputs["rent_usd_h"] = comparison.rent.value
    if comparison.usage is not None:
        inputs["busy_hours_per_year"] = comparison.usage.hours_per_year
    if name not in _OF_RENT:
        inputs |= {rate: constant.value for rate, constant in owning.rates.items()}
        inputs |= {"power_w": owning.power_w} if owning.power_w else {}
    inputs["horizon_years"] = comparison.years
    inputs["horizon_assumed"] = not comparison.years_stated
    return inputs


def _source(name: str, comparison: CostComparison) -> str:
    rent = "stated: monthly_cloud_spend_usd" if comparison.bill_month is not None else None
    rent = rent or (comparison.rent.source if comparison.rent else None)
    purchase = comparison.owning.purchase
    if name == "purchase_usd" and purchase is not None:
        return purchase.source
    if name in _OF_RENT and rent is not None:
        return rent
    rates = "; ".join(f"{rate}: {constant.source}" for rate, constant in comparison.owning.rates.items())
    return "; ".join(part for part in (purchase.source if purchase else None, rent, rates) if part)


def comparison_entries(comparison: CostComparison) -> tuple[tuple[Side, SourcedAmount], ...]:
    """The amounts that each sum is made of, with the name of the sum: ``rent``, ``own``."""
    rent, own, busy = comparison.rent_usd, comparison.own_usd, comparison.busy_hours_month
    found: list[tuple[Side, SourcedAmount]] = []
    if rent is not None:
        formula = "monthly rent x months of the horizon"
        found.append(
            ("rent", SourcedAmount(rent, formula, _source("lifetime_rent_usd", comparison), {"entry": "rent"}))
        )
    if own is None or busy is None:
        return tuple(found)
    formulas = {
        "purchase": comparison.owning.purchase.formula if comparison.owning.purchase else "",
        "resale": "- purchase x residual share ^ (years / years of depreciation)",
        "capital": "capital cost a year x worth of the hardware, over the years",
        "energy": "kW x PUE x price per kWh x hours, idle hours at idle draw",
        "staff": "share of an engineer for each GPU x months",
        "space": "kW x colocation price a month x months",
        "maintenance": "share of the purchase a year x years",
    }
    for name, amount in comparison.owning.costs(comparison.years, busy).items():
        if amount or name == "purchase":
            found.append(
                ("own", SourcedAmount(amount, formulas[name], _entry_source(name, comparison), {"entry": name}))
            )
    return tuple(found)


def _entry_source(name: str, comparison: CostComparison) -> str:
    rates, purchase = comparison.owning.rates, comparison.owning.purchase
    of = {
        "purchase": purchase.source if purchase else "",
        "resale": "; ".join(rates[rate].source for rate in ("residual_share", "depreciation_years")),
        "capital": rates["capital_cost_share_per_year"].source,
        "energy": "; ".join(rates[rate].source for rate in ("usd_per_kwh", "pue")),
        "staff": rates["staff_usd_per_gpu_month"].source,
        "space": rates["colocation_usd_per_kw_month"].source,
        "maintenance": rates["maintenance_share_per_year"].source,
    }
    return of[name]
