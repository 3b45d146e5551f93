"""What hardware that is owned could do where it is not the answer, in words and under the contract's keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.wording import ratio_words, rejection_text
from whichgpu.engine.advisor.owned_use import OwnedUse
from whichgpu.engine.core import Facts, json_value, number, usd_words
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import Vocabulary, format_number, format_value


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import compact_types, part_types

#: From so many hours on a run is told in days.
_DAYS = 72
#: Of figures that are computed; more would say that they are known better.
_DIGITS = 3


def owned_dict(use: OwnedUse, workload: Facts, vocabulary: Vocabulary) -> part_types.OwnedUse:
    """The plan with its figures, the facts to state for it, and all of it in a sentence."""
    plan = use.plan
    entry: part_types.OwnedUse = {
        "id": plan.id,
        "gpu": plan.gpu.id,
        "count": plan.count,
        "holds": use.holds,
        "change": use.facts or None,
        "rules": [rule.id for rule in use.rejection.rules] if use.rejection else [],
        "says": owned_sentence(use, workload, vocabulary),
        "usd_per_hour": plan.cost.usd_per_hour,
        "usd_per_run": plan.cost.usd_per_run if use.holds else None,
        "tokens_per_s": _figure(use, "plan.tokens_per_s"),
        "samples_per_s": _figure(use, "plan.samples_per_s"),
        "hours": _figure(use, "plan.hours"),
        "latency_ms": _figure(use, "plan.latency_ms"),
        "cost_ratio": use.cost_ratio,
        "speed_ratio": use.speed_ratio,
    }
    rounded: part_types.OwnedUse = json_value(entry)
    return rounded


def compact_owned(use: OwnedUse) -> compact_types.CompactOwned:
    """``owned_dict`` for a compact line: id, price and relative speed, for a plan that needs no change."""
    entry: compact_types.CompactOwned = {"id": use.plan.id, "usd_per_hour": _short(use.plan.cost.usd_per_hour)}
    if use.rejection is None:
        entry["speed_ratio"] = _short(use.speed_ratio)
    return entry


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def owned_sentence(use: OwnedUse, workload: Facts, vocabulary: Vocabulary) -> str:
    """``2 x GeForce RTX 3090 hold it if you keep what is not in use in system memory: 173 tokens/s, ...``."""
    plan, one = use.plan, use.plan.count == 1
    name = f"{plan.count} x {plan.gpu.name}"
    if not use.holds:
        needed = f"{plan.memory.per_gpu_gb:.0f} GB" if plan.memory else "more memory"
        there = f", {plan.gpu.usable_gb:.0f} GB are usable" if plan.gpu.usable_gb else ""
        where = "needed on it" if one else "needed on each"
        return (
            f"{name} {'does' if one else 'do'} not hold it: {needed} {where}{there}, and no known change makes it fit."
        )
    does = f"{name} {'holds' if one else 'hold'} it"
    if use.changes:
        does += f" if you {_joined([change.says for change in use.changes])}"
    figures = [*_spoken(use, vocabulary), *([_price(plan)] if plan.cost.usd_per_hour is not None else [])]
    ratios = [ratio_words(use.cost_ratio, of_cost=True), ratio_words(use.speed_ratio, of_cost=False)]
    beside = ", ".join(words for words in ratios if words)
    says = f"{does}: {', '.join(figures)}{'; ' if beside else ''}{beside}."
    if use.rejection is None:
        return says
    facts = {**workload, **use.facts, **use.rejection.facts}
    return f"{says} But: {rejection_text(use.rejection.rules[0], facts, vocabulary).rstrip('.')}."


def _spoken(use: OwnedUse, vocabulary: Vocabulary) -> list[str]:
    """How fast it is: the pace, and how long the run or an answer takes."""
    tokens, samples = _figure(use, "plan.tokens_per_s"), _figure(use, "plan.samples_per_s")
    hours, wait = _figure(use, "plan.hours"), _figure(use, "plan.latency_ms")
    said = []
    if tokens is not None:
        said.append(format_value(vocabulary.facts["plan.tokens_per_s"], tokens, digits=_DIGITS))
    elif samples is not None and wait is None:  # Of a service its time of an answer says more.
        said.append(f"{format_number(samples, digits=_DIGITS)} samples/s")
    if hours is not None:
        length, unit = (hours, "hours") if hours < _DAYS else (hours / 24, "days")
        said.append(f"{format_number(length, digits=_DIGITS)} {unit} for the run")
    elif wait is not None:
        said.append(f"{format_number(wait / 1000, digits=_DIGITS)} s for an answer")
    return said


def _figure(use: OwnedUse, name: str) -> float | None:
    return number(use.plan.facts, name) if use.holds else None


def _price(plan: Plan) -> str:
    run = plan.cost.usd_per_run
    hour = plan.cost.usd_per_hour or 0.0
    amount, unit = (run, "for the run") if run is not None else (hour, "an hour")
    return f"{usd_words(amount)} of electricity and upkeep {unit}"


def _joined(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
