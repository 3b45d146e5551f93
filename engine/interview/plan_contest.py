"""The contest of plans at one state: who could still be rejected, who could still overtake the front-runner."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from dataclasses import field

from whichgpu.engine.advisor.losses import first_by_evidence
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.outcome import PlanRound
from whichgpu.engine.advisor.pipeline import asked_counts
from whichgpu.engine.advisor.round import run_round
from whichgpu.engine.advisor.survey import survey_claims
from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.bundles import bundles_of
from whichgpu.engine.interview.entrants import Comparer
from whichgpu.engine.interview.entrants import Fate
from whichgpu.engine.interview.entrants import entrant_of
from whichgpu.engine.interview.possible_outcomes import Fog
from whichgpu.engine.interview.possible_outcomes import Truths
from whichgpu.engine.interview.possible_outcomes import truths_of
from whichgpu.engine.interview.precedence import Scales
from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.interview.rule_index import Line
from whichgpu.engine.interview.rule_index import RuleView
from whichgpu.engine.interview.score_bounds import Field
from whichgpu.engine.interview.score_bounds import Rivalry
from whichgpu.engine.plans.candidates import candidate_plans
from whichgpu.engine.rules.rulebook.model import ConsiderCounts


@dataclass(slots=True)
class Tribunal:
    """The reject rules that wait for open facts, asked plan by plan."""

    atlas: Atlas
    shared: Facts
    fog: Fog
    unstated: AbstractSet[str]  # wishes: a rule that lacks one has no objection
    waiting: tuple[RuleView, ...] = field(init=False)
    _known: dict[tuple[str, tuple[tuple[str, Value | None], ...]], tuple[Truths, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the rules that wait."""
        self.waiting = tuple(view for view in self.atlas.rejecting if self.fog.hides(view.reads))

    def fate(self, judged: Judged) -> Fate:
        """What may become of a plan that no rule rejects as things stand."""
        rejecting: set[str] = set()
        unproven: set[bool] = set()
        behind: set[str] = set()
        read: set[str] = set()
        for view in self.waiting:
            truths, objects = self._truths(view, judged.facts)
            if True in truths:
                rejecting |= self.fog.behind(view.reads)
            if None in truths and objects:
                unproven.add(True)
                behind |= self.fog.behind(view.reads)
            read |= view.reads
        if judged.missing:
            unproven.add(True)
            if set(judged.missing) <= read:  # Only rules that wait leave it unproven: they may let it pass.
                unproven.add(False)
                behind |= {c for v in self.waiting if v.reads & set(judged.missing) for c in self.fog.behind(v.reads)}
        else:
            unproven.add(False)
        return Fate(frozenset(rejecting), frozenset(unproven), frozenset(behind))

    def returning(self, rules: AbstractSet[str], plan_facts: Facts) -> frozenset[str]:
        """The askable facts that could bring back a plan which these rules reject; empty where one is sure to stand."""
        waiting = [view for view in self.waiting if view.rule.id in rules]
        if len(waiting) < len(rules):
            return frozenset()
        if any(self._truths(view, plan_facts)[0] == {True} for view in waiting):
            return frozenset()
        return frozenset(cause for view in waiting for cause in self.fog.behind(view.reads))

    def _truths(self, view: RuleView, plan_facts: Facts) -> tuple[Truths, bool]:
        """What a rule may come to for a plan, and whether it objects where it cannot be decided."""
        local = sorted({name for line in view.local for name in line.reads if "." in name})
        key = (view.rule.id, tuple((name, plan_facts.get(name)) for name in local))
        if key not in self._known:
            facts: Mapping[str, Value] = {**self.shared, **plan_facts}
            truths = truths_of(view.lines, facts, self.fog)
            self._known[key] = truths, None in truths and not any(self._waives(line, facts) for line in view.lines)
        return self._known[key]

    def _waives(self, line: Line, facts: Facts) -> bool:
        """Whether a line cannot hold because a wish was not stated: the rule then has no objection."""
        absent = [n for n in line.reads if n in self.unstated and n not in self.shared and n not in self.fog.values]
        return bool(absent) and True not in truths_of((line,), facts, self.fog)


#: More than any term of cost or speed gives: what puts out the front-runner is asked first.
_FIRST = 100.0


@dataclass(frozen=True, slots=True)
class Extra:
    """Counts of GPUs that may yet come in, and the askable facts on which that hangs."""

    counts: tuple[int, ...] = ()
    causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Contest:
    """What of the choice among the plans is open."""

    rivalry: Rivalry
    fog: Fog  # with what the survey leaves open
    at_risk: frozenset[str] = frozenset()  # askable facts that could put out the front-runner, or bring another in
    contradictory: frozenset[str] = frozenset()
    plans: int = 0
    leader: str | None = None
    rejecting: Mapping[str, frozenset[str]] = field(default_factory=dict)  # plan -> facts that could put it out

    def weights(self, askable: Iterable[str]) -> dict[str, float]:
        """The askable facts that could change the choice, each with the points that it could move."""
        weights: dict[str, float] = dict.fromkeys(self.at_risk, _FIRST)
        for threat in self.rivalry.threats:
            for cause, gain in threat.causes.items():
                weights[cause] = weights.get(cause, 0.0) + gain
        allowed = frozenset(askable)
        return {name: weight for name, weight in weights.items() if name in allowed}


