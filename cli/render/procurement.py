"""Rent or buy: the verdict, its ground and the thresholds that it was held against."""

from __future__ import annotations

from typing import Any

from cli.render.blocks import Block
from cli.render.blocks import Bullets
from cli.render.blocks import Heading
from cli.render.blocks import Item
from cli.render.blocks import Paragraph
from cli.render.figures import joined
from cli.render.figures import number
from cli.render.figures import usd
from cli.render.names import Names
from cli.render.reasons import origin


JsonObject = dict[str, Any]

_VERDICTS = {
    "rent": "Rent.",
    "buy": "Buy.",
    "hybrid": "Own the base load and rent the peaks.",
    "undecided": "Open: not enough is known to say rent or buy.",
}


_SAYS = {
    "rent": "it says rent",
    "own": "it says own",
    "undecided": "it leaves it open",
    "unknown": "it cannot be applied",
}


def procurement_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """The verdict with its ground, the thresholds of the sources, and what would turn it."""
    procurement = decision["procurement"]
    blocks: list[Block] = [Heading("Rent or buy"), Paragraph(procurement_sentence(decision))]
    says = [_reckoned(decision["figures"]), _flip(procurement["flip"]) if procurement.get("flip") else None]
    if reckoned := " ".join(sentence for sentence in says if sentence):
        blocks.append(Paragraph(reckoned))
    known = [entry for entry in procurement["thresholds"] if entry["value"] is not None]
    if known:
        items = tuple(Item(_threshold(entry, names)) for entry in known)
        blocks += [Paragraph("Rules of thumb of the sources, applied to this case:"), Bullets(items)]
    lacking = sorted({entry["fact"] for entry in procurement["thresholds"] if entry["value"] is None})
    if lacking:
        blocks.append(Paragraph(f"Further rules of thumb would apply if this were known: {joined(lacking)}."))
    where = origin(", ".join(procurement.get("rules") or ()) or None, tuple(procurement.get("sources") or ()), names)
    return [*blocks, Paragraph(f"By {where}.", "faint")] if where else blocks


def procurement_sentence(decision: JsonObject) -> str:
    """``Rent. Because ...``; owning means keeping where the hardware is there already."""
    procurement, plan = decision["procurement"], decision["recommendation"]
    kept = plan is not None and plan["cost"]["origin"] == "owned" and procurement["verdict"] == "buy"
    verdict = "Keep what you have." if kept else _VERDICTS[procurement["verdict"]]
    ground = procurement["because"].strip().rstrip(".")
    return f"{verdict} {ground[:1].upper()}{ground[1:]}." if ground else verdict


def _reckoned(figures: JsonObject) -> str | None:
    """What renting and owning this plan come to over the horizon, and when a purchase is earned back."""
    rent, own = (figures.get(name, {}).get("value") for name in ("lifetime_rent_usd", "lifetime_cost_usd"))
    if rent is None or own is None:
        return None
    a_month, purchase = figures["monthly_rent_usd"]["value"], figures["purchase_usd"]["value"]
    says = (
        f"Reckoned for this plan over its horizon: renting comes to {usd(rent)} ({usd(a_month)} a month), "
        f"owning to {usd(own)}"
    )
    if not purchase:
        return f"{says} for its running."
    months = figures.get("breakeven_months", {}).get("value")
    earned = f"is earned back after {number(round(months))} months" if months is not None else "is never earned back"
    return f"{says}, {usd(purchase)} of it to buy. The purchase {earned}."


def _threshold(entry: JsonObject, names: Names) -> str:
    here = f"{entry['fact']} is {number(entry['value'])} here"
    return f"{names.source(entry['source'])}: {entry['limit']}. {here}, so {_SAYS[entry['says']]}."


def _flip(flip: JsonObject) -> str:
    now, needed = number(flip["now"]), number(flip["needed"])
    return f"The reckoning would turn to {flip['verdict']} if {flip['fact']} were {needed} instead of {now}."
