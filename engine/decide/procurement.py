"""Rent against own for the chosen plan: the figures as facts that advise rules read, and the guides' thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from datetime import date

from engine.economics.constants import load_economics
from engine.economics.ledger import ledger_of
from engine.economics.offers import price_age_days
from engine.economics.power import CARD_SEGMENTS
from engine.economics.power import DESK_CARDS
from engine.economics.procurement import Flip
from engine.economics.procurement import nearest_flip
from engine.economics.procurement import procurement_facts
from engine.economics.procurement import procurement_figures
from engine.economics.thresholds import Threshold
from engine.economics.thresholds import guide_thresholds
from engine.economics.thresholds import thresholds_disagree
from engine.plans.model import Plan
from engine.settle.model import Claim
from engine.sizing.model import Figure
from engine.values import Facts


@dataclass(frozen=True, slots=True)
class Procurement:
    """What was reckoned of renting and owning."""

    figures: dict[str, Figure] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    flip: Flip | None = None
    claims: dict[str, list[Claim]] = field(default_factory=dict)


def reckon(facts: Facts, plan: Plan | None, today: date | None = None) -> Procurement:
    """Reckon renting against owning for a plan, or for what the facts alone say where there is none.

    ``today`` tells how old the plan's price is; without it nothing is said of that.
    """
    constants = load_economics()
    figures = procurement_figures(facts, plan, constants)
    thresholds = guide_thresholds(facts, ledger_of(facts, plan, constants), constants)
    values = procurement_facts(figures)
    claims = {
        name: [
            Claim(
                "computed",
                f"economics.{name}",
                value,
                tuple(sorted(figures[name].inputs)),
                figures[name].formula,
                (figures[name].source,),
            )
        ]
        for name, value in values.items()
    }
    claims["thresholds_disagree"] = [
        Claim(
            "computed",
            "economics.thresholds",
            thresholds_disagree(thresholds),
            (),
            "the guides' thresholds compared",
            tuple(dict.fromkeys(threshold.source for threshold in thresholds)),
        )
    ]
    if plan is not None:
        card = plan.gpu.segment in CARD_SEGMENTS and plan.count <= DESK_CARDS
        words = f"{plan.count} x {plan.gpu.segment}; up to {DESK_CARDS} of {' or '.join(CARD_SEGMENTS)} go under a desk"
        claims["desk_card"] = [Claim("computed", "economics.desk_card", card, (), words, ("whichgpu-judgement",))]
    if plan is not None and "gpus_owned" in facts:
        owned = plan.cost.origin == "owned"
        words = "as many of the plan's GPU as it takes are among gpus_owned"
        claims["already_owned"] = [Claim("computed", "economics.already_owned", owned, ("gpus_owned",), words)]
    if today is not None and plan is not None and plan.cost.offer is not None:
        age = Claim(
            "computed",
            "economics.price_age_days",
            max(0, price_age_days(plan.cost.offer, today)),
            (),
            "day of the decision - day the price was seen",
            (plan.cost.offer.source,),
        )
        claims["price_age_days"] = [age]
    return Procurement(figures, thresholds, nearest_flip(facts, plan, constants), claims)
