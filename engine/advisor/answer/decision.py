"""A decision as the one JSON value of the output contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from whichgpu.engine.advisor.answer.answers import (
    assumptions,
    candidate_dict,
    no_answer_dict,
    open_questions,
    rejected_list,
    sizing_dict,
    undecided_facts,
    verdicts,
)
from whichgpu.engine.advisor.answer.choice import below_answer, chosen_over, preference_cost, stands_in_for
from whichgpu.engine.advisor.answer.claims import claims_on_answer
from whichgpu.engine.advisor.answer.formats import BULKY_KEYS, DECISION_FORMAT
from whichgpu.engine.advisor.answer.launch import launch_of
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
from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import json_value
from whichgpu.engine.rules import Difference, Rule, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types, part_types, plan_types, trace_types


def decision_dict(
    outcome: Outcome,
    head: answer_types.Head,
    knowledge: Knowledge,
    rules: Mapping[str, Rule],
    vocabulary: Vocabulary,
    differences: Sequence[Difference] = (),
    *,
    full: bool = True,
    traced: bool = True,
) -> answer_types.Decision | answer_types.DecisionLine:
    """The decision under the contract's keys, figures rounded to six significant digits.

    Args:
        outcome: what was decided.
        head: format-level keys: who fired the rules, versions, digests, the time.
        knowledge: for figures and disagreements.
        rules: all rules by id.
        vocabulary: for labels and questions.
        differences: where the engines that fire the rules differ.
        full: with trace, rule verdicts and rejections; without a trace, facts have no ``seq`` in it.
        traced: False leaves empty what no page shows and a record has to have: trace, rule verdicts, outranked plans.
    """
    plans, fired = _Plans(outcome, knowledge, rules, vocabulary), outcome.fired
    trace = _trace(outcome, plans.shown, knowledge, rules, vocabulary) if full and traced else None
    decision: answer_types.Decision = {
        "format": DECISION_FORMAT,
        "fired_by": head["fired_by"],
        "engine_version": head["engine_version"],
        "decided_at": head["decided_at"],
        "rulebook": head["rulebook"],
        "knowledge": head["knowledge"],
        "objective": outcome.objective.name,
        "objective_stated": outcome.objective.stated,
        "facts": {
            name: {"value": fact.value, "origin": fact.claim.origin, "seq": trace.seq(name) if trace else None}
            for name, fact in sorted(outcome.final.resolved.items())
        },
        "recommendation": plans.recommendation(),
        "no_answer": no_answer_dict(outcome.no_answer, outcome, vocabulary),
        "alternatives": plans.alternatives(),
        "outranked": outranked(outcome, plans.shown) if full and traced else [],
        "candidates": [candidate_dict(c, outcome, knowledge, rules, vocabulary) for c in outcome.candidates],
        "rejected": [*rejected_list(outcome, vocabulary), *passed_over(outcome, plans.shown, knowledge)]
        if full
        else [],
        "phases": plans.phases(),
        "sizing": sizing_dict(outcome),
        "figures": {**procurement_figures_dict(outcome.procurement), **figures(fired, knowledge)},
        "procurement": procurement_dict(outcome, vocabulary),
        "advice": remarks(fired, "advise", vocabulary),
        "warnings": _warnings(outcome, head["decided_at"][:10], rules, vocabulary, differences),
        "monitoring": monitoring(fired, vocabulary),
        "disagreements": disagreements(fired, knowledge),
        "assumptions": assumptions(outcome),
        "open_questions": open_questions(outcome, undecided_facts(outcome, rules.values()), vocabulary),
        "trace": cast("list[trace_types.TraceEntry]", trace.entries) if trace else [],
        "rules": verdicts(outcome, rules) if full and traced else [],
    }
    if len(plans.shown) > 1:
        decision["support_reasons"] = plans.reasons.stated()
    if refused := refused_list(outcome):
        decision["refused"] = refused
    rounded: answer_types.Decision = json_value(decision)
    if full:
        return rounded
    return cast("answer_types.DecisionLine", {key: value for key, value in rounded.items() if key not in BULKY_KEYS})


class _Plans:
    """The plans of an answer under its keys: the recommendation, its alternatives, and those of other phases."""

    def __init__(
        self, outcome: Outcome, knowledge: Knowledge, rules: Mapping[str, Rule], vocabulary: Vocabulary
    ) -> None:
        self._outcome, self._knowledge, self._rules, self._vocabulary = outcome, knowledge, rules, vocabulary
        places = outcome.round.alternatives if outcome.round else ()
        self._alternatives = [outcome.judged[place] for place in places]
        #: The plans that the answer shows in full, the recommendation first.
        self.shown = ([outcome.chosen] if outcome.chosen else []) + self._alternatives
        #: Why the figures of the alternatives are founded as they are; filled by ``alternatives``.
        self.reasons = SupportReasons()

    def recommendation(self) -> plan_types.Recommendation | None:
        """The answer with what it was chosen over, stands in for and costs for the sake of preferences."""
        outcome, rules, vocabulary = self._outcome, self._rules, self._vocabulary
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

    def alternatives(self) -> list[plan_types.Alternative]:
        """The others, each beside the answer; reasons of support stand in ``reasons``."""
        found: list[plan_types.Alternative] = []
        for judged in self._alternatives:
            plan = self._in_words(judged)
            plan["support"] = self.reasons.referred(plan["support"])
            found.append({**plan, **below_answer(judged, self._outcome)})
        return found

    def phases(self) -> list[part_types.Phase]:
        """Training and serving, where the project does both."""
        return [
            {"phase": name, "recommendation": self._in_words(judged) if judged else None}
            for name, judged in self._outcome.phases
        ]

    def _in_words(self, judged: Judged) -> plan_types.Plan:
        shared = self._outcome.final.facts
        return plan_dict(judged.ranked.plan, judged, self._rules, shared, self._vocabulary)


def _warnings(
    outcome: Outcome,
    today: str,
    rules: Mapping[str, Rule],
    vocabulary: Vocabulary,
    differences: Sequence[Difference],
) -> list[part_types.Remark]:
    """What the answer warns of: facts and engines that contradict each other first, then rules, prices and refusals."""
    return [
        *contradiction_warnings(outcome.intake, vocabulary),
        *remarks(outcome.fired, "warn", vocabulary),
        *refusal_warnings(outcome, vocabulary),
        *difference_warnings(differences, vocabulary),
        *aged_warnings(outcome, rules, today, vocabulary),
    ]


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
