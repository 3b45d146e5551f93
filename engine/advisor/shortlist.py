"""Which plans of a round an answer shows in full, and which of them durable-rules fires the rules on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from whichgpu.engine.advisor.stages import TableRun
from whichgpu.engine.core import Codes, Numbers
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
        The places of the alternatives, as they are to be shown.
    """
    if not len(surviving):
        return []
    # What has only a guessed price cannot be ordered.
    guessed = surviving.yes("plan.assumed_price") & ~surviving.yes("plan.named")
    near = (scores >= scores[first] - FARTHEST_ALTERNATIVE) & (~guessed | guessed[0])
    near[0] = False
    seen = {surviving.gpus[0].family}
    leading: list[int] = []
    further: list[int] = []
    for place in np.flatnonzero(near).tolist():
        family = surviving.gpus[place].family
        (further if family in seen else leading).append(place)
        seen.add(family)
    return [*leading, *further][:MOST_ALTERNATIVES]


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
