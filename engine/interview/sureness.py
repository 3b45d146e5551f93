"""How sure the answer is: in how many of the ways in which the open facts could turn out it stays what it is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from msgspec import Struct

from whichgpu.engine.advisor import Advisor, DecisionContext, choice_on
from whichgpu.engine.core import Value
from whichgpu.engine.interview.certificate import Answered
from whichgpu.engine.rules import FactDef, probing, spread


#: In so many ways the open facts are filled in. The share of them that keep the answer is then within 20 points of that
#: of all ways at 95 percent, enough to tell nearly sure from open; each way is a decision that is waited for.
WAYS = 25
#: After so many ways it is plain where most of them change the answer: the rest are not tried.
_FEW = 8
#: Where GPU and count stay in this share of ways, the answer may be taken (``benchmarks/interview.py`` measures it).
LIKELY = 0.75
#: At most so many values of one number are drawn: the plans are made anew for each.
_MOST_VALUES = 4
#: As often as this an open fact stays open: people do not know everything.
_UNKNOWN = 0.15


class Sureness(Struct, frozen=True):
    """Of ``of`` ways in which what is open could turn out: in how many GPU and count stay, and the verdict as well."""

    of: int
    plan_stays: int
    all_stays: int
    rival: Answered | None = None  # the most frequent answer with other GPUs

    @property
    def likely(self) -> bool:
        """Whether the GPUs are settled as far as one can tell without asking on."""
        return self.plan_stays >= LIKELY * self.of


@dataclass(slots=True)
class Ways:
    """Fills in what is open, the same way at every step, and decides; remembers what it decided."""

    advisor: Advisor
    context: DecisionContext  # may keep plans from one variation to the next
    day: date
    values: Mapping[str, Sequence[Value]]
    _answers: dict[tuple[tuple[str, Value], ...], Answered | None] = field(default_factory=dict)

    def sureness(self, given: Mapping[str, Value], base: Answered, open_names: Sequence[str]) -> Sureness:
        """How often the answer on what is given stays.

        Args:
            given: what is known.
            base: the answer on it.
            open_names: the facts that are filled in.
        """
        found: list[Answered] = []
        kept = 0
        names = [name for name in open_names if self.values.get(name)]
        for way in range(2 * WAYS if names else 0):  # Some contradict themselves.
            answer = self._answer({**given, **self._drawn(way, names)})
            if answer is not None:
                found.append(answer)
                kept += (answer.gpu, answer.count) == (base.gpu, base.count)
            if len(found) == WAYS or (len(found) == _FEW and kept <= _FEW // 2):
                break
        if not found:
            return Sureness(1, 1, 1)
        same = [other for other in found if (other.gpu, other.count) == (base.gpu, base.count)]
        rivals = Counter(a for a in found if a.gpu is not None and (a.gpu, a.count) != (base.gpu, base.count))
        rival = rivals.most_common(1)[0][0] if rivals else None
        return Sureness(len(found), len(same), same.count(base), rival)

    def _drawn(self, way: int, names: Sequence[str]) -> dict[str, Value]:
        """What each fact is in one way. It hangs on the way and the fact alone: an answer leaves the rest as it was."""
        drawn = {}
        for name in names:
            chance = random.Random(f"{way} {name}")  # noqa: S311 - a fixed sample, and no secret
            if chance.random() >= _UNKNOWN:
                drawn[name] = chance.choice(self.values[name])
        return drawn

    def _answer(self, given: Mapping[str, Value]) -> Answered | None:
        """The answer on these facts; None where they contradict each other."""
        key = tuple(sorted(given.items()))
        if key not in self._answers:
            with probing():
                self._answers[key] = self._decided(given)
        return self._answers[key]

    def _decided(self, given: Mapping[str, Value]) -> Answered | None:
        found = choice_on(self.context, given, self.advisor.objective(None, given))
        if found is None:
            return None
        plan = found.chosen.ranked.plan if found.chosen else None
        compared = self.context.procurement(found.intake.facts, plan, self.day)
        before = found.round.survey if found.round else found.intake
        verdict = self.context.final(before, found.chosen, compared).facts.get("procurement", "undecided")
        return Answered(plan.gpu.id if plan else None, plan.count if plan else None, verdict)


def usual_values(fact: FactDef, values: Sequence[Value] | None) -> tuple[Value, ...]:
    """What people are likely to answer: choices with a label, or a few numbers between the ends of the domain."""
    if fact.choice_labels:
        return tuple(choice for choice in values or () if choice in fact.choice_labels)
    if fact.numeric:
        inner = values[1:-1] if values and len(values) > 3 else values or ()
        return tuple(spread(inner, _MOST_VALUES))
    return tuple(values or ())
