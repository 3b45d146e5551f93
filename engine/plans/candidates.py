"""The plans that are worth judging: for each GPU its configurations, or one that shows why it is out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.configurations import configurations, configurations_of_count
from whichgpu.engine.plans.costs.spending import count_owned, owned_gpus
from whichgpu.engine.plans.layouts import columns_of
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.picks import Picks, picks_of, put_together
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.slices import slice_plans, wants_slices
from whichgpu.engine.plans.table import PlanTable
from whichgpu.engine.sizing import Ints, Job, Layout


def candidate_plans(
    job: Job,
    facts: Facts,
    knowledge: Knowledge,
    asked_counts: Mapping[int, str] | Iterable[int] = (),
    *,
    maker: PlanMaker | None = None,
) -> PlanTable:
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
    found = configurations_to_plan(maker, gpus_to_plan(facts, knowledge), asked)
    table = maker.table(found, maker.columns)
    if not wants_slices(maker):
        return table
    plans: list[Plan] = []
    for place, rows in found.by_gpu():
        plans += [*(table[row] for row in rows), *slice_plans(maker, maker.columns.gpus.gpus[place])]
    return PlanTable.of(plans)


def configurations_to_plan(maker: PlanMaker, gpus: Sequence[Gpu], asked: Mapping[int, str]) -> PlannedRows:
    """What is planned of each GPU: the configurations that may win, or one that shows why the GPU is out.

    Args:
        maker: of the job.
        gpus: of the catalogue.
        asked: counts that rules want considered, with the rule that asks.
    """
    which = np.array([maker.columns.gpus.position[gpu.id] for gpu in gpus], np.int64)
    stated, named = maker.stated_count, "gpu_candidates" in maker.facts

    def search() -> PlannedRows:
        if not maker.job.sized:
            return _found(maker, which, _unsized(maker, which, asked, stated))
        picks = configurations_of_count(maker, which, stated) if stated else configurations(maker, which, asked)
        shown = _shown(maker, which, picks, named=named, stated=bool(stated))
        return _found(maker, which, put_together([picks, *shown]))

    # Other prices, rules and wishes leave what is found as it was.
    return maker.found_before((which.tobytes(), stated, named, tuple(asked.items())), search, priced=bool(asked))


def _unsized(maker: PlanMaker, which: Ints, asked: Mapping[int, str], stated: int | None) -> Picks:
    """One card of each GPU and the counts that rules ask for, where it is not known what the job takes."""
    counts = {1: "one card"} | {count: f"asked by {by}" for count, by in asked.items()}
    picks = []
    for count, why in ({stated: "stated"} if stated else counts).items():
        most = maker.columns.fabrics.most[maker.columns.links.fabric[which]]
        place = np.flatnonzero((count <= most) | (count in {1, stated}))
        one = columns_of([Layout(data=count)])
        picks.append(picks_of(place, one.take(np.zeros(len(place), np.intp)), why))
    return put_together(picks)


def _shown(maker: PlanMaker, which: Ints, picks: Picks, *, named: bool, stated: bool) -> Iterator[Picks]:
    """What explains why GPUs are out: one card of those that the user names, and as many as one can have."""
    if named and not stated:
        place = _others(picks.place[picks.layouts.gpus == 1], len(which))
        one = maker.columns.usual(which[place], np.ones_like(place))
        yield picks_of(place, one.layouts, "one card", timed=False).take(~one.fits)
    place = _others(picks.place, len(which))
    fabrics, fabric = maker.columns.fabrics, maker.columns.links.fabric[which[place]]
    most = np.minimum(fabrics.most, fabrics.node_gpus)[fabric]
    if named:
        place, most = place[most > 1], most[most > 1]
    why = np.where(most > 1, "the most in one machine", "one card")
    yield picks_of(place, maker.columns.usual(which[place], most).layouts, why, timed=False)


def _others(places: Ints, length: int) -> Ints:
    """The places that are not among these. ``np.setdiff1d`` loads masked arrays, which takes 6 ms at a start."""
    left = np.ones(length, np.bool_)
    left[places] = False
    return np.flatnonzero(left)


def _found(maker: PlanMaker, which: Ints, picks: Picks) -> PlannedRows:
    """The configurations with what they take and deliver."""
    columns, gpu, layouts = maker.columns, which[picks.place], picks.layouts
    by_choice = maker.job.sized and not maker.job.training  # While training, what is found is the usual layout.
    usual = columns.usual(gpu, layouts.gpus).layouts if by_choice else layouts
    return maker.found(columns, gpu, layouts, usual, tuple(picks.why.tolist()), picks.timed)


#: Why a GPU that plans could use is in none of them.
NOT_AVAILABLE = "no provider was seen to rent it out or sell it; name it in gpu_candidates to plan with it"


def gpus_not_available(facts: Facts, knowledge: Knowledge) -> list[Gpu]:
    """The GPUs that ``gpus_to_plan`` leaves out because no provider was seen to rent them out or sell them."""
    if "gpu_candidates" in facts:
        return []
    out = {gpu.id for gpu in gpus_to_plan(facts, knowledge)} | _ids(facts, "gpu_excluded", knowledge)
    return [gpu for gpu in knowledge.plannable if gpu.id not in knowledge.priced_ids and gpu.id not in out]


def gpus_to_plan(facts: Facts, knowledge: Knowledge) -> list[Gpu]:
    """Plannable GPUs, restricted and reduced as the user said; names may be ids, families or series.

    Of GPUs that no provider was seen to rent out or sell, only those that the user names or has: no plan of the others
    could be had.
    """
    if "gpu_candidates" in facts:
        named = _ids(facts, "gpu_candidates", knowledge)
        chosen = [gpu for gpu in knowledge.plannable if gpu.id in named]
    else:
        named, owned = knowledge.priced_ids | _ids(facts, "current_gpu", knowledge), owned_gpus(facts)
        chosen = [gpu for gpu in knowledge.plannable if gpu.id in named or (owned and count_owned(gpu, owned))]
    excluded = _ids(facts, "gpu_excluded", knowledge)
    return [gpu for gpu in chosen if gpu.id not in excluded]


def _ids(facts: Facts, name: str, knowledge: Knowledge) -> frozenset[str]:
    value = facts.get(name, ())
    names = value if isinstance(value, tuple) else (value,)
    return frozenset(gpu_id for item in names for gpu_id in knowledge.find_gpu(str(item)).ids)
