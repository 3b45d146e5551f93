"""A seeded simulation of the scheduler of one serving replica, step by step: what closed formulas are held against.

The policies are those that engines document. *Chunked*: a step holds one token of every request that decodes and fills
the rest of its token budget with pieces of prompts, first come first served (Agrawal et al., "Sarathi-Serve", OSDI
2024; the scheduler of vLLM V1). *Prefill first*: while a prompt waits that fits, the step holds prompts only and those
who decode stand still (the scheduler of vLLM V0, after the iteration-level scheduling of Yu et al., "Orca", OSDI 2022).
A request holds cache for all its tokens; where a step finds no room for the next ones, the request admitted last gives
its cache back and begins again, its own answer so far in its prompt (vLLM's preemption by recomputation).

How long a step takes is handed in. Times are in seconds.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


#: Seconds of a step that takes ``prefill`` prompt tokens through and gives ``decoding`` requests a token each, at this
#: mean ``context`` of theirs.
StepTime = Callable[[int, int, float], float]
Policy = Literal["chunked", "prefill-first"]


@dataclass(frozen=True)
class Replica:
    """What serves: limits of the scheduler, and its step time."""

    step_s: StepTime
    max_batch: int = 256
    token_budget: int = 2048  # a step
    cache_tokens: int = 10**9
    policy: Policy = "chunked"
    prefix_hits: float = 0.0  # share of each prompt that is found in the cache and not computed


@dataclass(frozen=True)
class Load:
    """What is asked: a closed loop of ``concurrency`` clients without a pause, or an open one at ``rate`` a second."""

    concurrency: int | None = None
    rate: float | None = None
    burst: int = 1  # requests that arrive at the same moment; the rate stays the same
    input_tokens: int = 512
    output_tokens: int = 128
    spread: float = 0.0  # lengths are uniform within this share around the mean
    stagger_s: float = 0.0  # the clients of a closed loop begin within this time, not all at once
    reply_s: float = 0.0  # until a client of a closed loop, who got an answer, asks again
    requests: int = 400
    warm_up: float = 0.25  # share of the requests, the first ones, that is left out of the figures
    seed: int = 0


@dataclass(frozen=True)
class Spread:
    """A mean and percentiles."""

    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Outcome:
    """What came of it, after the warm-up."""

    ttft_s: Spread
    tpot_s: Spread
    latency_s: Spread
    requests_per_s: float
    tokens_per_s: float
    in_flight: float  # asked and not answered, mean over time
    batch: float  # of them that hold a place, mean over the busy time
    utilization: float  # share of the time in which steps run
    preemptions: int
    requests: int


@dataclass(eq=False)
class _Request:
    arrived: float
    prompt: int  # tokens to take through before the next answer token; grows by a preemption
    answer: int
    done: int = 0  # prompt tokens taken through
    given: int = 0  # answer tokens
    computed_free: int = 0  # prompt tokens found in the cache
    first: float = math.nan
    finished: float = math.nan

    @property
    def decoding(self) -> bool:
        return self.done >= self.prompt

    @property
    def held(self) -> int:
        """Tokens in the cache. A preempted request's answer so far is part of its prompt."""
        return self.done + max(0, self.given - (self.prompt - self.asked))

    asked: int = 0  # the prompt as it came


def simulate(replica: Replica, load: Load) -> Outcome:
    """Run until all requests are answered. Raises ValueError where one request alone is too large for the cache."""
    chance = random.Random(load.seed)
    requests = [_drawn(load, replica, chance) for _ in range(load.requests)]
    largest = max(request.prompt + request.answer for request in requests)
    if largest > replica.cache_tokens:
        raise ValueError(f"a request of {largest} tokens does not fit a cache of {replica.cache_tokens}")
    return _Run(replica, load, requests, _arrivals(load, chance)).outcome()


def _drawn(load: Load, replica: Replica, chance: random.Random) -> _Request:
    prompt, answer = (
        max(1, round(mean * chance.uniform(1.0 - load.spread, 1.0 + load.spread)))
        for mean in (load.input_tokens, load.output_tokens)
    )
    # The last token of a prompt is computed always: the first answer token comes of it.
    free = min(prompt - 1, int(prompt * replica.prefix_hits))
    return _Request(0.0, prompt, answer, done=free, computed_free=free, asked=prompt)


def _arrivals(load: Load, chance: random.Random) -> list[float]:
    """When requests arrive that wait for no answer: all of an open loop, the first of each client of a closed one."""
    if (load.rate is None) == (load.concurrency is None):
        raise ValueError("state either a rate or a concurrency")
    if load.concurrency is not None:
        return sorted(chance.uniform(0.0, load.stagger_s) for _ in range(min(load.concurrency, load.requests)))
    moments, now = [], 0.0
    while len(moments) < load.requests:
        now += chance.expovariate(load.rate / load.burst)  # type: ignore[operator]  # one of both is stated
        moments += [now] * load.burst
    return moments[: load.requests]


