"""Which plans of a round an answer shows in full, and which of them durable-rules fires the rules on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from whichgpu.engine.advisor.choice import Standings
from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.stages import TableRun
from whichgpu.engine.core import Codes, Numbers, OnDemand
from whichgpu.engine.plans import PlanTable


MOST_ALTERNATIVES = 60
#: A plan further behind the answer, in points of evidence, is no alternative to it: it is listed as outranked.
FARTHEST_ALTERNATIVE = 6.0

_answer_alone: ContextVar[bool] = ContextVar("answer_alone", default=False)


@contextmanager
def answer_alone() -> Iterator[None]:
    """While it lasts a record shows the answer of a round and nothing else of it, as of a workload's other phase."""
    token = _answer_alone.set(True)
    try:
        yield
    finally:
        _answer_alone.reset(token)


def alternatives(surviving: PlanTable, scores: Numbers, first: int) -> list[int]:
    """The best surviving plan of every family that evidence puts near the first, then further counts and splits.

    Args:
        surviving: the answer, then the others in order.
        scores: their points of evidence, cost weighed as usual.
        first: the place of the plan that evidence puts first: the answer, or the plan that it stands in for.

    Returns:
        The places of the alternatives, the best first; ``in_order_of_use`` is the order of a page.
    """
    if not len(surviving):
        return []
    # What has only a guessed price cannot be ordered.
    guessed = surviving.yes("plan.assumed_price") & ~surviving.yes("plan.named")
    near = (scores >= scores[first] - FARTHEST_ALTERNATIVE) & (~guessed | guessed[0])
    near[0] = False
    return _of_every_family(surviving, np.flatnonzero(near).tolist(), {surviving.gpus[0].family})[:MOST_ALTERNATIVES]


def in_order_of_use(
    surviving: PlanTable,
    places: Sequence[int],
    measures: MeasureColumns,
    standings: Standings,
    margin: float,
) -> Sequence[int]:
    """The alternatives as a page shows them: what a buyer could prefer first, then what would replace the answer best.

    Some would prefer a plan that is clearly cheaper or faster than the answer, if no other plan beats it; and nobody
    pays more for what is meant for want of anything else. The rest are for whoever cannot have the answer. Of either
    those of the best merit come first, what is meant for want of anything else after them. Put in order when a page
    asks for them, for what beats plans of all tiers takes time to find.

    Args:
        surviving: the answer, then the others in order.
        places: of the alternatives among these.
        measures: cost and time of all of these.
        standings: what the choice came to; its order is that of these.
        margin: the share of cost or time that is clearly less.
    """
    ordered: list[int] = []

    def at(position: int) -> int:
        if not ordered:
            priced = ~np.isnan(measures.cost) | np.isnan(measures.cost[0])
            cheaper, faster = (own < own[0] * (1 - margin) for own in (measures.cost, measures.time))
            rows = standings.order
            last = standings.last_resorts[rows]
            gains = priced & (cheaper | (faster & ~last))
            keys = list(zip(last.tolist(), standings.merits[rows].tolist(), strict=True))
            by_merit = sorted(places, key=lambda place: (keys[place], place))
            preferable = [place for place in by_merit if gains[place] and not standings.is_beaten(int(rows[place]))]
            rest = [place for place in by_merit if place not in preferable]
            seen = {surviving.gpus[0].family}
            ordered.extend([*_of_every_family(surviving, preferable, seen), *_of_every_family(surviving, rest, seen)])
        return ordered[position]

    return OnDemand(len(places), at)


def _of_every_family(surviving: PlanTable, places: Sequence[int], seen: set[str]) -> list[int]:
    """The first place of every family that was not seen yet, then the others; ``seen`` grows."""
    leading: list[int] = []
    further: list[int] = []
    for place in places:
        family = surviving.gpus[place].family
        (further if family in seen else leading).append(place)
        seen.add(family)
    return [*leading, *further]


def confirm(
    table: PlanTable, best_first: Codes, shown: Sequence[int], rejected: Codes, runs: Sequence[tuple[TableRun, Codes]]
) -> None:
    """Let durable-rules fire the rules on what a record shows: the answer, its alternatives, the best of every GPU.

    Args:
        table: all plans.
        best_first: rows of the survivors, in order.
        shown: the places of the alternatives in that order.
        rejected: rows of the others.
        runs: rules that were run, each with the rows that they were run on.
    """
    runs = [(run, ran_on) for run, ran_on in runs if run.confirmable]
    if not runs:
        return
    if _answer_alone.get():
        recorded = best_first[:1].tolist()
    else:
        of_gpus: dict[str, int] = {}
        for row in (*best_first.tolist(), *rejected[::-1].tolist()):
            of_gpus.setdefault(table.gpus[row].id, row)
        recorded = [*best_first[list(shown)].tolist(), *of_gpus.values()]
    fired = np.zeros(len(table), np.bool_)
    fired[recorded] = True
    for run, ran_on in runs:
        places = np.flatnonzero(fired[ran_on])
        run.confirm(places.tolist(), [table.ids[row] for row in ran_on[places].tolist()])
