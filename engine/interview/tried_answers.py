"""What answers would come to: to a question that is asked, and to those that a person could not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from whichgpu.engine.advisor import Outcome
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview.certificate import Answered, answered
from whichgpu.engine.interview.planner import Interviewer
from whichgpu.engine.interview.resolving import live_rules
from whichgpu.engine.interview.state import State
from whichgpu.engine.rules import spread


_MOST_RULES = 6


class Effect(Struct, frozen=True):
    """One possible answer: what it leads to, and which GPUs it eliminates or lets in."""

    value: Value
    answer: Answered | None  # None: it contradicts what was said
    plans: int = 0
    ruled_out: tuple[str, ...] = ()
    ruled_in: tuple[str, ...] = ()


def effects_of(interviewer: Interviewer, state: State, fact: str) -> tuple[Effect, ...]:
    """The effect of each answer to a fact, or of a few that stand for them; none before anything can be decided."""
    base = _gpus(interviewer.decide(state).outcome)
    found = []
    for value in tried_values(interviewer, fact):
        try:
            outcome = interviewer.decide(state.answer(fact, value)).outcome
        except InputError:
            continue
        if outcome.no_answer is not None and outcome.no_answer.kind == "contradictory":
            found.append(Effect(value, None))
            continue
        gpus = _gpus(outcome)
        plans = len(outcome.round.judged) if outcome.round else 0
        out, new = (base - gpus, gpus - base) if base else (base, base)
        found.append(Effect(value, answered(outcome), plans, tuple(sorted(out)), tuple(sorted(new))))
    return tuple(found)


def waiting_for(interviewer: Interviewer, state: State, fact: str) -> tuple[str, ...]:
    """Titles of the rules that read a fact and may still hold, those that reject plans first."""
    view = interviewer.view(state)
    order = {"reject": 0, "derive": 1, "prefer": 2, "advise": 3}
    live = live_rules(interviewer.rule_index, [fact], view.intake.facts, view.open_facts)
    live.sort(key=lambda rule: (order[rule.rule.stage], rule.rule.id))
    titles = list(dict.fromkeys(rule.rule.title or rule.rule.id for rule in live))
    more = len(titles) - _MOST_RULES
    return (*titles[:_MOST_RULES], f"and {more} more") if more > 0 else tuple(titles)


def _gpus(outcome: Outcome) -> frozenset[str]:
    return frozenset(entry.ranked.plan.gpu.id for entry in outcome.round.judged) if outcome.round else frozenset()


if TYPE_CHECKING:
    from whichgpu.engine.advisor import UnknownFact


#: At most so many values of one fact are decided.
_MOST_VALUES = 8


class Missing(Struct, frozen=True):
    """A fact that the person does not know, and what other answers it could bring."""

    fact: str
    assumed: Value | None  # what was taken in its place, if anything
    changes: tuple[tuple[Value, Answered], ...]  # values that lead to another answer

    @property
    def robust(self) -> bool:
        """Whether no value that was tried changes the answer."""
        return not self.changes

    def to_dict(self) -> UnknownFact:
        """The JSON object that a record holds."""
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
        known = outcome.intake.resolved.get(fact)
        assumed = known.candidate.value if known is not None else None
        tried = ((effect.value, effect.answer) for effect in effects_of(interviewer, state, fact))
        changes = tuple((value, other) for value, other in tried if other is not None and other != base)
        found.append(Missing(fact, assumed, changes))
    return tuple(sorted(found, key=lambda m: (-len({other for _, other in m.changes}), -len(m.changes), m.fact)))


def tried_values(interviewer: Interviewer, fact: str) -> tuple[Value, ...]:
    """A few values that stand for the domain of a fact: choices, those with a label first, or thresholds of rules."""
    definition = interviewer.advisor.vocabulary.facts[fact]
    values = interviewer.rule_index.values.get(fact) or ()
    if definition.choice_labels:
        return tuple(choice for choice in values if choice in definition.choice_labels)[:_MOST_VALUES]
    if definition.numeric and len(values) > 4:
        values = values[1:-1]  # The ends of a domain are as wide as one can write, and say little.
    return spread(values, _MOST_VALUES)
