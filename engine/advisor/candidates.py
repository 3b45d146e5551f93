"""What becomes of every GPU that the user named, recommended or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from whichgpu.engine.advisor.outcome import CandidateJudgement, CandidateVerdict, Judged, PlanRound, Rejection
from whichgpu.engine.advisor.stages import RuleSet
from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans import Plan, PlanMaker, Refusal, figure_problems


def named_gpus(facts: Facts, knowledge: Knowledge) -> list[tuple[Gpu, bool]]:
    """The GPUs that the user named, each with whether it is the card in use; families and series as their members."""
    listed, used = facts.get("gpu_candidates", ()), facts.get("current_gpu")
    names = listed if isinstance(listed, tuple) else (listed,)
    current = () if used is None else knowledge.find_gpu(str(used)).ids
    ids = dict.fromkeys([*(gpu for name in names for gpu in knowledge.find_gpu(str(name)).ids), *current])
    return [(knowledge.gpus[gpu], gpu in current) for gpu in ids]


def judge_candidates(
    maker: PlanMaker, facts: Facts, knowledge: Knowledge, reject: RuleSet, plan_round: PlanRound | None
) -> tuple[CandidateJudgement, ...]:
    """A verdict on each named GPU, by its own best plan; the card in use by the count that the user has."""
    judge = _Judge(maker, facts, knowledge, reject, plan_round)
    return tuple(judge.judge(gpu, is_current) for gpu, is_current in named_gpus(facts, knowledge))


@dataclass(frozen=True)
class _Judge:
    """Judges GPUs by the plans of a round, or by plans of its own."""

    maker: PlanMaker
    facts: Facts
    knowledge: Knowledge
    reject: RuleSet
    plan_round: PlanRound | None

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The places of the surviving plans by id, the best first."""
        return {name: place for place, name in enumerate(self.plan_round.surviving.ids if self.plan_round else ())}

    @cached_property
    def rejected(self) -> Mapping[str, int]:
        """The rows of the rejected plans by id."""
        return {name: row for row, name in enumerate(self.plan_round.rejected.ids if self.plan_round else ())}

    def _judged(self, plan: Plan) -> Judged | None:
        place = self.places.get(plan.id)
        return None if place is None or self.plan_round is None else self.plan_round.judged[place]

    def _rejection(self, plan: Plan) -> Rejection | None:
        row = self.rejected.get(plan.id)
        return None if row is None or self.plan_round is None else self.plan_round.rejections[row]

    def judge(self, gpu: Gpu, is_current: bool) -> CandidateJudgement:
        """The verdict on one GPU."""
        known = self.knowledge.gpu_facts[gpu.id]
        out = CandidateJudgement(gpu.id, gpu.family, "rejected", None, _with_verdict(known, "rejected", is_current))
        if not gpu.plannable:
            return out
        plan = self._own_plan(gpu, is_current)
        if problems := figure_problems(plan):
            return replace(out, refused=Refusal(plan, problems))
        judged, rejection = self._judged(plan), self._rejection(plan)
        fact_set: Facts = judged.facts if judged else rejection.facts if rejection else {**known, **plan.facts}
        if judged is None and rejection is None:
            resolution = self.reject.run(self.facts, [fact_set], [plan.id]).resolutions[0]
            if resolution.fired:
                rejection = Rejection(plan, self.reject.fired(resolution), fact_set)
        verdict = self._verdict(plan, judged, rejection)
        own = _with_verdict(fact_set, verdict, is_current)
        smallest = self.maker.smallest_count(gpu)
        own["candidate.fits_one"] = smallest == 1
        if smallest is not None:
            own["candidate.min_count"] = smallest
        return CandidateJudgement(gpu.id, gpu.family, verdict, plan, own, rejection, judged, is_current)

    def _own_plan(self, gpu: Gpu, is_current: bool) -> Plan:
        """The stated count; one card for the card in use; else the GPU's best plan in the round."""
        stated = self.facts.get("num_gpus")
        if isinstance(stated, int):
            return self.maker.plan(gpu, stated, "stated")
        if is_current:
            return self.maker.plan(gpu, 1, "the card in use")
        if self.plan_round is not None:
            for plans, which in ((self.plan_round.surviving, 0), (self.plan_round.rejected, -1)):
                own = [row for row, other in enumerate(plans.gpus) if other.id == gpu.id]
                if own:
                    return plans[own[which]]
        return self.maker.plan(gpu, self.maker.smallest_count(gpu) or 1, "named by the user")

    def _verdict(self, plan: Plan, judged: Judged | None, rejection: Rejection | None) -> CandidateVerdict:
        if rejection is not None:
            return "rejected"
        if judged is None:
            return "outranked"
        if self.plan_round is None or self.places[plan.id] == 0:
            return "recommended"
        first = self.plan_round.judged[0]
        if not judged.ranked.proven:
            return "unproven"
        family = [gpu.family for gpu in self.plan_round.surviving.gpus]
        best_of_family = family.index(plan.gpu.family) == self.places[plan.id]
        alike = judged.standing.tier == first.standing.tier and judged.standing.dominated_by is None
        return "alternative" if best_of_family and alike else "outranked"


def _with_verdict(facts: Facts, verdict: str, is_current: bool) -> dict[str, Value]:
    return {**facts, "candidate.verdict": verdict, "candidate.is_current": is_current}
