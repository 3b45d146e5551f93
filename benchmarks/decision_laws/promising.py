"""Laws of what was stated: limits are known to be met, owned cards are used, a refusal helps; nothing is hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from decision_laws.counting import Laws
from decision_laws.reading import Answers, costs, describe, kind_of_work, limits_kept, rate, shown
from decision_laws.sweep import Sweep
from whichgpu.engine.catalogue import Knowledge


#: What a "no answer" may name besides facts that are missing.
MISSING = "facts_missing"


def judge_targets(laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Count the laws of stated limits on one answer that recommends something."""
    plan, work = answer["recommendation"], kind_of_work(answer)
    kept = limits_kept(plan, facts)
    if not kept:
        return
    known = {limit for other in shown(answer) for limit, met in limits_kept(other, facts).items() if met is not None}
    wrong = [
        f"{limit} {facts[limit]:g} is {'not known' if met is None else 'missed'}"
        for limit, met in kept.items()
        if not met and limit in known
    ]
    if not plan["proven"] and known == set(kept) and any(other["proven"] for other in shown(answer)):
        wrong.append("not proven")
    says = (
        "the answer's figures keep each stated target and budget that any plan shown has a figure for, and it is "
        "proven where any plan shown is"
    )
    if known:
        words = f"{describe(plan, work)}: {', '.join(wrong)}" if wrong else None
        laws.law("stated limits known to be met", says).judge(name, facts, words)
    unverified = {gap["limit"] for gap in plan.get("unverified", ())}
    doubted = [limit for limit, met in kept.items() if met and limit in unverified]
    words = f"{describe(plan, work)} keeps {', '.join(doubted)} by its own figures" if doubted else None
    says = "no stated limit that the answer's own figures keep is said to be unverified"
    laws.law("what is kept is not doubted", says).judge(name, facts, words)
    if unknown := sorted(set(kept) - known):
        words = f"{describe(plan, work)} is proven, though {', '.join(unknown)} cannot be known of any plan"
        says = "where no plan of the table has the figure that a stated limit needs, the answer is not proven"
        laws.law("an unknown figure proves nothing", says).judge(name, facts, words if plan["proven"] else None)


def judge_owned(laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], sweep: Sweep) -> None:
    """Count the law of owned hardware under ``cheapest``."""
    if answer["objective"] != "cheapest" or not facts.get("gpus_owned"):
        return
    holding = sweep.owned(facts)
    if not holding:
        return
    plan, wrong = answer["recommendation"], None
    best = min(holding, key=lambda row: sweep.power_cost(row, facts, kind_of_work(answer)))
    held = f"the owned {best['count']} x {best['gpu']} holds the job"
    if plan is None:
        wrong = f"no answer, though {held}"
    elif plan["cost"].get("origin") != "owned" and not _rent_is_cheaper(plan, best, facts, answer, sweep):
        wrong = f"{describe(plan, kind_of_work(answer))} ({plan['cost'].get('origin')}), though {held}"
    laws.law(
        "owned hardware is used",
        "under `cheapest`, owned cards that hold the job within its targets are the answer, unless rent is less",
        0.95,
    ).judge(name, facts, wrong)


def _rent_is_cheaper(
    plan: Mapping[str, Any], owned: Mapping[str, Any], facts: Mapping[str, Any], answer: Mapping[str, Any], sweep: Sweep
) -> bool:
    """Whether the answer is rented for less than the owned cards cost to run: twice their power.

    Where the table shows owned cards, what it says of their cost counts, up to four times their power.
    """
    work, hourly = kind_of_work(answer), plan["cost"].get("usd_per_hour")
    if plan["cost"].get("origin") != "offer" or hourly is None:
        return False
    power = sweep.power_cost(owned, facts, work)
    mine = hourly / (rate(plan) or math.inf) if work.startswith("job") and rate(owned) else hourly
    stated = [
        pair[0] / pair[1]
        for other in answer["alternatives"]
        if other["cost"].get("origin") == "owned" and (pair := costs(other, plan, work)) and pair[1]
    ]
    return bool(mine < 2 * power or (stated and min(stated) > 1 and mine < 4 * power))


def judge_no_answer(
    laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], sweep: Sweep, answers: Answers
) -> None:
    """Count the laws of an answer without a recommendation."""
    refusal = answer["no_answer"]
    laws.law("no answer", "for the record: workloads without a recommendation", None).judge(
        name, facts, f"{refusal['kind']}: {refusal['why'][:300]}"
    )
    if refusal["kind"] == MISSING:
        return
    found = sweep.any_within_limits(facts)
    laws.law(
        "no answer only where none is", "a sweep of `size` over all cards and counts finds none within the limits"
    ).judge(name, facts, f"{refusal['kind']}, and the sweep finds {found}" if found else None)
    named = [_together(entry) for entry in refusal.get("relaxable") or refusal["facts"]]
    helping = [names for names in named if set(names) <= set(facts) and _helps(facts, names, answers)]
    listed = "; ".join(" and ".join(names) for names in named) or "nothing named"
    wrong = None if helping else f"dropping none of {listed} gives an answer"
    laws.law("a named fact helps", "without one of the facts that the refusal names there is an answer", 0.95).judge(
        name, facts, wrong
    )


def _together(entry: Any) -> list[str]:
    """The facts of one suggestion: one name, or several that have to go together."""
    if isinstance(entry, dict):
        entry = entry.get("facts") or entry["fact"]
    return [str(entry)] if isinstance(entry, str) else [str(name) for name in entry]


def _helps(facts: Mapping[str, Any], names: Sequence[str], answers: Answers) -> bool:
    left = {fact: value for fact, value in facts.items() if fact not in names}
    return answers.answer(left)["recommendation"] is not None


def judge_hidden(
    laws: Laws,
    name: str,
    facts: Mapping[str, Any],
    answer: Mapping[str, Any],
    before: Sequence[str],
    knowledge: Knowledge,
) -> None:
    """Count the law that what was shown is not hidden: ``before`` lists plans as ``gpu:count``.

    A name that has become one of several editions is met by any of them.
    """
    now = {f"{plan['gpu']}:{plan['count']}" for plan in shown(answer)}
    now |= {f"{entry['gpu']}:{count}" for entry in answer.get("rejected", ()) for count in entry["counts"]}
    gone = [plan for plan in before if plan not in now and not _editions(plan, knowledge) & now]
    laws.law("nothing shown before is hidden", "each plan of the earlier table is shown or rejected by name").judge(
        name, facts, f"{len(gone)} of {len(before)} neither shown nor rejected: {', '.join(gone)}" if gone else None
    )


def _editions(plan: str, knowledge: Knowledge) -> set[str]:
    gpu, _, count = plan.rpartition(":")
    return {f"{each}:{count}" for each in knowledge.find_gpu(gpu).ids}
