"""What a plan costs, and the offers that it could be rented from."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.catalogue import Offer


class Quote(Struct, frozen=True):
    """One provider's cheapest way to cover a plan: an offer taken ``instances`` times."""

    offer: Offer
    instances: int
    usd_per_hour: float  # of all instances
    idle_share: float = 0.0  # of the GPUs that are paid for


class Commitment(Struct, frozen=True):
    """The lowest price for the same GPUs by someone who pays for every hour of a term."""

    term_months: int
    usd_per_hour: float  # of all instances
    offer: Offer
    instances: int

    @property
    def source(self) -> str:
        """Where the committed price is published."""
        return self.offer.committed_source or self.offer.source


class Rental(Struct, frozen=True):
    """What renting so many of a GPU costs: the median of the lowest quotes, and the offer that stands for it."""

    offer: Offer  # the quote at the median, or the next one above it
    instances: int
    usd_per_hour: float
    compared: tuple[Quote, ...]  # the quotes that the median was taken of, the lowest first
    quotes: int  # providers that cover the plan
    assumed: bool = False  # no offer has as many GPUs in one machine: scaled from smaller ones
    nearest_offer: Offer | None = None  # where assumed: the largest machine that is offered
    spot_usd_per_hour: float | None = None
    committed: tuple[Commitment, ...] = ()

    @property
    def lowest(self) -> Quote:
        """The cheapest provider."""
        return self.compared[0]


class Cost(Struct, frozen=True):
    """What the plan costs to rent or, where owned, to power; nothing where no offer covers it."""

    offer: Offer | None = None
    usd_per_hour: float | None = None
    usd_per_month: float | None = None
    usd_per_run: float | None = None
    usd_per_1m_tokens: float | None = None
    usd_per_1k_samples: float | None = None  # images, clips or texts, while serving
    origin: str = "none"  # offer, quote, owned, purchase, none
    gpus_bought: int | None = None  # where the plan is bought: how many, on whole boards
    rented_from: Offer | None = None  # where the plan is owned or bought: what the same GPUs would be rented from
    rented_usd_per_hour: float | None = None
    # What is known of renting it, whether or not that is the price:
    lowest_usd_per_hour: float | None = None  # by the cheapest provider
    lowest_offer: Offer | None = None
    quotes: int = 0  # providers that cover the plan
    compared: tuple[Quote, ...] = ()  # what the price to rent is the median of
    assumed: bool = False  # no offer has as many GPUs in one machine: scaled from smaller ones
    nearest_offer: Offer | None = None  # where assumed: the largest machine that is offered
    instances: int | None = None  # machines
    spot_usd_per_hour: float | None = None  # where they may be taken away at any time
    committed: tuple[Commitment, ...] = ()  # the lowest price for each term
