"""What the guides' single-figure lines say, whether each was drawn for this case, and whether the comparison agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.comparison import CostComparison
from whichgpu.engine.plans.costs.constants import EconomicsConstants, Scope, ThresholdRule


if TYPE_CHECKING:
    from whichgpu.engine.plans.model import Plan


#: What a line says of a case; unknown where its input is missing.
ThresholdSays = Literal["rent", "own", "undecided", "unknown"]


class Threshold(Struct, frozen=True):
    """One guide's rule of thumb applied to this case."""

    id: str
    source: str
    fact: str
    value: float | None
    limit: str
    says: ThresholdSays
    scope: str
    in_scope: bool  # nothing that is known lies outside what it was drawn for
    agrees: bool | None  # with a clear comparison; None where one of both leaves it open


def guide_thresholds(
    facts: Facts, plan: Plan | None, comparison: CostComparison, constants: EconomicsConstants
) -> tuple[Threshold, ...]:
    """All four, in a fixed order; an input that is not stated is computed from the hours where they are known."""
    hours = comparison.usage.hours_per_year if comparison.usage else None
    share = number(facts, "utilization_pct")
    if share is None and hours is not None:
        share = hours / constants["hours_per_year"].value * 100
    total = number(facts, "gpu_hours_total")
    total_each = total / comparison.count if total is not None else None
    if total_each is None and hours is not None:
        total_each = hours * comparison.years
    values = {
        "utilization": share,
        "total_hours": total_each,
        "yearly_hours": hours,
        "monthly_spend": comparison.rent_month,
    }
    found = []
    for name, value in values.items():
        rule = constants.thresholds[name]
        says = _says(rule, value, comparison.years)
        within = says == "rent" and rule.applies.own_side_only
        within = within or _within(rule.applies, facts, plan, comparison)
        agrees = says == comparison.says if comparison.clear and says in {"rent", "own"} else None
        found.append(Threshold(name, rule.source, rule.fact, value, _limit(rule), says, rule.scope, within, agrees))
    return tuple(found)


def thresholds_disagree(thresholds: tuple[Threshold, ...]) -> bool:
    """Whether one line says rent where another says own, or only one of them decides."""
    said = {threshold.says for threshold in thresholds} - {"unknown"}
    return len(said) > 1


def _says(rule: ThresholdRule, value: float | None, years: float) -> ThresholdSays:
    if value is None:
        return "unknown"
    if rule.rent_below is not None and value < rule.rent_below:
        return "rent"
    if rule.own_from is not None and value >= rule.own_from and years >= rule.own_years:
        return "own"
    return "undecided"


def _limit(rule: ThresholdRule) -> str:
    parts = [f"rent below {rule.rent_below:,.0f} {rule.unit}"] if rule.rent_below is not None else []
    if rule.own_from is not None and rule.own_from != rule.rent_below:
        over = f" over {rule.own_years:g} years" if rule.own_years else ""
        parts.append(f"own from {rule.own_from:,.0f} {rule.unit}{over}")
    return ", ".join(parts)


def _within(scope: Scope, facts: Facts, plan: Plan | None, comparison: CostComparison) -> bool:
    """Whether nothing that is known lies outside. A horizon that is not stated is the guides' own."""
    organisation = facts.get("org_type")
    if scope.org_types and organisation is not None and organisation not in scope.org_types:
        return False
    if comparison.years < scope.years_from:
        return False
    if plan is None or not comparison.sold:
        return True  # What would be owned is not the plan that would be rented.
    gpu = plan.gpu
    if scope.segments and gpu.segment is not None and gpu.segment not in scope.segments:
        return False
    if scope.gpus and not scope.gpus[0] <= plan.count <= scope.gpus[1]:
        return False
    low, high = scope.vram_gb or (0.0, float("inf"))
    return gpu.vram_gb is None or low <= gpu.vram_gb <= high
