"""What plans cost per hour, month, run and million tokens: a column for each, a row for each plan."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.hardware import Hardware, choose, hardware_rows
from whichgpu.engine.plans.costs.model import Cost
from whichgpu.engine.plans.costs.monthly import monthly
from whichgpu.engine.plans.costs.offers import OfferIndex
from whichgpu.engine.plans.costs.ownership import owning_rates, planning_years
from whichgpu.engine.plans.costs.power import at_desk, paid_power_w, plan_power_w
from whichgpu.engine.plans.costs.purchase import gpus_usd, on_boards, purchase_usd, quoted_for
from whichgpu.engine.plans.costs.rental_table import RentalTable
from whichgpu.engine.plans.costs.spending import Spending, count_owned, quoted_rate
from whichgpu.engine.plans.costs.usage import busy_hours
from whichgpu.engine.sizing import Bools, Floats, GpuTable, Ints


#: Whose word the price of an hour is; a column holds positions.
ORIGINS = ("none", "offer", "quote", "owned", "purchase")
NONE, OFFER, QUOTE, OWNED, PURCHASE = range(len(ORIGINS))


class CostColumns(NamedTuple):
    """What plans cost to rent or, where owned, to power. US dollars; NaN where not known."""

    usd_per_hour: Floats
    usd_per_month: Floats
    usd_per_run: Floats
    usd_per_1m_tokens: Floats
    usd_per_1k_samples: Floats
    rented_usd_per_hour: Floats  # where the plan is owned or bought: what the same GPUs would be rented for
    lowest_usd_per_hour: Floats  # by the cheapest provider
    spot_usd_per_hour: Floats
    origin: Ints  # position in ORIGINS
    quotes: Ints  # providers that cover the plan
    assumed: Bools  # no offer has as many GPUs in one machine
    instances: Ints  # machines; 0 where no provider rents it out
    power_w: Floats  # rated draw
    gpus_usd: Floats  # where they are bought: the price of the GPUs alone, with no machine around them
    budget_hours: Floats  # a month that a stated budget pays for, where it says how many are rented; else NaN
    gpus_bought: Floats  # how many have to be bought, on whole boards; NaN where none are
    rental: Ints  # what is known of renting each, whether or not that is the price: its number in the table
    rentals: RentalTable

    def cost(self, row: int) -> Cost:
        """The cost of one plan with the offers behind it."""
        origin, rental = self.origin.item(row), self.rentals.rentals[self.rental.item(row)]
        figures: dict[str, Any] = {name: known(getattr(self, name), row) for name in _FIGURES}
        bought = known(self.gpus_bought, row)
        figures["gpus_bought"] = None if bought is None else int(bought)
        if rental is None:
            return Cost(origin=ORIGINS[origin], **figures)
        offered = origin == OFFER
        return Cost(
            **figures,
            offer=rental.offer if offered else None,
            origin=ORIGINS[origin],
            rented_from=None if offered else rental.offer,
            lowest_offer=rental.lowest.offer,
            quotes=rental.quotes,
            compared=rental.compared,
            assumed=rental.assumed,
            nearest_offer=rental.nearest_offer,
            instances=rental.instances,
            committed=rental.committed,
        )


#: Columns that a cost holds as numbers of its own.
_FIGURES = CostColumns._fields[: CostColumns._fields.index("origin")]


def known(column: Floats, row: int) -> float | None:
    """A figure of a column as a plain number; None where it is not known."""
    value = column.item(row)
    return None if isnan(value) else value


def cost_columns(
    table: GpuTable,
    which: Ints,
    counts: Ints,
    spending: Spending,
    index: OfferIndex,
    *,
    together: Ints,
    linked: Bools,
    tokens_per_s: Floats | float = np.nan,
    samples_per_s: Floats | float = np.nan,
    hours: Floats | float = np.nan,
) -> CostColumns:
    """The costs of plans: the power of what the user owns, else their quote, else what offers of its shape ask.

    Where the hardware is to stand at the user's own place, an hour costs its share of the purchase and the power, and
    nothing is known where no price to buy is. So does a device that no provider rents out. Such hardware is paid for
    whether it works or not: a run, and a piece of work, is charged the hours that it stands idle for as well.

    Args:
        table: GPUs.
        which: the GPU of each plan, by its position in the table.
        counts: how many of it.
        spending: what the facts say about paying.
        index: the offers, narrowed to what the user allows.
        together: how many GPUs must share one machine.
        linked: whether all of them work as one over several machines; see ``OfferIndex.rental``.
        tokens_per_s: speed of the whole plan, for the cost per million tokens; NaN where it is not known.
        samples_per_s: images or clips per second of the whole plan, for the cost per thousand of them.
        hours: wall time of one run; ``run_hours`` where unknown.
    """
    constants, facts = index.constants, spending.facts
    hardware, gpus = hardware_rows(table, which, constants), [table.gpus[place] for place in which.tolist()]
    rental = index.rental_numbers(gpus, counts, together, linked, interruptible=spending.interruptible)
    rent = index.rentals.figures(rental).usd_per_hour
    run = np.broadcast_to(np.where(np.isnan(hours), spending.run_hours or np.nan, hours), len(which))
    per_hour, origin, busy = _hours(table, which, hardware, counts, rent, spending, constants, run)
    # Of what has no price of its own, or one that the user brought, renting says nothing.
    rental = np.where(np.isnan(per_hour) | (origin == QUOTE), 0, rental)
    worked = per_hour / np.where(busy > 0, busy, np.nan)
    # What is rented for a run is paid for while it is set up.
    rented = (origin == OFFER) | (origin == QUOTE)
    per_run = worked * (run + np.where(rented, constants["run_setup_hours"].value, 0.0))
    month, hours_kept = monthly(per_hour, per_run, counts, spending, constants, rented, origin == PURCHASE)
    return CostColumns(
        usd_per_hour=per_hour,
        usd_per_month=month,
        usd_per_run=per_run,
        usd_per_1m_tokens=_per_pieces(1e6, worked, tokens_per_s),
        usd_per_1k_samples=_per_pieces(1e3, worked, samples_per_s),
        origin=origin,
        power_w=plan_power_w(hardware, counts, constants),
        gpus_usd=_gpus_usd(table, which, hardware, counts, origin == PURCHASE, facts),
        gpus_bought=np.where(origin == PURCHASE, on_boards(hardware, counts), np.nan),
        budget_hours=hours_kept,
        **_of_renting(index.rentals, rental, origin),
    )


def _of_renting(rentals: RentalTable, rental: Ints, origin: Ints) -> dict[str, Any]:
    """What is known of renting each plan, whether or not that is the price."""
    found = rentals.figures(rental)
    return {
        "rented_usd_per_hour": np.where(origin >= OWNED, found.usd_per_hour, np.nan),
        "lowest_usd_per_hour": found.lowest_usd_per_hour,
        "spot_usd_per_hour": found.spot_usd_per_hour,
        "quotes": found.quotes.astype(np.int64),
        "assumed": found.assumed > 0,
        "instances": found.instances.astype(np.int64),
        "rental": rental,
        "rentals": rentals,
    }


def _per_pieces(pieces: float, usd_per_hour: Floats, per_s: Floats | float) -> Floats:
    """The cost of so many pieces of work at a speed in pieces per second."""
    per_hour: Floats = np.where(np.equal(per_s, 0), np.nan, per_s) * 3600
    return usd_per_hour / per_hour * pieces


def _hours(
    table: GpuTable,
    which: Ints,
    hardware: Hardware,
    counts: Ints,
    rent: Floats,
    spending: Spending,
    constants: EconomicsConstants,
    run_hours: Floats,
) -> tuple[Floats, Ints, Floats]:
    """What an hour of each plan costs, by which source, and the share of the hours paid for in which it works."""
    facts, per_hour, origin = spending.facts, rent.copy(), np.where(np.isnan(rent), NONE, OFFER)
    working = np.ones(len(which))
    owned, quoted = _owned(table, which, counts, spending), _quoted(table, which, spending)
    bought = ~owned & ~quoted
    if not spending.buys:
        bought &= hardware.device & (not spending.rents)
    if bought.any():
        rows = np.flatnonzero(bought)
        quotes = "buy_quote_usd" in facts or "rent_quote_usd_h" in facts
        about = _by_gpu(table, which[rows], lambda gpu: quoted_for(gpu, facts)) if quotes else False
        some, run = _rows(hardware, rows), run_hours[rows]
        hour, busy = _bought_hour(some, counts[rows], rent[rows], about, facts, constants, run)
        # No provider rents out what is to stand at one's own place: without a price to buy there is none.
        priced = ~np.isnan(hour) | spending.buys
        per_hour[rows[priced]], working[rows[priced]] = hour[priced], busy[priced]
        origin[rows[priced]] = np.where(np.isnan(hour[priced]), NONE, PURCHASE)
    if spending.quote_usd_h is not None:
        per_hour[quoted], origin[quoted] = spending.quote_usd_h * counts[quoted], QUOTE
    if owned.any():
        rows = np.flatnonzero(owned)
        per_hour[rows], origin[rows] = _own_hour(_rows(hardware, rows), counts[rows], facts, constants), OWNED
    return per_hour, origin, working


def _gpus_usd(table: GpuTable, which: Ints, hardware: Hardware, counts: Ints, bought: Bools, facts: Facts) -> Floats:
    """The price of the GPUs of each plan that is bought; NaN of others."""
    if not bought.any():
        return np.full(len(which), np.nan)
    quoted = "buy_quote_usd" in facts and _by_gpu(table, which, lambda gpu: quoted_for(gpu, facts)) > 0
    return np.where(bought, gpus_usd(hardware, counts, facts, quoted=quoted), np.nan)


def cost_row(
    gpu: Gpu,
    count: int,
    spending: Spending,
    index: OfferIndex,
    *,
    together: int,
    linked: bool,
    tokens_per_s: float | None = None,
    samples_per_s: float | None = None,
    hours: float | None = None,
) -> CostColumns:
    """``cost_columns`` of one plan."""
    return cost_columns(
        GpuTable((gpu,)),
        np.zeros(1, np.int64),
        np.array([count]),
        spending,
        index,
        together=np.array([together]),
        linked=np.array([linked]),
        tokens_per_s=np.nan if tokens_per_s is None else tokens_per_s,
        samples_per_s=np.nan if samples_per_s is None else samples_per_s,
        hours=np.nan if hours is None else hours,
    )


def _rows(hardware: Hardware, rows: Ints) -> Hardware:
    return Hardware(*(column[rows] for column in hardware))


def _by_gpu(table: GpuTable, which: Ints, says: Callable[[Gpu], float]) -> Any:
    """What is said of the GPU of each plan, asked once for each GPU."""
    places, rows = np.unique(which, return_inverse=True)
    return np.array([says(table.gpus[place]) for place in places.tolist()])[rows]


def _owned(table: GpuTable, which: Ints, counts: Ints, spending: Spending) -> Bools:
    if not spending.owned:
        return np.zeros(len(which), np.bool_)
    there: Bools = _by_gpu(table, which, lambda gpu: count_owned(gpu, spending.owned)) >= counts
    return there


def _quoted(table: GpuTable, which: Ints, spending: Spending) -> Bools:
    if spending.quote_usd_h is None:
        return np.zeros(len(which), np.bool_)
    about: Bools = _by_gpu(table, which, lambda gpu: quoted_rate(gpu, spending) is not None) > 0
    return about


def _bought_hour(
    hardware: Hardware,
    count: Ints,
    rent: Floats,
    quoted: Any,
    facts: Facts,
    constants: EconomicsConstants,
    run_hours: Floats,
) -> tuple[Floats, Floats]:
    """What owning costs over the horizon, spread over all its hours, NaN without a price or a TDP; the share worked.

    A bought card costs nearly the same when it is idle; where neither its use nor the length of a run is known it is
    taken to be busy.
    """
    desk = at_desk(hardware, count, facts)
    price = purchase_usd(hardware, count, facts, constants, desk=desk, quoted=quoted)
    power = paid_power_w(hardware, count, desk=desk, constants=constants)
    year, (years, _) = constants["hours_per_year"].value, planning_years(facts, constants)
    rent_usd_h, quote = rent / count, number(facts, "rent_quote_usd_h")
    hours = _hours_or_nan(busy_hours(facts, count, constants, years=years, run_hours=run_hours), count)
    # A bill for renting tells how long they would be busy for as much money, but not how long the work takes.
    rents = choose(quoted, quote, rent_usd_h) if quote else rent_usd_h
    billed = _hours_or_nan(busy_hours(facts, count, constants, rent_usd_h=rents, years=years), count)
    worked = np.where(np.isnan(hours), np.where(np.isnan(billed), year, billed), hours)
    rates = owning_rates(count, price, power, facts, constants, desk=desk)
    hour: Floats = rates.total(years, worked / 12 * count) / (years * year)
    return hour, np.where(np.isnan(hours), 1.0, hours / year)


def _hours_or_nan(hours: Any, count: Ints) -> Floats:
    return np.broadcast_to(np.nan if hours is None else hours, len(count))


def _own_hour(hardware: Hardware, count: Ints, facts: Facts, constants: EconomicsConstants) -> Floats:
    """What an hour of hardware that is there already costs: its power."""
    desk = at_desk(hardware, count, facts, owned=True)
    power = paid_power_w(hardware, count, desk=desk, constants=constants)
    hour: Floats = owning_rates(count, 0.0, power, facts, constants, desk=desk, owned=True).busy_energy_usd_h * count
    return hour
