"""How sure the answer is: in how many samples of what the open facts may be it stays what it is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from msgspec import Struct

from whichgpu.engine.advisor import Advisor, DecisionContext, Probed, choice_on
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview.certificate import Answered
from whichgpu.engine.interview.rule_index import Line
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import FactDef, probing, spread


#: So many samples of the open facts are decided, each while a person waits. The share of them that keep the answer is
#: then within 31 points of the share over all their values at 95 percent, enough to distinguish nearly sure from open.
SAMPLES = 10
#: At most so many are drawn for each that is decided: facts drawn one by one may contradict each other.
_TRIES = 3
#: Where GPU and count stay in this share of samples, the answer may be taken (``benchmarks/interview.py`` measures it).
LIKELY = 0.75
#: At most so many values of one number are drawn: the plans are regenerated for each.
_MOST_VALUES = 4
#: As often as this an open fact stays open: people do not know everything.
_UNKNOWN = 0.15


class Sureness(Struct, frozen=True):
    """Of ``of`` samples of what is open: in how many GPU and count stay, and in how many the verdict as well."""

    of: int
    plan_stays: int
    all_stays: int
    runner_up: tuple[str | None, int | None] | None = None  # GPU and count of the most frequent other answer

    @property
    def likely(self) -> bool:
        """Whether the GPUs are likely to stay whatever else is answered."""
        return self.plan_stays >= LIKELY * self.of


@dataclass(slots=True)
class _Chosen:
    """What is chosen on one sample."""

    probed: Probed
    verdict: Value | None = None  # on renting and owning, once it was asked

    @property
    def plan(self) -> Plan | None:
        """The plan, if any survives."""
        return self.probed.chosen.ranked.plan if self.probed.chosen else None

    @property
    def gpus(self) -> tuple[str | None, int | None]:
        """GPU and count."""
        return (self.plan.gpu.id, self.plan.count) if self.plan else (None, None)


@dataclass(slots=True)
class AnswerSamples:
    """Fills in what is open, the same at every step, and decides; remembers what it decided."""

    advisor: Advisor
    context: DecisionContext  # may keep plans from one variation to the next
    day: date
    values: Mapping[str, Sequence[Value]]
    asked_when: Mapping[str, Line]  # facts that make sense only under a condition
    _choices: dict[tuple[tuple[str, Value], ...], _Chosen | None] = field(default_factory=dict)

    def sureness(self, given: Mapping[str, Value], known: Facts, base: Answered, open_names: Sequence[str]) -> Sureness:
        """How often the answer on what is given stays.

        Args:
            given: what is stated.
            known: all that follows from it.
            base: the answer on it.
            open_names: the facts that are filled in.
        """
        found: list[_Chosen] = []
        mine = base.gpu, base.count
        names = [name for name in open_names if self.values.get(name)]
        for sample in range(_TRIES * SAMPLES if names else 0):
            chosen = self._choice({**given, **self._sensible(self._drawn(sample, names), known, open_names)})
            if chosen is not None:
                found.append(chosen)
                if len(found) == SAMPLES:
                    break
        if not found:
            return Sureness(1, 1, 1)
        same = [chosen for chosen in found if chosen.gpus == mine]
        others = Counter(chosen.gpus for chosen in found if chosen.gpus[0] is not None and chosen.gpus != mine)
        runner_up = others.most_common(1)[0][0] if others else None
        verdicts = [self._verdict(chosen) for chosen in same]
        return Sureness(len(found), len(same), verdicts.count(base.procurement), runner_up)

    def _drawn(self, sample: int, names: Sequence[str]) -> dict[str, Value]:
        """What each fact is in one sample; it depends on the two alone: an answer leaves the rest as it was."""
        drawn = {}
        for name in names:
            chance = random.Random(f"{sample} {name}")  # noqa: S311 - a fixed sample, and no secret
            if chance.random() >= _UNKNOWN:
                drawn[name] = chance.choice(self.values[name])
        return drawn

    def _sensible(self, drawn: Mapping[str, Value], known: Facts, open_names: Sequence[str]) -> dict[str, Value]:
        """What would be asked beside the rest: no total of a service, and none while it is open whether it is one."""
        facts, found = {**known, **drawn}, dict[str, Value]()
        for name, value in drawn.items():
            line = self.asked_when.get(name)
            holds = True if line is None else line.test(facts)
            # What is assumed of an open fact may be otherwise.
            unsure = holds is None and line is not None and not line.reads.isdisjoint(open_names)
            if holds is not False and not unsure:
                found[name] = value
        return found

    def _choice(self, given: Mapping[str, Value]) -> _Chosen | None:
        """What is chosen on these facts; None where they contradict each other."""
        key = tuple(sorted(given.items()))
        if key not in self._choices:
            with probing():
                found = choice_on(self.context, given, self.advisor.objective(None, given))
            self._choices[key] = None if found is None else _Chosen(found)
        return self._choices[key]

    def _verdict(self, chosen: _Chosen) -> Value:
        """What renting and owning come to after a choice; asked of those that keep the GPUs alone."""
        if chosen.verdict is None:
            probed = chosen.probed
            with probing():
                compared = self.context.procurement(probed.intake.facts, chosen.plan, self.day)
                before = probed.round.survey if probed.round else probed.intake
                final = self.context.final(before, probed.chosen, compared)
            chosen.verdict = final.facts.get("procurement", "undecided")
        return chosen.verdict


def usual_values(fact: FactDef, values: Sequence[Value] | None) -> tuple[Value, ...]:
    """What people are likely to answer: choices with a label, or a few numbers between the ends of the domain."""
    if fact.choice_labels:
        return tuple(choice for choice in values or () if choice in fact.choice_labels)
    if fact.numeric:
        inner = values[1:-1] if values and len(values) > _ENDS_AND_MIDDLE else _between_ends(fact, values or ())
        return tuple(spread(inner, _MOST_VALUES))
    return tuple(values or ())


#: What stands for a number that no rule compares with anything.
_ENDS_AND_MIDDLE = 3


def _between_ends(fact: FactDef, values: Sequence[Value]) -> tuple[Value, ...]:
    """The middle of a domain, and a third of the way to either end by its order of magnitude; no end itself."""
    if len(values) != _ENDS_AND_MIDDLE:
        return tuple(values)
    low, middle, high = (float(value) for value in values if isinstance(value, int | float))
    if low <= 0 or high / low <= _ONE_SCALE:
        return tuple(values)
    found = ((low * middle**2) ** (1 / 3), middle, (middle**2 * high) ** (1 / 3))
    return tuple(round(value) if fact.type == "int" else value for value in found)


#: Numbers within so many times each other are drawn to the ends.
_ONE_SCALE = 100
