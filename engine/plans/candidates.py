"""The plans that are worth judging: for each GPU its configurations, or one that shows why it is out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.configurations import Configuration, configurations, configurations_of_count
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.slices import slice_plans
from whichgpu.engine.sizing import Job


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
    gpus = gpus_to_plan(facts, knowledge)
    searched = list(zip(gpus, _found(maker, gpus, asked), strict=True))
    maker.prepare_memory((gpu, layout) for gpu, found in searched for layout, _ in found)
    plans: list[Plan] = []
    for gpu, found in searched:
        plans.extend(_plans_of(maker, gpu, asked, found, named=named))
        plans.extend(slice_plans(maker, gpu))
    return plans


def _found(maker: PlanMaker, gpus: Sequence[Gpu], asked: Mapping[int, str]) -> list[list[Configuration]]:
    """The configurations of each GPU; of a stated count those that hold it."""
    stated = _stated_count(maker.facts)
    if not maker.job.sized:
        return [[] for _ in gpus]
    if stated:
        return [configurations_of_count(maker, gpu, stated) for gpu in gpus]
    return configurations(maker, gpus, asked)


def _plans_of(
    maker: PlanMaker, gpu: Gpu, asked: Mapping[int, str], found: Sequence[Configuration], *, named: bool
) -> Iterator[Plan]:
    most = maker.most_gpus(gpu)
    stated = _stated_count(maker.facts)
    if not maker.job.sized:
        counts = {1: "one card"} | {count: f"asked by {by}" for count, by in asked.items() if count <= most}
        for count, why in sorted(({stated: "stated"} if stated else counts).items()):
            yield maker.plan(gpu, count, why)
        return
    one_more = named and not stated and not any(layout.count == 1 for layout, _ in found)
    if one_more and not maker.layout(gpu, 1)[1]:
        yield maker.plan(gpu, 1, "one card", timed=False)
    for layout, why in found:
        yield maker.plan(gpu, layout.count, why, layout=layout)
    if not found:
        # Shown so that its rejection can be explained: as many as one can have.
        node = maker.fabric(gpu).node_gpus
        tried = min(most, node)
        if tried > 1 or not named:
            yield maker.plan(gpu, tried, "the most in one machine" if tried > 1 else "one card", timed=False)


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


def _stated_count(facts: Facts) -> int | None:
    stated = facts.get("num_gpus")
    return stated if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 1 else None
