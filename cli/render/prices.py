"""Offers as blocks."""

from __future__ import annotations

from collections.abc import Sequence

from whichgpu.cli.pricefeeds import FoundPrices
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import count_of, usd
from whichgpu.engine.catalogue import Offer


_HEADERS = ("GPU", "Count", "Per GPU", "Whole", "Spot", "Provider", "Region")
#: Of what few lists say, the columns are shown where one of the offers has them.
_SELDOM = {"quota_gpus": "Quota", "lead_time_days": "Days to wait"}


def offer_list(offers: Sequence[Offer], most: int | None = None) -> list[Block]:
    """Offers in one table, in the order given, a line for each shape of a provider, with its first region.

    Args:
        offers: sorted.
        most: lines that are shown; None shows all.
    """
    if not offers:
        return [Heading("Prices", 1), Paragraph("No offer in the snapshot fits.")]
    shapes: dict[tuple[object, ...], list[Offer]] = {}
    for offer in offers:
        shapes.setdefault((offer.gpu, offer.count, offer.provider, offer.instance, offer.spot_only), []).append(offer)
    seldom = [name for name in _SELDOM if any(getattr(offer, name) is not None for offer in offers)]
    rows = tuple(_row(of_shape, seldom) for of_shape in list(shapes.values())[:most])
    headers = (*_HEADERS, *(_SELDOM[name] for name in seldom))
    right = frozenset({1, 2, 3, 4, *range(len(_HEADERS), len(headers))})
    oldest, newest = min(offer.as_of for offer in offers), max(offer.as_of for offer in offers)
    lead = (
        f"{count_of(len(offers), 'offer')} of {count_of(len(shapes), 'machine')}, prices from {oldest} to {newest}, "
        "per hour and without taxes. Of machines in several regions the cheapest is shown."
    )
    blocks: list[Block] = [Heading("Prices", 1), Paragraph(lead), Table(headers, rows, right)]
    if len(shapes) > len(rows):
        more = (
            f"{len(shapes) - len(rows):,} more: narrow the list (--count, --region, --provider, --max-price) or --all."
        )
        blocks.append(Paragraph(more, "faint"))
    return blocks


def _row(of_shape: Sequence[Offer], seldom: Sequence[str]) -> tuple[str, ...]:
    offer, firm = of_shape[0], not of_shape[0].spot_only
    regions = list(dict.fromkeys(each.region for each in of_shape if each.region))
    more = f" +{len(regions) - 1}" if len(regions) > 1 else ""
    return (
        offer.gpu,
        str(offer.count),
        usd(offer.usd_per_hour / offer.count) if firm else "",
        usd(offer.usd_per_hour) if firm else "",
        usd(offer.spot_usd_per_hour) if offer.spot_usd_per_hour is not None else "",
        " ".join(part for part in (offer.provider, _instance(offer)) if part),
        f"{regions[0]}{more}" if regions else "",
        *("" if (value := getattr(offer, name)) is None else f"{value:g}" for name in seldom),
    )


def _instance(offer: Offer) -> str:
    """The machine's name, where it says more than the provider's and the GPU's do."""
    name = offer.instance or ""
    return "" if name in {offer.provider_class, offer.provider, offer.gpu} else name


def updated_blocks(offers: Sequence[Offer], found: FoundPrices) -> list[Block]:
    """What an update brought, and what it left out."""
    providers = sorted({offer.provider for offer in offers})
    newest = max(offer.as_of for offer in offers)
    lead = f"{count_of(len(offers), 'offer')} of {count_of(len(providers), 'provider')} brought, as of {newest}: "
    items = []
    if found.others:
        items.append(Item(f"no list here knows {', '.join(sorted(found.others))}, taken as smaller clouds"))
    if found.unknown:
        names = ", ".join(sorted(found.unknown, key=lambda name: (-found.unknown[name], name))[:8])
        rows = count_of(sum(found.unknown.values()), "row")
        items.append(Item(f"left out, since the catalogue has no such GPU: {rows} ({names})"))
    blocks: list[Block] = [Paragraph(lead + ", ".join(providers) + ".")]
    return [*blocks, Bullets(tuple(items))] if items else blocks
