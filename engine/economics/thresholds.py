"""What the guides' single-figure thresholds say, so that their disagreement can be shown beside the reckoning."""

from __future__ import annotations

from dataclasses import dataclass

from engine.economics.constants import EconomicsConstants
from engine.economics.constants import ThresholdRule
from engine.economics.ledger import Ledger
from engine.economics.usage import number
from engine.values import Facts


@dataclass(frozen=True, slots=True)
class Threshold:
    """One guide's rule of thumb applied to this case."""

    id: str
    source: str
    fact: str
    value: float | None
    limit: str
    says: str  # rent, own, undecided; unknown where its input is missing
    scope: str


def guide_thresholds(facts: Facts, ledger: Ledger, constants: EconomicsConstants) -> tuple[Threshold, ...]:
    """All four, in a fixed order; an input that nobody gave is worked out from the hours where they are known."""
    hours = ledger.usage.hours_per_year if ledger.usage else None
    share = number(facts, "utilization_pct")
    if share is None and hours is not None:
        share = hours / constants["hours_per_year"].value * 100
    total = number(facts, "gpu_hours_total")
    total_each = total / ledger.count if total is not None else None
    if total_each is None and hours is not None:
        total_each = hours * ledger.horizon_years
    spend = number(facts, "monthly_cloud_spend_usd")
    if spend is None and ledger.rent is not None and ledger.busy_hours_month is not None:
        spend = ledger.rent.value * ledger.busy_hours_month
    values = {"utilization": share, "total_hours": total_each, "yearly_hours": hours, "monthly_spend": spend}
    return tuple(
        _applied(name, constants.thresholds[name], value, ledger.horizon_years) for name, value in values.items()
    )


def thresholds_disagree(thresholds: tuple[Threshold, ...]) -> bool:
    """Whether one guide says rent where another says own, or one is undecided where another is not."""
    said = {threshold.says for threshold in thresholds} - {"unknown"}
    return len(said) > 1


def _applied(name: str, rule: ThresholdRule, value: float | None, years: float) -> Threshold:
    rent_below, own_from = rule.rent_below, rule.own_from
    if value is None:
        says = "unknown"
    elif rent_below is not None and value < rent_below:
        says = "rent"
    elif own_from is not None and value >= own_from and years >= rule.own_years:
        says = "own"
    else:
        says = "undecided"
    parts = [f"rent below {rent_below:,.0f} {rule.unit}"] if rent_below is not None else []
    if own_from is not None and own_from != rent_below:
        over = f" over {rule.own_years:g} years" if rule.own_years else ""
        parts.append(f"own from {own_from:,.0f} {rule.unit}{over}")
    return Threshold(name, rule.source, rule.fact, value, ", ".join(parts), says, rule.scope)
