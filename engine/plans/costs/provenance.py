"""By which source an hour of a plan has its price: the formula, what went into it, and the sources."""

from __future__ import annotations

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans.costs.constants import EconomicsConstants, load_economics
from whichgpu.engine.plans.costs.model import Cost, Quote
from whichgpu.engine.plans.costs.ownership import ownership_of, planning_years
from whichgpu.engine.plans.costs.purchase import SourcedAmount
from whichgpu.engine.plans.costs.usage import usage_of


_ENERGY = "kW x PUE x price per kWh"


def cost_provenance(cost: Cost, gpu: Gpu, count: int, facts: Facts) -> dict[str, SourcedAmount]:
    """How the prices of an hour of a plan came about, by the name of the figure.

    Args:
        cost: of the plan.
        gpu: of the plan.
        count: how many.
        facts: the resolved facts that the plan was made from.
    """
    found = {}
    if cost.usd_per_hour is not None:
        found["cost.usd_per_hour"] = (
            _offered(cost, cost.usd_per_hour, count)
            if cost.offer
            else _own_provenance(cost, cost.usd_per_hour, gpu, count, facts, load_economics())
        )
    if cost.rented_from is not None and cost.rented_usd_per_hour is not None:
        found["cost.rented_usd_per_hour"] = _offered(cost, cost.rented_usd_per_hour, count)
    return found


def _own_provenance(
    cost: Cost, usd_per_hour: float, gpu: Gpu, count: int, facts: Facts, constants: EconomicsConstants
) -> SourcedAmount:
    if cost.origin == "quote":
        words = "the user's own quote per GPU-hour x GPUs"
        quoted: dict[str, Value] = {"rent_quote_usd_h": usd_per_hour / count, "plan.count": count}
        return SourcedAmount(usd_per_hour, words, "stated: rent_quote_usd_h", quoted)
    bought = cost.origin == "purchase"
    owning = ownership_of(gpu, count, facts, constants, owned=not bought)
    rates = dict(owning.rates) if bought else {name: owning.rates[name] for name in ("usd_per_kwh", "pue")}
    inputs: dict[str, Value] = {"power_w": owning.power_w or 0.0, "plan.count": count}
    formula, source = _ENERGY, "stated: gpus_owned"
    if bought and cost.usd_per_run is not None and usage_of(facts, count, constants) is None:
        rates["sporadic_runs_per_year"] = constants["sporadic_runs_per_year"]
    if bought and owning.purchase is not None:
        formula = (
            f"({owning.purchase.formula}, less resale, + capital + energy + staff + space + maintenance over the "
            "horizon) / hours of the horizon"
        )
        source = owning.purchase.source
        inputs |= owning.purchase.inputs
        inputs["horizon_years"] = planning_years(facts, constants)[0]
    inputs |= {name: rate.value for name, rate in rates.items()}
    said = "; ".join(f"{name}: {rate.source}" for name, rate in rates.items())
    return SourcedAmount(usd_per_hour, formula, f"{source}; {said}", inputs)


def _offered(cost: Cost, usd_per_hour: float, count: int) -> SourcedAmount:
    """The median of what the lowest providers ask, each of them an input."""
    quotes = cost.compared
    words = ", ".join(_machines(quote) for quote in quotes)
    if len(quotes) > 1:
        words = f"median of the lowest {len(quotes)} of {cost.quotes} providers: {words}"
    if cost.assumed:
        words = f"assumed, no machine on the list has as many GPUs: {words}, scaled by the GPU"
    inputs: dict[str, Value] = {f"usd_per_hour {quote.offer.provider}": quote.usd_per_hour for quote in quotes}
    sources = "; ".join(dict.fromkeys(quote.offer.source for quote in quotes))
    return SourcedAmount(usd_per_hour, words, sources, {**inputs, "plan.count": count})


def _machines(quote: Quote) -> str:
    offer = quote.offer
    shape = f"{quote.instances} x {offer.instance or 'machine'} with {offer.count} GPU{'s' if offer.count > 1 else ''}"
    return f"{offer.provider} ({shape}, {offer.as_of})"
