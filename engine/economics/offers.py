"""Which offer a plan would be rented from: the cheapest that really covers it, in the first class that has one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from datetime import date

from engine.economics.constants import EconomicsConstants
from engine.knowledge import Knowledge
from engine.knowledge.model import Gpu
from engine.knowledge.model import Offer
from engine.values import Facts


_INDEXES: dict[tuple[str, int], OfferIndex] = {}
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user said about renting. Empty means no wish; allowed lists are hard limits."""

    providers_allowed: tuple[str, ...] = ()
    regions_allowed: tuple[str, ...] = ()
    interruptible: bool = False

    @property
    def narrow_offers(self) -> bool:
        """Whether some offers are ruled out."""
        return bool(self.providers_allowed or self.regions_allowed)


def wishes_from_facts(facts: Facts) -> Wishes:
    """The rental wishes among the facts."""
    return Wishes(
        providers_allowed=_words(facts, "providers_allowed"),
        regions_allowed=_words(facts, "regions_allowed"),
        interruptible=facts.get("interruptible") is True,
    )


def _words(facts: Facts, name: str) -> tuple[str, ...]:
    value = facts.get(name, ())
    return tuple(str(item) for item in value) if isinstance(value, tuple) else (str(value),)


@dataclass(frozen=True, slots=True)
class Rental:
    """An offer taken ``instances`` times. ``usd_per_hour`` is what all of them cost."""

    offer: Offer
    instances: int
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class OfferIndex:
    """Offers by the GPU (or family) they name, each list reduced to what can ever be the cheapest."""

    offers: tuple[Offer, ...]
    by_gpu: Mapping[str, tuple[Offer, ...]]
    constants: EconomicsConstants
    _memo: dict[tuple[str, int, int, bool], Rental | None] = field(default_factory=dict, compare=False, repr=False)

    def rental(self, gpu: Gpu, count: int, together: int, *, interruptible: bool = False) -> Rental | None:
        """The cheapest way to rent ``count`` of a GPU with ``together`` of them in one machine; remembered."""
        key = (gpu.id, count, together, interruptible)
        if key not in self._memo:
            self._memo[key] = _cheapest(self, gpu, count, together, interruptible)
        return self._memo[key]


def index_offers(offers: Iterable[Offer], constants: EconomicsConstants) -> OfferIndex:
    """Index offers once at load. Fractions of a GPU and offers without a price are left out."""
    kept = tuple(offer for offer in offers if offer.count >= 1 and offer.usd_per_hour > 0 and not offer.spot_only)
    # Kept apart is all that decides whether an offer covers a plan: the cheapest of each kind is enough.
    cheapest: dict[tuple[str, str, int, bool, bool, bool], Offer] = {}
    for offer in kept:
        key = (
            offer.gpu,
            offer.provider_class,
            offer.count,
            offer.provider in constants.clusters.providers,
            offer.instance in constants.lesser_shapes.instances,
            offer.instance in constants.per_gpu_list_price.instances,
        )
        if key not in cheapest or _order(offer) < _order(cheapest[key]):
            cheapest[key] = offer
    by_gpu: dict[str, list[Offer]] = {}
    for key in sorted(cheapest):
        by_gpu.setdefault(key[0], []).append(cheapest[key])
    return OfferIndex(kept, {gpu: tuple(found) for gpu, found in by_gpu.items()}, constants)


def offer_index(knowledge: Knowledge, constants: EconomicsConstants) -> OfferIndex:
    """The index over all of the knowledge's firm offers, made once for each state of the prices."""
    key = (knowledge.digest, id(constants))
    if key not in _INDEXES:
        if len(_INDEXES) >= _KEPT:
            _INDEXES.clear()
        _INDEXES[key] = index_offers(knowledge.offers, constants)
    return _INDEXES[key]


def narrowed(index: OfferIndex, wishes: Wishes) -> OfferIndex:
    """The index without the offers that the wishes forbid; the same index when they forbid none."""
    if not wishes.narrow_offers:
        return index
    constants = index.constants
    providers = {_provider(name, constants) for name in wishes.providers_allowed}
    allowed = (
        offer
        for offer in index.offers
        if (not providers or _provider(offer.provider, constants) in providers)
        and (not wishes.regions_allowed or region_allowed(offer.region, wishes.regions_allowed, constants))
    )
    return index_offers(allowed, constants)


