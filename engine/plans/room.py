"""Safety margin ("room") beside a stated target: a stated number is known no better than a step of preferred numbers.

Nobody knows a peak load or a tolerable time to two percent, and no estimate is that exact. A target is met *with room*
where it is met at the far end of its step of the series R40 of ISO 3 (forty steps to a factor of ten, six percent
each): 40 requests a second at 41, 500 ms at 487. Targets of one step have the same far end, so that what has room
beside one has it beside a target that is stated a little differently.
"""

from __future__ import annotations

import math

import numpy as np

from whichgpu.engine.plans.targets import Goals
from whichgpu.engine.sizing import Bools, Ints, Targets, ceiling


#: Steps of preferred numbers to a factor of ten, by ISO 3.
_STEPS = 40
#: From so many replicas on one more or less is within what rates are known to.
_MANY = 16
#: The most by which a number of replicas is rounded up: one in eight.
_ROUNDED = 8


def with_room(goals: Goals, *, rate_stated: bool, work: float | None = None) -> Goals:
    """The goals at the far ends of their steps.

    Args:
        goals: as stated.
        rate_stated: the load is a rate, of requests or of tokens.
        work: tokens or steps of a run that a deadline is for; what they are known to takes from its time as well.
    """
    more = (_far_end(work, most=False) or 1.0) / work if work else 1.0
    hours = _far_end(goals.hours, most=True)
    return goals._replace(
        judged_by_capacity=rate_stated,
        times=Targets(*(_far_end(limit, most=True) for limit in goals.times)),
        tokens_per_s=_far_end(goals.tokens_per_s, most=False),
        qps=_far_end(goals.qps, most=False),
        hours=hours / more if hours else hours,
    )


def _far_end(limit: float | None, *, most: bool) -> float | None:
    """The end of a limit's step that is harder to keep; ``most``: it is the most allowed, else the least."""
    if not limit:
        return limit
    step = round(_STEPS * math.log10(limit)) + (-0.5 if most else 0.5)
    end: float = 10 ** (step / _STEPS)
    return end


def rounded_up(replicas: Ints, width: Ints, machine: Ints) -> Ints:
    """Numbers of replicas as one orders them: from sixteen on the roundest, and whole machines beyond one machine.

    Either at most an eighth more. Rates are less certain than that; and a load that is a little larger then rarely
    takes another number.

    Args:
        replicas: at least so many; 0 where there are none.
        width: GPUs of a replica.
        machine: GPUs of a server.
    """
    found, gpus = replicas, replicas * width
    for bits in range(1, int(replicas.max(initial=0)).bit_length()):
        rounder = ceiling(replicas, 1 << bits) << bits
        found = np.where((replicas >= _MANY) & _hardly_more(rounder, replicas), rounder, found)
    whole = ceiling(gpus, machine) * machine
    joined = (gpus > machine) & (whole % width == 0) & _hardly_more(whole, gpus)
    return np.where(joined, np.maximum(found, whole // width), found)


def _hardly_more(one: Ints, other: Ints) -> Bools:
    enough: Bools = one * _ROUNDED <= other * (_ROUNDED + 1)
    return enough
