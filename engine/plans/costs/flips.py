"""What would turn the comparison of renting and owning: for each input the value at which it tips."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.plans.costs.comparison import HOURS_PER_YEAR, ComparisonSays, CostComparison, Side, growth_factor


_LONGEST_YEARS = 20.0


class Flip(Struct, frozen=True):
    """The value of one input at which the comparison turns.

    Where it is clear, or cannot be made while the input is unknown, renting and owning cost the same there; where the
    two come to about the same, it becomes clear there.
    """

    fact: str
    now: float | None  # None where it is not known
    needed: float
    verdict: Side  # what costs less beyond it

    @property
    def change(self) -> float:
        """Relative distance; of what is not known none can be said."""
        return abs(self.needed - self.now) / self.now if self.now else 0.0


def nearest_flip(comparison: CostComparison) -> Flip | None:
    """The smallest relative change of one input that turns the comparison; None where there is none to turn."""
    flips = [flip for flip in all_flips(comparison) if flip.needed > 0 and (flip.now is None or flip.now > 0)]
    return min(flips, key=lambda flip: (flip.change, flip.fact)) if flips else None


def all_flips(comparison: CostComparison) -> tuple[Flip, ...]:
    """Where each input alone turns the comparison; inputs that no reachable value turns are left out."""
    own, rent, purchase = comparison.own_usd, comparison.rent_usd, comparison.owning.purchase
    if purchase is None or not purchase.value:
        return ()  # Nothing is left to decide for what is paid for.
    if comparison.usage is None and comparison.bill_month is None:
        return tuple(_use_flip(comparison, 1.0, "own"))  # How busy it is decides, and is not known.
    if own is None or rent is None or not rent:
        return ()
    limit = comparison.clear_ratio
    # The cost of owning over that of renting at which it turns, and what costs less beyond it.
    turns: dict[ComparisonSays, tuple[tuple[float, Side], ...]] = {
        "rent": ((1.0, "own"),),
        "own": ((1.0, "rent"),),
        "even": ((limit, "rent"), (1 / limit, "own")),
    }
    flips: list[Flip] = []
    for ratio, verdict in turns[comparison.says]:
        flips += _flips_at(comparison, ratio, verdict)
    return tuple(flips)


def _flips_at(comparison: CostComparison, ratio: float, verdict: Side) -> list[Flip]:
    own, rent, purchase = comparison.own_usd, comparison.rent_usd, comparison.owning.purchase
    busy = comparison.busy_hours_month
    if own is None or rent is None or busy is None or purchase is None:
        return []
    owning, years, months = comparison.owning, comparison.years, comparison.years * 12
    flips = []
    if comparison.bill_month is not None:
        if comparison.usage is not None and "monthly_cloud_spend_usd" not in comparison.usage.inputs:
            flips.append(
                Flip(
                    "monthly_cloud_spend_usd",
                    comparison.bill_month,
                    comparison.bill_month * own / rent / ratio,
                    verdict,
                )
            )
    elif comparison.rent is not None:
        price = comparison.rent.value
        flips.append(Flip("rent_quote_usd_h", price, price * own / rent / ratio, verdict))
        flips += _use_flip(comparison, ratio, verdict)
    # Owning is a share of the price and what does not depend on it.
    share = owning.price_share(years)
    bought = float(str(purchase.inputs.get("bought_count", comparison.count)))
    each = purchase.value / bought
    if share > 0:
        needed = (ratio * rent - (own - share * purchase.value)) / share / bought
        flips.append(Flip("buy_quote_usd", each, needed, verdict))
    flips += _years_flip(comparison, ratio, verdict) if months else []
    return flips


def _use_flip(comparison: CostComparison, ratio: float, verdict: Side) -> list[Flip]:
    """At which use: both sums are straight lines over the busy hours."""
    usage, rent, owning = comparison.usage, comparison.rent, comparison.owning
    if rent is None or (usage is not None and not usage.hours_per_year):
        return []
    months = comparison.years * 12
    gain = ratio * rent.value * growth_factor(comparison.rent_growth, comparison.years) - owning.busy_energy_usd_h
    if gain <= 0:
        return []
    needed = owning.total(comparison.years, 0.0) / (gain * months) / comparison.count * 12
    if needed > HOURS_PER_YEAR:
        return []
    if usage is None:
        return [Flip("utilization_pct", None, 100 * needed / HOURS_PER_YEAR, verdict)]
    now = usage.hours_per_year
    if {"utilization_pct", "always_on"} & usage.inputs.keys():
        return [Flip("utilization_pct", 100 * now / HOURS_PER_YEAR, 100 * needed / HOURS_PER_YEAR, verdict)]
    return [Flip("gpu_hours_per_year", now * comparison.count, needed * comparison.count, verdict)]


def _years_flip(comparison: CostComparison, ratio: float, verdict: Side) -> list[Flip]:
    """The nearest horizon at which the costs stand in this ratio, by bisection."""
    if comparison.usage is not None and {"gpu_hours_total"} & comparison.usage.inputs.keys():
        return []  # The hours of a project do not grow with its years.

    def above(years: float) -> bool:
        own, rent = comparison.own_after(years), comparison.rent_after(years)
        return own is not None and rent is not None and own > ratio * rent

    now, found = comparison.years, []
    for end in (_LONGEST_YEARS, 0.25):
        low, high = now, end
        if above(low) == above(high) or (end - now) * (1 if end > 1 else -1) <= 0:
            continue
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) == above(now) else (low, middle)
        found.append(Flip("horizon_years", now, high, verdict))
    return found