def region_allowed(region: str | None, allowed: tuple[str, ...], constants: EconomicsConstants) -> bool:
    """Whether a provider's region lies in one that the user allows. An offer that names no region is not allowed."""
    if not region:
        return False
    name = region.casefold()
    for wish in allowed:
        word = wish.casefold().replace("_", "-").replace(" ", "-")
        if name == word or name.startswith(word + "-"):
            return True
        if any(name == part or name.startswith(part) for part in constants.areas.get(word, ())):
            return True
    return False


def cheapest_offer(
    gpu: Gpu, count: int, wishes: Wishes, index: OfferIndex, *, together: int | None = None
) -> Rental | None:
    """The cheapest offer of the preferred class that can be rented for ``count`` GPUs.

    Args:
        gpu: the accelerator.
        count: how many the plan uses; a larger machine is paid in full.
        wishes: hard limits on provider and region, and whether marketplaces may compete.
        index: the offers.
        together: how many must share one machine; by default a full node, or all of them when fewer.

    Returns:
        The rental, or None when no offer covers the plan.
    """
    share = together if together is not None else min(count, gpu.node_gpus)
    return narrowed(index, wishes).rental(gpu, count, share, interruptible=wishes.interruptible)


def stale_offers(offers: Iterable[Offer], decided_at: date, stale_after_days: float) -> tuple[Offer, ...]:
    """Offers whose price was seen longer ago than the limit, oldest first."""
    old = [offer for offer in offers if price_age_days(offer, decided_at) > stale_after_days]
    return tuple(sorted(old, key=lambda offer: (offer.as_of, *_order(offer))))


def price_age_days(offer: Offer, decided_at: date) -> int:
    """Days between the day the price was seen and the decision."""
    return (decided_at - date.fromisoformat(offer.as_of)).days


def _cheapest(index: OfferIndex, gpu: Gpu, count: int, together: int, interruptible: bool) -> Rental | None:
    candidates = index.by_gpu.get(gpu.id, ())
    if gpu.family != gpu.id:
        candidates += index.by_gpu.get(gpu.family, ())
    for tier in index.constants.class_tiers["interruptible" if interruptible else "firm"].tiers:
        rentals = [
            rental
            for offer in candidates
            if _class_of(offer, index.constants) in tier
            for rental in [_taken(offer, gpu, count, together, index.constants)]
            if rental is not None
        ]
        if rentals:
            return min(rentals, key=lambda rental: (rental.usd_per_hour, rental.instances, *_order(rental.offer)))
    return None


def _taken(offer: Offer, gpu: Gpu, count: int, together: int, constants: EconomicsConstants) -> Rental | None:
    """The offer taken often enough to hold the plan, or None where its machine cannot hold ``together`` GPUs."""
    machine = offer.count
    prices = constants.per_gpu_list_price
    single = offer.instance in constants.lesser_shapes.instances
    if single and together > 1:
        return None
    listed = offer.provider_class in prices.classes or offer.instance in prices.instances
    if listed and machine < together <= gpu.node_gpus:
        # A price per GPU: the machine grows with the order, and so does the bill.
        machine = math.ceil(together / offer.count) * offer.count
    if machine < together:
        return None
    linked_nodes = together > 1 and count > machine
    if linked_nodes and offer.provider not in constants.clusters.providers:
        return None
    instances = math.ceil(count / machine)
    units = math.ceil(count / offer.count) if listed else instances
    return Rental(offer, instances, units * offer.usd_per_hour)


def _class_of(offer: Offer, constants: EconomicsConstants) -> str:
    return constants.lesser_shapes.instances.get(offer.instance or "", offer.provider_class)


def _order(offer: Offer) -> tuple[float, str, str, str]:
    return (offer.usd_per_hour, offer.provider, offer.instance or "", offer.region or "")


def _provider(name: str, constants: EconomicsConstants) -> str:
    word = name.casefold().replace("_", "-").replace(" ", "-")
    return constants.providers_also_called.get(word, word)
