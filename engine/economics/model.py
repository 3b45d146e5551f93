"""What a plan costs."""

from __future__ import annotations

from dataclasses import dataclass

from engine.knowledge.model import Offer


@dataclass(frozen=True, slots=True)
class Cost:
    """What the plan costs to rent or, where owned, to power; nothing where no offer covers it."""

    offer: Offer | None = None
    usd_per_hour: float | None = None
    usd_per_month: float | None = None
    usd_per_run: float | None = None
    usd_per_1m_tokens: float | None = None
    usd_per_1k_samples: float | None = None  # images or clips, while serving
    origin: str = "none"  # offer, quote, owned, purchase, none
    rented_from: Offer | None = None  # where the plan is owned or bought: what the same GPUs would be rented from
    rented_usd_per_hour: float | None = None
