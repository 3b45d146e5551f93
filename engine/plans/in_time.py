"""The smallest count that meets the goals of training, or of a split that the user states, or has a step in time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whichgpu.engine.plans.picks import Picks, picks_of
from whichgpu.engine.plans.sizes import PlanSizes
from whichgpu.engine.plans.targets import missed, shortfall, work_of_run
from whichgpu.engine.sizing import Ints


#: A search for the count that meets a goal is at its end by then, or goes nowhere.
ROUNDS = 8


def counts_in_time(sizes: PlanSizes, which: Ints, smallest: Ints) -> Iterator[Picks]:
    """The counts of each GPU that meet the goals, and meet them with room; none where none does.

    Where nothing is stated it is the count that ends pre-training in the time people wait for.

    Args:
        sizes: of the job.
        which: the GPUs, by their positions in the catalogue.
        smallest: the count of each from which the search goes on.
    """
    goals, why = sizes.goals, "meets the target"
    if not goals.stated:
        if sizes.job.kind != "pretraining" or not sizes.job.train_tokens:
            return
        goals, why = goals._replace(hours=float(sizes.patience_hours)), "ends in tolerable time"
    roomy = sizes.goals_with_room if sizes.goals.stated else goals
    fabrics, fabric = sizes.columns.fabrics, sizes.columns.links.fabric[which]
    place, count = np.arange(len(which)), smallest
    for _ in range(ROUNDS):
        usual = sizes.usual_columns(which[place], count)
        known = usual.fits & ~np.all([np.isnan(column) for column in usual.speed.values()], axis=0)
        short = missed(goals, usual.speed)
        yield picks_of(place, usual.layouts, why).take(known & ~short)
        factor = np.broadcast_to(
            np.where(short, shortfall(goals, usual.speed), shortfall(roomy, usual.speed)), place.shape
        )
        further = known & missed(roomy, usual.speed) & np.isfinite(factor)
        place, count, factor = place[further], count[further], factor[further]
        least = np.maximum(count + 1, np.ceil(count * factor * 0.999).astype(np.int64))
        count = fabrics.rounded_up(fabric[place], least)
        place, count = place[count > 0], count[count > 0]
        if not len(place):
            return


def counts_of_usual_steps(sizes: PlanSizes, which: Ints, smallest: Ints) -> Picks:
    """The smallest count of each GPU that takes a stated batch of pre-training in the time that a step usually has.

    Nobody asks for that time, so it is a count that people plan with: a power of two of GPUs, or of whole machines.
    None where a target or the length of the run is stated, no batch is, or no count takes it in that time.

    Args:
        sizes: of the job.
        which: the GPUs, by their positions in the catalogue.
        smallest: the count of each that holds the job.
    """
    job, fabrics = sizes.job, sizes.columns.fabrics
    ladder = fabrics.ladders[sizes.columns.links.fabric[which]]
    free = not (sizes.goals.stated or work_of_run(job) or "run_hours" in sizes.facts)
    asked = free and job.kind == "pretraining" and job.global_batch
    place, step = np.nonzero((ladder >= smallest[:, None]) & bool(asked))
    usual = sizes.usual_columns(which[place], ladder[place, step])
    seconds = usual.speed.get("step_s", np.full(len(place), np.nan))
    in_time = np.flatnonzero(usual.fits & (seconds <= sizes.step_seconds))
    _, first = np.unique(place[in_time], return_index=True)
    return picks_of(place, usual.layouts, "a step in usual time").take(in_time[first])
