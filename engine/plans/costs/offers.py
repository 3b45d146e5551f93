"""What a plan would be rented for: the median of the lowest offers that cover it, in the first class that has one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from datetime import date
from functools import cached_property
from itertools import repeat

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, Knowledge, Offer
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.model import Commitment, Quote, Rental
from whichgpu.engine.plans.costs.rental_table import RentalTable
from whichgpu.engine.plans.costs.rental_wishes import Wishes, offers_allowed
from whichgpu.engine.plans.costs.shapes import COMMITMENTS, MachineShape, Need, Terms, offer_rank, shapes_of
from whichgpu.engine.sizing import Bools, Ints


_INDEXES: dict[tuple[str, int], OfferIndex] = {}
_KEPT = 8

#: GPU, count, how many together, whether linked, whether they may be taken away.
_Asked = tuple[str, int, int, bool, bool]
#: A shape that covers the plan, and its quote.
_Found = tuple[MachineShape, Quote]
#: Classes of provider, the preferred first; those of one tier compete.
Tiers = tuple[tuple[str, ...], ...]


class OfferIndex:
    """Offers by the GPU (or family) they name. What is computed of them is remembered, by what it depends on."""

    def __init__(self, offers: Iterable[Offer], constants: EconomicsConstants, wishes: Wishes | None = None) -> None:
        """Index offers once at load. Fractions of a GPU and offers without a price are left out.

        Args:
            offers: of all providers, or those that the wishes allow.
            constants: of ``economics.yaml``.
            wishes: by which the offers were narrowed.
        """
        self.offers = tuple(offer for offer in offers if offer.count >= 1 and offer.usd_per_hour > 0)
        self.constants = constants
        self._wishes = wishes or Wishes()
        self._by_gpu: dict[str, list[Offer]] = {}
        for offer in self.offers:
            self._by_gpu.setdefault(offer.gpu, []).append(offer)
        self._shapes: dict[tuple[str, Terms], tuple[MachineShape, ...]] = {}
        self._numbers: dict[_Asked, int] = {}
        self.rentals = RentalTable()
        self._narrowed: dict[tuple[tuple[str, ...], tuple[str, ...], bool], OfferIndex] = {}

    def rental(
        self, gpu: Gpu, count: int, together: int, *, linked: bool | None = None, interruptible: bool = False
    ) -> Rental | None:
        """What it costs to rent ``count`` of a GPU; None where no provider rents them out like that.

        Args:
            gpu: the accelerator.
            count: how many the plan uses; what else a machine holds is paid too.
            together: how many must share one machine; no more than the GPU's node has.
            linked: whether all of them work as one over several machines, which only some providers join; else they are
                replicas of ``together`` GPUs that may stand apart. By default linked where whole nodes are asked for.
            interruptible: whether marketplaces compete with firm providers.
        """
        if linked is None:
            linked = together >= gpu.node_gpus > 1 and count > together
        return self.rentals.rentals[self._number(gpu, (gpu.id, count, together, linked, interruptible))]

    def traced(self, constants: EconomicsConstants) -> OfferIndex:
        """The same index with constants that are traced; what it knows of rentals is what it knew before."""
        found = copy(self)
        found.constants = constants
        return found

    def rental_numbers(
        self, gpus: Sequence[Gpu], counts: Ints, together: Ints, linked: Bools, *, interruptible: bool = False
    ) -> Ints:
        """``rental`` of many plans, each as its number in ``rentals``."""
        whole = (np.asarray(column, np.int64).tolist() for column in (counts, together))
        ids = [gpu.id for gpu in gpus]
        asked = [*zip(ids, *whole, linked.tolist(), repeat(interruptible, len(ids)), strict=True)]
        known = map(self._numbers.get, asked)
        found = [
            self._number(gpu, each) if number is None else number
            for gpu, each, number in zip(gpus, asked, known, strict=True)
        ]
        return np.array(found, np.int64)

    def _number(self, gpu: Gpu, asked: _Asked) -> int:
        """The number of what was asked for; asking for more together than a machine or the plan has is no more."""
        number = self._numbers.get(asked)
        if number is None:
            _, count, together, linked, interruptible = asked
            need = Need(count, max(1, min(together, count, gpu.node_gpus)), linked)
            same = (gpu.id, count, need.together, linked, interruptible)
            if same not in self._numbers:
                rental = _rental(self, gpu, need, "interruptible" if interruptible else "firm")
                self._numbers[same] = self.rentals.add(rental)
            number = self._numbers[asked] = self._numbers[same]
        return number

    def shapes(self, gpu: Gpu, terms: Terms) -> tuple[MachineShape, ...]:
        """The shapes that a GPU is rented in on such terms; an offer of its family covers every form of it."""
        key = (gpu.id, terms)
        if key not in self._shapes:
            own = self._by_gpu.get(gpu.id, ())
            family = self._by_gpu.get(gpu.family, ()) if gpu.family != gpu.id else ()
            self._shapes[key] = shapes_of((*own, *family), terms, self.constants)
        return self._shapes[key]

    def narrowed(self, wishes: Wishes) -> OfferIndex:
        """The index without the offers that the wishes forbid, by the prices that they ask for; else the same."""
        if not (wishes.narrow_offers or wishes.lowest):
            return self
        key = wishes.of_an_index
        if key not in self._narrowed:
            if len(self._narrowed) >= _KEPT:
                self._narrowed.clear()
            constants = self.constants
            if wishes.lowest:
                constants = replace(constants, price_choice=replace(constants.price_choice, lowest_providers=1))
            self._narrowed[key] = OfferIndex(offers_allowed(self.offers, wishes, self.constants), constants, wishes)
        return self._narrowed[key]

    @cached_property
    def parts(self) -> tuple[OfferIndex, ...]:
        """The offers of each provider or class, and of each region, that is allowed beside others."""
        return tuple(
            OfferIndex(offers_allowed(self.offers, wishes, self.constants), self.constants)
            for wishes in self._wishes.parts()
        )


def offer_index(knowledge: Knowledge, constants: EconomicsConstants) -> OfferIndex:
    """The index over all of the knowledge's offers, made once for each state of the prices."""
    key = (knowledge.digest, id(constants))
    if key not in _INDEXES:
        if len(_INDEXES) >= _KEPT:
            _INDEXES.clear()
        _INDEXES[key] = OfferIndex(knowledge.all_offers, constants)
    return _INDEXES[key]


