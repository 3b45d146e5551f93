"""The parts of an answer, each made once it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from whichgpu.engine.advisor.answer.answers import (
    assumptions,
    candidate_dict,
    no_answer_dict,
    rejected_list,
    sizing_dict,
)
from whichgpu.engine.advisor.answer.choice import below_answer, chosen_over, preference_cost, stands_in_for
from whichgpu.engine.advisor.answer.claims import claims_on_answer
from whichgpu.engine.advisor.answer.launch import launch_of
from whichgpu.engine.advisor.answer.open_questions import open_questions, undecided_facts
from whichgpu.engine.advisor.answer.outline import Outline, outline_of
from whichgpu.engine.advisor.answer.outranked import outranked, passed_over
from whichgpu.engine.advisor.answer.plans import SupportReasons, plan_dict
from whichgpu.engine.advisor.answer.procurement import procurement_dict, procurement_figures_dict
from whichgpu.engine.advisor.answer.remarks import (
    aged_warnings,
    contradiction_warnings,
    difference_warnings,
    disagreements,
    figures,
    monitoring,
    refusal_warnings,
    refused_list,
    remarks,
)
from whichgpu.engine.advisor.answer.trace import TraceBuilder
from whichgpu.engine.advisor.answer.verdicts import verdicts
from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.rules import Difference, Rule, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types, part_types, plan_types, procurement_types, trace_types


class AnswerParts:
    """What stands under the contract's keys, each made once it is asked for. Figures are not rounded yet.

    Args:
        outcome: what was decided.
        head: format-level keys: who fired the rules, versions, digests, the time.
        knowledge: for figures and disagreements.
        rules: all rules by id.
        vocabulary: for labels and questions.
        differences: where the engines that fire the rules differ.
        full: with trace, rule verdicts and rejections; without a trace, facts have no ``seq`` in it.
        traced: False leaves out what no page shows and a record has to have: trace, rule verdicts, outranked plans, and
            the bands of the alternatives' speed.
    """

    def __init__(
        self,
        outcome: Outcome,
        head: answer_types.Head,
        knowledge: Knowledge,
        rules: Mapping[str, Rule],
        vocabulary: Vocabulary,
        differences: Sequence[Difference] = (),
        *,
        full: bool = True,
        traced: bool = True,
    ) -> None:
        self.outcome, self.head, self._differences = outcome, head, differences
        self._knowledge, self._rules, self._vocabulary = knowledge, rules, vocabulary
        self._full, self._traced = full, full and traced

    @cached_property
    def _others(self) -> list[Judged]:
        """The plans beside the answer."""
        places = self.outcome.round.alternatives if self.outcome.round else ()
        return [self.outcome.judged[place] for place in places]

    @property
    def _shown(self) -> list[Judged]:
        """The plans that the answer shows in full, the recommendation first."""
        return ([self.outcome.chosen] if self.outcome.chosen else []) + self._others

    @property
    def objective(self) -> str:
        """What was minimised."""
        return self.outcome.objective.name

    @property
    def objective_stated(self) -> bool:
        """Whether that was stated."""
        return self.outcome.objective.stated

    @cached_property
    def facts(self) -> dict[str, part_types.Fact]:
        """The facts of the workload, with their places in the trace."""
        trace = self._trace_builder
        return {
            name: {"value": fact.value, "origin": fact.candidate.origin, "seq": trace.seq(name) if trace else None}
            for name, fact in sorted(self.outcome.final.resolved.items())
        }

    @cached_property
    def recommendation(self) -> plan_types.Recommendation | None:
        """The answer with what it was chosen over, stands in for and costs for the sake of preferences."""
        outcome, rules, vocabulary = self.outcome, self._rules, self._vocabulary
        if outcome.chosen is None:
            return None
        return {
            **self._in_words(outcome.chosen),
            "chosen_over": chosen_over(outcome, rules, vocabulary),
            "stands_in_for": stands_in_for(outcome),
            "preference_cost": preference_cost(outcome),
            "claims": claims_on_answer(outcome, rules, self._knowledge.gpus),
            "launch": launch_of(outcome),
        }

    @cached_property
    def no_answer(self) -> part_types.NoAnswer | None:
        """Why there is none."""
        return no_answer_dict(self.outcome.no_answer, self.outcome, self._vocabulary)

    @property
    def alternatives(self) -> list[plan_types.Alternative]:
        """The others, each beside the answer; reasons of support stand in ``support_reasons``."""
        return self._alternatives[0]

    @property
    def support_reasons(self) -> dict[str, plan_types.SupportReason]:
        """Why figures of the alternatives are no better founded."""
        return self._alternatives[1].stated()

    @cached_property
    def _alternatives(self) -> tuple[list[plan_types.Alternative], SupportReasons]:
        found: list[plan_types.Alternative] = []
        reasons = SupportReasons()
        for judged, rank in zip(self._others, self._shown_ranks(), strict=True):
            # A page shows the band of the answer alone.
            plan = self._in_words(judged, banded=self._traced or not self._full)
            plan["support"] = reasons.referred(plan["support"])
            found.append({**plan, **below_answer(judged, self.outcome), "shown_rank": rank})
        return found, reasons

    def _shown_ranks(self) -> list[int]:
        """The place on a page of each of the others, from 1."""
        if self.outcome.round is None:
            return []
        ranks = {place: rank for rank, place in enumerate(self.outcome.round.in_order_of_use, 1)}
        return [ranks[place] for place in self.outcome.round.alternatives]

    @cached_property
    def outranked(self) -> list[plan_types.Outranked]:
        """Plans that qualify and are not shown."""
        return outranked(self.outcome, self._shown) if self._traced else []

    @cached_property
    def candidates(self) -> list[part_types.Candidate]:
        """The GPUs that were named."""
        made = (self.outcome, self._knowledge, self._rules, self._vocabulary)
        return [candidate_dict(candidate, *made) for candidate in self.outcome.candidates]

    @cached_property
    def rejected(self) -> list[part_types.Rejection]:
        """Plans that rules reject, and those that were passed over."""
        if not self._full:
            return []
        passed = passed_over(self.outcome, self._shown, self._knowledge)
        return [*rejected_list(self.outcome, self._vocabulary), *passed]

    @cached_property
    def phases(self) -> list[part_types.Phase]:
        """Training and serving, where the project does both."""
        return [
            {"phase": name, "recommendation": self._in_words(judged) if judged else None}
            for name, judged in self.outcome.phases
        ]

    @cached_property
    def sizing(self) -> dict[str, float | int | None]:
        """Memory of the job itself."""
        return sizing_dict(self.outcome)

    @cached_property
    def figures(self) -> dict[str, part_types.Figure]:
        """Figures that are worth showing."""
        shown = figures(self.outcome.fired, self._knowledge)
        return {**procurement_figures_dict(self.outcome.procurement), **shown}

    @cached_property
    def procurement(self) -> procurement_types.Procurement:
        """Rent or buy."""
        return procurement_dict(self.outcome, self._vocabulary)

    @cached_property
    def advice(self) -> list[part_types.Remark]:
        """Advice, the most important first."""
        return remarks(self.outcome.fired, "advise", self._vocabulary)

    @cached_property
    def warnings(self) -> list[part_types.Remark]:
        """Facts and engines that contradict each other first, then what rules warn of, prices and refusals."""
        outcome, rules, vocabulary = self.outcome, self._rules, self._vocabulary
        return [
            *contradiction_warnings(outcome.intake, vocabulary),
            *remarks(outcome.fired, "warn", vocabulary),
            *refusal_warnings(outcome, vocabulary),
            *difference_warnings(self._differences, vocabulary),
            *aged_warnings(outcome, rules, self.head["decided_at"][:10], vocabulary),
        ]

    @cached_property
    def monitoring(self) -> list[part_types.Target]:
        """Figures to watch."""
        return monitoring(self.outcome.fired, self._vocabulary)

    @cached_property
    def disagreements(self) -> list[part_types.Disagreement]:
        """Where sources contradict each other."""
        return disagreements(self.outcome.fired, self._knowledge)

    @cached_property
    def assumptions(self) -> list[part_types.Assumption]:
        """What was taken for granted."""
        return assumptions(self.outcome)

    @cached_property
    def open_questions(self) -> list[part_types.OpenQuestion]:
        """What is worth stating."""
        undecided = undecided_facts(self.outcome, self._rules.values())
        return open_questions(self.outcome, undecided, self._vocabulary)

    @cached_property
    def trace(self) -> list[trace_types.TraceEntry]:
        """Every step, in order."""
        trace = self._trace_builder
        return cast("list[trace_types.TraceEntry]", trace.entries) if trace else []

    @cached_property
    def rules(self) -> list[trace_types.RuleVerdict]:
        """What became of every rule."""
        return verdicts(self.outcome, self._rules) if self._traced else []

    def rules_named(self, names: Collection[str]) -> list[trace_types.RuleVerdict]:
        """``rules`` for some ids alone: rules, or all rows of tables."""
        return verdicts(
            self.outcome, {name: rule for name, rule in self._rules.items() if name in names or rule.table in names}
        )

    @cached_property
    def refused(self) -> list[part_types.RefusedPlan]:
        """Plans whose figures cannot be true."""
        return refused_list(self.outcome)

    @property
    def several(self) -> bool:
        """Whether more than one plan is shown."""
        return len(self._shown) > 1

    def outline(self) -> Outline:
        """The recommendation and the alternatives, best first, by card and number alone."""
        return outline_of(self.outcome.chosen, self.outcome.round)

    def rejecting(self) -> set[str]:
        """The ids of the rules that reject some plan, of which none is made."""
        against = self.outcome.round.rejected_by if self.outcome.round else ()
        return {rule.id for rules in against for rule in rules}

    def _in_words(self, judged: Judged, *, banded: bool = True) -> plan_types.Plan:
        shared = self.outcome.final.facts
        return plan_dict(judged.ranked.plan, judged, self._rules, shared, self._vocabulary, banded=banded)

    @cached_property
    def _trace_builder(self) -> TraceBuilder | None:
        if not self._traced:
            return None
        return _trace(self.outcome, self._shown, self._knowledge, self._rules, self._vocabulary)


def _trace(
    outcome: Outcome, shown: Sequence[Judged], knowledge: Knowledge, rules: Mapping[str, Rule], vocabulary: Vocabulary
) -> TraceBuilder:
    """The trace of a decision; ``shown`` are the plans that it holds in full."""
    trace = TraceBuilder(vocabulary, rules)
    shared = outcome.final.facts
    trace.add_resolved(outcome.intake)
    if outcome.round is not None:
        trace.add_rejections(outcome.round.rejections, outcome.intake.facts)
        trace.add_resolved(outcome.round.survey)
    for judged in shown:
        trace.add_plan(judged.ranked.plan, judged.facts, outcome.intake.facts)
        trace.add_score(judged, shared)
    held = {judged.ranked.plan.id for judged in shown}
    for candidate in outcome.candidates:
        plan = candidate.plan
        if plan is not None and plan.id not in held:
            own = {name: value for name, value in candidate.facts.items() if not name.startswith("candidate.")}
            trace.add_plan(plan, own, shared)
            if candidate.judged is not None:
                trace.add_score(candidate.judged, shared)
            held.add(plan.id)
        trace.add_candidate(candidate, knowledge.gpus[candidate.gpu_id])
    computed = {name: figure.inputs for name, figure in outcome.procurement.figures.items()}
    trace.add_resolved(outcome.final, computed, outcome.chosen.ranked.plan.id if outcome.chosen else "workload")
    trace.add_advice(outcome.fired, outcome.final)
    return trace
