"""Providers and regions that a user allows and that the price list does not have."""

from __future__ import annotations

from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import nearest_words
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.rental_wishes import region_allowed
from whichgpu.engine.plans.costs.shapes import provider_id


def unoffered(names: tuple[str, ...], kind: str, knowledge: Knowledge) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names of providers or regions in which nothing is offered, each with the nearest that are.

    Args:
        names: as a user wrote them.
        kind: ``providers`` or ``regions``.
        knowledge: the offers.
    """
    constants, offers = load_economics(), knowledge.all_offers
    if kind == "providers":
        there = {provider_id(offer.provider, constants) for offer in offers} | {
            offer.provider_class for offer in offers
        }
        missing = [name for name in names if provider_id(name, constants) not in there]
        return tuple((name, nearest_words(name, sorted(there))) for name in missing)
    regions = {offer.region for offer in offers if offer.region}
    missing = [name for name in names if not any(region_allowed(each, (name,), constants) for each in regions)]
    areas = tuple(sorted(constants.areas))
    return tuple((name, nearest_words(name, (*areas, *sorted(regions))) or areas) for name in missing)
