"""The figures of a served language model under a demand: the queue of its replicas in the words of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.sizing.demand import Demand, Targets, tail_share
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.queueing import (
    FEW_ROUNDS,
    FULL,
    IDLE,
    Replica,
    Times,
    arriving,
    closed,
    full_rate,
    held_where,
    opened,
    rate_of,
    replica_of,
)
from whichgpu.engine.sizing.root_search import ROUNDS, rising_root
from whichgpu.engine.sizing.rows import Floats, Rows
from whichgpu.engine.sizing.speed_serving import Steps


class SustainedLoad(NamedTuple):
    """What one replica of each plan sustains: the load from which on there have to be more of them."""

    in_time: list[Any]  # for each of some limits: requests a second within it, or in flight; 0 where not one alone is
    promised_per_s: Any  # requests that it may be promised to answer
    full_per_s: Any  # answered while it is full and never idle


def sustained_load_of(
    job: Job, steps: Steps, rows: Rows, *, max_batch: Floats, demand: Demand, limits: Sequence[Targets]
) -> SustainedLoad:
    """The load that a replica of each plan sustains within limits on its times, each at the percentile of the demand.

    Args:
        job: what is served.
        steps: of the plans.
        rows: the plans; their ``batch`` is the most in flight that is asked for where no rate is stated.
        max_batch: as to ``load_values``.
        demand: what is asked.
        limits: in milliseconds.
    """
    replica = replica_of(job, steps, max_batch, rows.small_card)
    full_per_s, endless = full_rate(replica), np.full(np.shape(replica.places), np.inf)
    found: dict[Targets, Any] = {}
    for targets in dict.fromkeys(limits):
        if not any(targets):
            found[targets] = endless
        elif demand.rate is None:
            found[targets] = _present_within(replica, demand, targets, rows.batch)
        else:
            held, alone = _held_within(replica, demand, targets, FEW_ROUNDS)
            kept = np.where(held < FULL * replica.places, rate_of(replica, held, demand.burst), np.inf)
            found[targets] = np.where(alone > 0, 0.0, kept)
    in_time = [found[targets] for targets in limits]
    return SustainedLoad(in_time, _promised_per_s(replica, demand, full_per_s), full_per_s)


def load_values(job: Job, steps: Steps, rows: Rows, *, max_batch: Floats, demand: Demand) -> dict[str, Any]:
    """The figures of serving under a demand. NaN is a figure that is not known.

    Args:
        job: what is served.
        steps: of the plans.
        rows: the plans; their ``batch`` is the requests in flight over all replicas.
        max_batch: sequences of the full context whose cache fits one replica; NaN where memory is unknown.
        demand: what is asked.
    """
    replica = replica_of(job, steps, max_batch, rows.small_card)
    data, answer = rows.data, replica.answer
    full_per_s = full_rate(replica)
    most_per_s = data * full_per_s
    values: dict[str, Any] = {}
    if demand.rate is None:
        flight = replica.places * data if demand.at_hand else rows.batch
        present = np.maximum(1.0, flight / data)
        times = closed(replica, present, together=demand.together)
        requests = flight / times.end_to_end(answer)
        # Replicas that share experts wait for each other's prompts: full ones may do less than those that hold fewer.
        most_per_s = np.where(requests > most_per_s, requests, most_per_s)
        values["overloaded"] = 0.0 * requests
        values["tokens_per_s"] = requests * answer
    else:
        over = demand.rate > most_per_s
        times = opened(replica, np.minimum(demand.rate, most_per_s) / data, demand.burst)
        requests = np.where(over, most_per_s, demand.rate)
        asked = requests * answer if demand.tokens_per_s is None else demand.tokens_per_s
        values["overloaded"] = np.ceil(np.minimum(np.maximum(demand.rate - most_per_s, 0.0), 1.0))
        values["tokens_per_s"] = np.where(over, most_per_s * answer, asked)
        requests = np.where(np.isnan(most_per_s), np.nan, requests)
    mean = times.end_to_end(answer)
    values |= {
        "requests_per_s": requests,
        "in_flight": requests * mean,
        "utilization": np.minimum(1.0, requests / most_per_s),
        "capacity_tokens_per_s": most_per_s * answer,
        "max_concurrency": np.where(np.isnan(mean), np.nan, max_batch * data),
        "latency_mean_ms": mean * 1e3,
    }
    values |= _percentiles(times, answer)
    if demand.rate is not None and any(demand.targets):
        values |= _alone(replica, demand)
    values["qps"] = np.where(max_batch < 1, np.nan, _promised_per_s(replica, demand, full_per_s) * data)
    return values


def _percentiles(times: Times, answer: int) -> dict[str, Any]:
    """Median, 95th and 99th percentile of each time in milliseconds; whole answers are late where both parts are."""
    further = answer - 1
    found = {
        "ttft": (times.first_p50, times.first_p95),
        "tpot": (times.token, times.token_p95),
        "latency": (times.first_p50 + further * times.token, times.first_p95 + further * times.token_p95),
    }
    values = {}
    for name, (median, p95) in found.items():
        values[f"{name}_ms"] = median * 1e3
        values[f"{name}_p95_ms"] = p95 * 1e3
        values[f"{name}_p99_ms"] = (median + (p95 - median) * tail_share(99.0)) * 1e3
    return values


def _alone(replica: Replica, demand: Demand) -> dict[str, Any]:
    """Times of a request that finds its replica idle, at the percentile of the targets; for judging, and no figures.

    By them an overloaded plan is refused, if at all: its own times grow as long as the load lasts.
    """
    idle = np.full(np.shape(replica.places), IDLE)
    first, token = _judged(arriving(replica, idle, demand.burst), demand)
    times = {"ttft": first, "tpot": token, "latency": first + (replica.answer - 1) * token}
    return {f"_{name}_alone_ms": time * 1e3 for name, time in times.items()}


def _promised_per_s(replica: Replica, demand: Demand, full_per_s: Any) -> Any:
    """Requests per second that a replica may be promised to answer: within the targets, and with capacity to spare.

    Returns:
        NaN where not even a request alone keeps the targets.
    """
    most = replica.constants.load_limit.value * full_per_s
    if demand.targets == (None, None, None):
        return most
    held, alone = _held_within(replica, demand, demand.targets, ROUNDS)
    return np.where(alone <= 0, np.minimum(rate_of(replica, held, demand.burst), most), np.nan)


def _held_within(replica: Replica, demand: Demand, limits: Targets, rounds: int) -> tuple[Any, Any]:
    """The requests that a replica may hold within limits on its times, and how far an idle one is over them."""

    def over(held: Any) -> Any:
        return _over_limits(arriving(replica, held, demand.burst), replica, demand, limits)

    return held_where(replica, over, rounds)


def _present_within(replica: Replica, demand: Demand, limits: Targets, most: Any) -> Any:
    """The requests in flight, of so many at most, that a replica answers within limits; 0 where not even one is."""

    def over(present: Any) -> Any:
        return _over_limits(closed(replica, present, together=demand.together), replica, demand, limits)

    ends = np.zeros(np.shape(replica.places)), np.log(np.maximum(1.0, most))
    root = rising_root(over, ends, FEW_ROUNDS)
    return np.where(root.at_low > 0, 0.0, np.where(root.at < ends[1], np.exp(root.at), np.inf))


def _over_limits(times: Times, replica: Replica, demand: Demand, limits: Targets) -> Any:
    """Log of how far times are from limits, at the percentile at which they are judged."""
    (first, token), further = _judged(times, demand), replica.answer - 1
    found = np.full(np.shape(first), -np.inf)
    for limit, time in zip(limits, (first, token, first + further * token), strict=True):
        if limit is not None:
            found = np.maximum(found, np.log(time * 1e3 / limit))
    return found


def _judged(times: Times, demand: Demand) -> tuple[Any, Any]:
    """Time to first token and time per token at the percentile at which targets are judged."""
    share = tail_share(demand.percentile)
    first = times.first_p50 + (times.first_p95 - times.first_p50) * share
    return first, times.token + (times.token_p95 - times.token) * share
