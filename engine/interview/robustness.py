"""What hangs on the questions that a person could not answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.certificate import Answered
from whichgpu.engine.interview.certificate import answered
from whichgpu.engine.interview.planner import Interviewer
from whichgpu.engine.interview.state import State


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer.part_types import UnknownFact


#: At most so many values of one fact are decided.
_MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that the person does not know, and what other answers it could bring."""

    fact: str
    assumed: Value | None  # what was taken in its place, if anything
    changes: tuple[tuple[Value, Answered], ...]  # values that lead to another answer

    @property
    def robust(self) -> bool:
        """Whether no value that was tried changes the answer."""
        return not self.changes

    def to_dict(self) -> UnknownFact:
        """As it stands in a record."""
        return {
            "fact": self.fact,
            "assumed": self.assumed,
            "robust": self.robust,
            "changes": [
                {"value": value, "gpu": other.gpu, "count": other.count, "procurement": str(other.procurement)}
                for value, other in self.changes
            ],
        }


def missing_answers(interviewer: Interviewer, state: State) -> tuple[Missing, ...]:
    """For each answer of "unknown": which values would change GPU, count or verdict. What matters most comes first."""
    outcome = interviewer.decide(state).outcome
    base = answered(outcome)
    found = []
    for fact in state.unknown:
        settled = outcome.intake.settled.get(fact)
        assumed = settled.claim.value if settled is not None else None
        found.append(Missing(fact, assumed, _changes(interviewer, state, fact, base)))
    return tuple(sorted(found, key=lambda item: (-_weight(item), item.fact)))


def tried_values(interviewer: Interviewer, fact: str) -> tuple[Value, ...]:
    """A few values that stand for the domain of a fact: choices, those with a label first, or thresholds of rules."""
    definition = interviewer.advisor.vocabulary.facts[fact]
    values = interviewer.atlas.values.get(fact) or ()
    if definition.choice_labels:
        return tuple(choice for choice in values if choice in definition.choice_labels)[:_MOST_VALUES]
    if definition.numeric and len(values) > 4:
        values = values[1:-1]  # The ends of a domain are as wide as one can write, and say little.
    if len(values) <= _MOST_VALUES:
        return values
    step = (len(values) - 1) / (_MOST_VALUES - 1)
    return tuple(values[round(index * step)] for index in range(_MOST_VALUES))


def _changes(interviewer: Interviewer, state: State, fact: str, base: Answered) -> tuple[tuple[Value, Answered], ...]:
    found = []
    for value in tried_values(interviewer, fact):
        try:
            outcome = interviewer.decide(state.answer(fact, value)).outcome
        except InputError:
            continue
        if outcome.no_answer is not None and outcome.no_answer.kind == "contradictory":
            continue
        other = answered(outcome)
        if other != base:
            found.append((value, other))
    return tuple(found)


def _weight(item: Missing) -> int:
    return len({other for _, other in item.changes}) * 100 + len(item.changes)
