"""The split of a stated number of GPUs that serves: for a stated load, or with the largest capacity."""

from __future__ import annotations

import numpy as np

from whichgpu.engine.core import known_or
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.size_columns import SizeColumns, capacity, rate
from whichgpu.engine.sizing import Layout


def layout_for_load(columns: SizeColumns, place: int, count: int, *, rate_stated: bool) -> Layout | None:
    """The layout that serves most of a stated load where the usual one does not serve all of it; else None.

    Of a rate: the first, by exchange, whose queue does not grow; where that of all of them does the one of the largest
    capacity. Of requests in flight whose cache fits no layout: the one that answers most of them a second, the others
    waiting for a place.

    Args:
        columns: memory, fit and speed of the job.
        place: of the GPU in them.
        count: how many of it.
        rate_stated: the load is a rate of requests or tokens, not a number in flight.
    """
    choices = columns.choices(np.array([place]), np.array([count]))
    which = np.full(len(choices.query), place)
    fits = choices.raised_gb <= columns.limits_gb[which]
    if not rate_stated and fits.any():
        return None
    max_batch, speed = columns.speed_cache.of(which, choices.layouts)
    usable = fits if fits.any() else max_batch >= 1
    served = capacity(speed) if rate_stated else rate(speed)
    if rate_stated and (sustains := usable & (speed.get("overloaded", np.ones_like(served)) == 0)).any():
        return choices.layouts.at(int(sustains.argmax()))
    served = np.where(usable & (served > 0), served, 0.0)
    return choices.layouts.at(int(served.argmax())) if served.any() else None


def most_capable(columns: SizeColumns, place: int, count: int) -> Layout | None:
    """Of the layouts that fit that with the largest capacity; the first by exchange where others bring little more.

    Args:
        columns: memory, fit and speed of the job.
        place: of the GPU in them.
        count: how many of it.

    Returns:
        None where none fits, or no speed is known.
    """
    choices = columns.choices(np.array([place]), np.array([count]))
    which = np.full(len(choices.query), place)
    served = known_or(capacity(columns.speed_cache.of(which, choices.layouts).figures))
    served = np.where(choices.raised_gb <= columns.limits_gb[which], served, 0.0)
    enough = served * plan_constants().worth_splitting.value >= served.max(initial=0.0)
    return choices.layouts.at(int(enough.argmax())) if served.any() else None
