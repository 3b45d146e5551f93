"""Offers as blocks."""

from __future__ import annotations

from collections.abc import Sequence

from whichgpu.cli.render.blocks import Block, Heading, Paragraph, Table
from whichgpu.cli.render.figures import count_of, usd
from whichgpu.engine.catalogue import Offer


def offer_list(offers: Sequence[Offer]) -> list[Block]:
    """All offers in one table, in the order given."""
    if not offers:
        return [Heading("Prices", 1), Paragraph("No offer in the snapshot fits.")]
    oldest, newest = min(offer.as_of for offer in offers), max(offer.as_of for offer in offers)
    lead = f"{count_of(len(offers), 'offer')}, prices from {oldest} to {newest}, in US dollars per hour."
    rows = tuple(_row(offer) for offer in offers)
    headers = ("GPU", "Count", "Per GPU", "Whole", "Spot", "Provider", "Instance and region", "As of")
    return [Heading("Prices", 1), Paragraph(lead), Table(headers, rows, frozenset({1, 2, 3, 4}))]


def _row(offer: Offer) -> tuple[str, ...]:
    firm = not offer.spot_only
    return (
        offer.gpu,
        str(offer.count),
        usd(offer.usd_per_hour / offer.count) if firm else "",
        usd(offer.usd_per_hour) if firm else "",
        usd(offer.spot_usd_per_hour) if offer.spot_usd_per_hour is not None else "",
        offer.provider,
        ", ".join(part for part in (offer.instance, offer.region) if part),
        offer.as_of,
    )
