"""What the user said about renting, and which offers that allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.catalogue import Offer
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.shapes import provider_id


class Wishes(Struct, frozen=True):
    """What the user said about renting. Empty means no wish; allowed lists are hard limits."""

    providers_allowed: tuple[str, ...] = ()
    regions_allowed: tuple[str, ...] = ()
    interruptible: bool = False
    lowest: bool = False  # the price is that of the cheapest provider, not the median of several

    @property
    def narrow_offers(self) -> bool:
        """Whether some offers are ruled out."""
        return bool(self.providers_allowed or self.regions_allowed)

    @property
    def of_an_index(self) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """What an index is made for."""
        return self.providers_allowed, self.regions_allowed, self.lowest

    def parts(self) -> Iterator[Wishes]:
        """Every wish for one of the allowed providers or regions alone, where several are allowed."""
        providers, regions = (
            [allowed, *((each,) for each in allowed if len(allowed) > 1)]
            for allowed in (self.providers_allowed, self.regions_allowed)
        )
        for of_providers, of_regions in product(providers, regions):
            if (of_providers, of_regions) != (self.providers_allowed, self.regions_allowed):
                yield replace(self, providers_allowed=of_providers, regions_allowed=of_regions)


def wishes_from_facts(facts: Facts) -> Wishes:
    """The rental wishes among the facts."""
    return Wishes(
        providers_allowed=_words(facts, "providers_allowed"),
        regions_allowed=_words(facts, "regions_allowed"),
        interruptible=facts.get("interruptible") is True,
        lowest=facts.get("lowest_prices") is True,
    )


def _words(facts: Facts, name: str) -> tuple[str, ...]:
    value = facts.get(name, ())
    return tuple(str(item) for item in value) if isinstance(value, tuple) else (str(value),)


def offers_allowed(offers: Iterable[Offer], wishes: Wishes, constants: EconomicsConstants) -> Iterable[Offer]:
    """The offers of the providers, classes and regions that the wishes allow."""
    providers = {provider_id(name, constants) for name in wishes.providers_allowed}
    return (
        offer
        for offer in offers
        if (not providers or {provider_id(offer.provider, constants), offer.provider_class} & providers)
        and (not wishes.regions_allowed or region_allowed(offer.region, wishes.regions_allowed, constants))
    )


def region_allowed(region: str | None, allowed: tuple[str, ...], constants: EconomicsConstants) -> bool:
    """Whether a provider's region lies in one that the user allows. An offer that names no region is not allowed."""
    if not region:
        return False
    name = region.casefold()
    for wish in allowed:
        word = wish.casefold().replace("_", "-").replace(" ", "-")
        # AWS calls London eu-west-2: what an area takes in is what its entry says.
        if name == word or name.startswith(constants.areas.get(word, (word + "-",))):
            return True
    return False