def price_age_days(offer: Offer, decided_at: date) -> int:
    """Days between the day the price was seen and the decision."""
    return (decided_at - date.fromisoformat(offer.as_of)).days


def _rental(index: OfferIndex, gpu: Gpu, need: Need, preference: str) -> Rental | None:
    """The rental at the market's price, or at that of some of its providers where that is lower.

    Those are one allowed provider, class or region, and the providers that join machines: a median rises when one more
    provider is asked that wants more, and what is had of a few can still be had. So a whole machine costs no more alone
    than as one of two.
    """
    whole = _rental_of(index, gpu, need, preference)
    if whole is None:
        return None
    every = [whole, *(found for part in index.parts if (found := _rental_of(part, gpu, need, preference)))]
    if whole.offer.count >= gpu.node_gpus:  # A whole machine is paid.
        joined = _rental_of(index, gpu, need, preference, joining=True)
        every += [joined] if joined and joined.quotes > 1 else []  # What one of them asks is no market.
    best = min(every, key=lambda found: (not found.offer.own, found.assumed, found.usd_per_hour))
    if best is whole:
        return whole
    providers = {shape.provider for shape, _ in _covering(index.shapes(gpu, "firm"), need)}
    return replace(
        best,
        quotes=max(1, len(providers)) if best.quotes == 1 else best.quotes,
        spot_usd_per_hour=whole.spot_usd_per_hour,
        committed=whole.committed,
    )


