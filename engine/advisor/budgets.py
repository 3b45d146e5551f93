"""Fallbacks where no plan qualifies: the lowest price of any provider, renting, then unrequested accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from whichgpu.engine.advisor.outcome import PlanRound
from whichgpu.engine.advisor.survey import SOURCE
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import RENTED_INSTEAD, PlanMaker
from whichgpu.engine.rules import FactCandidate, ResolvedFact, ResolvedFacts


BUDGETS = frozenset({"budget_usd_per_hour", "budget_usd_per_month", "budget_usd_total", "upfront_cost_usd"})
#: The fact by which plans are priced at what their cheapest provider asks.
LOWEST_PRICES = "lowest_prices"
#: The fact that keeps rules from rejecting what they reject only since no one asked for it.
NOTHING_ELSE_FITS = "nothing_else_fits"
#: Places whose work can be done on machines that are rented; what runs in the field runs there.
_BESIDE_RENT = ("datacenter", "workstation")
_SAYS = {
    LOWEST_PRICES: "whether a stated budget is kept at the price of the cheapest provider alone",
    RENTED_INSTEAD: "whether a stated budget is kept by what is rented, and by nothing that is bought",
    NOTHING_ELSE_FITS: "whether nothing but what was not asked for qualifies",
}

#: The plans of these facts, judged, and their maker; by a maker that is there already, if one is given.
Make = Callable[..., tuple[PlanMaker, PlanRound]]


class JudgedPlans(NamedTuple):
    """Resolved facts with the plans that were made and judged on them."""

    intake: ResolvedFacts
    maker: PlanMaker
    found: PlanRound


def with_last_resorts(intake: ResolvedFacts, make: Make, maker: PlanMaker | None = None) -> JudgedPlans:
    """The facts and plans of a decision; where nothing else qualifies, with what no one asked for, which is warned of.

    Args:
        intake: the workload's facts.
        make: judges the plans of such facts.
        maker: of plans at the usual prices.
    """
    usual = within_budgets(intake, make, maker)
    if usual.found.judged or not _rejected_only_by(usual.found, frozenset({NOTHING_ELSE_FITS})):
        return usual
    wider = _with(intake, (NOTHING_ELSE_FITS,))
    again = JudgedPlans(wider, *make(wider))
    return again if again.found.judged else usual


def within_budgets(intake: ResolvedFacts, make: Make, maker: PlanMaker | None = None) -> JudgedPlans:
    """The facts and plans of a decision; where only so a stated budget is kept, at the lowest prices, or rented.

    What the cheapest provider asks can be had, but from that provider alone; and machines can be rented for work at a
    place of one's own, where no one said that they are to be bought. Rules warn of both.

    Args:
        intake: the workload's facts.
        make: judges the plans of such facts.
        maker: of plans at the usual prices.
    """
    usual = JudgedPlans(intake, *make(intake, maker))
    if usual.found.judged or not _money_alone_is_short(usual.found, intake):
        return usual
    ways: list[tuple[str, ...]] = [(LOWEST_PRICES,)]
    if _could_be_rented(intake.facts):
        ways += [(RENTED_INSTEAD,), (RENTED_INSTEAD, LOWEST_PRICES)]
    for names in ways:
        cheap = _with(intake, names)
        again = JudgedPlans(cheap, *make(cheap))
        if again.found.judged:
            return again
    return usual


def _with(intake: ResolvedFacts, names: tuple[str, ...]) -> ResolvedFacts:
    """The facts with these set to true: without them no plan qualifies."""
    stated = tuple(sorted(BUDGETS & intake.facts.keys()))
    facts, resolved = dict(intake.facts), dict(intake.resolved)
    for name in names:
        candidate = FactCandidate("computed", f"survey.{name}", True, stated, _SAYS[name], (SOURCE,))
        facts[name], resolved[name] = True, ResolvedFact(name, candidate)
    return replace(intake, facts=facts, resolved=resolved)


def _could_be_rented(facts: Facts) -> bool:
    """Whether plans were priced as purchases for the place alone, and others' machines can do the work.

    What a service may cost in all is said of a purchase: rent has no end.
    """
    if facts.get("serving") is True and BUDGETS & facts.keys() == {"budget_usd_total"}:
        return False
    return facts.get("deployment_site") in _BESIDE_RENT and "procurement_wish" not in facts


def _money_alone_is_short(found: PlanRound, intake: ResolvedFacts) -> bool:
    """Whether some plan is rejected for what it costs and for nothing else."""
    return bool(BUDGETS & intake.facts.keys()) and _rejected_only_by(found, BUDGETS)


def _rejected_only_by(found: PlanRound, facts: frozenset[str]) -> bool:
    """Whether some plan is rejected by rules of which each reads one of these facts, and by no other."""
    return any(rules and all(rule.reads & facts for rule in rules) for rules in found.rejected_by)
