"""The choice among the plans at one state: who could still be rejected, who could still overtake the leading plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field

import msgspec
import numpy as np
from msgspec import Struct

from whichgpu.engine.advisor import (
    Judged,
    MeasureColumns,
    Outcome,
    PlanRound,
    asked_counts,
    due,
    first_by_evidence,
    is_job,
    is_long,
    run_round,
    stated_load,
    survey_candidates,
)
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview.entrants import Comparer, Entrant, PossibleOutcome, WaitingRules, entrant_of, local_reads
from whichgpu.engine.interview.possible_outcomes import OpenFacts, TruthValues, truth_values_of
from whichgpu.engine.interview.rule_groups import groups_of
from whichgpu.engine.interview.rule_index import Line, RuleIndex, RuleView
from whichgpu.engine.interview.scales import Scales
from whichgpu.engine.interview.score_bounds import Field, ScoreBounds
from whichgpu.engine.plans import candidate_plans
from whichgpu.engine.rules import ConsiderCounts, probing


@dataclass(slots=True)
class OpenRejections:
    """The reject rules that wait for open facts, asked plan by plan."""

    rule_index: RuleIndex
    shared: Facts
    open_facts: OpenFacts
    unstated: AbstractSet[str]  # wishes: a rule that lacks one has no objection
    waiting: tuple[RuleView, ...] = field(init=False)
    _local: dict[str, tuple[str, ...]] = field(init=False)  # rule -> what it reads of a plan
    _behind: dict[str, frozenset[str]] = field(init=False)  # rule -> the askable facts behind it
    _known: dict[tuple[str, tuple[Value | None, ...]], tuple[TruthValues, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the rules that wait."""
        self.waiting = tuple(view for view in self.rule_index.rejecting if self.open_facts.hides(view.reads))
        self._local = {view.rule.id: local_reads(view) for view in self.waiting}
        self._behind = {view.rule.id: self.open_facts.behind(view.reads) for view in self.waiting}

    def possible(self, judged: Judged) -> PossibleOutcome:
        """What may become of a plan that no rule rejects as things stand."""
        rejecting: set[str] = set()
        unproven = {bool(judged.missing)}
        behind: set[str] = set()
        lacking = set(judged.missing)
        # Only rules that wait leave it unproven: they may let it pass.
        passable = bool(lacking) and lacking <= {name for view in self.waiting for name in view.reads}
        if passable:
            unproven.add(False)
        for view in self.waiting:
            values, objects = self._outcome(view, judged.facts)
            if True in values:
                rejecting |= self._behind[view.rule.id]
            if objects:
                unproven.add(True)
            if objects or (passable and view.reads & lacking):
                behind |= self._behind[view.rule.id]
        return PossibleOutcome(frozenset(rejecting), frozenset(unproven), frozenset(behind))

    def returning(self, rules: AbstractSet[str], plan_facts: Facts) -> frozenset[str]:
        """The askable facts that could bring back a plan which these rules, all of which wait, reject.

        Empty where one of them is sure to stand.
        """
        waiting = [view for view in self.waiting if view.rule.id in rules]
        if any(self._outcome(view, plan_facts)[0] == {True} for view in waiting):
            return frozenset()
        return frozenset(cause for view in waiting for cause in self._behind[view.rule.id])

    def _outcome(self, view: RuleView, plan_facts: Facts) -> tuple[TruthValues, bool]:
        """What a rule may come to for a plan, and whether it objects where it cannot be decided."""
        key = (view.rule.id, tuple(map(plan_facts.get, self._local[view.rule.id])))
        if key not in self._known:
            facts: Mapping[str, Value] = {**self.shared, **plan_facts}
            values = truth_values_of(view.lines, facts, self.open_facts)
            self._known[key] = values, None in values and not any(self._waives(line, facts) for line in view.lines)
        return self._known[key]

    def _waives(self, line: Line, facts: Facts) -> bool:
        """Whether a line cannot hold because a wish was not stated: the rule then has no objection."""
        absent = (line.reads & self.unstated) - self.shared.keys() - self.open_facts.values.keys()
        return bool(absent) and True not in truth_values_of((line,), facts, self.open_facts)


#: More than any term of cost or speed gives: what eliminates the leading plan is asked first.
_FIRST = 100.0


class Extra(Struct, frozen=True):
    """Counts of GPUs that may yet come in, and the askable facts on which that depends."""

    counts: tuple[int, ...] = ()
    causes: frozenset[str] = frozenset()


class OpenChoice(Struct, frozen=True):
    """What of the choice among the plans is open."""

    bounds: ScoreBounds
    open_facts: OpenFacts  # with what the survey leaves open
    at_risk: frozenset[str] = frozenset()  # askable facts that could eliminate the leading plan, or bring another in
    leader: str | None = None
    rejecting: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)  # plan -> what could eliminate it

    def weights(self, askable: Sequence[str]) -> dict[str, float]:
        """The askable facts that could change the choice, each with the points that it could move."""
        weights: dict[str, float] = dict.fromkeys(self.at_risk, _FIRST)
        for challenger in self.bounds.challengers:
            for cause, gain in challenger.causes.items():
                weights[cause] = weights.get(cause, 0.0) + gain
        return {name: weight for name, weight in weights.items() if name in askable}