def _rental_of(index: OfferIndex, gpu: Gpu, need: Need, preference: str, *, joining: bool = False) -> Rental | None:
    """The rental at the market's price; ``joining``: among the machines that their providers join to others."""
    firm, constants = index.shapes(gpu, "firm"), index.constants
    if joining:
        firm = tuple(shape for shape in firm if shape.joins)
    tiers = constants.class_tiers[preference].tiers
    nearest = None
    quotes = _market(_covering(firm, need), tiers, constants)
    if not quotes:
        # No list has a machine that large, so that smaller ones stand in for it.
        scaled = [(shape, quote) for shape in firm if (quote := shape.scaled(need))]
        quotes = _market(scaled, tiers, constants)
        nearest = min((quote.offer for _, quote in scaled), key=_by_size, default=None)
    if not quotes:
        return None
    compared = quotes[: constants.price_choice.lowest_providers]
    price = _median(compared)
    chosen = next(quote for quote in compared if quote.usd_per_hour >= price)
    return Rental(
        offer=chosen.offer,
        instances=chosen.instances,
        usd_per_hour=price,
        compared=compared,
        quotes=len(quotes),
        assumed=nearest is not None,
        nearest_offer=nearest,
        spot_usd_per_hour=_spot(index, gpu, need),
        committed=tuple(_committed(index, gpu, need, tiers)),
    )


def _market(found: Sequence[_Found], tiers: Tiers, constants: EconomicsConstants) -> tuple[Quote, ...]:
    """One quote per provider of the first class that has one, the lowest first.

    Providers with a machine that the plan fills make the market, each at its cheapest way to cover the plan; those that
    have only larger machines count where that lowers the price, or what it starts from. Offers that the user brought go
    before all others.
    """
    filled = [each for each in found if each[1].idle_share < constants.price_choice.idle_share_below]
    if own := [each for each in filled if each[1].offer.own]:
        return _of_first_tier(own, tiers)
    every, lowest = _of_first_tier(found, tiers), constants.price_choice.lowest_providers
    tier = next((tier for tier in tiers if any(shape.provider_class in tier for shape, _ in filled)), None)
    if tier is None or len(filled) == len(found):
        return every
    making = {shape.provider for shape, _ in filled if shape.provider_class in tier}
    market = _of_first_tier([each for each in found if each[0].provider in making], (tier,))
    price, other = _median(market[:lowest]), _median(every[:lowest])
    return market if (price, market[0].usd_per_hour) <= (other, every[0].usd_per_hour) else every


def _covering(shapes: Iterable[MachineShape], need: Need, idle_share_below: float = 1.0) -> list[_Found]:
    found = [(shape, quote) for shape in shapes if (quote := shape.quote(need))]
    return [each for each in found if each[1].idle_share < idle_share_below]


def _of_first_tier(found: Sequence[_Found], tiers: Tiers) -> tuple[Quote, ...]:
    for tier in tiers:
        best: dict[str, Quote] = {}
        for shape, quote in found:
            if shape.provider_class in tier:
                other = best.get(shape.provider)
                if other is None or _by_price(quote) < _by_price(other):
                    best[shape.provider] = quote
        if best:
            return tuple(sorted(best.values(), key=_by_price))
    return ()


def _median(quotes: Sequence[Quote]) -> float:
    prices = sorted(quote.usd_per_hour for quote in quotes)
    return (prices[(len(prices) - 1) // 2] + prices[len(prices) // 2]) / 2


def _spot(index: OfferIndex, gpu: Gpu, need: Need) -> float | None:
    """The price of machines of that size where they may be taken away: marketplaces compete then."""
    choice = index.constants.price_choice
    found = _covering(index.shapes(gpu, "spot"), need, choice.idle_share_below)
    quotes = _of_first_tier(found, index.constants.class_tiers["interruptible"].tiers)
    return _median(quotes[: choice.lowest_providers]) if quotes else None


def _committed(index: OfferIndex, gpu: Gpu, need: Need, tiers: Tiers) -> Iterator[Commitment]:
    """For each term the cheapest provider that publishes a price for machines of that size."""
    for months in COMMITMENTS:
        found = _covering(index.shapes(gpu, months), need, index.constants.price_choice.idle_share_below)
        if quotes := _of_first_tier(found, tiers):
            yield Commitment(months, quotes[0].usd_per_hour, quotes[0].offer, quotes[0].instances)


def _by_price(quote: Quote) -> tuple[object, ...]:
    return (quote.usd_per_hour, quote.instances, offer_rank(quote.offer))


def _by_size(offer: Offer) -> tuple[object, ...]:
    """The largest machine first."""
    return (-offer.count, offer_rank(offer))
