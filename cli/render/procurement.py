"""Rent or buy: the verdict, the sums that it stands on, what would turn it, and the guides' lines beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import joined, number, percent, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.reasons import origin


JsonObject = Mapping[str, Any]

_VERDICTS = {
    "rent": "Rent.",
    "buy": "Buy.",
    "hybrid": "Own the base load and rent the peaks.",
    "undecided": "Open: not enough is known to say rent or buy.",
}


#: What was asked for, after "you asked to".
WISHES = {"rent": "rent", "buy": "buy", "hybrid": "own the base load and rent the peaks"}
#: The prices of plans that keep to it.
_PRICED = {"rent": {"offer", "quote"}, "buy": {"purchase", "owned"}}

_SAYS = {
    "rent": "it says rent",
    "own": "it says own",
    "undecided": "it leaves it open",
    "unknown": "it cannot be applied",
}


def procurement_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """The verdict with its ground, the sums below it, what would turn it, and each guide's line."""
    procurement = decision["procurement"]
    blocks: list[Block] = [Heading("Rent or buy"), Paragraph(procurement_sentence(decision))]
    comparison = procurement.get("comparison")
    if sums := _sums(comparison, decision["figures"], names) if comparison else _sums_of_old(decision["figures"]):
        blocks.append(Paragraph(sums))
    if procurement.get("flip"):
        blocks.append(Paragraph(flip_sentence(procurement["flip"], comparison, names)))
    known = [entry for entry in procurement["thresholds"] if entry["value"] is not None]
    if known:
        items = tuple(_threshold(entry, names) for entry in known)
        blocks += [Paragraph("The lines of the guides, applied to this case:"), Bullets(items)]
    lacking = sorted({entry["fact"] for entry in procurement["thresholds"] if entry["value"] is None})
    if lacking:
        words = joined([names.fact(fact) for fact in lacking])
        blocks.append(Paragraph(f"Further lines of the guides would apply if this were known: {words}."))
    where = origin(", ".join(procurement.get("rules") or ()) or None, tuple(procurement.get("sources") or ()), names)
    return [*blocks, Paragraph(f"By {where}.", "faint")] if where else blocks


def procurement_sentence(decision: JsonObject) -> str:
    """``Rent. Because ...``; owning means using what is there where the hardware is there already."""
    procurement, plan = decision["procurement"], decision["recommendation"]
    kept = plan is not None and plan["cost"].get("origin") == "owned" and procurement["verdict"] == "buy"
    verdict = "Use what you have." if kept else _VERDICTS[procurement["verdict"]]
    ground = procurement["because"].strip().rstrip(".")
    sentence = f"{verdict} {ground[:1].upper()}{ground[1:]}." if ground else verdict
    wish = procurement.get("price_of_wish")
    return f"{sentence} {_wish(wish, plan)}" if wish else sentence


def _wish(wish: JsonObject, plan: JsonObject | None) -> str:
    """What the way that was asked for costs beside the one that costs least, and whether the plan is priced so."""
    times = f" ({number(round(wish['cost_ratio'], 1))} times as much)" if wish["cost_ratio"] else ""
    priced = plan is not None and plan["cost"].get("origin") in _PRICED.get(wish["asked"], ())
    keeps = " The plan and its price keep to that." if priced else ""
    more = usd(wish["usd_more"])
    return f"You asked to {WISHES[wish['asked']]}, which comes to {usd(wish['usd'])}, {more} more{times}.{keeps}"


def _sums(comparison: JsonObject, figures: JsonObject, names: Names) -> str | None:
    """What each way comes to over the horizon, and whether that is enough to decide."""
    rent, own, hybrid = (comparison[name] for name in ("rent_usd", "own_usd", "hybrid_usd"))
    if rent is None or own is None:
        if comparison.get("sold") is False:
            return "These modules are sold by the board, most of which would stand idle, so no purchase is compared."
        lacking = comparison.get("lacking")
        return f"The costs cannot be compared while this is not stated: {joined(lacking)}." if lacking else None
    assumed = ", which is assumed" if comparison.get("horizon_assumed") else ""
    bill = ", by the stated bill," if comparison.get("rent_is_stated_bill") else ""
    renting = f"renting{bill} comes to {usd(rent)}{_between(comparison.get('rent_band_usd'))}"
    owning = f"owning to {usd(own)}{_between(comparison.get('own_band_usd'))}"
    both = f", owning the base load and renting the peaks to {usd(hybrid)}" if hybrid is not None else ""
    says = f"Over {_years(comparison['horizon_years'])}{assumed}: {renting}, {owning}{both}."
    parts = (says, _made_of(comparison, figures, names), _by_the_hour(comparison), _how_clear(comparison))
    return " ".join(part for part in parts if part)


