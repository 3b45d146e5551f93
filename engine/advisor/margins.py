"""Margins: the plan that keeps its targets and its memory at the unfavourable ends of its bands, too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal, get_args

from whichgpu.engine.advisor.outcome import Judged, Outcome
from whichgpu.engine.plans import Goals, Plan, goals_of, missed
from whichgpu.engine.sizing import Figure, job_from_facts


Margin = Literal["targets_margin", "memory_margin"]

MARGINS: tuple[Margin, ...] = get_args(Margin)

#: Bands of speed are computed plan by plan: so many are looked at.
_MOST_BANDS = 12


def with_margin(outcome: Outcome) -> Iterator[tuple[Margin, Judged]]:
    """What the answer leaves open by the width of its bands, and the plan of the best cost and time that does not.

    ``targets_margin``: every stated target is met at the slow end of the speeds. ``memory_margin``: the upper end of
    the memory fits the GPUs. Neither where the answer does so already or no plan of the decision does.

    Args:
        outcome: with an answer.
    """
    answer, found = outcome.chosen, outcome.round
    if answer is None or found is None:
        return
    table = found.surviving
    fits = table.numbers("plan.high_per_gpu_gb") <= table.numbers("plan.available_per_gpu_gb")
    place = table.ids.index(answer.ranked.plan.id)
    rented = answer.ranked.plan.cost.origin != "owned"  # On what is there a try costs nothing.
    if rented and not fits[place] and (roomier := _by_merit(outcome, fits.nonzero()[0].tolist())):
        yield "memory_margin", roomier[0]
    goals = goals_of(job_from_facts(outcome.intake.facts, outcome.model), outcome.intake.facts, timed=True)
    if goals.stated and late_at_slow_end(answer.ranked.plan, goals):
        quicker = (other for other in _by_merit(outcome, range(len(table))) if _gains(other, answer))
        if sure := next(
            (other for other in islice(quicker, _MOST_BANDS) if not late_at_slow_end(other.ranked.plan, goals)), None
        ):
            yield "targets_margin", sure


def _by_merit(outcome: Outcome, places: Iterable[int]) -> list[Judged]:
    """The plans at some places that nothing speaks against, by cost and time alone: evidence chose the answer."""
    entries = [outcome.judged[place] for place in places]
    standing = [entry for entry in entries if entry.ranked.proven and not entry.fallbacks]
    return sorted(standing, key=lambda entry: math.inf if entry.standing.merit is None else entry.standing.merit)


def _gains(other: Judged, answer: Judged) -> bool:
    """Whether a plan is faster, or its speed is not compared with the answer's."""
    mine, its = other.measures.time, answer.measures.time
    return mine is None or its is None or mine < its


def late_at_slow_end(plan: Plan, goals: Goals) -> bool:
    """Whether a target is missed at the slow end of the plan's speeds."""
    return plan.speed is None or bool(missed(goals, _slow_ends(plan.speed.figures)))


def _slow_ends(figures: Mapping[str, Figure]) -> dict[str, float]:
    """Times at the upper end of their band, rates at the lower."""
    return {
        name: figure.high if name.endswith("_ms") or name == "hours" else figure.low for name, figure in figures.items()
    }
