"""Changes of a question that change nothing of the answer: another order, other words, what was assumed anyway."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from decision_laws.reading import Answers, Plan, decide, describe, kind_of_work, shown
from decision_laws.respelling import respelt


Facts = dict[str, Any]
#: The facts that were asked about, and how the relation is broken; None in place of it where it holds.
Verdict = tuple[Facts, str | None]

_NUMBERS = (
    "param_count_b",
    "context_tokens",
    "concurrency",
    "peak_qps",
    "ttft_slo_ms",
    "tpot_slo_ms",
    "latency_slo_ms",
    "min_tokens_per_s",
    "train_tokens_b",
    "train_steps",
    "deadline_hours",
    "seq_len_tokens",
    "budget_usd_per_hour",
    "budget_usd_per_month",
    "budget_usd_total",
    "utilization_pct",
    "monthly_cloud_spend_usd",
)
_WHOLE = {"context_tokens", "concurrency", "train_steps", "seq_len_tokens"}
_BESIDE = {
    "inference": {"gradient_accumulation_steps": 4},
    "pretraining": {"kv_cache_precision": "fp16"},
    "full_finetuning": {"kv_cache_precision": "fp16"},
    "peft_finetuning": {"kv_cache_precision": "fp16"},
}


def same(one: Plan | None, other: Plan | None) -> bool:
    """Whether two answers recommend the same card in the same number."""
    return (one and (one["gpu"], one["count"])) == (other and (other["gpu"], other["count"]))


def words(plan: Plan | None, work: str) -> str:
    return describe(plan, work) if plan else "no answer"


class Invariance:
    """Asks a question in two ways, and tells whether the answers differ."""

    def __init__(self, answers: Answers, chance: random.Random) -> None:
        self.answers = answers
        self.chance = chance

    def ask(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, asked once for the same facts."""
        return self.answers.answer(facts)

    def another_order(self, facts: Facts) -> Verdict | None:
        """Facts in another order, under other names: the same answer in every word."""
        names = list(facts)
        self.chance.shuffle(names)
        other = respelt({name: facts[name] for name in names}, names_only=True)
        return facts, self._same_words(facts, other, "other order and names")

    def another_spelling(self, facts: Facts) -> Verdict | None:
        """Values with units and synonyms: the same answer in every word."""
        other = respelt(facts)
        return None if other == facts else (facts, self._same_words(facts, other, f"spelt {other}"))

    def _same_words(self, facts: Facts, other: Facts, change: str) -> str | None:
        before, after = self.ask(facts), decide(self.answers.advisor, other)
        differing = [key for key in before if before[key] != after.get(key)]
        return f"{change}: {', '.join(differing)} differ" if differing else None

    def saying_what_was_assumed(self, facts: Facts) -> Verdict | None:
        """What was assumed or looked up is stated: the same card in the same number."""
        before = self.ask(facts)
        found = [(k, v["value"]) for k, v in before["facts"].items() if v["origin"] in ("assumed", "looked_up")]
        if not found:
            return None
        after = self.ask({**facts, **dict(found)})
        wrong = self._changed(before, after, "all assumptions stated")
        if wrong:
            guilty = [k for k, v in found if self._changed(before, self.ask({**facts, k: v}), "")]
            wrong += f"; alone: {', '.join(guilty) or 'none'}"
        return facts, wrong

    def beside_the_point(self, facts: Facts) -> Verdict | None:
        """A fact that has no bearing on the kind of job is stated: the same card in the same number."""
        more = _BESIDE.get(facts["task"])
        if more is None or set(more) & set(facts):
            return None
        return facts, self._changed(self.ask(facts), self.ask({**facts, **more}), f"with {more}")

    def two_percent(self, facts: Facts) -> Verdict | None:
        """One number 2 % more or less: the same card in the same number."""
        return self._nudged(facts)

    def two_percent_by_choice(self, facts: Facts) -> Verdict | None:
        """For the record: where each of the two answers can be had in both questions, and none breaks a limit there."""
        return self._nudged(facts, forced=False)

    def _nudged(self, facts: Facts, *, forced: bool = True) -> Verdict | None:
        """``forced``: an answer counts as changed, too, that cannot be had, or keeps no limit, where the other can."""
        stated = [n for n in _NUMBERS if facts.get(n) and not (n in _WHOLE and facts[n] < 50)]
        if not stated:
            return None
        name = self.chance.choice(stated)
        value = facts[name] * self.chance.choice([0.98, 1.02])
        value = round(value) if name in _WHOLE else value
        if name == "utilization_pct":
            value = min(100.0, value)
        before, after = self.ask(facts), self.ask({**facts, name: value})
        if not forced and not (_offered(before["recommendation"], after) and _offered(after["recommendation"], before)):
            return facts, None
        return facts, self._changed(before, after, f"{name} {facts[name]:g} -> {value:g}")

    def _changed(self, before: Mapping[str, Any], after: Mapping[str, Any], change: str) -> str | None:
        old, new, work = before["recommendation"], after["recommendation"], kind_of_work(before)
        return None if same(old, new) else f"{change}: {words(old, work)} becomes {words(new, work)}"


def _offered(plan: Plan | None, answer: Mapping[str, Any]) -> bool:
    """Whether an answer shows a plan's card in its number, proven if the plan is."""
    if plan is None:
        return answer["recommendation"] is None
    return any(same(plan, other) and other["proven"] >= plan["proven"] for other in shown(answer))
