"""Renting against owning one plan over the horizon: one sum for each, from the same entries, continuous in time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, Pick, Value, made, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.ownership import Ownership, ownership_of, planning_years
from whichgpu.engine.plans.costs.purchase import SourcedAmount, bought_count, quoted_for
from whichgpu.engine.plans.costs.usage import Usage, usage_of


if TYPE_CHECKING:
    from whichgpu.engine.plans.model import Plan


Side = Literal["rent", "own"]
#: What costs less, clearly or not; unknown where one sum is.
ComparisonSays = Literal["rent", "own", "even", "unknown"]

#: What is stated to be there above the daily load, or wished for.
_PEAKS = "burst_or_datacenter_need"
#: Later than this the two are not drawn to where they meet.
_DRAWN_MONTHS = 120.0
#: Of 365 days.
HOURS_PER_YEAR = 8760
#: Points of a drawn course, and months beyond which a crossing is not looked for.
_COURSE_STEPS = 24
_LONGEST_MONTHS = 240.0


class CostComparison(Struct, frozen=True):
    """What renting, owning and both together come to; sums are None where an input is missing."""

    count: int
    owned: bool  # the plan's hardware is there already
    owning: Ownership
    rent: SourcedAmount | None  # US dollars per GPU-hour
    bill_month: float | None  # the stated cloud bill, where renting costs no less than it
    usage: Usage | None
    years: float
    years_stated: bool
    rent_growth: float  # a year, at this end of the band
    clear_ratio: float
    sold: bool = True  # the plan's GPUs can be bought; fewer modules than half a board are not
    base: tuple[Ownership, float] | None = None  # where there are peaks: owning the base load, and its busy share

    @property
    def busy_hours_month(self) -> float | None:
        """Busy GPU-hours a month, over all GPUs."""
        return self.usage.hours_per_year / 12 * self.count if self.usage else None

    @property
    def rent_month(self) -> float | None:
        """What renting costs a month at today's prices: the stated bill, else the price of the busy hours."""
        busy = self.busy_hours_month
        if self.bill_month is not None:
            return self.bill_month
        return None if busy is None or self.rent is None else self.rent.value * busy

    @property
    def rent_usd(self) -> float | None:
        """Renting over the horizon."""
        return self.rent_after(self.years)

    @property
    def own_usd(self) -> float | None:
        """Owning over the horizon, less what a sale brings at its end."""
        return self.own_after(self.years)

    @property
    def hybrid_usd(self) -> float | None:
        """Owning what the base load keeps busy and renting the rest; None where no peaks are known."""
        busy, month = self.busy_hours_month, self.rent_month
        if self.base is None or busy is None or month is None or self.base[0].purchase is None:
            return None
        owning, share = self.base
        peaks = month * (1 - share) * 12 * self.years * growth_factor(self.rent_growth, self.years)
        return owning.total(self.years, busy * share) + peaks

    def rent_after(self, years: float) -> float | None:
        """Renting for some years."""
        month = self.rent_month
        return None if month is None else month * 12 * years * growth_factor(self.rent_growth, years)

    def own_after(self, years: float) -> float | None:
        """Owning for some years."""
        busy = self.busy_hours_month
        if busy is None or self.owning.purchase is None:
            return None
        return self.owning.total(years, busy)

    @property
    def own_usd_per_hour(self) -> float | None:
        """Owning over every hour of the horizon, busy or not; of hardware that is there, over a busy hour."""
        if self.owned:
            return self.owning.busy_energy_usd_h * self.count
        return None if self.own_usd is None else self.own_usd / (self.years * HOURS_PER_YEAR)

    @property
    def busy_share(self) -> float | None:
        """The share of the horizon's hours in which the hardware works; None where it is not known."""
        return self.usage.hours_per_year / HOURS_PER_YEAR if self.usage else None

    @property
    def own_usd_per_busy_hour(self) -> float | None:
        """Owning for an hour of work, which pays for the idle ones as well; an hour of renting is compared with it."""
        hour, share = self.own_usd_per_hour, self.busy_share
        if self.owned or hour is None:
            return hour
        return hour / share if share else None

    @property
    def ratio(self) -> float | None:
        """Owning over renting; of hardware that is there already by the hour, where its use is not known."""
        own, rent = self.own_usd, self.rent_usd
        if self.owned and (own is None or rent is None) and self.rent is not None:
            own, rent = self.owning.busy_energy_usd_h, self.rent.value
        return None if own is None or not rent else own / rent

    @property
    def says(self) -> ComparisonSays:
        """``rent`` or ``own`` where the sums differ clearly, ``even`` where they do not, ``unknown`` without a sum."""
        ratio = self.ratio
        if ratio is None:
            return "unknown"
        if ratio >= self.clear_ratio:
            return "rent"
        return "own" if ratio <= 1 / self.clear_ratio else "even"

    @property
    def clear(self) -> bool:
        """Whether the sums differ enough to decide."""
        return self.says in {"rent", "own"}

    @property
    def hybrid_pays(self) -> bool | None:
        """Whether owning the base and renting the peaks is not clearly costlier than one of both alone."""
        hybrid, own, rent = self.hybrid_usd, self.own_usd, self.rent_usd
        if hybrid is None or own is None or rent is None:
            return None
        return hybrid < self.clear_ratio * min(own, rent)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The facts that would complete the sums."""
        found = [] if self.usage else ["utilization_pct"]
        if self.rent is None and self.bill_month is None:
            found.append("rent_quote_usd_h")
        return (*found, "buy_quote_usd") if self.owning.purchase is None else tuple(found)

    def course(self) -> tuple[tuple[float, float, float], ...]:
        """Months, renting and owning until then: over the horizon, and on to where the two meet; empty without sums."""
        horizon, meet = self.years * 12, self.crossing_months()
        last = max(horizon, meet * 1.2) if meet is not None and meet <= _DRAWN_MONTHS else horizon
        found = []
        for months in sorted({horizon, *(last * step / _COURSE_STEPS for step in range(_COURSE_STEPS + 1))}):
            rent, own = self.rent_after(months / 12), self.own_after(months / 12)
            if rent is None or own is None:
                return ()
            found.append((months, rent, own))
        return tuple(found)

    def crossing_months(self) -> float | None:
        """Months after which owning has cost less than renting, 0 where it does from the start; None for never."""
        steps = 240
        earlier = 0.0
        for step in range(1, steps + 1):
            months = _LONGEST_MONTHS * (step / steps) ** 2
            if self._owning_costs_less(months):
                return 0.0 if step == 1 else self._crossing(earlier, months)
            earlier = months
        return None

    def _owning_costs_less(self, months: float) -> bool:
        own, rent = self.own_after(months / 12), self.rent_after(months / 12)
        return own is not None and rent is not None and own <= rent

    def _crossing(self, low: float, high: float) -> float:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self._owning_costs_less(middle) else (middle, high)
        return high


def growth_factor(growth: float, years: float) -> float:
    """The average price over some years, over today's, where it grows by a share a year."""
    rate = made("log1p", growth) * years
    return made("expm1", rate) / rate if abs(rate) > 1e-9 else 1.0


