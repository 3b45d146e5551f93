"""Budgets that no plan keeps by what the market asks, and some by what its cheapest provider does."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from whichgpu.engine.advisor.outcome import PlanRound
from whichgpu.engine.advisor.survey import SOURCE
from whichgpu.engine.plans import PlanMaker
from whichgpu.engine.rules import FactCandidate, ResolvedFact, ResolvedFacts


BUDGETS = frozenset({"budget_usd_per_hour", "budget_usd_per_month", "budget_usd_total"})
#: The fact by which plans are priced at what their cheapest provider asks.
LOWEST_PRICES = "lowest_prices"

#: The plans of these facts, judged, and their maker; by a maker that is there already, if one is given.
Make = Callable[..., tuple[PlanMaker, PlanRound]]


def within_budgets(
    intake: ResolvedFacts, make: Make, maker: PlanMaker | None = None
) -> tuple[ResolvedFacts, PlanMaker, PlanRound]:
    """The facts and plans of a decision; at the lowest price of each plan where only so a stated budget is kept.

    What the cheapest provider asks can be had, but from that provider alone, which a rule warns of.

    Args:
        intake: the workload's facts.
        make: judges the plans of such facts.
        maker: of plans at the usual prices.
    """
    maker, found = make(intake, maker)
    if found.judged or not _money_alone_is_short(found, intake):
        return intake, maker, found
    stated = tuple(sorted(BUDGETS & intake.facts.keys()))
    says = "whether a stated budget is kept at the price of the cheapest provider alone"
    claim = FactCandidate("computed", "survey.lowest_prices", True, stated, says, (SOURCE,))
    fact = ResolvedFact(LOWEST_PRICES, claim)
    facts, resolved = {**intake.facts, LOWEST_PRICES: True}, {**intake.resolved, LOWEST_PRICES: fact}
    cheap = replace(intake, facts=facts, resolved=resolved)
    thrifty, again = make(cheap)
    return (cheap, thrifty, again) if again.judged else (intake, maker, found)


def _money_alone_is_short(found: PlanRound, intake: ResolvedFacts) -> bool:
    """Whether some plan is rejected for what it costs and for nothing else."""
    if not BUDGETS & intake.facts.keys():
        return False
    return any(rules and all(rule.reads & BUDGETS for rule in rules) for rules in found.rejected_by)
