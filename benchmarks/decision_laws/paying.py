"""Laws of money and memory: offers cover their node, verdicts follow their sums, a band past the card is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from decision_laws.counting import Laws
from decision_laws.reading import Plan, describe, kind_of_work
from whichgpu.engine.catalogue import Knowledge


CLEAR = 1.3
MOST_OF_PURCHASE = 5.0
#: Warnings that say that memory may run out.
MEMORY_WARNINGS = {"W-LOW-HEADROOM", "W-MEMORY-BAND", "W-OOM-CRASH"}


def judge_money(
    laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], knowledge: Knowledge
) -> None:
    """Count the laws of money and memory on one answer that recommends something."""
    plan, work = answer["recommendation"], kind_of_work(answer)
    _offers(laws, name, facts, plan, work, knowledge)
    for other in answer["alternatives"]:
        _offers(laws, name, facts, other, work, knowledge, where="of alternatives ")
    _verdict(laws, name, facts, answer)
    _band(laws, name, facts, plan, answer, work)


def per_node(plan: Plan) -> int:
    return math.ceil(plan["count"] / max(1, plan["nodes"]))


def covering(gpu_id: str, cards: int, facts: Mapping[str, Any], knowledge: Knowledge, *, exact: bool) -> list[Any]:
    """The firm offers that cover a node of so many cards; ``exact``: of just that size."""
    gpu = knowledge.gpus[gpu_id]
    allowed, regions = facts.get("providers_allowed"), facts.get("regions_allowed")
    return [
        offer
        for offer in knowledge.offers
        if offer.gpu in (gpu.id, gpu.family)
        and (offer.count == cards if exact else offer.count >= cards)
        and (not allowed or {offer.provider, offer.provider_class} & set(allowed))
        and (not regions or offer.region in regions)
    ]


def _offers(
    laws: Laws, name: str, facts: Mapping[str, Any], plan: Plan, work: str, knowledge: Knowledge, where: str = ""
) -> None:
    offer, cards = plan["offer"], per_node(plan)
    if offer is None:
        return
    assumed = bool(plan["cost"].get("assumed"))
    bar = None if where else 1.0
    if cards > 1:
        size = offer["gpus_per_instance"]
        wrong = None
        if size < cards and not assumed:
            exact = covering(plan["gpu"], cards, facts, knowledge, exact=True)
            nearest = min((o.usd_per_hour for o in exact), default=None)
            real = f"; the list has {len(exact)} of {cards} cards, from ${nearest:.2f}/h" if nearest is not None else ""
            split = plan["parallelism"]["tensor"] * plan["parallelism"]["pipeline"]
            apart = " (each replica fits in one)" if not work.startswith("job") and split <= size else ""
            wrong = f"{describe(plan, work)} is priced from {size} x at {offer['provider']}{apart}{real}"
        laws.law(
            f"offers {where}cover their node",
            "the offer behind a price has the cards of a node, or the price is `assumed`",
            bar,
        ).judge(name, facts, wrong)
    if assumed:
        exact = covering(plan["gpu"], cards, facts, knowledge, exact=True)
        wrong = (
            f"{describe(plan, work)} is assumed, and {len(exact)} offers of {cards} cards are listed" if exact else None
        )
        laws.law(
            f"assumed {where}only without an offer", "`assumed` only where no offer has the node's cards", bar
        ).judge(name, facts, wrong)


def _figure(answer: Mapping[str, Any], name: str) -> float | None:
    value = (answer["figures"].get(name) or {}).get("value")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def sums(answer: Mapping[str, Any]) -> dict[str, float]:
    """The sums of renting, owning and of both, as the answer states them."""
    found: dict[str, float] = {}
    comparison = answer["procurement"].get("comparison") or {}
    for way, names in _SUMS.items():
        for key in names:
            value = comparison.get(key)
            if isinstance(value, dict):
                value = value.get("value", value.get("usd"))
            if isinstance(value, int | float) and not isinstance(value, bool):
                found.setdefault(way, float(value))
    for way, figure in (("rent", "lifetime_rent_usd"), ("buy", "lifetime_cost_usd")):
        value = _figure(answer, figure)
        if value is not None:
            found.setdefault(way, value)
    return found


_SUMS = {
    "rent": ("rent_usd", "rent", "lifetime_rent_usd"),
    "buy": ("own_usd", "buy_usd", "own", "buy", "lifetime_cost_usd", "lifetime_own_usd"),
    "hybrid": ("hybrid_usd", "hybrid"),
}


def _verdict(laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    verdict, known = answer["procurement"]["verdict"], sums(answer)
    if "rent" in known and "buy" in known and verdict != "undecided":
        wrong = None
        mine = known.get(verdict)
        if mine is None:
            wrong = f"verdict {verdict} without a sum of its own; {_in_words(known)}"
        else:
            way, least = min(known.items(), key=lambda item: item[1])
            if mine > CLEAR * max(least, 1e-9):
                wrong = f"verdict {verdict} though {way} is {mine / max(least, 1e-9):.1f} x cheaper; {_in_words(known)}"
        law = laws.law(
            "verdict follows its sums", "no verdict where another way is cheaper by 1.3 x by the answer's own sums"
        )
        law.judge(name, facts, wrong)
    purchase, owning = _figure(answer, "purchase_usd"), _figure(answer, "lifetime_cost_usd")
    if purchase and owning is not None:
        wrong = None
        if owning > MOST_OF_PURCHASE * purchase:
            wrong = f"owning sums to ${owning:,.0f} on a purchase of ${purchase:,.0f} ({owning / purchase:.1f} x)"
        laws.law("owning is not many times the purchase", "owning sums to at most 5 x the purchase").judge(
            name, facts, wrong
        )


def _in_words(known: Mapping[str, float]) -> str:
    return ", ".join(f"{way} ${value:,.0f}" for way, value in sorted(known.items()))


def _band(laws: Laws, name: str, facts: Mapping[str, Any], plan: Plan, answer: Mapping[str, Any], work: str) -> None:
    memory = plan["memory"]
    if not memory or not memory.get("needed_gb") or not memory.get("available_per_gpu_gb"):
        return
    upper = memory["high_gb"] / memory["needed_gb"] * memory["per_gpu_gb"]
    wrong = None
    if upper > memory["available_per_gpu_gb"] and not MEMORY_WARNINGS & {
        warning["code"] for warning in answer["warnings"]
    }:
        wrong = (
            f"{describe(plan, work)} may take {upper:.1f} GB a card of {memory['available_per_gpu_gb']:.1f} GB, unsaid"
        )
    laws.law("band past the card is said", "the upper memory band passes the card only with a warning of memory").judge(
        name, facts, wrong
    )