def contest_of(atlas: Atlas, outcome: Outcome, fog: Fog, extra: Extra) -> Contest:
    """Judge the contest. Without a plan that survives, what could bring one in is what matters."""
    plan_round = _wider_round(atlas, outcome, extra) if outcome.round and extra.counts else outcome.round
    shared = outcome.intake.facts
    contradiction = _contradiction(outcome, fog)
    tribunal = Tribunal(atlas, shared, fog, atlas.advisor.bench.unstated)
    if plan_round is None or not plan_round.judged:
        returning = _returning(tribunal, plan_round) if plan_round else frozenset()
        return Contest(Rivalry(), fog, returning | contradiction)
    real = {plan.id for plan in outcome.round.plans} if outcome.round else set()
    fates = {entry.ranked.plan.id: tribunal.fate(entry) for entry in plan_round.judged}
    rejecting = {
        name: causes
        for name, fate in fates.items()
        if (causes := fate.rejecting | (frozenset() if name in real else extra.causes))
    }
    at_risk = _returning(tribunal, plan_round)
    if outcome.chosen is None:
        # Nothing survives as it is, but a count that a rule may yet ask for would.
        return Contest(Rivalry(), fog, at_risk | extra.causes, contradiction)
    answer = outcome.chosen.ranked.plan.id
    first_id = first_by_evidence(outcome.chosen, plan_round.judged).ranked.plan.id
    at_risk |= rejecting.get(answer, frozenset()) | rejecting.get(first_id, frozenset())
    fog = _surveyed(plan_round, rejecting, fog)
    bundles = bundles_of(atlas, plan_round.survey.facts, fog)
    scales = Scales(plan_round.judged, rejecting.keys(), outcome.objective)
    entrants = {
        name: entrant_of(
            entry,
            plan_round.survey.facts,
            bundles,
            fog,
            fates[name],
            terms=scales.terms(entry),
            merits=scales.merits(entry),
        )
        for entry in plan_round.judged
        for name in (entry.ranked.plan.id,)
    }
    stand_in = entrants[answer] if answer != first_id else None
    first = entrants.pop(first_id)
    field_of_plans = Field(first, [*entrants.values()], rejecting, Comparer(bundles), outcome.objective, stand_in)
    return Contest(field_of_plans.rivalry(), fog, at_risk, contradiction, len(real), answer, rejecting)


def extra_counts(atlas: Atlas, facts: Mapping[str, Value], fog: Fog) -> Extra:
    """Counts of GPUs that rules may yet want planned, and the askable facts on which that hangs."""
    counts: set[int] = set()
    causes: frozenset[str] = frozenset()
    for view in atlas.counting:
        truths = truths_of(view.lines, facts, fog)
        if True in truths and len(truths) > 1:
            counts |= {
                count for effect in view.rule.effects if isinstance(effect, ConsiderCounts) for count in effect.counts
            }
            causes |= fog.behind(view.reads)
    return Extra(tuple(sorted(counts)), causes)


def _wider_round(atlas: Atlas, outcome: Outcome, extra: Extra) -> PlanRound:
    """The round with the plans of those counts as well."""
    bench = atlas.advisor.bench
    maker = bench.plan_maker(outcome.model, outcome.intake)
    asked = {**dict.fromkeys(extra.counts, "a rule"), **asked_counts(outcome.intake.fired)}
    plans = candidate_plans(maker.job, outcome.intake.facts, bench.knowledge, asked, maker=maker)
    return run_round(plans, outcome.intake, bench.stages, bench.knowledge, bench.unstated, outcome.objective)


def _contradiction(outcome: Outcome, fog: Fog) -> frozenset[str]:
    if outcome.no_answer is None or outcome.no_answer.kind != "contradictory":
        return frozenset()
    return fog.behind(name for rule in outcome.no_answer.rules for name in rule.reads)


def _returning(tribunal: Tribunal, plan_round: PlanRound) -> frozenset[str]:
    """Askable facts that could bring back a plan which is rejected only as long as they are open."""
    causes: frozenset[str] = frozenset()
    for rejection in plan_round.rejections:
        causes |= tribunal.returning({rule.id for rule in rejection.rules}, rejection.facts)
    return causes


def _surveyed(plan_round: PlanRound, rejecting: Mapping[str, frozenset[str]], fog: Fog) -> Fog:
    """The fog with those figures of the survey that move when plans drop out."""
    if not rejecting:
        return fog
    causes = frozenset(cause for found in rejecting.values() for cause in found)
    wider = Fog(dict(fog.values), dict(fog.causes))
    plans = [entry.ranked.plan for entry in plan_round.judged]
    sure = [plan for plan in plans if plan.id not in rejecting]
    now = {name: claims[0].value for name, claims in survey_claims(plans).items()}
    then = {name: claims[0].value for name, claims in survey_claims(sure).items()}
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            both = isinstance(now.get(name), bool) and isinstance(then.get(name), bool)
            wider.add(name, (now.get(name), then.get(name)) if both else None, causes)
    sure_facts = [entry.facts for entry in plan_round.judged if entry.ranked.plan.id not in rejecting]
    for fact in ("plan.cost_vs_cheapest", "plan.speed_vs_fastest"):
        # Who is cheapest or fastest stands at 1; if all of these may drop out, the scale moves.
        if not any(facts.get(fact) == 1.0 for facts in sure_facts):
            wider.add(fact, None, causes)
    return wider
