"""A server that answers requests in batches, under load: encoders, rerankers, speech and pictures.

As soon as a batch is done the next one begins with all that wait, as many as it takes at most (greedy batching, as
Triton, text-embeddings-inference and ONNX servers do without a delay). With ``service(b)`` the seconds of a batch of b,
``capacity = most / service(most)`` requests a second and ``u = rate / capacity``:

    open loop:    b = rate x service(b), the batch that comes while one is served, 1 at least
                  wait = busy x service(b) / 2 + u^2 / (2 (1 - u) capacity)
    closed loop:  time = the longer of service(in flight) + overhead and in flight / capacity
    in flight = requests per second x mean time                                          (Little's law)

Where c replicas take requests from one queue, whoever comes waits only if all of them are at work, in
u^(sqrt(2 (c + 1)) - 1) of all cases (Sakasegawa, "An approximation formula Lq = a rho^b / (1 - rho)", 1977), and for a
c-th of the time.

The wait is what is left of the batch on the way, and the M/D/1 queue of a server that does ``capacity`` a second. Where
batches bring nothing, as ``service`` grows with b, their sum is the M/D/1 wait itself (Kleinrock, Queueing Systems I).
No request waits longer than a batch for the one on the way; the tail of the queue falls off as an exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.sizing.demand import Demand, tail_share
from whichgpu.engine.sizing.queueing import FULL, IDLE, of_tail
from whichgpu.engine.sizing.root_search import rising_root
from whichgpu.engine.sizing.speed_constants import speed_constants


class BatchServer(NamedTuple):
    """One replica of a network, a row for each plan."""

    service: Callable[[Any], Any]  # seconds of a batch of so many requests, 1 or more
    most: Any  # requests of the largest batch
    overhead_s: float = 0.0  # that a request spends outside the network
    sharing: Any = 1  # replicas that take requests from one queue; 1 where each has its own

    @property
    def capacity(self) -> Any:
        """Requests per second of full batches, one after the other."""
        return self.most / self.service(np.maximum(1.0, self.most))


class Waits(NamedTuple):
    """Seconds of one request."""

    mean: Any
    p50: Any
    p95: Any


def closed_batches(server: BatchServer, present: Any) -> Waits:
    """Times with ``present`` requests in flight, each followed by the next one."""
    full = server.service(server.most)
    turn = present / server.capacity
    mean = np.maximum(server.service(np.minimum(present, server.most)) + server.overhead_s, turn)
    # Whoever comes when a batch has just begun, and does not find a place in the next one, waits for one more.
    return Waits(mean, mean, mean + np.where(present > server.most, full, 0.0))


def opened_batches(server: BatchServer, rate: Any, burst: float) -> Waits:
    """Times while ``rate`` requests a second come; near capacity as long as a queue may grow.

    Args:
        server: the replicas.
        rate: requests a second for each of them.
        burst: how many times the wait of independent arrivals.
    """
    capacity = server.capacity
    share = np.minimum(FULL, rate / capacity)
    rate = share * capacity
    most = np.log(np.maximum(1.0, server.most) + np.zeros_like(rate))
    root = rising_root(lambda size: np.log(size / (rate * server.service(size))), (np.zeros_like(most), most))
    batch = np.exp(root.at)
    step = server.service(batch)
    # One replica is as often at work as it is in use: then the exponent is 1.
    replicas = 1.0 * server.sharing
    exponent = np.sqrt(2.0 * (replicas + 1.0)) - 1.0
    busy = np.minimum(1.0, rate * step / batch) ** exponent
    rest = busy * step / (2.0 * replicas)
    queue = burst * (rest + share ** (exponent + 1.0) / (2.0 * (1.0 - share) * capacity * replicas))
    own = server.overhead_s + step

    def exceeded_by(part: float) -> Any:
        """The wait that a part of the requests exceeds: the rest of a batch is any share of it, and no more than it."""
        first_free = step / replicas * np.maximum(0.0, 1.0 - part / np.maximum(busy, part))
        return first_free + of_tail(queue - rest, busy, part)

    return Waits(own + queue, own + exceeded_by(0.5), own + np.maximum(queue, exceeded_by(0.05)))


def batch_values(server: BatchServer, replicas: Any, flight: Any, demand: Demand) -> dict[str, Any]:
    """The figures of a batch server under a demand, over all replicas. NaN is a figure that is not known.

    Where no load is stated the rate is that of full batches, and the time that of the requests in flight.

    Args:
        server: one of the replicas.
        replicas: of each plan.
        flight: requests in flight over all replicas.
        demand: what is asked; a limit on the first token is one on the whole answer.
    """
    most_per_s = replicas * server.capacity
    present = np.maximum(1.0, flight / replicas)
    if demand.rate is None and demand.capacity:
        time = server.service(np.minimum(present, server.most)) + server.overhead_s
        values = {"samples_per_s": most_per_s, "latency_ms": time * 1e3}
    else:
        values = _under_load(server, replicas, flight, demand)
    return values | {"qps": replicas * _promised_per_s(server, demand)}


def _under_load(server: BatchServer, replicas: Any, flight: Any, demand: Demand) -> dict[str, Any]:
    most_per_s = replicas * server.capacity
    if demand.rate is None:
        waits = closed_batches(server, np.maximum(1.0, flight / replicas))
        requests = flight / waits.mean
        over = 0.0 * requests
    else:
        requests = np.minimum(demand.rate, most_per_s)
        waits = opened_batches(server, requests / replicas, demand.burst)
        over = np.ceil(np.minimum(np.maximum(demand.rate - most_per_s, 0.0), 1.0))
    known = np.isnan(requests)
    values = {
        "requests_per_s": requests,
        "samples_per_s": requests,
        "in_flight": requests * waits.mean,
        "utilization": np.minimum(1.0, requests / most_per_s),
        "overloaded": np.where(known, np.nan, over),
        "capacity_samples_per_s": most_per_s,
        "latency_mean_ms": waits.mean * 1e3,
        "latency_ms": waits.p50 * 1e3,
        "latency_p95_ms": waits.p95 * 1e3,
        "latency_p99_ms": (waits.p50 + (waits.p95 - waits.p50) * tail_share(99.0)) * 1e3,
    }
    if demand.rate is not None:  # For judging, and no figure: how an overloaded plan answers at best.
        values["_latency_alone_ms"] = 1e3 * (server.service(1.0) + server.overhead_s)
    return {name: column + np.zeros_like(most_per_s) for name, column in values.items()}


def _promised_per_s(server: BatchServer, demand: Demand) -> Any:
    """Requests per second that a replica may be promised to answer: within the limits, and with capacity to spare.

    Returns:
        NaN where not even a request alone keeps the limits.
    """
    capacity = server.capacity
    most = speed_constants().serving.load_limit.value * capacity
    limits = [limit for limit in (demand.targets.ttft_ms, demand.targets.latency_ms) if limit is not None]
    if not limits:
        return most
    limit_s = min(limits) / 1e3

    def over(rate: Any) -> Any:
        waits = opened_batches(server, rate, demand.burst)
        return np.log((waits.p50 + (waits.p95 - waits.p50) * tail_share(demand.percentile)) / limit_s)

    ends = np.log(IDLE * capacity), np.log(FULL * capacity)
    root = rising_root(over, ends)
    return np.where(root.at_low <= 0, np.minimum(np.exp(root.at), most), np.nan)
