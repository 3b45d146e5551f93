"""The pipeline of one decision: resolve, plan, reject, survey, prefer, rank, advise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

from msgspec import Struct, field

from whichgpu.engine.advisor.budgets import with_last_resorts
from whichgpu.engine.advisor.candidates import judge_candidates
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.advisor.lookups import look_up
from whichgpu.engine.advisor.options import relaxable_facts
from whichgpu.engine.advisor.outcome import CandidateJudgement, Fired, Judged, NoAnswer, Outcome, PlanRound
from whichgpu.engine.advisor.procurement import Procurement, compute
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.round import run_round
from whichgpu.engine.advisor.shortlist import answer_alone
from whichgpu.engine.advisor.stages import RuleSet, Stages
from whichgpu.engine.catalogue import Knowledge, ModelSpec, profile_of
from whichgpu.engine.core import Facts, InputError, KnowledgeInUse, Value, knowledge_in_use, use_knowledge
from whichgpu.engine.plans import Plan, PlanMaker, PlanTable, candidate_plans
from whichgpu.engine.rules import Ask, Calculated, ConsiderCounts, ResolvedFacts, Resolving, Rule, Vocabulary, probing
from whichgpu.engine.sizing import job_from_facts


#: ``candidate_plans``, or what stands in for it.
MakePlans = Callable[..., PlanTable]


class ResolvedIntake(NamedTuple):
    """A workload's facts, each with where it came from, and the model that it names."""

    intake: ResolvedFacts
    model: ModelSpec | None


class ResolvingIntake(NamedTuple):
    """A workload's facts, resolved on demand, and the model that it names."""

    resolving: Resolving
    model: ModelSpec | None

    def finished(self) -> ResolvedIntake:
        """All of it."""
        return ResolvedIntake(self.resolving.finished(), self.model)


class DecisionContext(Struct, frozen=True):
    """What every decision is made with: loaded once, never changed."""

    vocabulary: Vocabulary
    knowledge: Knowledge
    stages: Stages
    unstated: frozenset[str]
    make_plans: MakePlans = candidate_plans  # a comparison of two rulebooks makes the plans of both at once
    in_use: KnowledgeInUse = field(default_factory=knowledge_in_use)  # constants and parameters, with layers' own
    calculated: Calculated | None = None  # kept by who decides variations of one workload

    def resolve(self, given: Mapping[str, Value]) -> ResolvedIntake:
        """What the facts of a workload come to before any plan: look-ups, calculators, derive rules, defaults.

        Raises:
            InputError: see ``lookups.look_up``.
        """
        return self.begin(given).finished()

    def begin(self, given: Mapping[str, Value]) -> ResolvingIntake:
        """``resolve`` on demand: a fact is resolved when it is read. Raises as ``resolve`` does."""
        use_knowledge(self.in_use)
        found = look_up(given, self.knowledge, self.vocabulary)
        resolving = self.stages.intake.begin(given, extra=found.candidates, calculated=self.calculated)
        return ResolvingIntake(resolving, found.model)

    def plan_maker(self, model: ModelSpec | None, intake: ResolvedFacts) -> PlanMaker:
        """Makes the plans of one resolved workload."""
        job = job_from_facts(intake.facts, model, assumed=intake.assumed)
        return PlanMaker(job, intake.facts, self.knowledge)

    def plan_round(
        self, maker: PlanMaker, intake: ResolvedFacts, objective: Objective, *, banded: bool = True
    ) -> PlanRound:
        """The plans of one resolved workload, judged; ``banded`` as for ``run_round``."""
        asked = asked_counts(intake.fired)
        plans = self.make_plans(maker.job, intake.facts, self.knowledge, asked, maker=maker)
        return run_round(plans, intake, self.stages, self.knowledge, self.unstated, objective, banded=banded)

    def procurement(self, facts: Facts, plan: Plan | None, today: date | None) -> Procurement:
        """Renting and owning compared for the chosen plan; see ``compute``."""
        return compute(facts, plan, today, gpus=self.knowledge.gpus)

    def final(self, before: ResolvedFacts, chosen: Judged | None, procurement: Procurement) -> ResolvedFacts:
        """The facts with what the advise rules on the workload and on the chosen plan set."""
        resolver = self.stages.outcome_of_chosen if chosen else self.stages.outcome
        return resolver.run({}, extra=procurement.candidates, before=before, context=chosen.facts if chosen else {})


