"""Where a rising function is zero, for many rows at once: Chandrupatla's hybrid of bisection and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import solved


#: A search for the requests in flight ends where the logarithm of a rate or a time is as near as this.
_NEAR = 1e-9
#: Or after so many rounds, where a function has a step: half the way each then, which is near enough.
ROUNDS = 40


class Root(NamedTuple):
    """Where a rising function is 0, for each row: the logarithm, and what the function is at the lower end."""

    at: Any
    at_low: Any


def rising_root(beyond: Callable[[Any], Any], ends: tuple[Any, Any], rounds: int = ROUNDS) -> Root:
    """The logarithm at which a rising function is 0, within its ends; the nearer end where it is 0 nowhere.

    Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function" (1997). The
    first guess is that of a slope of 1: of few requests the rate is as their number. A row is at its end when it is as
    near as it need be, so that what is found for one does not depend on the others.
    """
    found = _searched(beyond, ends, rounds)
    return Root(solved(found.at, lambda at: beyond(np.exp(at)), ends, "root"), found.at_low)


def _searched(beyond: Callable[[Any], Any], ends: tuple[Any, Any], rounds: int) -> Root:
    low, high = ends
    at_low, at_high = beyond(np.exp(low)), beyond(np.exp(high))
    root = np.where(at_low > 0, low, high)
    open_ = (at_low <= 0) & (at_high >= 0)
    # The last point with the one on the other side of 0, and the one before.
    one, at_one, other, at_other, last, at_last = high, at_high, low, at_low, high, at_high
    guess = low - at_low
    for _ in range(rounds if open_.any() else 0):
        point = np.minimum(np.maximum(guess, low), high)
        at = beyond(np.exp(point))
        root = np.where(open_, point, root)
        open_ = open_ & (np.abs(at) > _NEAR)
        if not open_.any():
            break
        same = (at > 0) == (at_one > 0)
        last, at_last = np.where(same, one, other), np.where(same, at_one, at_other)
        other, at_other = np.where(same, other, one), np.where(same, at_other, at_one)
        one, at_one = point, at
        guess = one + _step(one, at_one, other, at_other, last, at_last) * (other - one)
    return Root(root, at_low)


def _step(one: Any, at_one: Any, other: Any, at_other: Any, last: Any, at_last: Any) -> Any:
    """How far to go from one point to the other: by the inverse parabola through all three where that is sound."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place, value = (one - other) / (last - other), (at_one - at_other) / (at_last - at_other)
        sound = (value * value < place) & ((1.0 - value) * (1.0 - value) < 1.0 - place)
        step = at_one / (at_other - at_one) * at_last / (at_other - at_last)
        step += (last - one) / (other - one) * at_one / (at_last - at_one) * at_other / (at_last - at_other)
    return np.where(sound & (step > 0) & (step < 1), step, 0.5)
