"""Trade-offs in words and under the keys of the output contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.wording import ratio_words
from whichgpu.engine.advisor.objectives import shipped_objectives
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.tradeoffs import TradeOff
from whichgpu.engine.core import json_value, usd_words
from whichgpu.engine.rules import Vocabulary, format_value


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types


def trade_off_list(found: Sequence[TradeOff], outcome: Outcome, vocabulary: Vocabulary) -> list[part_types.TradeOff]:
    """The trade-offs of an answer, figures rounded to six significant digits."""
    hour = outcome.chosen.ranked.plan.cost.usd_per_hour if outcome.chosen else None
    entries: list[part_types.TradeOff] = [
        {
            "kind": entry.kind,
            "change": {entry.fact: entry.value} if entry.fact else None,
            "says": trade_off_sentence(entry, outcome, vocabulary),
            "plan": {
                "id": entry.plan.id,
                "gpu": entry.plan.gpu.id,
                "count": entry.plan.count,
                "usd_per_hour": entry.usd_per_hour,
            },
            "cost_ratio": entry.cost_ratio,
            "speed_ratio": entry.speed_ratio,
            "usd_per_hour_delta": entry.usd_per_hour - hour if entry.usd_per_hour is not None and hour else None,
            "term_months": entry.term_months,
        }
        for entry in found
    ]
    rounded: list[part_types.TradeOff] = json_value(entries)
    return rounded


def trade_off_sentence(entry: TradeOff, outcome: Outcome, vocabulary: Vocabulary) -> str:
    """What would be allowed and what it brings: ``At 48 h instead of 24 h (deadline): 1 x L4 at ...``."""
    plan = f"{entry.plan.count} x {entry.plan.gpu.name}"
    price = f" at {usd_words(entry.usd_per_hour)} an hour" if entry.usd_per_hour is not None else ""
    price += " for electricity and upkeep" if entry.plan.cost.origin == "owned" and price else ""
    price += " if it is bought" if entry.plan.cost.origin == "purchase" and price else ""
    ratios = [ratio_words(entry.cost_ratio, of_cost=True), ratio_words(entry.speed_ratio, of_cost=False)]
    if outcome.chosen is None:  # There is no answer that it could be compared with.
        pace = entry.plan.facts.get("plan.tokens_per_s")
        ratios = [format_value(vocabulary.facts["plan.tokens_per_s"], pace, digits=_DIGITS)] if pace is not None else []
    beside = ", ".join(words for words in ratios if words)
    says = entry.asks_for or _AFTER.get(entry.kind)
    after = f" {says}" if says and (entry.fact is None or entry.value is not None) else ""
    return f"{_lead(entry, outcome, vocabulary)}: {plan}{price}{', ' if beside else ''}{beside}.{after}"


_DIGITS = 3  # of a speed that is computed; more would say that it is known better
_AFTER = {
    "precision": "Test first whether the quality suffices.",
    "offload": "The system needs memory for what the cards do not hold.",
    "spot": "It can be taken away at any time.",
    "commitment": "Every hour of the term is paid for.",
}


_LEADS = {
    "spot": "If it may be interrupted",
    "targets_margin": "To meet what is asked at the slow end of the band too",
    "memory_margin": "To hold the job at the upper end of the memory band too",
}


def _lead(entry: TradeOff, outcome: Outcome, vocabulary: Vocabulary) -> str:
    """What would have to be allowed."""
    match entry.kind:
        case "objective":
            return shipped_objectives()[str(entry.value)].best_plan
        case "commitment":
            return f"Committed for {entry.term_months} months"
        case "owned":
            return "On what you own" if entry.plan.cost.origin == "owned" else "What more would buy"
        case "spot" | "targets_margin" | "memory_margin":
            return _LEADS[entry.kind]
        case "offload" if entry.fact:
            label = vocabulary.facts[entry.fact].label or entry.fact
            return f"Without {label}" if entry.value is None else f"With {label}"
        case _:
            return _changed(entry, outcome, vocabulary)


def _changed(entry: TradeOff, outcome: Outcome, vocabulary: Vocabulary) -> str:
    """The one fact that would be another, or would not be stated."""
    name = entry.fact or ""
    fact = vocabulary.facts[name]
    label, before = fact.label or name, outcome.intake.facts.get(name)
    if entry.value is None:
        return f"If {label} were not {before}" if isinstance(before, str) else f"If {label} ({name}) were not stated"
    if entry.value is True:
        return f"With {label} ({name}: yes)"
    if entry.kind == "precision":
        return f"With {entry.value} as {label}"
    if entry.kind == "technique":
        return f"With {label} {entry.value}"
    instead = f" instead of {format_value(fact, before)}" if before is not None else ""
    return f"At {format_value(fact, entry.value)}{instead} ({label})"
