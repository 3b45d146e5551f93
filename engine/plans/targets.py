"""The stated targets of time and throughput, and whether a plan meets them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from whichgpu.engine.core import Facts, number
from whichgpu.engine.sizing import Job, Targets, targets_of


class Goals(NamedTuple):
    """What a plan is asked to reach; None where nothing is."""

    times: Targets
    tokens_per_s: float | None
    qps: float | None
    hours: float | None

    @property
    def stated(self) -> bool:
        """Whether there is any."""
        return any(value is not None for value in (*self.times, *self[1:]))

    @property
    def scalable(self) -> bool:
        """Whether more replicas help: all but the times of one request."""
        return any(value is not None for value in self[1:])


def goals_of(job: Job, facts: Facts, *, timed: bool = False) -> Goals:
    """The goals that concern a job: times and rates while serving, the deadline and the rate in training.

    A deadline needs a length of the run: tokens, steps, or hours that were ``timed`` on a GPU in use.
    """
    if job.training:
        known = job.train_tokens or job.train_steps or timed
        hours = number(facts, "deadline_hours") if known else None
        return Goals(Targets(None, None, None), number(facts, "min_tokens_per_s"), None, hours)
    return Goals(targets_of(facts), number(facts, "min_tokens_per_s"), number(facts, "peak_qps"), None)


def meets(goals: Goals, values: Mapping[str, float]) -> bool | None:
    """Whether every goal is met; None where none is stated or a figure that decides is not known."""
    verdicts = [
        _verdict(values.get(name), goal, most=most)
        for name, goal, most in (
            ("ttft_ms", goals.times.ttft_ms, True),
            ("tpot_ms", goals.times.tpot_ms, True),
            ("latency_ms", goals.times.latency_ms, True),
            ("tokens_per_s", goals.tokens_per_s, False),
            ("qps", goals.qps, False),
            ("hours", goals.hours, True),
        )
        if goal is not None
    ]
    if False in verdicts:
        return False
    return None if not verdicts or None in verdicts else True


def _verdict(value: float | None, goal: float, *, most: bool) -> bool | None:
    if value is None:
        return None
    return value <= goal if most else value >= goal


def times_kept(goals: Goals, values: Mapping[str, float]) -> bool:
    """Whether the times of one request are met, as far as they are known."""
    times = zip(("ttft_ms", "tpot_ms", "latency_ms"), goals.times, strict=True)
    return all(goal is None or name not in values or values[name] <= goal for name, goal in times)


def shortfall(goals: Goals, values: Mapping[str, float]) -> float | None:
    """By what factor the plan's rate falls short of its goals, at least 1; None where a rate is not known or zero."""
    factors = [1.0]
    for goal, name in ((goals.tokens_per_s, "tokens_per_s"), (goals.qps, "qps")):
        if goal is not None:
            if not values.get(name):
                return None
            factors.append(goal / values[name])
    if goals.hours is not None:
        if "hours" not in values:
            return None
        factors.append(values["hours"] / goals.hours if goals.hours > 0 else math.inf)
    return max(factors)
