"""The same advisor with other prices of one card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from decision_laws.reading import decide
from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.catalogue import with_offers


MOST_LOADED = 8


class Prices:
    """Decides with the offers of one card multiplied; the last few such price lists stay loaded."""

    def __init__(self, advisor: Advisor) -> None:
        self.advisor = advisor
        self.changed: dict[tuple[str, float], Advisor] = {}

    def decide(self, facts: Mapping[str, Any], gpu: str, factor: float) -> dict[str, Any]:
        """The answer where every offer of the card costs ``factor`` times as much."""
        key = (gpu, factor)
        if key not in self.changed:
            while len(self.changed) >= MOST_LOADED:
                self.changed.pop(next(iter(self.changed)))
            self.changed[key] = self._with(gpu, factor)
        return decide(self.changed[key], facts)

    def _with(self, gpu: str, factor: float) -> Advisor:
        knowledge = self.advisor.knowledge
        names = {gpu, knowledge.gpus[gpu].family}
        offers = [
            replace(offer, usd_per_hour=offer.usd_per_hour * factor) if offer.gpu in names else offer
            for offer in knowledge.all_offers
        ]
        return load_advisor(knowledge=with_offers(knowledge, offers), tests=False)
