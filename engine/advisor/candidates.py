"""What becomes of every GPU that the user named, recommended or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace

from whichgpu.engine.advisor.outcome import CandidateJudgement
from whichgpu.engine.advisor.outcome import CandidateVerdict
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.outcome import PlanRound
from whichgpu.engine.advisor.outcome import Rejection
from whichgpu.engine.advisor.stages import RuleSet
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.plans.gate import Refusal
from whichgpu.engine.plans.gate import figure_problems
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the plans of one round stand, by plan id."""

    judged: Mapping[str, Judged]
    rejected: Mapping[str, Rejection]
    chosen: str | None


def standing_of(plan_round: PlanRound | None) -> Standing:
    """Index a round by plan id."""
    judged = {entry.ranked.plan.id: entry for entry in (plan_round.judged if plan_round else ())}
    rejected = {entry.plan.id: entry for entry in (plan_round.rejections if plan_round else ())}
    return Standing(judged, rejected, next(iter(judged), None))


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
    standing = standing_of(plan_round)
    return tuple(
        _judge(gpu, is_current, maker, facts, knowledge, reject, standing)
        for gpu, is_current in named_gpus(facts, knowledge)
    )


def _judge(
    gpu: Gpu,
    is_current: bool,
    maker: PlanMaker,
    facts: Facts,
    knowledge: Knowledge,
    reject: RuleSet,
    standing: Standing,
) -> CandidateJudgement:
    known = knowledge.gpu_facts[gpu.id]
    out = CandidateJudgement(gpu.id, gpu.family, "rejected", None, _with_verdict(known, "rejected", is_current))
    if not gpu.plannable:
        return out
    plan = _own_plan(gpu, is_current, maker, facts, standing)
    problems = figure_problems(plan)
    if problems:
        return replace(out, refused=Refusal(plan, problems))
    judged, rejection = standing.judged.get(plan.id), standing.rejected.get(plan.id)
    fact_set: Facts = judged.facts if judged else rejection.facts if rejection else {**known, **plan.facts}
    if judged is None and rejection is None:
        resolution = reject.run(facts, [fact_set], [plan.id]).resolutions[0]
        if resolution.fired:
            rejection = Rejection(plan, reject.fired(resolution), fact_set)
    verdict = _verdict(plan, judged, rejection, standing)
    own = dict(_with_verdict(fact_set, verdict, is_current))
    smallest = maker.smallest_count(gpu)
    own["candidate.fits_one"] = smallest == 1
    if smallest is not None:
        own["candidate.min_count"] = smallest
    return CandidateJudgement(gpu.id, gpu.family, verdict, plan, own, rejection, judged, is_current)


def _own_plan(gpu: Gpu, is_current: bool, maker: PlanMaker, facts: Facts, standing: Standing) -> Plan:
    """The plan by which a GPU is judged: the stated count; one card for the card in use; else its best in the round."""
    stated = facts.get("num_gpus")
    if isinstance(stated, int):
        return maker.plan(gpu, stated, "stated")
    if is_current:
        return maker.plan(gpu, 1, "the card in use")
    for entry in standing.judged.values():
        if entry.ranked.plan.gpu.id == gpu.id:
            return entry.ranked.plan
    rejected = [entry.plan for entry in standing.rejected.values() if entry.plan.gpu.id == gpu.id]
    return rejected[-1] if rejected else maker.plan(gpu, maker.smallest_count(gpu) or 1, "named by the user")


def _verdict(plan: Plan, judged: Judged | None, rejection: Rejection | None, standing: Standing) -> CandidateVerdict:
    if rejection is not None:
        return "rejected"
    if plan.id == standing.chosen:
        return "recommended"
    if judged is None:
        return "outranked"
    if not judged.ranked.proven:
        return "unproven"
    best_of_family = next(e for e in standing.judged.values() if e.ranked.plan.gpu.family == plan.gpu.family)
    first = standing.judged[standing.chosen] if standing.chosen else judged
    alike = judged.standing.tier == first.standing.tier and judged.standing.dominated_by is None
    return "alternative" if best_of_family is judged and alike else "outranked"


def _with_verdict(facts: Facts, verdict: str, is_current: bool) -> dict[str, Value]:
    return {**facts, "candidate.verdict": verdict, "candidate.is_current": is_current}