def _sums_of_old(figures: JsonObject) -> str | None:
    """Rent or buy as text, for records that hold no comparison."""
    rent, own = (figures.get(name, {}).get("value") for name in ("lifetime_rent_usd", "lifetime_cost_usd"))
    if rent is None or own is None:
        return None
    return f"Over the horizon renting comes to {usd(rent)}, owning to {usd(own)}."


def _between(band: list[float] | None) -> str:
    return f" ({usd(band[0])} to {usd(band[1])})" if band and band[0] != band[1] else ""


def _years(years: float) -> str:
    return f"{number(round(years * 12))} months" if years < 2 else f"{number(round(years, 1))} years"


def _made_of(comparison: JsonObject, figures: JsonObject, names: Names) -> str:
    """What owning consists of."""
    if comparison.get("already_owned"):
        return "The hardware is there already, so owning costs only its running."
    of = {entry["name"]: entry["usd"] for entry in comparison["entries"] if entry["side"] == "own"}
    bought = figures.get("purchase_usd", {}).get("value", of.get("purchase"))
    if not bought:
        return ""
    running = sum(value for name, value in of.items() if name not in {"purchase", "resale"})
    as_card = f" as {names.gpu(comparison['owned_as'])}" if comparison.get("owned_as") else ""
    return (
        f"Owning is {usd(bought)} to buy{as_card}, less {usd(-of.get('resale', 0.0))} of resale value, plus "
        f"{usd(running)} for capital, power and upkeep."
    )


def hour_of_work(comparison: JsonObject) -> str:
    """``$0.37 / 30 % busy = $1.23``: what owning costs for each hour that bought hardware works; else nothing."""
    hour, share, work = (comparison.get(name) for name in ("own_usd_per_hour", "busy_share", "own_usd_per_busy_hour"))
    if comparison.get("already_owned") or not hour or not work or not share or share >= 1:
        return ""
    return f"{usd(hour)} / {percent(100 * share)} busy = {usd(work)}"


def _by_the_hour(comparison: JsonObject) -> str:
    """What an hour of owning costs, compared with an hour of renting, which is paid only while there is work."""
    work, rent = hour_of_work(comparison), comparison.get("rent_usd_per_hour")
    if not work or rent is None or comparison.get("rent_is_stated_bill"):
        return ""
    return f"An hour of work comes to {work} owned, idle hours included, and to {usd(rent)} rented, at today's prices."


def _how_clear(comparison: JsonObject) -> str:
    ratio = comparison["ratio"]
    if ratio is None:
        return ""
    words = f"Owning costs {ratio:.2f} x renting"
    limit = number(comparison.get("clear_ratio", 1.3))
    if comparison["clear"]:
        return f"{words}, which is clear (from {limit} x on)."
    return f"{words}, which is too close to decide by itself (clear from {limit} x on)."


def _threshold(entry: JsonObject, names: Names) -> Item:
    fact = names.fact(entry["fact"])
    here = f"{fact[:1].upper()}{fact[1:]} is {number(entry['value'])} here"
    says = f"{names.source(entry['source'])}: {entry['limit']}. {here}, so {_SAYS[entry['says']]}"
    agrees = entry.get("agrees")
    if agrees is not None:
        says += f", which {'agrees' if agrees else 'does not agree'} with the comparison"
    if not entry.get("scope"):
        return Item(f"{says}.")
    within = "" if entry.get("in_scope", True) else ", which this is not, so it does not decide"
    return Item(f"{says}.", (f"Drawn for {entry['scope']}{within}.",))


def flip_sentence(flip: JsonObject, comparison: JsonObject | None, names: Names) -> str:
    """What would turn the verdict."""
    form = usd if "usd" in flip["fact"].split("_") else percent if flip["fact"].endswith("_pct") else number
    way, needed = {"rent": "Renting", "own": "Owning"}[flip["verdict"]], form(flip["needed"])
    if flip["now"] is None:
        return f"{way} would cost less if the {names.fact(flip['fact'])}, which is not stated, were above {needed}."
    now = form(flip["now"])
    side = "below" if flip["needed"] < flip["now"] else "above"
    clearly = "clearly " if comparison and comparison["says"] == "even" else ""
    return f"{way} would {clearly}cost less if the {names.fact(flip['fact'])} were {side} {needed} instead of {now}."
