"""Texts of rules rendered with the values of a case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.core import Facts, number
from whichgpu.engine.rules import Fallback, Reject, Rule, Vocabulary, render, template_facts


#: Ratios nearer to one than this are called the same.
_SAME = 0.01


def say(template: str, facts: Facts, vocabulary: Vocabulary) -> str:
    """A template with its facts filled in, as one line."""
    return " ".join(render(template, facts, vocabulary).split())


def because(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """The general reason of a rule; it may name facts too."""
    return say(rule.because, facts, vocabulary)


def spoken(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """What a rule says of a case: its own text, or else its general reason."""
    return say(rule.text or rule.because, facts, vocabulary)


def rejection_text(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """Why this rule rejects this plan."""
    return "; ".join(say(effect.text, facts, vocabulary) for effect in rule.effects if isinstance(effect, Reject))


def missed_by(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> float:
    """By how many times a plan misses the limit that its rejection names; infinity where it names none.

    A rejection says what there is and what may be, two figures of one unit: the larger by the smaller.
    """
    names = [name for effect in rule.effects if isinstance(effect, Reject) for name in template_facts(effect.text)]
    figures: dict[str, list[float]] = {}
    for name in names:
        fact, value = vocabulary.fact(name), number(facts, name)
        if fact is not None and fact.unit and value:
            figures.setdefault(fact.unit, []).append(abs(value))
    pairs = (pair for values in figures.values() for pair in combinations(values, 2))
    return min((max(pair) / min(pair) for pair in pairs), default=math.inf)


def fallback_text(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """Why this rule lets this plan be chosen only where no other qualifies."""
    return "; ".join(say(effect.text, facts, vocabulary) for effect in rule.effects if isinstance(effect, Fallback))


#: What an answer comes to, each time beside what people tolerate, in the order in which it passes.
_TIMES = {
    "ttft": "its answers begin within {plan.ttft_judged_ms}, and people tolerate {ttft_bearable_ms}",
    "tpot": "each further token takes {plan.tpot_judged_ms}, and people tolerate {tpot_bearable_ms}",
    "latency": "its answers are complete within {plan.latency_judged_ms}, and people tolerate {latency_bearable_ms}",
}


_RUN = "the run takes {plan.hours}, and people tolerate {run_bearable_hours}"


def later_than_tolerable(entry: Judged, workload: Facts, vocabulary: Vocabulary) -> str:
    """By which time a plan is later than people tolerate: the one that is worst."""
    if "run_bearable_hours" in workload and "plan.hours" in entry.facts:
        return say(_RUN, {**workload, **entry.facts}, vocabulary)
    late: dict[str, float] = {}
    for name in _TIMES:
        time, most = number(entry.facts, f"plan.{name}_judged_ms"), number(workload, f"{name}_bearable_ms")
        late[name] = time / most if time is not None and most else 0.0
    return say(_TIMES[max(late, key=late.__getitem__)], {**workload, **entry.facts}, vocabulary)


def larger_words(entry: Judged, smaller: Judged, vocabulary: Vocabulary) -> str:
    """Why a plan is larger than anybody asked for, beside one that is large enough."""
    mine, its = (say("{plan.usd_per_hour}", each.facts, vocabulary) for each in (entry, smaller))
    enough = f"{smaller.ranked.plan.count} x {smaller.ranked.plan.gpu.name}"
    return f"it costs {mine} where {enough} costs {its}, and so much work is not stated"


def better_words(beside: Mapping[str, Any]) -> str:
    """``27 % cheaper and 2.6 x as fast``: the answer beside a plan that it beats, whose ratios are by the answer's."""
    ratios = (("cost_ratio", True), ("speed_ratio", False))
    found = [ratio_words(1 / beside[key], of_cost=of_cost) for key, of_cost in ratios if beside[key]]
    return " and ".join(found) or "better"


#: From here on percent would be a hundred.
_TWICE = 1.995


def ratio_words(ratio: float | None, *, of_cost: bool) -> str:
    """A cost or speed beside another: ``27 % cheaper``, ``2.6 x the cost``, ``as fast``; nothing if it is not known."""
    if ratio is None:
        return ""
    if abs(ratio - 1) < _SAME:
        return "as cheap" if of_cost else "as fast"
    if ratio >= _TWICE:
        times = f"{ratio:,.1f}".removesuffix(".0") if ratio < 100 else f"{ratio:,.0f}"
        return f"{times} x {'the cost' if of_cost else 'as fast'}"
    less, more = ("cheaper", "costlier") if of_cost else ("slower", "faster")
    return f"{round(abs(ratio - 1) * 100)} % {less if ratio < 1 else more}"