def decide_workload(
    context: DecisionContext, workload: Workload, objective: Objective, today: date | None = None
) -> Outcome:
    """Decide one workload. Unknown facts are no error: the outcome says what is missing.

    ``today`` is the day that the age of prices is computed from.
    """
    with workload.located():
        intake, model = context.resolve(workload.given)
    maker = context.plan_maker(model, intake)
    no_answer = _contradiction(context.stages.contradictions, intake) or _must_ask(context.vocabulary, intake)
    plan_round = None
    if no_answer is None:
        intake, maker, plan_round = with_last_resorts(intake, partial(_made, context, model, objective), maker)
        no_answer = _nothing_fits(plan_round, context, workload, objective)
    chosen = plan_round.judged[0] if plan_round and plan_round.judged else None
    phases = _phases(context, workload, intake, objective, chosen) if no_answer is None else ()
    procurement = context.procurement(intake.facts, chosen.ranked.plan if chosen else None, today)
    final = context.final(plan_round.survey if plan_round else intake, chosen, procurement)
    fired = _advised(final, chosen)
    candidates = judge_candidates(maker, final.facts, context.knowledge, context.stages.reject, plan_round)
    fired = (*fired, *_advise_candidates(context.stages.candidate, final.facts, candidates))
    return Outcome(
        objective=objective,
        intake=intake,
        model=model,
        round=plan_round,
        final=final,
        chosen=chosen,
        no_answer=no_answer,
        candidates=candidates,
        fired=fired,
        procurement=procurement,
        phases=phases,
        assumed=tuple(maker.job.assumed),
    )


def asked_counts(rules: Iterable[Rule]) -> dict[int, str]:
    """GPU counts that fired rules want planned, each with the first rule that asks for it."""
    counts: dict[int, str] = {}
    for rule in sorted(rules, key=lambda rule: rule.id):
        for effect in rule.effects:
            if isinstance(effect, ConsiderCounts):
                for count in effect.counts:
                    counts.setdefault(count, rule.id)
    return counts


def asked_facts(rules: Iterable[Rule]) -> dict[str, str]:
    """Facts that fired rules want asked, each with the first rule that asks."""
    last_first = sorted(rules, key=lambda rule: rule.id, reverse=True)
    return {effect.fact: rule.id for rule in last_first for effect in rule.effects if isinstance(effect, Ask)}


def _contradiction(rules: RuleSet, intake: ResolvedFacts) -> NoAnswer | None:
    resolution = rules.run(intake.facts, [{}], ["workload"]).resolutions[0]
    fired = rules.fired(resolution)
    if not fired:
        return None
    facts = sorted({name for rule in fired for name in rule.reads if name in intake.facts})
    return NoAnswer("contradictory", rules=fired, facts=tuple(facts))


def _must_ask(vocabulary: Vocabulary, intake: ResolvedFacts) -> NoAnswer | None:
    missing = tuple(name for name in vocabulary.must_ask if name not in intake.facts)
    return NoAnswer("facts_missing", facts=missing) if missing else None


class Probed(Struct, frozen=True):
    """The choice on changed facts, without what is said of it."""

    intake: ResolvedFacts
    round: PlanRound | None = None  # None where facts that must be asked are missing
    chosen: Judged | None = None


def choice_on(
    context: DecisionContext, given: Mapping[str, Value], objective: Objective, *, banded: bool = False
) -> Probed | None:
    """What is chosen on these facts, without what follows from it; None where they are refused or contradictory."""
    try:
        return choose_plan(context, given, objective, banded=banded)
    except InputError:
        return None


