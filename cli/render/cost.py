"""What a plan costs: the figures, whose price it is, how sure it is, and what another way of paying would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Heading, Pairs, Paragraph
from whichgpu.cli.render.figures import count_of, hours, joined, usd
from whichgpu.cli.render.names import provider_class


JsonObject = Mapping[str, Any]

_LABELS = (("per hour", "usd_per_hour"), ("per month", "usd_per_month"), ("for the run", "usd_per_run"))
_PRICED_BY = {
    "owned": "You own {these}: the cost is the power that running {them} takes.",
    "purchase": "Bought for your own site: the whole cost of owning over the horizon, spread over all its hours.",
}
_IDLE_BETWEEN_RUNS = (
    " A run also pays for the idle hours between runs: a month of them unless it is stated how busy the hardware is."
)
_GIVEN = "The price is the one that was given."
_ONE_PRICE, _TWO_PRICES = 1, 2
_MONTHS_A_YEAR = 12
#: What is known of renting a plan that is on offer.
_RENTAL = ("quotes", "compared", "lowest_offer", "lowest_usd_per_hour")


def work_prices(plan: JsonObject) -> list[tuple[str, float]]:
    """What a piece of work costs on a plan, in the unit in which people count it: words and US dollars."""
    cost, speed = plan["cost"], plan["speed"]
    found, sample = [], cost.get("usd_per_1k_samples")
    sound, samples = speed.get("audio_hours_per_hour"), speed.get("samples_per_s")
    if sample and sound and samples:
        return [("per hour of audio", sample / 1000 * samples * 3600 / sound)]
    if cost.get("usd_per_1m_tokens"):
        found.append(("per million tokens", cost["usd_per_1m_tokens"]))
    if sample:
        noun = next((noun for name, noun in _SAMPLES.items() if speed.get(name) is not None), "samples")
        found.append((f"per million {noun}", 1000 * sample) if sample < _SMALL else (f"per thousand {noun}", sample))
    return found


#: US dollars a thousand; what costs less is counted by the million.
_SMALL = 0.01
#: What a sample of a plan is, by the first figure of its speed that is there.
_SAMPLES = {"images_per_s": "images", "steps_per_s": "clips", "requests_per_s": "requests"}


def cost_blocks(plan: JsonObject) -> list[Block]:
    """What renting it costs, from whom and as of when."""
    cost, offer = plan["cost"], plan["offer"]
    rows = tuple((label, usd(cost[key])) for label, key in _LABELS if cost.get(key) is not None)
    rows += tuple((label, usd(price)) for label, price in work_prices(plan))
    if not rows:
        return [Heading("Cost"), Paragraph("No price in the snapshot covers this plan, so its cost is unknown.")]
    blocks: list[Block] = [Heading("Cost"), Pairs(rows)]
    if offer is None:
        words = _priced_by(plan) + _rented_instead(plan)
        return [*blocks, Paragraph(words)]
    # Records of earlier versions say nothing of other offers.
    return [
        *blocks,
        Paragraph(_assumed(cost) if cost.get("assumed") and cost.get("nearest_offer") else _rented(offer)),
        *_set_up(plan),
        *_beside(cost),
    ]


def run_price(plan: JsonObject) -> list[str]:
    """``$638 for the run (19.8 hours, and 10 minutes to set up)``; nothing where its length is not known."""
    run, length = plan["cost"].get("usd_per_run"), plan["speed"].get("hours")
    if not run:
        return []
    minutes = _set_up_minutes(plan)
    set_up = f", and {minutes} minutes to set up" if minutes else ""
    length_words = hours(length).partition(" (")[0] if length else ""
    return [f"{usd(run)} for the run{f' ({length_words}{set_up})' if length else ''}"]


def month_price(decision: JsonObject, plan: JsonObject) -> list[str]:
    """What a month costs, unless it is a whole month of what is rented, or stands there, for a run that ends."""
    cost, facts = plan["cost"], decision["facts"]
    month, hour = cost.get("usd_per_month"), cost.get("usd_per_hour")
    whole = bool(month and hour) and month / hour >= _HOURS_OF_MONTH
    kept = cost.get("origin") == "purchase" or facts.get("always_on", {}).get("value") is True
    if not month or (cost.get("usd_per_run") and whole and not kept):
        return []
    return [f"{usd(month)} a month"]


#: No whole month has fewer.
_HOURS_OF_MONTH = 672


def _set_up_minutes(plan: JsonObject) -> int:
    """What a rented run pays beyond its length, in minutes; 0 in records of earlier versions."""
    cost, length = plan["cost"], plan["speed"].get("hours")
    run, hourly = cost.get("usd_per_run"), cost.get("usd_per_hour")
    rented = cost.get("origin") in {"offer", "quote"}
    return max(0, round((run / hourly - length) * 60)) if rented and run and hourly and length else 0


def _set_up(plan: JsonObject) -> list[Block]:
    minutes = _set_up_minutes(plan)
    if not minutes:
        return []
    return [Paragraph(f"The run also pays for {minutes} minutes in which the machine is set up.")]


def basis_sentence(plan: JsonObject) -> str:
    """What the price rests on, in one or two short sentences."""
    cost, offer = plan["cost"], plan["offer"]
    if offer is None:
        return _priced_by(plan) + _rented_instead(plan)
    if cost.get("assumed") and cost.get("nearest_offer"):
        return f"Assumed: scaled up from smaller machines at {_provider(cost['nearest_offer'])}; ask for a larger one."
    price, spot = cost["usd_per_hour"] or 0.0, cost.get("spot_usd_per_hour")
    words = _quotes(cost) if all(cost.get(key) for key in _RENTAL) else f"Rented from {_provider(offer)}."
    words += f" Spot: about {usd(spot)}." if spot is not None and spot < price else ""
    return words + _waiting(offer)


def _priced_by(plan: JsonObject) -> str:
    """What a price that is on no list rests on."""
    these, them = ("this GPU", "it") if plan["count"] == 1 else ("these GPUs", "them")
    origin = plan["cost"].get("origin") or ""
    more = _IDLE_BETWEEN_RUNS if origin == "purchase" and plan["cost"].get("usd_per_run") else ""
    return _PRICED_BY.get(origin, _GIVEN).format(these=these, them=them) + more


def _rented_instead(plan: JsonObject) -> str:
    """What the same GPUs cost to rent, beside the price of owning them."""
    cost = plan["cost"]
    offer = cost.get("rented_from")
    if not offer:
        return ""
    price = f"{'it' if plan['count'] == 1 else 'they'} would cost {usd(cost.get('rented_usd_per_hour'))} an hour"
    unsure = ", scaled up from smaller machines" if cost.get("assumed") else ""
    return f" Rented from {_provider(offer)} {price}{unsure}."


def _rented(offer: JsonObject) -> str:
    as_of = f"; price of {offer['as_of']}, so check it before you order" if offer["as_of"] else ""
    return f"Rented from {_provider(offer)}{_machines(offer)}{as_of}.{_waiting(offer)}"


def _waiting(offer: JsonObject) -> str:
    """How long after the order it runs, and how many one customer gets, where the price list says so."""
    days, quota = offer.get("lead_time_days"), offer.get("quota_gpus")
    words = f" It runs {count_of(days, 'day')} after the order." if days else ""
    return words + (f" One customer gets {count_of(quota, 'GPU')} of it at most." if quota else "")


def _assumed(cost: JsonObject) -> str:
    nearest = cost["nearest_offer"]
    price = f"{usd(nearest.get('usd_per_instance_hour'))} an hour, price of {nearest['as_of']}"
    return (
        "Assumed: no offer on the list has so many of these GPUs in one machine. "
        f"The nearest is {_provider(nearest)}{_machines(nearest)} ({price}). "
        "The price is scaled up from such machines, so ask whether a larger one can be had."
    )


def _provider(offer: JsonObject) -> str:
    by = f" ({offer['provider']})" if offer.get("provider") else ""
    return f"{provider_class(offer['provider_class'])}{by}"


def _machines(offer: JsonObject) -> str:
    """How many of which machine, how large, and where."""
    gpus = offer.get("gpus_per_instance")
    machine = f"instance {offer['instance']}" if offer["instance"] else "a machine" if gpus else ""
    many = (offer.get("instances") or 1) > 1
    several = f"{offer['instances']} x " if many else ""
    size = f" with {count_of(gpus, 'GPU')}{' each' if many else ''}" if gpus else ""
    parts = [f"{several}{machine}{size}"] if machine else []
    parts += [f"in {offer['region']}"] if offer.get("region") else []
    return "".join(f", {part}" for part in parts)


def _beside(cost: JsonObject) -> list[Block]:
    """Of how many offers the price is made, and what other ways of paying cost where they cost less."""
    words = [_quotes(cost)] if all(cost.get(key) for key in _RENTAL) else []
    price, spot = cost["usd_per_hour"] or 0.0, cost.get("spot_usd_per_hour")
    if spot is not None and spot < price:
        words.append(f"Interruptible (spot) it would cost about {usd(spot)} an hour.")
    terms = [
        f"{count_of(each['term_months'] // _MONTHS_A_YEAR, 'year')} {usd(each['usd_per_hour'])} ({each['provider']})"
        for each in cost.get("committed") or ()
        if each["usd_per_hour"] < price
    ]
    if terms:
        words.append(f"An hour of it, paid for the whole term: over {joined(terms)}.")
    return [Paragraph(" ".join(words))] if words else []


def _quotes(cost: JsonObject) -> str:
    quotes, lowest = cost["quotes"], cost["lowest_offer"]
    if quotes == _ONE_PRICE:
        what = "the price of one provider alone" if cost.get("assumed") else "the only price on the list for this shape"
        return f"It is {what}: ask for a second one."
    if len(cost["compared"]) == _ONE_PRICE:
        return f"It is the price of {lowest['provider']}, one of {quotes} allowed providers that have this shape."
    low = f"from {usd(cost['lowest_usd_per_hour'])} at {lowest['provider']}"
    if quotes == _TWO_PRICES:
        return f"The price is the mean of two providers, {low}."
    amount = len(cost["compared"])
    which = str(amount) if quotes == amount else f"the {amount} lowest of {quotes}"
    return f"The price is the median of {which} providers, {low}."