class _Run:
    """One run: the clock, who is still to come, who waits, who holds a place."""

    def __init__(self, replica: Replica, load: Load, requests: list[_Request], arrivals: list[float]) -> None:
        self._replica, self._closed, self._warm_up = replica, load.concurrency is not None, load.warm_up
        self._reply_s = load.reply_s
        self._all, self._next = requests, 0
        self._arrivals = arrivals  # a heap, as it is sorted
        self._now = 0.0
        self._waiting: deque[_Request] = deque()
        self._running: list[_Request] = []  # in the order of admission
        self._steps: list[tuple[float, float, int]] = []  # begin, end, requests with a place
        self._preempted: list[float] = []
        while self._next < len(requests) or self._waiting or self._running:
            self._arrive()
            if not self._waiting and not self._running:
                self._now = self._arrivals[0]
                continue
            self._step()

    def _arrive(self) -> None:
        while self._arrivals and self._arrivals[0] <= self._now:
            self._ask(heapq.heappop(self._arrivals))

    def _ask(self, moment: float) -> None:
        if self._next < len(self._all):
            request = self._all[self._next]
            request.arrived, self._next = moment, self._next + 1
            self._waiting.append(request)

    def _step(self) -> None:
        """One iteration: choose what it holds, let its time pass, give out the tokens."""
        standing = self._replica.policy == "prefill-first" and self._prompt_can_run()
        decoding = [] if standing else self._make_room([r for r in self._running if r.decoding])
        pieces = self._pieces(self._replica.token_budget - len(decoding))
        context = sum(request.held for request in decoding) / len(decoding) if decoding else 0.0
        begin = self._now
        self._now += self._replica.step_s(sum(taken for _, taken in pieces), len(decoding), context)
        self._steps.append((begin, self._now, len(self._running)))
        for request, taken in pieces:
            request.done += taken
        for request in [*decoding, *(request for request, _ in pieces if request.decoding)]:
            request.given += 1
            if request.given == 1:
                request.first = self._now
            if request.given >= request.answer:
                request.finished = self._now
                self._running.remove(request)
                if self._closed:
                    heapq.heappush(self._arrivals, self._now + self._reply_s)

    def _prompt_can_run(self) -> bool:
        if any(not request.decoding for request in self._running):
            return True
        return bool(self._waiting) and self._admissible(self._waiting[0])

    def _admissible(self, request: _Request) -> bool:
        """There is a place, and cache for the whole prompt and the token after it."""
        promised = sum(max(other.held, other.prompt) for other in self._running)
        room = self._replica.cache_tokens - promised >= request.prompt + 1
        return room and len(self._running) < self._replica.max_batch

    def _make_room(self, decoding: list[_Request]) -> list[_Request]:
        """Who decodes in this step, after as many gave their cache back as the new tokens need."""
        while sum(max(r.held, r.prompt) for r in self._running) + len(decoding) > self._replica.cache_tokens:
            last = self._running.pop()
            last.prompt, last.done = last.asked + last.given, min(last.computed_free, last.asked)
            self._waiting.appendleft(last)
            self._preempted.append(self._now)
            decoding = [request for request in decoding if request is not last]
        return decoding

    def _pieces(self, budget: int) -> list[tuple[_Request, int]]:
        """Pieces of prompts for what is left of the budget: of those that hold a place first, then of new ones."""
        pieces = []
        for request in self._running:
            if budget > 0 and not request.decoding:
                taken = min(budget, request.prompt - request.done)
                pieces.append((request, taken))
                budget -= taken
        while budget > 0 and self._waiting and self._admissible(self._waiting[0]):
            request = self._waiting.popleft()
            self._running.append(request)
            taken = min(budget, request.prompt - request.done)
            pieces.append((request, taken))
            budget -= taken
        return pieces

    def outcome(self) -> Outcome:
        """The figures of the time between the warm-up and the last arrival, in which the load is as stated."""
        begin = self._all[int(self._warm_up * (len(self._all) - 1))].arrived
        end = max(self._all[-1].arrived, begin)
        if end <= begin:
            begin, end = 0.0, self._now
        within = [request for request in self._all if begin <= request.arrived <= end]
        answered = [request for request in self._all if begin < request.finished <= end] or within
        span = end - begin
        steps = [(max(start, begin), min(stop, end), held) for start, stop, held in self._steps]
        busy = [(stop - start, held) for start, stop, held in steps if stop > start]
        at_work = sum(length for length, _ in busy)
        present = sum(max(0.0, min(r.finished, end) - max(r.arrived, begin)) for r in self._all)
        several = [(r.finished - r.first) / (r.answer - 1) for r in within if r.answer > 1]
        return Outcome(
            ttft_s=_spread([r.first - r.arrived for r in within]),
            tpot_s=_spread(several or [0.0]),
            latency_s=_spread([r.finished - r.arrived for r in within]),
            requests_per_s=len(answered) / span,
            tokens_per_s=sum(r.answer for r in answered) / span,
            in_flight=present / span,
            batch=sum(length * held for length, held in busy) / at_work if at_work else 0.0,
            utilization=min(1.0, at_work / span),
            preemptions=len(self._preempted),
            requests=len(within),
        )


def simulate_batches(
    service_s: Callable[[int], float], most: int, rate: float, *, requests: int, seed: int, replicas: int = 1
) -> Spread:
    """Seconds of requests that come one by one to servers of batches; the first that is free takes all that wait.

    Args:
        service_s: seconds of a batch of so many.
        most: requests of the largest batch.
        rate: requests that come in a second, to all replicas.
        requests: how many; the first tenth of them is left out.
        seed: of their moments.
        replicas: that take requests from one queue.
    """
    chance = random.Random(seed)
    arrivals, now = [], 0.0
    for _ in range(requests):
        now += chance.expovariate(rate)
        arrivals.append(now)
    free, first, times = [0.0] * replicas, 0, []
    while first < requests:
        begin, last = max(free[0], arrivals[first]), first
        while last < requests and last - first < most and arrivals[last] <= begin:
            last += 1
        end = begin + service_s(last - first)
        heapq.heapreplace(free, end)
        times += [end - arrived for arrived in arrivals[first:last]]
        first = last
    return _spread(times[requests // 10 :])


def _spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]

    return Spread(sum(ordered) / len(ordered), at(0.50), at(0.95), at(0.99))
