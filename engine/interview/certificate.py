"""The certificate: what was not asked and why it cannot matter, and its check by sampling completions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from whichgpu.engine.advisor import Advisor, Outcome
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview.open_choice import OpenChoice
from whichgpu.engine.interview.plan_variations import PlanShapes
from whichgpu.engine.interview.possible_outcomes import OpenFacts
from whichgpu.engine.interview.rule_index import RuleIndex
from whichgpu.engine.interview.verdict import Verdicts
from whichgpu.engine.rules import FactDef, constants_compared, probing, representatives


if TYPE_CHECKING:
    from whichgpu.engine.advisor import UnaskedFact


class Unasked(Struct, frozen=True):
    """One fact that was not asked, why it cannot matter, and how that was established."""

    fact: str
    why: str
    checked: str

    def to_dict(self) -> UnaskedFact:
        """The JSON object that a record holds."""
        return {"fact": self.fact, "why": self.why, "checked": self.checked}


class Answered(Struct, frozen=True):
    """What must be stable in an answer."""

    gpu: str | None
    count: int | None
    procurement: Value

    def __str__(self) -> str:
        plan = f"{self.count} x {self.gpu}" if self.gpu else "no plan"
        return f"{plan}, {self.procurement}"

    def differs_in(self, other: Answered) -> tuple[str, ...]:
        """Which of the three differ."""
        return tuple(name for name in ("gpu", "count", "procurement") if getattr(self, name) != getattr(other, name))


class Counterexample(Struct, frozen=True):
    """A completion of the unasked facts that changes the answer."""

    completion: Mapping[str, Value]
    answer: Answered
    instead_of: Answered


class Completions(Struct, frozen=True):
    """What came of filling in the unasked facts at random."""

    decided: int
    counterexamples: tuple[Counterexample, ...]


def answered(outcome: Outcome) -> Answered:
    """GPU, count and procurement verdict of an outcome."""
    plan = outcome.chosen.ranked.plan if outcome.chosen else None
    verdict = outcome.final.facts.get("procurement", "undecided")
    return Answered(plan.gpu.id if plan else None, plan.count if plan else None, verdict)


@probing()
def check_certificate(
    advisor: Advisor,
    given: Mapping[str, Value],
    unasked: Sequence[str],
    *,
    samples: int,
    chance: random.Random,
    decided_at: datetime,
) -> Completions:
    """Decide random completions of the unasked facts, and keep those that answer otherwise.

    Completions that contradict themselves are no answers that a person could give; they are drawn again, four times
    the samples at most.

    Args:
        advisor: the expert that decided.
        given: the facts of the decision.
        unasked: the facts of the certificate.
        samples: how many completions to decide.
        chance: where they are drawn from.
        decided_at: a moment for the decisions; it does not affect the answer.
    """
    base = answered(advisor.decide(dict(given), decided_at=decided_at).outcome)
    found, drawn = [], 0
    domains = domains_of(advisor, unasked)
    for _ in range(samples * 4):
        if drawn == samples:
            break
        completion = complete(domains, chance)
        try:
            outcome = advisor.decide({**given, **completion}, decided_at=decided_at).outcome
        except InputError:
            continue
        if outcome.no_answer is not None and outcome.no_answer.kind == "contradictory":
            continue
        drawn += 1
        other = answered(outcome)
        if other != base:
            found.append(Counterexample(completion, other, base))
    return Completions(drawn, tuple(found))


def domains_of(advisor: Advisor, names: Sequence[str]) -> dict[str, tuple[FactDef, tuple[Value, ...]]]:
    """The facts whose values can be drawn, each with the values that stand for its domain."""
    compared = constants_compared(condition.expr for rule in advisor.rulebook.rules for condition in rule.when)
    facts = [advisor.vocabulary.facts[name] for name in sorted(names)]
    found = {fact.name: (fact, representatives(fact, compared.get(fact.name, frozenset()))) for fact in facts}
    return {name: (fact, values) for name, (fact, values) in found.items() if values}


def complete(domains: Mapping[str, tuple[FactDef, tuple[Value, ...]]], chance: random.Random) -> dict[str, Value]:
    """A random value for each of these facts, or none for some of them."""
    return {name: draw(fact, values, chance) for name, (fact, values) in domains.items() if chance.random() >= 0.15}


def draw(fact: FactDef, values: Sequence[Any], chance: random.Random) -> Value:
    """A random value of a fact: one that stands for its domain, or any number between two of them."""
    if not fact.numeric or chance.random() < 0.5:
        value: Value = chance.choice(values)
        return value
    low, high = chance.choice(list(pairwise(values)))
    drawn = chance.uniform(low, high)
    return round(drawn) if fact.type == "int" else drawn


_RULES = "three-valued rules over its whole domain"
_PLANS_AGAIN = "plans made again over its choices, ends and thresholds"
_BOUNDS = "bounds on the tier, cost, speed and score of every plan over all joint answers"
_VERDICTS = "every verdict that joint answers could bring"


def unasked_of(
    rule_index: RuleIndex,
    open_names: Sequence[str],
    open_facts: OpenFacts,
    shapes: PlanShapes,
    choice: OpenChoice,
    verdicts: Verdicts,
) -> tuple[Unasked, ...]:
    """The certificate of a state in which nothing is left to ask."""
    verdict_reads = open_facts.behind({name for view in rule_index.advising for name in view.reads})
    return tuple(_unasked(name, shapes, choice, verdicts, verdict_reads) for name in open_names)


def _unasked(
    name: str, shapes: PlanShapes, choice: OpenChoice, verdicts: Verdicts, verdict_reads: frozenset[str]
) -> Unasked:
    why, checked = [], []
    moved = sorted(fact for fact, causes in shapes.moved.items() if name in causes)
    if name in shapes.silent:
        what = f"it moves {', '.join(moved)} alone" if moved else "no plan changes with it"
        why.append(f"{what}, and which plans there are stays the same")
        checked.append(_PLANS_AGAIN)
    points = choice.bounds.moves.get(name)
    if points:
        ahead = choice.bounds.narrowest
        stays = "the answer" if ahead is None or ahead < 0 else f"ahead by {ahead:.1f}"
        why.append(
            f"the rules that read it could move another plan by at most {points:.1f} points, "
            f"and {choice.leader} stays {stays} even if all that is open goes against it"
        )
        checked.append(_BOUNDS)
    elif name in choice.bounds.read:
        why.append(f"the rules of preference that read it concern only plans that stay behind {choice.leader}")
        checked.append(_BOUNDS)
    if any(name in causes for causes in choice.rejecting.values()):
        why.append("it could eliminate only plans that are behind")
        checked.append(_RULES)
    if name in verdict_reads and verdicts.certain:
        why.append(f"the verdict is {next(iter(verdicts.possible))} whatever it is")
        checked.append(_VERDICTS)
    if not why:
        return Unasked(name, "no rule that can still hold, and no figure of a plan, depends on it", _RULES)
    return Unasked(name, "; ".join(why), "; ".join(checked))
