"""Claims in words and under the keys of the output contract: what the guide says, and what is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.claims import CheckedClaim, Comparables, PlanFigures, checked_claims, figures_of
from whichgpu.engine.advisor.measures import is_job
from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.rules import Quantity, Rule


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import plan_types


#: Letters and digits whose names begin with a vowel: an H100, an L4, an 8-bit card.
_VOWEL_NAMES = frozenset("AEFHILMNORSX8")
_OF: dict[Quantity, str] = {
    "speed": "the speed of",
    "cost": "the cost of",
    "throughput_per_usd": "the work per dollar of",
    "efficiency": "the work per watt of",
}
#: By quantity: what a card is said to be where the rule speaks for it, and where it speaks against it.
_THAN: dict[Quantity, tuple[str, str]] = {
    "speed": ("faster than", "slower than"),
    "cost": ("cheaper than", "costlier than"),
    "throughput_per_usd": ("more work per dollar than", "less work per dollar than"),
    "efficiency": ("more work per watt than", "less work per watt than"),
}


def claims_on_answer(
    outcome: Outcome, rules: Mapping[str, Rule], gpus: Mapping[str, Gpu]
) -> list[plan_types.GuideClaim]:
    """What the guides claim of the answer's card, each beside what is computed; sorted by rule."""
    answer = outcome.chosen
    if answer is None:
        return []
    fired = [rules[name] for name in sorted(answer.prefer.fired) if name in rules]
    checked = dict(_checked(fired, answer, outcome, in_time=False))
    if not is_job(outcome.final.facts):
        # The speed of a service is the time of an answer, which says nothing for each GPU where the counts differ.
        in_time = _checked(fired, answer, outcome, in_time=True).items()
        checked |= {name: claim for name, claim in in_time if claim.quantity == "speed" and claim.same_count}
    return [claim_dict(checked[name], gpus) for name in sorted(checked)]


def _checked(fired: Sequence[Rule], answer: Judged, outcome: Outcome, *, in_time: bool) -> Mapping[str, CheckedClaim]:
    objective = outcome.objective.of_work(job=is_job(outcome.final.facts))
    others = Comparables(
        [_figures(entry, in_time=in_time) for entry in outcome.judged], lambda each: _merit(each, objective)
    )
    return checked_claims(fired, _figures(answer, in_time=in_time), others)


def _figures(entry: Judged, *, in_time: bool) -> PlanFigures:
    """A plan with its cost as ranked, and its speed: what it does in a time, or how soon an answer is there."""
    rates = [] if in_time else [entry.facts.get("plan.tokens_per_s"), entry.facts.get("plan.samples_per_s")]
    rate = next((float(rate) for rate in rates if isinstance(rate, int | float) and rate), entry.measures.speed)
    return figures_of(entry.ranked.plan, cost=entry.measures.cost, speed=rate, fired=entry.prefer.fired)


def _merit(figures: PlanFigures, objective: Objective) -> float:
    if not figures.cost or not figures.speed:
        return -inf
    return -float(objective.merit(figures.cost, 1 / figures.speed, figures.count))


def claim_dict(checked: CheckedClaim, gpus: Mapping[str, Gpu]) -> plan_types.GuideClaim:
    """A checked claim with its sentence."""
    return {
        "rule": checked.rule,
        "quantity": checked.quantity,
        "claimed_ratio": checked.claimed_ratio,
        "over": checked.over,
        "compared_with": {"gpu": checked.other.gpu.id, "count": checked.other.count},
        "per_gpu": checked.per_gpu,
        "computed_ratio": checked.computed_ratio,
        "agrees": checked.agrees,
        "text": claim_sentence(checked, gpus),
    }


def claim_sentence(checked: CheckedClaim, gpus: Mapping[str, Gpu]) -> str:
    """``the guide says 2.0 x the speed of an H100; computed here 1.03 x``, without its full stop.

    The plan compared with is named where the claim names no card, or where its number of GPUs differs.

    Args:
        checked: the claim.
        gpus: the catalogue, by id.
    """
    card = with_article(card_name(checked.over, gpus)) if checked.over else "other cards"
    if checked.claimed_ratio is not None:
        said = f"{claimed_number(checked.claimed_ratio)} x {_OF[checked.quantity]} {card}"
    else:
        said = f"{_THAN[checked.quantity][0 if checked.better else 1]} {card}"
    computed = f"{checked.computed_ratio:.3g} x"
    if checked.over is None or not checked.same_count:
        computed += f" {_OF[checked.quantity]} {checked.other.count} x {checked.other.gpu.name}"
        computed += " for each GPU" if checked.per_gpu else ""
    elif checked.claimed_ratio is None:
        computed += f" {_OF[checked.quantity]} {checked.other.gpu.name}"
    return f"{'our own rule' if checked.own else 'the guide'} says {said}; computed here {computed}"


def claimed_number(ratio: float) -> str:
    """A ratio as a source would write it: ``2.0``, ``1.75``, ``10``."""
    text = f"{ratio:g}"
    return f"{text}.0" if ratio < 10 and "." not in text else text


def card_name(name: str, gpus: Mapping[str, Gpu]) -> str:
    """What a GPU id, family or series is called: of a group the words of a member's name that its id has too."""
    members = [gpu for gpu in gpus.values() if name in (gpu.family, gpu.series)]
    if not members:
        return gpus[name].name if name in gpus else name
    parts = frozenset(name.split("-"))
    words = [word for word in members[0].name.split() if word.lower() in parts]
    return " ".join(words) or members[0].name


def with_article(name: str) -> str:
    """The name with ``a`` or ``an``, as it is spoken: an H100, a B200, an RTX 4090, an Arc A770."""
    word = name.split(maxsplit=1)[0] if name else ""
    spelt = word[:2].isupper() or (word[:1].isupper() and word[1:2].isdigit()) or word[:1].isdigit()
    vowel = word[:1] in _VOWEL_NAMES if spelt else word[:1].upper() in frozenset("AEIOU")
    return f"{'an' if vowel else 'a'} {name}"
