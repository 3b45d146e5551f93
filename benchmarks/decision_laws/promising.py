"""Laws of what was stated: targets and budgets are known to be met, what is owned is used, a plan once shown is not hidden."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from decision_laws.counting import Laws
from decision_laws.reading import Answers
from decision_laws.reading import describe
from decision_laws.reading import kind_of_work
from decision_laws.reading import limits_kept
from decision_laws.reading import rate
from decision_laws.reading import shown
from decision_laws.sweep import Sweep


#: Above what power at the socket costs: overhead of the building, the host beside the cards, and some of a person.
POWER_OVERHEAD = 2.0
USD_PER_KWH = 0.15
#: What a "no answer" may name besides facts that are missing.
MISSING = "facts_missing"


def judge_targets(laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Count the law of stated limits on one answer that recommends something."""
    plan = answer["recommendation"]
    kept = limits_kept(plan, facts)
    if not kept:
        return
    wrong = [
        f"{limit} {facts[limit]:g} is {'not known' if met is None else 'missed'}"
        for limit, met in kept.items()
        if not met
    ]
    if not plan["proven"]:
        wrong.append("not proven")
    told = f"{describe(plan, kind_of_work(answer))}: {', '.join(wrong)}" if wrong else None
    laws.law(
        "stated limits known to be met", "the answer is proven, and its own figures keep each stated target and budget"
    ).judge(name, facts, told)


def judge_owned(laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], sweep: Sweep) -> None:
    """Count the law of owned hardware under ``cheapest``."""
    if answer["objective"] != "cheapest" or not facts.get("gpus_owned"):
        return
    holding = sweep.owned(facts)
    if not holding:
        return
    plan, wrong = answer["recommendation"], None
    best = max(holding, key=lambda row: rate(row) or 0)
    if plan is None:
        wrong = f"no answer, though the owned {best['count']} x {best['gpu']} holds the job"
    elif plan["cost"].get("origin") != "owned" and not _cheaper_than_power(plan, best, facts, answer, sweep):
        wrong = f"{describe(plan, kind_of_work(answer))} ({plan['cost'].get('origin')}), though the owned {best['count']} x "
        wrong += f"{best['gpu']} holds the job"
    laws.law(
        "owned hardware is used",
        "under `cheapest`, owned cards that hold the job within its limits are the answer, unless rent is below their power",
        0.95,
    ).judge(name, facts, wrong)


def _cheaper_than_power(
    plan: Mapping[str, Any], owned: Mapping[str, Any], facts: Mapping[str, Any], answer: Mapping[str, Any], sweep: Sweep
) -> bool:
    watts = sweep.expertise.knowledge.gpus[owned["gpu"]].tdp_w or 0
    power = watts / 1000 * owned["count"] * facts.get("electricity_usd_kwh", USD_PER_KWH) * POWER_OVERHEAD
    hourly = plan["cost"].get("usd_per_hour")
    if hourly is None:
        return False
    if kind_of_work(answer) == "job":
        rates = rate(plan), rate(owned)
        return bool(rates[0] and rates[1] and hourly / rates[0] < power / rates[1])
    return bool(hourly < power)


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
    named = list(refusal.get("relaxable") or refusal["facts"])
    names = [entry["fact"] if isinstance(entry, dict) else str(entry) for entry in named]
    helping = [fact for fact in names if fact in facts and _helps(facts, fact, answers)]
    wrong = None if helping else f"dropping none of {', '.join(names) or 'nothing named'} gives an answer"
    laws.law("a named fact helps", "without one of the facts that the refusal names there is an answer", 0.95).judge(
        name, facts, wrong
    )


def _helps(facts: Mapping[str, Any], name: str, answers: Answers) -> bool:
    return answers.answer({fact: value for fact, value in facts.items() if fact != name})["recommendation"] is not None


def judge_hidden(
    laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any], before: Sequence[str]
) -> None:
    """Count the law that what was shown is not hidden: ``before`` lists plans as ``gpu:count``."""
    now = {f"{plan['gpu']}:{plan['count']}" for plan in shown(answer)}
    now |= {f"{entry['gpu']}:{count}" for entry in answer.get("rejected", ()) for count in entry["counts"]}
    gone = [plan for plan in before if plan not in now]
    laws.law("nothing shown before is hidden", "each plan of the earlier table is shown or rejected by name").judge(
        name, facts, f"{len(gone)} of {len(before)} neither shown nor rejected: {', '.join(gone)}" if gone else None
    )
