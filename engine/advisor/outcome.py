"""What one decision consists of before it is put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import Struct

from whichgpu.engine.advisor.choice import Standing
from whichgpu.engine.advisor.measures import UNMEASURED, Measures
from whichgpu.engine.advisor.procurement import Procurement
from whichgpu.engine.advisor.rank import Objective, Ranked
from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import Facts, Numbers
from whichgpu.engine.plans import Plan, PlanTable, Refusal
from whichgpu.engine.rules import Resolution, ResolvedFacts, Rule
from whichgpu.engine.sizing import Assumed


class Rejection(Struct, frozen=True):
    """A plan and the rules that reject it, sorted by id."""

    plan: Plan
    rules: tuple[Rule, ...]
    facts: Facts


class Unverified(Struct, frozen=True):
    """A stated limit that a plan cannot be held against, because a figure or fact is not known."""

    limit: str  # the fact that states it, such as latency_slo_ms
    figure: str  # what is missing, such as plan.latency_ms


#: Where a plan stands before the choice.
BEFORE_CHOICE = Standing((False, False, False, False), None, eligible=False, dominated_by=None)


class Judged(Struct, frozen=True):
    """A surviving plan with everything the rules read of it."""

    ranked: Ranked
    facts: Facts  # plan.* and gpu.*, survey facts included
    prefer: Resolution
    missing: tuple[str, ...] = ()  # unproven: facts that a reject rule lacks
    unverified: tuple[Unverified, ...] = ()  # the stated limits among them, each with what is missing
    measures: Measures = UNMEASURED
    fallbacks: tuple[str, ...] = ()  # rules by which it is chosen only where no other plan qualifies
    card_bands: tuple[str, ...] = ()  # rules by which a guide names its card for the case
    count_bands: tuple[str, ...] = ()  # rules by which a guide names its count for the case
    standing: Standing = BEFORE_CHOICE


CandidateVerdict = Literal["recommended", "alternative", "outranked", "rejected", "unproven"]


class CandidateJudgement(Struct, frozen=True):
    """What the answer says of a GPU that the user named."""

    gpu_id: str
    family: str
    verdict: CandidateVerdict
    plan: Plan | None
    facts: Facts
    rejection: Rejection | None = None
    judged: Judged | None = None
    is_current: bool = False
    refused: Refusal | None = None  # its figures cannot be true


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no recommendation."""

    kind: Literal["nothing_fits", "facts_missing", "contradictory"]
    facts: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    #: Finds the stated facts without which, each set alone, some plan qualifies; takes a dozen decisions.
    find_relaxable: Callable[[], tuple[tuple[str, ...], ...]] | None = field(default=None, compare=False)


class Fired(Struct, frozen=True):
    """A rule that fired in the advise stage, on which facts."""

    rule: Rule
    scope: str  # workload, a plan id, or "candidate <gpu id>"
    facts: Facts


class PlanRound(Struct, frozen=True):
    """Plans made, rejected, surveyed and ranked for one task."""

    plans: PlanTable
    rejected: PlanTable
    rejected_by: Sequence[tuple[Rule, ...]]  # the rules against each of these
    rejections: Sequence[Rejection]  # the same, a plan with its rules and facts
    surviving: PlanTable  # best first
    scores: Numbers  # points of evidence of these
    alternatives: Sequence[int]  # places of those that are shown beside the answer, the best first
    in_order_of_use: Sequence[int]  # the same as a page shows them
    preferring: Sequence[tuple[str, ...]]  # the prefer rules that fired on each of these
    judged: Sequence[Judged]  # these, with all that was said of them
    survey: ResolvedFacts
    derived: dict[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict
    )  # plan id -> plan-scope derive rules that fired
    refused: tuple[Refusal, ...] = ()  # plans whose figures cannot be true


class Outcome(Struct, frozen=True):
    """Everything that was decided, unrendered."""

    objective: Objective
    intake: ResolvedFacts
    model: ModelSpec | None
    round: PlanRound | None
    final: ResolvedFacts
    chosen: Judged | None
    no_answer: NoAnswer | None
    candidates: tuple[CandidateJudgement, ...]
    fired: tuple[Fired, ...]
    procurement: Procurement
    phases: tuple[tuple[str, Judged | None], ...]
    assumed: tuple[Assumed, ...]  # sizing inputs that the job filled in

    @property
    def judged(self) -> Sequence[Judged]:
        """The plans that no rule rejects, the best first; none where no plans were made."""
        return self.round.judged if self.round else ()


def fired_rules(outcome: Outcome) -> Iterator[str]:
    """The id of every rule that fired, on the workload or on any plan."""
    yield from (rule.id for rule in outcome.intake.fired)
    yield from (rule.id for rule in outcome.final.fired)
    yield from (fired.rule.id for fired in outcome.fired)
    if outcome.no_answer is not None:
        yield from (rule.id for rule in outcome.no_answer.rules)
    if outcome.round is not None:
        yield from (rule.id for rule in outcome.round.survey.fired)
        yield from (rule.id for rules in outcome.round.rejected_by for rule in rules)
        for names in (*outcome.round.preferring, *outcome.round.derived.values()):
            yield from names
