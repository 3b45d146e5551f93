"""The shapes that machines are rented in: whether one covers a plan, how many of them it takes, and at what price."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from whichgpu.engine.catalogue import Offer
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.model import Quote


#: How an offer is paid: by the hour, by the hour while no one else wants it, or for every hour of so many months.
Terms = Literal["firm", "spot", 12, 36]
COMMITMENTS: tuple[Literal[12, 36], ...] = (12, 36)


class Need(Struct, frozen=True):
    """What a plan asks of the machines that it is rented on."""

    count: int
    together: int  # GPUs that must share one machine
    linked: bool  # all of them work as one, over several machines where one does not hold them


class MachineShape(Struct, frozen=True):
    """One size of machine of a provider at its lowest price, with all that decides whether it covers a plan."""

    offer: Offer
    usd_per_hour: float
    provider: str
    provider_class: str  # as it ranks
    single: bool  # never more than one GPU works as one
    by_the_chip: bool  # rented in any number
    listed_per_gpu: bool
    joined_from: int | None  # GPUs of a machine that the provider joins to others; None where it joins none

    @property
    def joins(self) -> bool:
        """Whether the provider joins such machines to others."""
        return self.joined_from is not None and self.offer.count >= self.joined_from

    def quote(self, need: Need) -> Quote | None:
        """The offer taken often enough to hold the plan, or None where its machine does not hold ``together`` GPUs."""
        size = self.offer.count
        if self.by_the_chip:
            machines = math.ceil(need.count / size)
            if not self._within_quota(machines * size):
                return None
            price = machines * self.usd_per_hour
            return Quote(self.offer, 1 if need.linked else math.ceil(need.count / need.together), price)
        if size < need.together or (self.single and need.together > 1):
            return None
        return self._machines(need, size, 1)

    def scaled(self, need: Need) -> Quote | None:
        """A machine grown to hold ``together`` GPUs, where the provider lists its price per GPU."""
        size = self.offer.count
        if self.single or not self.listed_per_gpu or size >= need.together:
            return None
        times = math.ceil(need.together / size)
        return self._machines(need, size * times, times)

    def _machines(self, need: Need, size: int, times: int) -> Quote | None:
        """So many machines of ``size`` GPUs, each at ``times`` the price of the offer."""
        if need.linked:
            instances = math.ceil(need.count / size)
            if instances > 1 and (self.joined_from is None or size < self.joined_from):
                return None
        else:  # Replicas that do not talk to each other: as many in each machine as it holds whole.
            instances = math.ceil(math.ceil(need.count / need.together) / (size // need.together))
        if not self._within_quota(instances * size):
            return None
        idle = 1 - need.count / (instances * size)
        return Quote(self.offer, instances, instances * times * self.usd_per_hour, idle)

    def _within_quota(self, gpus: int) -> bool:
        return self.offer.quota_gpus is None or gpus <= self.offer.quota_gpus


def shapes_of(offers: Iterable[Offer], terms: Terms, constants: EconomicsConstants) -> tuple[MachineShape, ...]:
    """The shapes that these offers come to on such terms: of each kind of a provider's machines only the cheapest."""
    special = constants.lesser_shapes.instances.keys() | constants.per_gpu_list_price.instances
    lowest: dict[tuple[object, ...], tuple[float, Offer]] = {}
    for offer in offers:
        price = price_on(offer, terms)
        if price is None:
            continue
        instance = offer.instance if offer.instance in special else None
        key = (offer.provider, offer.provider_class, offer.count, instance, offer.own, offer.quota_gpus)
        other = lowest.get(key)
        if other is None or price < other[0] or (price == other[0] and offer_rank(offer) < offer_rank(other[1])):
            lowest[key] = (price, offer)
    return tuple(_shape(offer, price, constants) for price, offer in lowest.values())


def price_on(offer: Offer, terms: Terms) -> float | None:
    """The price of the whole machine per hour on such terms; None where it is not to be had on them."""
    if terms == "firm":
        return None if offer.spot_only else offer.usd_per_hour
    if terms == "spot":
        return offer.spot_usd_per_hour
    return offer.one_year_usd_per_hour if terms == 12 else offer.three_years_usd_per_hour


def _shape(offer: Offer, price: float, constants: EconomicsConstants) -> MachineShape:
    lesser, listed = constants.lesser_shapes.instances, constants.per_gpu_list_price
    return MachineShape(
        offer=offer,
        usd_per_hour=price,
        provider=provider_id(offer.provider, constants),
        provider_class=lesser.get(offer.instance or "", offer.provider_class),
        single=offer.instance in lesser,
        by_the_chip=offer.instance in listed.instances,
        listed_per_gpu=offer.provider_class in listed.classes,
        joined_from=constants.clusters.least_gpus if offer.provider in constants.clusters.providers else None,
    )


def offer_rank(offer: Offer) -> tuple[float, str, str, str, str, int]:
    """An order over offers by price that does not depend on how they are listed."""
    name, place = offer.instance or "", offer.region or ""
    return (offer.usd_per_hour, offer.provider, name, place, offer.provider_class, offer.count)


def provider_id(name: str, constants: EconomicsConstants) -> str:
    """The one name of a provider, whatever it was called."""
    word = name.casefold().replace("_", "-").replace(" ", "-")
    return constants.providers_also_called.get(word, word)
