"""What is asked of a service: how many requests come or are in flight, how evenly, and what times are promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from whichgpu.engine.core import Facts, number
from whichgpu.engine.sizing.fact_reader import TRANSFORMERS
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.speed_constants import speed_constants


class Targets(NamedTuple):
    """Stated limits on times, milliseconds."""

    ttft_ms: float | None
    tpot_ms: float | None
    latency_ms: float | None


#: Percentile at which limits on times are judged unless another one is stated (``slo_percentile``).
PERCENTILE = 95.0


class Demand(NamedTuple):
    """The load of a service and the limits on its times.

    A load is open where requests come at a ``rate`` whatever is in flight, else closed: so many requests are in flight,
    and each that is answered is followed by the next one.
    """

    targets: Targets = Targets(None, None, None)
    rate: float | None = None  # requests that come in a second; None for a closed loop
    tokens_per_s: float | None = None  # what is asked for, where the rate stands for it
    at_hand: bool = False  # all requests are there from the start: as many are in flight as memory holds
    burst: float = 1.0  # how many times the wait of independent arrivals
    percentile: float = PERCENTILE  # at which the limits are judged
    together: bool = False  # those in flight come at the same moment, whenever their answers are given
    capacity: bool = False  # how many requests are in flight is not stated
    stream_per_s: float | None = None  # requests a second of one stream of frames, where pictures are served


def demand_of(job: Job, facts: Facts) -> Demand:
    """The demand that facts state. Without any, one request is in flight at a time.

    Where both a rate and a number in flight are stated the rate makes the load, and memory has to hold the number. Of
    requests and tokens per second the greater demand counts.
    """
    if job.training:
        return Demand()
    capacity = capacity_asked(job, facts)
    percentile = number(facts, "slo_percentile") or PERCENTILE
    together = facts.get("requests_come") == "together"
    demand = Demand(targets_of(facts), percentile=percentile, together=together, capacity=capacity)
    demand = demand._replace(stream_per_s=frames_of_a_stream(job, facts))
    if facts.get("serving_mode") == "batch":
        return demand._replace(at_hand=capacity)
    # Frames come evenly, at any hour.
    streams = job.family == "vision" and number(facts, "video_streams")
    pattern = "steady" if streams else facts.get("traffic_pattern")
    bursts = speed_constants().serving.bursts
    burst = bursts[pattern if isinstance(pattern, str) and pattern in bursts else "unstated"].value
    rate, tokens = number(facts, "peak_qps"), number(facts, "min_tokens_per_s")
    if not rate and not capacity:
        return demand
    each = tokens_of_a_request(job)
    asked = max((rate or 0.0) * each, (tokens or 0.0) if job.family in TRANSFORMERS else 0.0)
    if not asked:
        return demand
    return demand._replace(rate=asked / each, tokens_per_s=asked, burst=burst)


def tokens_of_a_request(job: Job) -> int:
    """The tokens by which its throughput is counted: those of an answer; of an encoder those that it reads."""
    return job.context_tokens if job.family == "encoder" else max(1, job.output_tokens)


def frames_of_a_stream(job: Job, facts: Facts) -> float | None:
    """Frames per second of one video stream: as stated, else as streams share the stated requests, else usual ones.

    Returns:
        None where no image network is served.
    """
    if job.family != "vision" or job.training:
        return None
    stated, rate, streams = (number(facts, name) for name in ("frames_per_second", "peak_qps", "video_streams"))
    if not stated and rate and streams:
        return rate / streams
    return stated or speed_constants().vision.frames_per_second.value


def targets_of(facts: Facts) -> Targets:
    """The stated limits on times."""
    return Targets(*(number(facts, name) for name in ("ttft_slo_ms", "tpot_slo_ms", "latency_slo_ms")))


def capacity_asked(job: Job, facts: Facts) -> bool:
    """Whether the number of requests in flight is not stated, or all of them are at hand."""
    if job.training:
        return False
    if "concurrency" in job.unstated:
        return True
    return facts.get("serving_mode") == "batch" and job.concurrency == 1


def at_percentile(values: Mapping[str, Any], name: str, percentile: float) -> Any:
    """A time at a percentile of 50 or more: the tail beyond the median falls off as an exponential.

    Args:
        values: the figures; ``ttft_ms`` is a median, ``ttft_p95_ms`` the 95th percentile, where a queue is computed.
        name: the median's name.
        percentile: which one, below 100.
    """
    median = values.get(name, math.nan)
    p95 = values.get(name.replace("_ms", "_p95_ms"))
    return median if p95 is None else median + (p95 - median) * tail_share(percentile)


def tail_share(percentile: float) -> float:
    """How far a percentile lies beyond the median, the 95th being 1."""
    return math.log10(50.0 / (100.0 - percentile))
