"""Which plans of those that could be the answer cost more, or take longer, than another and give nothing for it."""

from __future__ import annotations

import numpy as np

from whichgpu.engine.advisor.contenders import Contenders, Flags
from whichgpu.engine.advisor.dominance import stands_as_well, sustains_as_much
from whichgpu.engine.advisor.rank import Objective


def costlier_for_nothing(c: Contenders, eligible: Flags, objective: Objective) -> Flags:
    """Which plans cost clearly more than an eligible one that is no slower, however much speaks for them."""
    rows = np.flatnonzero(eligible)
    cost, time = c.measures.cost, c.measures.time
    cheaper = cost[rows] <= cost[:, None] * (1 - objective.dominance_margin)
    found: Flags = np.any(cheaper & (time[rows] <= time[:, None]), axis=1)
    return found


def slow_for_nothing(c: Contenders, eligible: Flags, objective: Objective) -> Flags:
    """Which plans take many times as long as an eligible one of their standing that costs no more but for the margin.

    What is as cheap is chosen by evidence, and that speaks of cards. Nobody waits twice as long for the sake of it.
    """
    rows = np.flatnonzero(eligible)
    if len(rows) < 2:
        return np.zeros(len(c), np.bool_)
    cost, time, t = c.measures.cost, c.measures.time, c.traits
    mine, its = t.each(lambda column: column[rows]), t.each(lambda column: column[:, None])
    found = (cost[rows] <= cost[:, None] * (1 + objective.dominance_margin)) & eligible[:, None]
    found &= time[rows] * objective.guide_time_ratio <= time[:, None]
    found &= stands_as_well(mine, its, paid_anyway=False) & sustains_as_much(mine, its, objective.dominance_margin)
    late: Flags = np.any(found, axis=1)
    return late