def choose_plan(
    context: DecisionContext, given: Mapping[str, Value], objective: Objective, *, banded: bool = True
) -> Probed | None:
    """``choice_on`` that raises InputError where facts are refused; None where they contradict each other."""
    intake, model = context.resolve(given)
    if _contradiction(context.stages.contradictions, intake):
        return None
    if _must_ask(context.vocabulary, intake):
        return Probed(intake)
    intake, _, found = with_last_resorts(intake, partial(_made, context, model, objective, banded=banded))
    return Probed(intake, found, found.judged[0] if found.judged else None)


def _made(
    context: DecisionContext,
    model: ModelSpec | None,
    objective: Objective,
    intake: ResolvedFacts,
    maker: PlanMaker | None = None,
    *,
    banded: bool = True,
) -> tuple[PlanMaker, PlanRound]:
    """The plans of resolved facts, judged, and their maker."""
    maker = maker or context.plan_maker(model, intake)
    return maker, context.plan_round(maker, intake, objective, banded=banded)


def round_on(
    context: DecisionContext, given: Mapping[str, Value], objective: Objective, *, banded: bool = False
) -> PlanRound | None:
    """The plans on these facts, judged; None where the facts allow no round."""
    found = choice_on(context, given, objective, banded=banded)
    return found.round if found else None


def _nothing_fits(
    plan_round: PlanRound, context: DecisionContext, workload: Workload, objective: Objective
) -> NoAnswer | None:
    if plan_round.judged:
        return None
    hits = [rule for rules in plan_round.rejected_by for rule in rules]
    counts = Counter(rule.id for rule in hits)
    rules = sorted({rule.id: rule for rule in hits}.values(), key=lambda rule: (-counts[rule.id], rule.id))

    @probing()
    def qualifies(given: Mapping[str, Value]) -> bool:
        found = round_on(context, given, objective)
        return found is not None and bool(found.judged)

    find = partial(relaxable_facts, workload.given, rules, context.vocabulary, qualifies)
    return NoAnswer("nothing_fits", (), tuple(rules), find)


def _advised(final: ResolvedFacts, chosen: Judged | None) -> tuple[Fired, ...]:
    """The advise rules that fired, each with the facts that it saw."""
    facts = {**final.facts, **(chosen.facts if chosen else {})}
    scopes = {"chosen": chosen.ranked.plan.id} if chosen else {}
    return tuple(Fired(rule, scopes.get(rule.each, "workload"), facts) for rule in final.fired)


def _advise_candidates(rules: RuleSet, facts: Facts, candidates: Sequence[CandidateJudgement]) -> tuple[Fired, ...]:
    names = [f"candidate {candidate.gpu_id}" for candidate in candidates]
    run = rules.run(facts, [candidate.facts for candidate in candidates], names)
    return tuple(
        Fired(rule, name, {**facts, **candidate.facts})
        for candidate, name, resolution in zip(candidates, names, run.resolutions, strict=True)
        for rule in rules.fired(resolution)
    )


def _phases(
    context: DecisionContext, workload: Workload, intake: ResolvedFacts, objective: Objective, chosen: Judged | None
) -> tuple[tuple[str, Judged | None], ...]:
    """Training and serving planned apart, where the project does both."""
    if intake.facts.get("trains_and_serves") is not True:
        return ()
    profile = profile_of(str(intake.facts["task"]))
    other: Value = profile.other_phase
    if not profile.trains:
        other = intake.facts.get("training_task", other)
    given = {**workload.given, "task": other}
    given.pop("trains_and_serves", None)
    if profile_of(str(other)).serves:
        given.pop("peft_method", None)
    with answer_alone():
        other_phase = choose_plan(context, given, objective)
    best = other_phase.chosen if other_phase else None
    training, serving = (chosen, best) if profile.trains else (best, chosen)
    return (("training", training), ("serving", serving))