def compare_costs(
    facts: Facts,
    plan: Plan | None,
    constants: EconomicsConstants,
    pick: Pick = "value",
    *,
    owned_as: Gpu | None = None,
) -> CostComparison:
    """Compare renting and owning a plan, or quoted prices alone when there is no plan yet.

    Args:
        facts: what the user stated and what follows.
        plan: the recommended plan.
        constants: of ``economics.yaml``.
        pick: the end of every band to take, low for a low cost of owning and falling rents.
        owned_as: what one would buy in place of the plan's GPU, where that is another form of it.
    """
    count = plan.count if plan else max(1, int(number(facts, "num_gpus") or 1))
    gpu = owned_as or (plan.gpu if plan else None)
    owned = plan is not None and plan.cost.origin == "owned"
    rent = _rent(facts, plan)
    years, stated_years = planning_years(facts, constants)
    run_hours = plan.facts.get("plan.hours") if plan else None
    usage = usage_of(facts, count, constants, rent_usd_h=rent.value if rent else None, years=years, run_hours=run_hours)
    bill = number(facts, "monthly_cloud_spend_usd")
    owning = ownership_of(gpu, count, facts, constants, owned=owned, pick=pick)
    sold = plan is None or _is_sold(plan, gpu or plan.gpu, owning, constants)
    return CostComparison(
        count=count,
        owned=owned,
        owning=owning if sold else owning.not_sold(),
        sold=sold,
        rent=rent,
        bill_month=_bill_that_is_paid(bill, rent, usage, count),
        usage=usage,
        years=years,
        years_stated=stated_years,
        rent_growth=constants["rent_trend_share_per_year"].at(pick),
        clear_ratio=constants["clear_cost_ratio"].value,
        base=_base(facts, gpu, count, usage, constants, owned=owned, pick=pick) if sold else None,
    )


