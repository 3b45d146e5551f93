"""One round over the plans, as columns: derive, reject, survey, prefer, choose. Plans follow where asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from msgspec.structs import astuple

from whichgpu.engine.advisor.choice import Standings, choose
from whichgpu.engine.advisor.contenders import Contenders, Flags, due, stated_load, traits_of
from whichgpu.engine.advisor.evidence import Evidence, Mark
from whichgpu.engine.advisor.margins import late_at_slow_end
from whichgpu.engine.advisor.measures import MeasureColumns, is_job, is_long, measures_among
from whichgpu.engine.advisor.outcome import Judged, PlanRound, Rejection, Unverified
from whichgpu.engine.advisor.proof import Gap, missing_for_proof
from whichgpu.engine.advisor.rank import Objective, Ranked
from whichgpu.engine.advisor.shortlist import alternatives, confirm, in_order_of_use
from whichgpu.engine.advisor.stages import Stages, TableRun
from whichgpu.engine.advisor.survey import beside_others, objective_candidates, spread, survey_candidates
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Codes, Facts, FactTable, OnDemand, Value
from whichgpu.engine.plans import Goals, Plan, PlanTable, Refusal, band_problems, stated_times, through_gate
from whichgpu.engine.rules import ResolvedFacts, Rule


#: What rules say of a plan beside points.
_MARKS: tuple[Mark, ...] = ("fallbacks", "card_bands", "count_bands")


def run_round(
    plans: Sequence[Plan],
    intake: ResolvedFacts,
    stages: Stages,
    knowledge: Knowledge,
    unstated: AbstractSet[str],
    objective: Objective,
    *,
    banded: bool = True,
) -> PlanRound:
    """Judge the plans of one workload: who is out and why, and who is best among the rest.

    Args:
        plans: of the workload, best as a table.
        intake: the workload's facts.
        stages: the rules.
        knowledge: GPUs and prices.
        unstated: the facts whose absence keeps no plan from being proven.
        objective: what is minimised.
        banded: whether the first is refused where the bands of its speed cannot be true; what is only tried shows none.
    """
    objective = objective.of_work(job=is_job(intake.facts), long=is_long(intake.facts))
    table, at_gate = through_gate(PlanTable.of(plans))
    which = np.array([knowledge.gpu_rows[gpu.id] for gpu in table.gpus], np.intp)
    facts = table.facts.sharing(knowledge.gpu_columns, which)
    derived, deriving = _derive(stages, intake.facts, facts)
    rejecting = stages.reject.run_table(intake.facts, facts)
    alive, rejected = np.flatnonzero(~rejecting.fires), np.flatnonzero(rejecting.fires)
    survivors, seen = table.take(alive), facts.take(alive)
    measures = measures_among(survivors, intake.facts, objective, knowledge.highest_usd_per_gpu_hour)
    candidates = {**survey_candidates(survivors, measures), **objective_candidates(objective)}
    survey = stages.survey.run({}, extra=candidates, before=intake)
    ends = spread(measures)
    seen.add(beside := beside_others(measures, ends))
    preferring = stages.prefer.run_table(survey.facts, seen)
    lacking = missing_for_proof(rejecting.evaluation, unstated)
    evidence = Evidence(stages.prefer, preferring, measures, ends, objective)
    proven = np.array([row not in lacking for row in alive.tolist()], np.bool_)
    contenders = _contenders(survivors, intake, measures, evidence, proven)
    rows, order, implausible = _ordered(survivors, contenders, objective, stated_times(intake.facts), banded=banded)
    sides = _Sides(knowledge, stages, table, facts, derived, rejecting)
    ids, by = [survivors.ids[row] for row in rows.tolist()], tuple(beside)
    judging = _Judging(sides, survivors, alive, seen, by, measures, preferring, lacking, evidence, rows, ids, order)
    best = rows[order.order]
    surviving, scores = survivors.take(best), evidence.scores[best]
    shown = alternatives(surviving, evidence.usual_scores[best], order.first_by_evidence)
    runs = [*((run, np.arange(len(table))) for run in (*deriving, rejecting)), (preferring, alive)]
    confirm(table, alive[best], shown, rejected, runs)
    return PlanRound(
        plans=table,
        rejected=table.take(rejected),
        rejected_by=OnDemand(len(rejected), lambda place: sides.rules_against(int(rejected[place]))),
        rejections=OnDemand(len(rejected), lambda place: sides.rejection(int(rejected[place]))),
        surviving=surviving,
        scores=scores,
        alternatives=shown,
        in_order_of_use=in_order_of_use(surviving, shown, measures.take(best), order, objective.dominance_margin),
        preferring=OnDemand(len(rows), lambda place: preferring.resolution(int(best[place])).fired),
        judged=OnDemand(len(rows), judging.judged),
        survey=survey,
        derived=_fired_by_plan(deriving, table.ids),
        refused=(*at_gate, *implausible),
    )


def _contenders(
    plans: PlanTable, intake: ResolvedFacts, measures: MeasureColumns, evidence: Evidence, proven: Flags
) -> Contenders:
    """What choosing reads of the plans that no rule rejects."""
    fallback, in_card_band, in_count_band = map(evidence.marked, _MARKS)
    meets = "plan.meets_with_room"
    targets = ~plans.no(meets), plans.yes(meets) & due(intake)
    traits = traits_of(plans, stated_load(intake))
    return Contenders(traits, measures, evidence.scores, proven, fallback, in_card_band, in_count_band, *targets)


def _ordered(
    plans: PlanTable, contenders: Contenders, objective: Objective, times: Goals, *, banded: bool
) -> tuple[Codes, Standings, list[Refusal]]:
    """The rows that take part, their standings, and those that came first with figures beyond their bands."""
    rows, refused = np.arange(len(plans)), list[Refusal]()

    def surely_in_time(row: int) -> bool:
        return not late_at_slow_end(plans[int(rows[row])], times)

    while True:
        order = choose(contenders, objective, surely_in_time=surely_in_time)
        first = plans[int(rows[order.order[0]])] if banded and len(rows) else None
        problems = band_problems(first) if first is not None else ()
        if first is None or not problems:
            return rows, order, refused
        refused.append(Refusal(first, problems))
        kept = np.flatnonzero(np.arange(len(rows)) != order.order[0])
        rows, contenders = rows[kept], contenders.take(kept)


@dataclass(frozen=True, slots=True)
class _Sides:
    """All plans that passed the gate, before and after they were judged by the reject rules."""

    knowledge: Knowledge
    stages: Stages
    table: PlanTable
    facts: FactTable
    derived: tuple[str, ...]  # facts that rules gave to plans
    rejecting: TableRun

    def facts_of(self, row: int) -> dict[str, Value]:
        """All facts of one plan."""
        plan = self.table[row]
        found = {**self.knowledge.gpu_facts[plan.gpu.id], **plan.facts}
        return found | _values(self.facts, [name for name in self.derived if name not in found], row)

    def rules_against(self, row: int) -> tuple[Rule, ...]:
        """The rules that reject a plan."""
        return self.stages.reject.fired(self.rejecting.resolution(row))

    def rejection(self, row: int) -> Rejection:
        """A plan that is out, with the rules against it."""
        return Rejection(self.table[row], self.rules_against(row), self.facts_of(row))


@dataclass(frozen=True, slots=True)
class _Judging:
    """The surviving plans, a row each, with all that the rules and the choice came to."""

    sides: _Sides
    survivors: PlanTable
    alive: Codes  # rows of the survivors among all plans
    seen: FactTable
    beside: tuple[str, ...]  # facts of the survey on plans
    measures: MeasureColumns
    preferring: TableRun
    lacking: Mapping[int, AbstractSet[Gap]]  # by row among all plans
    evidence: Evidence
    rows: Codes  # survivors that take part in the choice
    ids: Sequence[str]  # of these
    order: Standings  # of these

    def judged(self, place: int) -> Judged:
        """The plan at a place of the order, the best first."""
        at = int(self.order.order[place])
        row = int(self.rows[at])
        above = int(self.alive[row])
        gaps, said = self.lacking.get(above, frozenset()), self.evidence.said(row)
        ranked = Ranked(
            self.survivors[row], float(self.evidence.scores[row]), self.evidence.awards(row), proven=not gaps
        )
        return Judged(
            ranked,
            self.sides.facts_of(above) | _values(self.seen, self.beside, row),
            self.preferring.resolution(row),
            tuple(sorted({gap.figure for gap in gaps})),
            tuple(sorted({Unverified(gap.limit, gap.figure) for gap in gaps if gap.limit}, key=astuple)),
            self.measures.row(row),
            said.fallbacks,
            said.card_bands,
            said.count_bands,
            self.order.standing(at, self.ids),
        )


def _values(table: FactTable, names: Sequence[str], row: int) -> dict[str, Value]:
    """Some facts of a row, as far as they are known."""
    found = ((name, column.at(row)) for name in names if (column := table.own(name)) is not None)
    return {name: value for name, value in found if value is not None}


def _derive(stages: Stages, shared: Facts, facts: FactTable) -> tuple[tuple[str, ...], list[TableRun]]:
    """Run the plan-scope derive rules level by level; a given plan fact stays. Returns the facts that they set."""
    names: dict[str, None] = {}
    runs = []
    for level in stages.plan_levels:
        run = level.run_table(shared, facts)
        set_now = run.columns()
        facts.add(set_now)
        names |= dict.fromkeys(set_now)
        runs.append(run)
    return tuple(names), runs


def _fired_by_plan(deriving: Sequence[TableRun], ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The derive rules that fired on each plan, of plans on which any did."""
    fired: dict[str, tuple[str, ...]] = {}
    for run in deriving:
        for row in np.flatnonzero(run.fires).tolist():
            fired[ids[row]] = (*fired.get(ids[row], ()), *run.resolution(row).fired)
    return fired
