"""Relations between answers: what a change of the question may do to the answer, whatever the answer is."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from decision_laws.choosing import beats, has_priced_reason
from decision_laws.counting import Law
from decision_laws.generator import CANDIDATES, OWNED
from decision_laws.invariance import Facts, Invariance, Verdict, words
from decision_laws.prices import Prices
from decision_laws.reading import LIMITS, Answers, Plan, costs, kind_of_work, shown, speed_ratio


COSTLIER, SLOWER = 1.10, 0.95
BAR = 0.99
#: What `fastest` wants of twice the GPUs: so much slower may half of them be.
GAIN_OF_DOUBLING = 1.2

_CLASSES = ["hyperscaler", "neocloud", "marketplace", "aws", "gcp", "runpod", "lambda"]
_LOADS = ["peak_qps", "concurrency", "train_tokens_b", "train_steps"]
_RATES = ("peak_qps", "min_tokens_per_s")


class Relations(Invariance):
    """Tries relations on generated workloads."""

    def __init__(self, answers: Answers, chance: random.Random) -> None:
        super().__init__(answers, chance)
        self.prices = Prices(answers.advisor)

    # ------------------------------------------------------------------ prices and other plans

    def lower_price(self, facts: Facts) -> Verdict | None:
        """The winner's offers 20 % lower: its card stays the winner; a budget may then pay for more of them."""
        before = self.ask(facts)
        plan = before["recommendation"]
        if plan is None or plan["cost"].get("origin") != "offer":
            return None
        after = self.prices.decide(facts, plan["gpu"], 0.8)
        if after["recommendation"] is not None and after["recommendation"]["gpu"] == plan["gpu"]:
            return facts, None
        return facts, self._changed(before, after, f"offers of {plan['gpu']} 20 % lower")

    def without_a_loser(self, facts: Facts) -> Verdict | None:
        """A losing card is excluded: nothing changes, unless it had set the window of prices or beat the new answer."""
        before = self.ask(facts)
        loser = self._loser(before)
        if loser is None:
            return None
        changed = {**facts, "gpu_excluded": [*facts.get("gpu_excluded", []), loser["gpu"]]}
        return facts, self._unless_it_mattered(before, self.ask(changed), loser, f"without {loser['gpu']}")

    def costlier_loser(self, facts: Facts) -> Verdict | None:
        """A losing card's offers 30 % higher: nothing changes, with the same exception."""
        before = self.ask(facts)
        loser = self._loser(before, offered=True)
        if loser is None:
            return None
        after = self.prices.decide(facts, loser["gpu"], 1.3)
        return facts, self._unless_it_mattered(before, after, loser, f"offers of {loser['gpu']} 30 % higher")

    def _loser(self, answer: Mapping[str, Any], *, offered: bool = False) -> Plan | None:
        plan = answer["recommendation"]
        if plan is None:
            return None
        losers = [
            other
            for other in answer["alternatives"]
            if other["family"] != plan["family"] and (not offered or other["cost"].get("origin") == "offer")
        ]
        return self.chance.choice(losers) if losers else None

    def _unless_it_mattered(
        self, before: Mapping[str, Any], after: Mapping[str, Any], loser: Plan, change: str
    ) -> str | None:
        wrong = self._changed(before, after, change)
        if wrong is None:
            return None
        work, new, objective = kind_of_work(before), after["recommendation"], before["objective"]
        mine = [plan for plan in shown(before) if plan["gpu"] == loser["gpu"]]
        others = [plan for plan in shown(before) if plan["gpu"] != loser["gpu"]]
        for plan in mine:
            if new is not None and beats(plan, new, work):
                return None
            if objective != "fastest" and all((pair := costs(plan, o, work)) and pair[0] <= pair[1] for o in others):
                return None
            if objective != "cheapest" and all((pace := speed_ratio(plan, o, work)) and pace >= 1 for o in others):
                return None
        return wrong

    # ------------------------------------------------------------------ more room

    def more_budget(self, facts: Facts) -> Verdict | None:
        """Half as much again of a budget: `cheapest` no 10 % costlier, `fastest` no 5 % slower."""
        names = [name for name in LIMITS if name.startswith("budget")]
        return self._looser(
            self._with_limit(facts, names, "cost", "usd_per_hour", "budget_usd_per_hour"), names, more=True
        )

    def looser_target(self, facts: Facts) -> Verdict | None:
        """A target half as demanding again: the same, but `fastest` may be slower by what the cards it saves are worth.

        `fastest` takes more cards than it must only where twice as many are faster by a fifth, and further machines
        only where a target asks for them: where fewer meet a looser target, so much speed goes with them.
        """
        return self._target_loosened(facts, sparing=True)

    def looser_target_by_speed_alone(self, facts: Facts) -> Verdict | None:
        """For the record: `fastest` no 5 % slower, whatever it saves."""
        return self._target_loosened(facts, sparing=False)

    def _target_loosened(self, facts: Facts, *, sparing: bool) -> Verdict | None:
        times = ["ttft_slo_ms", "tpot_slo_ms", "latency_slo_ms", "deadline_hours"]
        rates = ["min_tokens_per_s", "peak_qps"]
        if self._any(facts, rates) and not self._any(facts, times):
            return self._looser(facts, rates, more=False, sparing=sparing)
        if facts["task"] == "inference":
            facts = self._with_limit(facts, times, "speed", "latency_ms", "latency_slo_ms")
        return self._looser(facts, times, more=True, sparing=sparing)

    def _with_limit(self, facts: Facts, stated: list[str], part: str, figure: str, limit: str) -> Facts:
        """The facts with a limit a fifth above what the answer has, where none of these is stated and it may be."""
        plan = None if self._any(facts, stated) else self.ask(facts)["recommendation"]
        value = plan[part].get(figure) if plan else None
        least = self.answers.advisor.vocabulary.facts[limit].min or 0.0
        return {**facts, limit: float(f"{1.2 * value:.3g}")} if value and 1.2 * value > least else facts

    def _any(self, facts: Facts, names: list[str]) -> str | None:
        stated = [name for name in names if facts.get(name)]
        return self.chance.choice(stated) if stated else None

    def _looser(self, facts: Facts, names: list[str], *, more: bool, sparing: bool = False) -> Verdict | None:
        name = self._any(facts, names)
        if name is None:
            return None
        stated = {**facts, "objective": self._objective(facts)}
        looser = {**stated, name: stated[name] * (1.5 if more else 1 / 1.5)}
        change = f"{name} {stated[name]:g} -> {looser[name]:g}"
        return stated, self._no_worse(stated, looser, change, sparing=sparing)

    def _objective(self, facts: Facts) -> str:
        stated = facts.get("objective")
        return stated if stated in ("cheapest", "fastest") else self.chance.choice(["cheapest", "fastest"])

    def one_more_choice(self, facts: Facts) -> Verdict | None:
        """One more provider allowed, or one more card compared: the same, unless the new answer prices the old.

        A card that is taken only where nothing else does the work gives way to one that is added; then the new answer
        must say so, with the stated fact that asks for it and with what that costs.
        """
        return self._one_more(facts, named=True)

    def one_more_choice_by_figures(self, facts: Facts) -> Verdict | None:
        """For the record: `cheapest` no 10 % costlier, `fastest` no 5 % slower, whatever the new answer says."""
        return self._one_more(facts, named=False)

    def _one_more(self, facts: Facts, *, named: bool) -> Verdict | None:
        stated = {**facts, "objective": self._objective(facts)}
        if facts.get("deployment_site") in (None, "cloud", "datacenter") and self.chance.random() < 0.5:
            first, second = self.chance.sample(_CLASSES, 2)
            stated |= {"providers_allowed": facts.get("providers_allowed", [first])}
            wider = {**stated, "providers_allowed": [*stated["providers_allowed"], second]}
            return stated, self._no_worse(stated, wider, f"providers_allowed and {second}", named=named)
        listed = facts.get("gpu_candidates", self.chance.choice(CANDIDATES))
        more = self.chance.choice([gpu for row in CANDIDATES for gpu in row if gpu not in listed])
        stated |= {"gpu_candidates": listed}
        wider = {**stated, "gpu_candidates": [*listed, more]}
        return stated, self._no_worse(stated, wider, f"gpu_candidates and {more}", sparing=named, named=named)

    def owning_more(self, facts: Facts) -> Verdict | None:
        """More cards owned: `cheapest` no 10 % costlier, unless the new answer prices what was to be bought."""
        return self._owning_more(facts, COSTLIER, named=True)

    def owning_more_to_the_cent(self, facts: Facts) -> Verdict | None:
        """For the record: `cheapest` no costlier at all, though preferences may cost 10 %."""
        return self._owning_more(facts, 1.01, named=False)

    def _owning_more(self, facts: Facts, most: float, *, named: bool) -> Verdict | None:
        owned = self.chance.choice(OWNED)
        name, _, number = owned.partition(":")
        stated = {**facts, "objective": "cheapest"}
        if facts.get("gpus_owned"):
            more = {**stated, "gpus_owned": [*facts["gpus_owned"], owned]}
            if any(str(have).startswith(name + ":") for have in facts["gpus_owned"]):
                more["gpus_owned"] = [f"{name}:{int(number) + 4}"]
        else:
            more = {**stated, "gpus_owned": [owned]}
        return stated, self._no_worse(stated, more, f"gpus_owned {more['gpus_owned']}", most=most, named=named)

    def _no_worse(
        self,
        facts: Facts,
        wider: Facts,
        change: str,
        most: float = COSTLIER,
        *,
        sparing: bool = False,
        named: bool = False,
    ) -> str | None:
        before, after = self.ask(facts), self.ask(wider)
        old, new, work = before["recommendation"], after["recommendation"], kind_of_work(before)
        if old is None:
            return None
        if new is None:
            return f"{change}: {words(old, work)} becomes no answer"
        if named and has_priced_reason(new, old, wider):
            return None
        if facts["objective"] == "cheapest":
            pair = costs(old, new, work)  # of two ways to pay for trying things out, the one that speaks for the new
            worse = pair is not None and pair[1] > most * pair[0]
        else:
            pace = speed_ratio(new, old, work)
            worse = pace is not None and pace < SLOWER / (self._worth_of_saved(old, new) if sparing else 1.0)
        return f"{change}, {facts['objective']}: {words(old, work)} becomes {words(new, work)}" if worse else None

    def _worth_of_saved(self, old: Plan, new: Plan) -> float:
        """How many times as fast the old plan may be for the cards that the new one saves; any, for whole machines."""
        gpus = self.answers.advisor.knowledge.gpus
        machines = [math.ceil(plan["count"] / max(1, gpus[plan["gpu"]].node_gpus)) for plan in (new, old)]
        if machines[0] < machines[1]:
            return math.inf
        return float(GAIN_OF_DOUBLING ** math.log2(max(1.0, old["count"] / new["count"])))

    def doubled_load(self, facts: Facts) -> Verdict | None:
        """Twice the load: `cheapest` no cheaper for the whole.

        More requests in flight are more load together with a stated rate: of themselves they make a rate easier.
        """
        name = self._any(facts, _LOADS)
        if name is None:
            return None
        stated = {**facts, "objective": "cheapest"}
        names = [name, *(rate for rate in _RATES if name == "concurrency" and facts.get(rate))]
        before, after = self.ask(stated), self.ask(stated | {each: stated[each] * 2 for each in names})
        old, new, work = before["recommendation"], after["recommendation"], kind_of_work(before)
        if old is None or new is None:
            return stated, None
        basis = "usd_per_month" if work == "service" else "usd_per_run"
        if old["cost"].get(basis) is None:
            return None
        sums = old["cost"].get(basis), new["cost"].get(basis)
        if sums[0] is None or sums[1] is None:
            return None
        cheaper = sums[1] < 0.99 * sums[0]
        return (
            stated,
            f"{' and '.join(names)} doubled: {words(old, work)} becomes {words(new, work)}" if cheaper else None,
        )

    # ------------------------------------------------------------------ counting

    def law(self, name: str, workloads: Mapping[str, Facts], amount: int, seed: int) -> Law:
        """A relation tried on so many workloads to which it applies, with chances of its own."""
        relation = getattr(self, _RELATIONS[name])
        self.chance = random.Random(f"{seed}/{name.partition(',')[0]}")  # The same changes for both readings of one.
        says = " ".join((relation.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
        law = Law(name, says, None if says.startswith("For the record") else BAR)
        for workload, facts in workloads.items():
            if law.applies >= amount:
                break
            verdict = relation(facts)
            if verdict is not None:
                law.judge(workload, *verdict)
        return law


#: The relations by name, in the order of the report.
_RELATIONS = {
    "a lower price for the winner": "lower_price",
    "a loser removed": "without_a_loser",
    "a loser's price raised": "costlier_loser",
    "a larger budget": "more_budget",
    "a looser target": "looser_target",
    "a looser target, by speed alone": "looser_target_by_speed_alone",
    "one more provider or card allowed": "one_more_choice",
    "one more provider or card allowed, by figures alone": "one_more_choice_by_figures",
    "a doubled load": "doubled_load",
    "another order of facts": "another_order",
    "another spelling of values": "another_spelling",
    "an assumption stated": "saying_what_was_assumed",
    "two percent": "two_percent",
    "two percent, limits apart": "two_percent_by_choice",
    "more cards owned": "owning_more",
    "more cards owned, to the cent": "owning_more_to_the_cent",
    "a fact beside the point": "beside_the_point",
}


def relation_names() -> tuple[str, ...]:
    """The relations that are tried."""
    return tuple(_RELATIONS)
