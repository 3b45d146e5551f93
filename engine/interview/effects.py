"""What each answer to a question would come to, as things stand, and which rules wait for it."""

from __future__ import annotations

from dataclasses import dataclass

from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.certificate import Answered
from whichgpu.engine.interview.certificate import answered
from whichgpu.engine.interview.planner import Interviewer
from whichgpu.engine.interview.possible_outcomes import truths_of
from whichgpu.engine.interview.robustness import tried_values
from whichgpu.engine.interview.state import State


_MOST_RULES = 6


@dataclass(frozen=True, slots=True)
class Effect:
    """One possible answer: what it leads to, and which GPUs it puts out or lets in."""

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
        out = tuple(sorted(base - gpus)) if base else ()
        found.append(Effect(value, answered(outcome), plans, out, tuple(sorted(gpus - base)) if base else ()))
    return tuple(found)


def waiting_for(interviewer: Interviewer, state: State, fact: str) -> tuple[str, ...]:
    """Titles of the rules that read a fact and may still hold, those that reject plans first."""
    view = interviewer.view(state)
    order = {"reject": 0, "derive": 1, "prefer": 2, "advise": 3}
    atlas = interviewer.atlas
    views = (*atlas.rejecting, *atlas.counting, *atlas.preferring, *atlas.advising)
    live = [
        rule for rule in views if fact in rule.reads and True in truths_of(rule.shared, view.intake.facts, view.fog)
    ]
    live.sort(key=lambda rule: (order[rule.rule.stage], rule.rule.id))
    titles = list(dict.fromkeys(rule.rule.title or rule.rule.id for rule in live))
    more = len(titles) - _MOST_RULES
    return (*titles[:_MOST_RULES], f"and {more} more") if more > 0 else tuple(titles)


def _gpus(outcome: Outcome) -> frozenset[str]:
    return frozenset(entry.ranked.plan.gpu.id for entry in outcome.round.judged) if outcome.round else frozenset()
