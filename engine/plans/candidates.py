"""Which plans are worth judging: for each GPU the smallest counts that fit, meet the targets, or were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

from engine.knowledge import Knowledge
from engine.knowledge.model import Gpu
from engine.plans.maker import PlanMaker
from engine.plans.model import Plan
from engine.plans.scaling import count_for_target
from engine.plans.slices import slice_plans
from engine.sizing.job import Job
from engine.values import Facts


@dataclass(frozen=True, slots=True)
class Wanted:
    """A count to plan: why, over how many GPUs a layer must at least be split, and whether speed is of interest."""

    why: str
    least_tensor: int = 1
    timed: bool = True


def candidate_plans(
    job: Job,
    facts: Facts,
    knowledge: Knowledge,
    asked_counts: Mapping[int, str] | Iterable[int] = (),
    *,
    maker: PlanMaker | None = None,
) -> list[Plan]:
    """The plans of a job, by GPU id and count.

    Args:
        job: what runs.
        facts: the workload: ``gpu_candidates`` restricts, ``gpu_excluded`` removes, ``num_gpus`` fixes the count.
        knowledge: GPUs and offers.
        asked_counts: counts that rules want considered, with the rule that asks.
        maker: made for the same job and facts, to be used again by the caller.
    """
    maker = maker or PlanMaker(job, facts, knowledge)
    asked = dict(asked_counts) if isinstance(asked_counts, Mapping) else dict.fromkeys(asked_counts, "a rule")
    named = "gpu_candidates" in facts
    plans = []
    for gpu in gpus_to_plan(facts, knowledge):
        counts = _stated_count(facts) or _counts(maker, gpu, asked, named=named)
        for count, wanted in sorted(counts.items()):
            plans.append(maker.plan(gpu, count, wanted.why, least_tensor=wanted.least_tensor, timed=wanted.timed))
        plans.extend(slice_plans(maker, gpu))
    return plans


def gpus_to_plan(facts: Facts, knowledge: Knowledge) -> list[Gpu]:
    """Plannable GPUs, restricted and reduced as the user said; names may be ids, families or series."""
    chosen = knowledge.plannable
    if "gpu_candidates" in facts:
        wanted = _ids(facts, "gpu_candidates", knowledge)
        chosen = tuple(gpu for gpu in chosen if gpu.id in wanted)
    excluded = _ids(facts, "gpu_excluded", knowledge)
    return [gpu for gpu in chosen if gpu.id not in excluded]


def _ids(facts: Facts, name: str, knowledge: Knowledge) -> frozenset[str]:
    value = facts.get(name, ())
    names = value if isinstance(value, tuple) else (value,)
    return frozenset(gpu_id for item in names for gpu_id in knowledge.find_gpu(str(item)).ids)


def _stated_count(facts: Facts) -> dict[int, Wanted] | None:
    stated = facts.get("num_gpus")
    if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 1:
        return {stated: Wanted("stated")}
    return None


def _counts(maker: PlanMaker, gpu: Gpu, asked: Mapping[int, str], *, named: bool) -> dict[int, Wanted]:
    most = maker.most_gpus(gpu)
    if not maker.job.sized:
        return {1: Wanted("one card")} | {
            count: Wanted(f"asked by {by}") for count, by in asked.items() if count <= most
        }
    smallest = maker.smallest_count(gpu)
    if smallest is None:
        # Shown so that its rejection can be explained: as many as one can have, and one where the card was named.
        tried = maker.fabric(gpu).node_gpus if most > maker.fabric(gpu).node_gpus else most
        counts = {tried: Wanted("the most in one machine" if tried > 1 else "one card", timed=False)}
        return ({1: Wanted("one card", timed=False)} if named else {}) | counts
    counts = {smallest: Wanted("one card" if smallest == 1 else "smallest count that fits")}
    if named and smallest > 1:
        counts[1] = Wanted("one card", timed=False)
    for count, by in asked.items():
        if smallest < count <= most and maker.offered(gpu, count) and maker.layout(gpu, count)[1]:
            counts.setdefault(count, Wanted(f"asked by {by}"))
    target = count_for_target(maker, gpu, smallest, most)
    if target is not None:
        counts[target.gpus] = Wanted(target.why, target.tensor)
    return counts