def _bill_that_is_paid(bill: float | None, rent: SourcedAmount | None, usage: Usage | None, count: int) -> float | None:
    """The stated bill, unless the plan rents for less: nobody goes on paying for other hardware beside it."""
    if not bill or rent is None or usage is None:
        return bill or None
    busy_usd = rent.value * usage.hours_per_year / 12 * count
    return bill if bill <= busy_usd * (1 + 1e-9) else None


def _is_sold(plan: Plan, gpu: Gpu, owning: Ownership, constants: EconomicsConstants) -> bool:
    """Whether one would buy this: what the user asks to own or quotes, and no board of which most would stand idle."""
    if plan.cost.origin in {"owned", "purchase"} or (owning.purchase and "buy_quote_usd" in owning.purchase.inputs):
        return True
    return plan.count >= constants["least_board_use_share"].value * bought_count(gpu, plan.count, constants)


def _base(
    facts: Facts,
    gpu: Gpu | None,
    count: int,
    usage: Usage | None,
    constants: EconomicsConstants,
    *,
    owned: bool,
    pick: Pick,
) -> tuple[Ownership, float] | None:
    """Owning as many GPUs as the base load keeps busy, and the share of the busy hours that they do.

    Peaks take all GPUs for a share of the time and the base load takes the same number for the rest of it. Peaks above
    the plan's own GPUs are rented in any case and stand in none of the sums.
    """
    if usage is None or not (facts.get(_PEAKS) is True or facts.get("procurement_wish") == "hybrid"):
        return None
    peaks = constants["peak_share_of_time"].value
    busy = count * usage.hours_per_year / constants["hours_per_year"].value  # GPUs, on average
    base = max(0.0, (busy - count * peaks) / (1 - peaks))
    kept = min(count, max(1, math.ceil(base - 1e-9)))
    done = busy if kept == count else min(busy, kept * peaks + base * (1 - peaks))
    owning = ownership_of(gpu, kept, facts, constants, owned=owned, pick=pick)
    return owning, done / busy if busy else 1.0


def _rent(facts: Facts, plan: Plan | None) -> SourcedAmount | None:
    quote = number(facts, "rent_quote_usd_h") if quoted_for(plan.gpu if plan else None, facts) else None
    if quote:
        inputs: dict[str, Value] = {"rent_quote_usd_h": quote}
        return SourcedAmount(quote, "the user's own quote per GPU-hour", "stated: rent_quote_usd_h", inputs)
    if plan is None:
        return None
    rented = plan.cost.origin == "offer"
    offer = plan.cost.offer if rented else plan.cost.rented_from
    per_hour = plan.cost.usd_per_hour if rented else plan.cost.rented_usd_per_hour
    if per_hour is None or offer is None:
        return None
    source = f"{offer.provider} {offer.instance or ''} seen {offer.as_of} ({offer.source})"
    inputs = {("plan.usd_per_hour" if rented else "plan.rented_usd_per_hour"): per_hour, "plan.count": plan.count}
    return SourcedAmount(per_hour / plan.count, "price per hour of the rented machines / GPUs used", source, inputs)