def open_choice_of(rule_index: RuleIndex, outcome: Outcome, open_facts: OpenFacts, extra: Extra) -> OpenChoice:
    """Judge the choice among the plans. Without a plan that survives, what could bring one in is what matters."""
    plan_round = _wider_round(rule_index, outcome, extra) if outcome.round and extra.counts else outcome.round
    open_rejections = OpenRejections(rule_index, outcome.intake.facts, open_facts, rule_index.advisor.context.unstated)
    if plan_round is None or not plan_round.judged:
        causes = _returning(open_rejections, plan_round) if plan_round else frozenset()
        if outcome.no_answer is not None and outcome.no_answer.kind == "contradictory":
            causes |= open_facts.behind(name for rule in outcome.no_answer.rules for name in rule.reads)
        return OpenChoice(ScoreBounds(), open_facts, causes)
    real = set(outcome.round.plans.ids) if outcome.round else set()
    possible = {entry.ranked.plan.id: open_rejections.possible(entry) for entry in plan_round.judged}
    rejecting = {
        name: causes
        for name, possible in possible.items()
        if (causes := possible.rejecting | (frozenset() if name in real else extra.causes))
    }
    at_risk = _returning(open_rejections, plan_round)
    if outcome.chosen is None:
        # Nothing survives as it is, but a count that a rule may yet ask for would.
        return OpenChoice(ScoreBounds(), open_facts, at_risk | extra.causes)
    answer = outcome.chosen.ranked.plan.id
    first_id = first_by_evidence(outcome.chosen, plan_round.judged).ranked.plan.id
    at_risk |= rejecting.get(answer, frozenset()) | rejecting.get(first_id, frozenset())
    open_facts = _surveyed(plan_round, rejecting, open_facts)
    groups = groups_of(rule_index, plan_round.survey.facts, open_facts)
    objective = outcome.objective.of_work(job=is_job(outcome.intake.facts), long=is_long(outcome.intake.facts))
    scales = Scales(plan_round.judged, rejecting.keys(), objective)
    waiting = WaitingRules(groups.waiting, plan_round.survey.facts, open_facts)
    entrants: dict[str, Entrant] = {}
    for entry in plan_round.judged:
        outlook, terms, merits = possible[entry.ranked.plan.id], scales.terms(entry), scales.merits(entry)
        found = entrant_of(entry, waiting, outlook, terms=terms, merits=merits)
        entrants[found.id] = found
    stand_in = entrants[answer] if answer != first_id else None
    first = entrants.pop(first_id)
    load, is_due = stated_load(outcome.intake), due(outcome.intake) and not objective.stated
    field_of_plans = Field(first, [*entrants.values()], rejecting, Comparer(groups), objective, stand_in, load, is_due)
    return OpenChoice(field_of_plans.bounds(), open_facts, at_risk, answer, rejecting)


def extra_counts(rule_index: RuleIndex, facts: Mapping[str, Value], open_facts: OpenFacts) -> Extra:
    """Counts of GPUs that rules may yet want planned, and the askable facts on which that depends."""
    waiting = [view for view in rule_index.counting if {True} < truth_values_of(view.lines, facts, open_facts)]
    wanted = [effect for view in waiting for effect in view.rule.effects if isinstance(effect, ConsiderCounts)]
    counts = {count for effect in wanted for count in effect.counts}
    return Extra(tuple(sorted(counts)), open_facts.behind(name for view in waiting for name in view.reads))


@probing()
def _wider_round(rule_index: RuleIndex, outcome: Outcome, extra: Extra) -> PlanRound:
    """The round with the plans of those counts as well."""
    context = rule_index.advisor.context
    maker = context.plan_maker(outcome.model, outcome.intake)
    asked = {**dict.fromkeys(extra.counts, "a rule"), **asked_counts(outcome.intake.fired)}
    plans = candidate_plans(maker.job, outcome.intake.facts, context.knowledge, asked, maker=maker)
    return run_round(plans, outcome.intake, context.stages, context.knowledge, context.unstated, outcome.objective)


def _returning(open_rejections: OpenRejections, plan_round: PlanRound) -> frozenset[str]:
    """Askable facts that could bring back a plan which is rejected only as long as they are open."""
    waiting = {view.rule.id for view in open_rejections.waiting}
    found = (
        open_rejections.returning(names, plan_round.rejections[place].facts)
        for place, rules in enumerate(plan_round.rejected_by)
        if (names := {rule.id for rule in rules}) <= waiting
    )
    return frozenset().union(*found)


def _surveyed(plan_round: PlanRound, rejecting: Mapping[str, frozenset[str]], open_facts: OpenFacts) -> OpenFacts:
    """The open facts with those figures of the survey that move when plans drop out."""
    if not rejecting:
        return open_facts
    causes = frozenset().union(*rejecting.values())
    wider = OpenFacts(dict(open_facts.values), dict(open_facts.causes))
    measures = MeasureColumns.of([entry.measures for entry in plan_round.judged])
    stay = np.array([name not in rejecting for name in plan_round.surviving.ids], np.bool_)
    sure = np.flatnonzero(stay)
    now, then = (
        {name: candidates[0].value for name, candidates in survey_candidates(plans, measured).items()}
        for plans, measured in (
            (plan_round.surviving, measures),
            (plan_round.surviving.take(sure), measures.take(sure)),
        )
    )
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            both = isinstance(now.get(name), bool) and isinstance(then.get(name), bool)
            wider.add(name, (now.get(name), then.get(name)) if both else None, causes)
    for fact in ("plan.cost_vs_cheapest", "plan.speed_vs_fastest"):
        # Who is cheapest or fastest stands at 1; if all of these may drop out, the scale moves.
        if not any(plan_round.judged[row].facts.get(fact) == 1.0 for row in sure.tolist()):
            wider.add(fact, None, causes)
    return wider
