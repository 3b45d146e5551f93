"""A search of one's own: every card in every usual count, sized by ``size`` and priced from the list of offers.

It knows no rule. A price is that of a node that the offer covers: the median of the three cheapest providers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from decision_laws.choosing import NEAR_CHEAPEST, beats
from decision_laws.counting import Laws
from decision_laws.paying import covering
from decision_laws.reading import costs, describe, kind_of_work, limits_kept, rate, shown, speed_ratio, stands_equal
from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


COUNTS = (1, 2, 4, 8, 16)
MORE_COUNTS = (*COUNTS, 32, 64)
#: How a workstation's cards are mounted, and how many of them it takes.
DESK_FORMS, DESK_CARDS = ("pcie",), 4
HOURS_PER_MONTH = 730
USD_PER_KWH = 0.15  # where none is stated
#: Beyond so many GPUs training wants one of these links (fpt 3.4, a heuristic that stays visible in answers).
LINKED_FROM, FAST_LINKS = 8, ("nvlink", "xgmi", "ici", "neuronlink", "roce")
_TRAINING = ("pretraining", "full_finetuning", "peft_finetuning")
BUDGETS = ("budget_usd_per_hour", "budget_usd_per_month", "budget_usd_total")


@dataclass
class Sweep:
    """Sizes and prices plans of one advisor from outside."""

    advisor: Advisor
    sized: dict[tuple[str, str, int], dict[str, Any] | None] = field(default_factory=dict)

    def plan(self, facts: Mapping[str, Any], gpu: str, count: int) -> dict[str, Any] | None:
        """The sized plan in the keys of an answer's plan; None where it does not fit with the usual margin."""
        key = (json.dumps(facts, sort_keys=True), gpu, count)
        if key not in self.sized:
            self.sized[key] = self._plan(facts, gpu, count)
        return self.sized[key]

    def _plan(self, facts: Mapping[str, Any], gpu: str, count: int) -> dict[str, Any] | None:
        try:
            answer = size_workload(self.advisor, self.advisor.read(dict(facts)), gpu=gpu, count=count)
        except InputError:
            return None
        if not answer["fits"] or answer["tight"]:
            return None
        nodes = math.ceil(count / max(1, self.advisor.knowledge.gpus[gpu].node_gpus))
        hourly = self.price(gpu, count, nodes, facts)
        hours = answer["speed"].get("hours")
        busy = facts.get("utilization_pct", 100) / 100
        cost = {
            "usd_per_hour": hourly,
            "usd_per_month": hourly * HOURS_PER_MONTH * busy if hourly is not None else None,
            "usd_per_run": hourly * hours if hourly is not None and hours else None,
        }
        return {
            "gpu": gpu,
            "count": count,
            "nodes": nodes,
            "link": answer["link"],
            "parallelism": answer["parallelism"],
            "memory": answer,
            "speed": answer["speed"],
            "cost": cost,
            "proven": True,
        }

    def price(self, gpu: str, count: int, nodes: int, facts: Mapping[str, Any]) -> float | None:
        """Dollars per hour: the median of the three cheapest providers whose instance covers a node."""
        cards = math.ceil(count / nodes)
        cheapest: dict[str, float] = {}
        for offer in covering(gpu, cards, facts, self.advisor.knowledge, exact=False):
            cheapest[offer.provider] = min(offer.usd_per_hour, cheapest.get(offer.provider, math.inf))
        lowest = sorted(cheapest.values())[:3]
        return median(lowest) * nodes if lowest else None

    def owned(self, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Owned cards, in every number owned, that hold the job within its limits, and their power its budget."""
        found = []
        for text in facts["gpus_owned"]:
            name, _, number = str(text).partition(":")
            if not self._wanted(facts, name):
                continue
            for count in range(1, int(number or 1) + 1):
                plan = self.plan(facts, name, count)
                if plan and all(limits_kept(self._powered(plan, facts), facts).values()):
                    found.append(plan)
        return found

    def _powered(self, plan: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """The plan at what it costs whoever has the cards: their power."""
        hourly, hours = self.power_cost(plan, facts, "service"), plan["speed"].get("hours")
        run = hourly * hours if hours else None
        cost = {"usd_per_hour": hourly, "usd_per_month": hourly * HOURS_PER_MONTH, "usd_per_run": run}
        return {**plan, "cost": cost}

    def power_cost(self, plan: Mapping[str, Any], facts: Mapping[str, Any], work: str) -> float:
        """Dollars of power at the socket: by the piece of work for a job, else by the hour."""
        watts = (self.advisor.knowledge.gpus[plan["gpu"]].tdp_w or 0) * plan["count"]
        hourly = float(watts / 1000 * facts.get("electricity_usd_kwh", USD_PER_KWH))
        pace = rate(plan) if work.startswith("job") else None
        return hourly / pace if pace else hourly

    def _wanted(self, facts: Mapping[str, Any], name: str) -> bool:
        """Whether what was stated of cards, software and memory errors allows the card."""
        gpu = self.advisor.knowledge.gpus[name]
        wanted = facts.get("gpu_candidates")
        return not (
            (wanted and name not in wanted)
            or name in facts.get("gpu_excluded", ())
            or (facts.get("cuda_required") and gpu.sw_stack != "cuda")
            or (facts.get("rocm_ok") is False and gpu.sw_stack == "rocm")
            or (facts.get("needs_ecc") and not gpu.ecc)
        )

    def _placed(self, facts: Mapping[str, Any], name: str, count: int) -> bool:
        """Whether the place that was stated takes the plan."""
        gpu, site = self.advisor.knowledge.gpus[name], facts.get("deployment_site")
        if site == "edge":
            return bool(gpu.segment == "edge" and count == 1)
        if gpu.segment == "edge" or gpu.form_factor == "system" or gpu.vendor in ("other", "apple", "aws", "google"):
            return False
        return site != "workstation" or (
            gpu.form_factor in DESK_FORMS and gpu.segment != "datacenter" and count <= DESK_CARDS
        )

    def plans(
        self, facts: Mapping[str, Any], counts: tuple[int, ...], vendor: str | None = None, *, priced: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Every plan that fits, of the cards that may be taken; ``priced``: of those that some offer covers."""
        for gpu in self.advisor.knowledge.gpus.values():
            if not gpu.plannable or not self._wanted(facts, gpu.id) or (vendor and gpu.vendor != vendor):
                continue
            for count in counts:
                nodes = math.ceil(count / max(1, gpu.node_gpus))
                if not self._placed(facts, gpu.id, count) or (
                    priced and self.price(gpu.id, count, nodes, facts) is None
                ):
                    continue
                if plan := self.plan(facts, gpu.id, count):
                    yield plan

    def any_within_limits(self, facts: Mapping[str, Any]) -> str | None:
        """A plan within every stated limit, in words; None where there is none.

        More than eight GPUs train over a fast link only: a heuristic of the guides that stays (`thunder-mem-must-fit`
        holds that a card which does not hold the job is no answer, however many of it could be cabled together).
        """
        asked = (int(facts["num_gpus"]),) if facts.get("num_gpus") else MORE_COUNTS
        budget = any(name in facts for name in BUDGETS)
        rented = facts.get("deployment_site") == "cloud" or facts.get("procurement_wish") == "rent" or budget
        purchase = "budget_usd_total" in facts and _is_bought(facts)
        owned = {str(text).partition(":")[0] for text in facts.get("gpus_owned", ())}
        for plan in self.plans(facts, asked, priced=rented):
            if facts["task"] in _TRAINING and plan["count"] > LINKED_FROM and plan["link"] not in FAST_LINKS:
                continue
            kept = limits_kept(plan, facts)
            if purchase and plan["gpu"] not in owned:
                kept["budget_usd_total"] = self._pays_for(plan, facts["budget_usd_total"])
            if all(kept.values()):
                return describe(plan, "job")
        return None

    def _pays_for(self, plan: Mapping[str, Any], budget_usd: float) -> bool:
        """Whether a budget in all pays at least for the cards."""
        price = self.advisor.knowledge.gpus[plan["gpu"]].buy_usd
        return price is not None and price * plan["count"] <= budget_usd

    def judge(self, laws: Laws, name: str, facts: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Count whether the sweep finds a plan that the answer should have been, and whether the table shows it."""
        chosen, work = answer["recommendation"], kind_of_work(answer)
        if chosen is None or chosen["cost"].get("origin") != "offer" or chosen["cost"].get("usd_per_hour") is None:
            return
        knowledge = self.advisor.knowledge
        vendor = knowledge.gpus[chosen["gpu"]].vendor
        # By the hour on both sides: how busy a service is bears on both alike, and a run takes its hours on either.
        hourly = {**chosen, "cost": {"usd_per_hour": chosen["cost"]["usd_per_hour"]}}
        table = shown(answer)
        listed = {(plan["gpu"], plan["count"]) for plan in table}
        refused = {(e["gpu"], count): e["rule"] for e in answer.get("rejected", ()) for count in e["counts"]}
        hidden, better = [], []
        for plan in self.plans(facts, COUNTS, vendor, priced=True):
            rated = {**plan, "cost": {"usd_per_hour": plan["cost"]["usd_per_hour"]}}
            if not stands_equal(plan, chosen, knowledge) or not self._better(rated, hourly, work, answer["objective"]):
                continue
            if not all(met for limit, met in limits_kept(plan, facts).items() if not limit.startswith("budget")):
                continue
            key = (plan["gpu"], plan["count"])
            said = "shown" if key in listed else f"rejected by {refused[key]}" if key in refused else "not shown"
            better.append(f"{describe(plan, work)} [{said}]")
            if said == "not shown" and not any(_as_good(other, rated, work) for other in table):
                hidden.append(describe(plan, work))
        words = f"{describe(chosen, work)}, and the sweep finds "
        laws.law(
            "the sweep finds nothing hidden",
            "each better equal that a sweep finds is shown, rejected by name, or no better than one shown",
        ).judge(name, facts, words + "; ".join(hidden[:3]) if hidden else None)
        laws.law(
            "the sweep finds nothing better",
            "for the record: better equals, shown or rejected with a reason included",
            None,
        ).judge(name, facts, words + "; ".join(better[:3]) if better else None)

    def _better(self, plan: Mapping[str, Any], chosen: Mapping[str, Any], work: str, objective: str) -> bool:
        if beats(plan, chosen, work):
            return True
        pair = costs(plan, chosen, work)
        if objective == "cheapest":
            return bool(pair and pair[1] > NEAR_CHEAPEST * pair[0])
        pace = speed_ratio(plan, chosen, work)
        if objective == "fastest" and pace and plan["count"] <= chosen["count"]:
            return pace > 1.1
        return False


def _is_bought(facts: Mapping[str, Any]) -> bool:
    """Whether the cards are to stand at a place of one's own, or are to be bought."""
    wish = facts.get("procurement_wish")
    own_place = facts.get("deployment_site") in ("datacenter", "workstation", "edge")
    return wish == "buy" or (own_place and wish in (None, "hybrid"))


def _as_good(shown_plan: Mapping[str, Any], found: Mapping[str, Any], work: str) -> bool:
    """Whether a plan of the table is within 5 % of what was found, in price by the hour and in speed."""
    price, pace = shown_plan["cost"].get("usd_per_hour"), speed_ratio(shown_plan, found, work)
    return bool(price is not None and price <= 1.05 * found["cost"]["usd_per_hour"] and pace and pace >= 0.95)
