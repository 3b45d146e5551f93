"""Laws of the choice: no answer stands beneath its own table, and an objective is what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from decision_laws.counting import Laws
from decision_laws.reading import (
    Plan,
    costs,
    describe,
    kind_of_work,
    limits_kept,
    pcie_cards,
    same_vendor,
    speed_ratio,
    stands_equal,
)
from whichgpu.engine.catalogue import Knowledge


CHEAPER, FASTER = 0.95, 1.05
NEAR_CHEAPEST, NEAR_FASTEST, DOUBLING = 1.10, 1.10, 1.2


def judge_choice(
    laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], knowledge: Knowledge
) -> None:
    """Count the laws of choice on one answer that recommends something."""
    plan, work = answer["recommendation"], kind_of_work(answer)
    challengers = [other for other in answer["alternatives"] if other["proven"] and _keeps_limits(other, facts)]
    _dominance(laws, name, facts, plan, challengers, work, knowledge)
    if answer["objective"] == "cheapest":
        _cheapest(laws, name, facts, answer, challengers, work, knowledge)
    if answer["objective"] == "fastest":
        _fastest(laws, name, facts, plan, challengers, work, knowledge)


def _keeps_limits(plan: Plan, facts: Mapping[str, Any]) -> bool:
    return all(limits_kept(plan, facts).values())


def beats(one: Plan, other: Plan, work: str) -> bool:
    """Whether ``one`` costs 5 % less than ``other`` and is 5 % faster."""
    pair, pace = costs(one, other, work), speed_ratio(one, other, work)
    return bool(pair and pace and pair[0] <= CHEAPER * pair[1] and pace >= FASTER)


def _dominance(
    laws: Laws,
    name: str,
    facts: Mapping[str, Any],
    plan: Plan,
    challengers: list[Plan],
    work: str,
    knowledge: Knowledge,
) -> None:
    better = [challenger for challenger in challengers if beats(challenger, plan, work)]
    equals = [challenger for challenger in better if stands_equal(challenger, plan, knowledge)]
    laws.law("not beaten by an equal", "no plan of equal standing costs 5 % less and is 5 % faster").judge(
        name, facts, _beaten(plan, equals, work)
    )
    apart = [challenger for challenger in better if stands_equal(challenger, plan, knowledge, apart=True)]
    laws.law(
        "beaten by an equal of more replicas", "for the record: replicas on PCIe count as cards apart", None
    ).judge(name, facts, _beaten(plan, apart, work))
    mine = [challenger for challenger in better if same_vendor(challenger, plan, knowledge)]
    unnamed = [challenger for challenger in mine if not has_priced_reason(plan, challenger, facts)]
    laws.law(
        "not beaten without a priced reason",
        "a plan of its vendor that costs 5 % less and is 5 % faster is in `chosen_over`, at a price, for a stated fact",
    ).judge(name, facts, _beaten(plan, unnamed, work))
    laws.law("beaten by some plan of its vendor", "for the record: with or without a reason", None).judge(
        name, facts, _beaten(plan, mine, work)
    )


def _beaten(plan: Plan, better: list[Plan], work: str) -> str | None:
    if not better:
        return None
    winner = min(better, key=lambda challenger: (costs(challenger, plan, work) or (math.inf, 0))[0])
    more = f" and {len(better) - 1} more" if len(better) > 1 else ""
    return f"{describe(plan, work)} is beaten by {describe(winner, work)}{more}"


def has_priced_reason(plan: Plan, challenger: Plan, facts: Mapping[str, Any]) -> bool:
    """Whether the recommendation names the challenger in what it was chosen over, for something stated and at a price.

    The reason must name a fact that was stated, and more than what the job is; a guide's word for a card or a count is
    none. Nor need a larger machine be taken for work whose amount is not stated, nor more machines or more cards over
    PCIe while no objective is.
    """
    for entry in plan.get("chosen_over") or ():
        named = entry["plan"] if isinstance(entry.get("plan"), dict) else entry
        if (named.get("gpu"), named.get("count")) != (challenger["gpu"], challenger["count"]):
            continue
        priced = any(key.startswith(_PRICES) and isinstance(value, int | float) for key, value in entry.items())
        stated = (set(entry.get("facts") or ()) & set(facts)) - _THE_JOB
        guided = str(entry.get("reason", "")).startswith("guide")
        unasked = entry.get("reason") == "larger" or ("objective" not in facts and not _joins_no_more(challenger, plan))
        if entry.get("reason") and priced and ((stated and not guided) or unasked):
            return True
    return False


def _joins_no_more(one: Plan, other: Plan) -> bool:
    return bool(one["nodes"] <= other["nodes"] and pcie_cards(one) <= pcie_cards(other))


_PRICES = ("price", "cost_ratio", "costs")
#: Facts that every workload states: no reason to prefer one card to a better one.
_THE_JOB = {"task", "model_name", "model_family", "param_count_b", "objective"}


def _cheapest(
    laws: Laws,
    name: str,
    facts: Mapping[str, Any],
    answer: Mapping[str, Any],
    challengers: list[Plan],
    work: str,
    knowledge: Knowledge,
) -> None:
    plan = answer["recommendation"]
    equals = [challenger for challenger in challengers if stands_equal(challenger, plan, knowledge)]
    laws.law(
        "cheapest is cheapest among equals", "`cheapest` costs at most 1.1 x the cheapest plan of equal standing", 0.97
    ).judge(name, facts, _costlier(plan, equals, work))
    if calls_for_better_hardware(facts):
        return
    mine = [challenger for challenger in challengers if same_vendor(challenger, plan, knowledge)]
    laws.law(
        "cheapest is cheapest of its vendor",
        "`cheapest` costs at most 1.1 x any plan of its vendor, with no ECC, production or critical use stated",
        0.97,
    ).judge(name, facts, _costlier(plan, mine, work))


def calls_for_better_hardware(facts: Mapping[str, Any]) -> bool:
    """Whether ECC, production or mission-critical use is stated."""
    return bool(facts.get("needs_ecc") or facts.get("mission_critical") or facts.get("lifecycle_stage") == "production")


def _costlier(plan: Plan, challengers: list[Plan], work: str) -> str | None:
    pairs = [(pair[1] / pair[0], other) for other in challengers if (pair := costs(other, plan, work)) and pair[0] > 0]
    ratio, challenger = max(pairs, key=lambda pair: pair[0], default=(1.0, None))
    if challenger is None or ratio <= NEAR_CHEAPEST:
        return None
    return f"{describe(plan, work)} costs {ratio:.2f} x {describe(challenger, work)}"


def _fastest(
    laws: Laws,
    name: str,
    facts: Mapping[str, Any],
    plan: Plan,
    challengers: list[Plan],
    work: str,
    knowledge: Knowledge,
) -> None:
    equals = [challenger for challenger in challengers if stands_equal(challenger, plan, knowledge)]
    laws.law(
        "fastest is fastest among equals",
        "`fastest` is within 1.1 x of the fastest equal of no more cards, 1.2 x for each doubling of the cards",
        0.95,
    ).judge(name, facts, _slower(plan, equals, work))
    same_count = [r for r in challengers if r["count"] == plan["count"] and same_vendor(r, plan, knowledge)]
    laws.law(
        "fastest is fastest of its count",
        "`fastest` is within 1.1 x of any plan of its vendor with as many cards in as many machines",
        0.95,
    ).judge(name, facts, _slower(plan, [r for r in same_count if r["nodes"] <= plan["nodes"]], work))


def _slower(plan: Plan, challengers: list[Plan], work: str) -> str | None:
    found = []
    for other in challengers:
        ratio = speed_ratio(other, plan, work)
        if ratio is None:
            continue
        doublings = math.ceil(math.log2(other["count"] / plan["count"]) - 1e-9) if other["count"] > plan["count"] else 0
        if ratio > (DOUBLING**doublings if doublings else NEAR_FASTEST):
            found.append((ratio, other))
    if not found:
        return None
    ratio, challenger = max(found, key=lambda pair: pair[0])
    return f"{describe(plan, work)} is {ratio:.2f} x slower than {describe(challenger, work)}"


def comparable(answer: Mapping[str, Any]) -> bool:
    """Whether the answer recommends a plan with a price."""
    plan = answer["recommendation"]
    return plan is not None and plan["cost"].get("usd_per_hour") is not None
