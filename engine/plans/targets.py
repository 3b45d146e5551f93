"""The stated targets of time and throughput, and whether plans meet them: one plan, or many as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import Facts, number
from whichgpu.engine.sizing import PERCENTILE, Job, Targets, at_percentile, targets_of


#: The facts that state what a plan is asked to reach.
TARGETS = ("ttft_slo_ms", "tpot_slo_ms", "latency_slo_ms", "min_tokens_per_s", "peak_qps", "deadline_hours")

#: The facts that state tolerable waits: for the first token, for each further one, and for the whole answer.
TOLERABLE = ("ttft_bearable_ms", "tpot_bearable_ms", "latency_bearable_ms")


class Goals(NamedTuple):
    """What a plan is asked to reach; None where nothing is."""

    times: Targets
    tokens_per_s: float | None
    qps: float | None
    hours: float | None
    percentile: float = PERCENTILE  # at which the times are judged
    judged_by_capacity: bool = False  # of tokens: of a stated load a plan gives no more than are asked
    tolerable: Targets = Targets(None, None, None)  # waits that people tolerate, where no target of time is stated
    tolerable_hours: float | None = None  # the same of a run

    @property
    def stated(self) -> bool:
        """Whether there is any."""
        return any(value is not None for value in (*self.times, self.tokens_per_s, self.qps, self.hours))


def goals_of(job: Job, facts: Facts, *, timed: bool = False) -> Goals:
    """The goals that concern a job: times and rates while serving, the deadline and the rate in training.

    A deadline needs a length of the run: tokens, steps, requests in all, or hours that were ``timed`` on a GPU in use.
    """
    work, tolerable = work_of_run(job), number(facts, "run_bearable_hours")
    hours = number(facts, "deadline_hours") if work or timed else None
    if job.training:
        rate = number(facts, "min_tokens_per_s")
        return Goals(Targets(None, None, None), rate, None, hours, tolerable_hours=tolerable)
    percentile = number(facts, "slo_percentile") or PERCENTILE
    rates = number(facts, "min_tokens_per_s"), number(facts, "peak_qps")
    return Goals(
        targets_of(facts),
        *rates,
        hours,
        percentile,
        tolerable=tolerable_of(facts),
        tolerable_hours=tolerable if work else None,
    )


def stated_times(facts: Facts) -> Goals:
    """The times alone that are stated for a run or an answer, and neither rates nor what people tolerate."""
    percentile = number(facts, "slo_percentile") or PERCENTILE
    return Goals(targets_of(facts), None, None, number(facts, "deadline_hours"), percentile)


def work_of_run(job: Job) -> float | None:
    """How much work a run has, in tokens, steps, samples or requests; None: not known, or a service has no end."""
    return job.train_tokens or job.train_steps or job.train_samples if job.training else job.requests_total


def tolerable_of(facts: Facts) -> Targets:
    """The waits that people tolerate, as stated or assumed. They are no limits: what takes longer costs more."""
    return Targets(*(number(facts, name) for name in TOLERABLE))


def lateness(goals: Goals, times: Iterable[Any], hours: Any = None) -> Any:
    """How many times a tolerable wait an answer or run takes, by the time that is worst; below 1 where none is longer.

    Args:
        goals: tell what people tolerate.
        times: the times to the first token, for each further one and of the whole answer, None where there is none.
        hours: of a run, None where there is none.

    Returns:
        None where nothing that is known is held against what people tolerate.
    """
    worst: Any = None
    for most, time in zip((*goals.tolerable, goals.tolerable_hours), (*times, hours), strict=True):
        if most is not None and time is not None:
            worst = time / most if worst is None else np.fmax(worst, time / most)
    return worst


def meets(goals: Goals, values: Mapping[str, float]) -> bool | None:
    """Whether every goal is met; None where none is stated or a figure that decides is not known."""
    if missed(goals, values):
        return False
    return None if undecided(goals, values) or not goals.stated else True


def times_kept(goals: Goals, values: Mapping[str, float]) -> bool:
    """Whether the times of one request are met, as far as they are known."""
    return not times_missed(goals, values)


def missed(goals: Goals, values: Mapping[str, Any]) -> Any:
    """Whether a goal is missed as far as the figures are known; of columns, for each row."""
    return _any_missed(_limits(goals, values))


def undecided(goals: Goals, values: Mapping[str, Any]) -> Any:
    """Whether a figure that decides over a goal is not known; of columns, for each row."""
    found: Any = False
    for value, *_ in _limits(goals, values):
        found = found | np.isnan(value)
    return found


def times_missed(goals: Goals, values: Mapping[str, Any]) -> Any:
    """Whether a time of one request (not a rate or deadline) is missed, as far as figures are known; row by row."""
    return _any_missed(limit for limit in _limits(goals, values) if limit[2])


def shortfall(goals: Goals, values: Mapping[str, Any]) -> Any:
    """By what factor the rate of a plan falls short of its goals, at least 1; NaN where a rate is not known or zero."""
    factor: Any = 1.0
    for goal, name in ((goals.tokens_per_s, "tokens_per_s"), (goals.qps, "qps")):
        if goal is not None:
            value = np.asarray(judged(goals, values, name))
            factor = np.maximum(factor, goal / np.where(value > 0, value, np.nan))
    if goals.hours is not None:
        hours = np.asarray(values.get("hours", math.nan))
        over = hours / goals.hours if goals.hours > 0 else np.where(np.isnan(hours), np.nan, np.inf)
        factor = np.maximum(factor, over)
    return factor


def _limits(goals: Goals, values: Mapping[str, Any]) -> Iterator[tuple[Any, float, bool, bool]]:
    """Each stated goal: the figure, the goal, whether it is a time of one request, whether it is the most allowed."""
    stated = (
        ("ttft_ms", goals.times.ttft_ms, True, True),
        ("tpot_ms", goals.times.tpot_ms, True, True),
        ("latency_ms", goals.times.latency_ms, True, True),
        ("tokens_per_s", goals.tokens_per_s, False, False),
        ("qps", goals.qps, False, False),
        ("hours", goals.hours, False, True),
    )
    for name, goal, of_a_request, most in stated:
        if goal is not None:
            yield judged(goals, values, name), goal, of_a_request, most


def judged(goals: Goals, values: Mapping[str, Any], name: str) -> Any:
    """The figure by which a goal is judged, a time at the percentile; NaN where it is not known."""
    if name.endswith("_ms"):
        return at_percentile(values, name, goals.percentile)
    if name == "tokens_per_s":  # Of an encoder those that it reads.
        served = values.get("capacity_tokens_per_s" if goals.judged_by_capacity else name, values.get(name, math.nan))
        return values.get("input_tokens_per_s", served)
    return values.get(name, math.nan)


def _any_missed(limits: Iterator[tuple[Any, float, bool, bool]]) -> Any:
    """Whether any is missed; a figure that is not known misses nothing."""
    found: Any = False
    for value, goal, _, most in limits:
        found = found | (value > goal if most else value < goal)
    return found
