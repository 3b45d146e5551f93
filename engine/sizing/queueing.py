"""A served language model under load: a queue of requests in front of the steps of continuous batching.

A replica holds ``held`` requests. Each step gives every one of them a token; the prompts of those that follow pass
through in the same steps and lengthen them (Agrawal et al., "Sarathi-Serve", OSDI 2024). With ``added`` the seconds
that one prompt adds, ``answer`` the tokens of an answer and ``step`` the seconds of a step of ``held``:

    time per token = step + others x added / answer
    busy = held x added / (held x added + answer x step)          share of the time that prompts take
    time to first token = overhead + missed step + own pass + queue of prompts + wait for a place
    end to end = time to first token + (answer - 1) x time per token
    in flight = requests per second x end to end                  (Little's law)

In a closed loop those in flight are given and the rate follows, in an open one the other way round. ``benchmarks/load``
holds a simulated scheduler and measured services against these formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import named
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.root_search import ROUNDS, rising_root
from whichgpu.engine.sizing.rows import Floats
from whichgpu.engine.sizing.speed_constants import ServingSpeed, speed_constants
from whichgpu.engine.sizing.speed_serving import Steps


#: Beyond this share of capacity a queue is as long as one lets it grow; no formula tells how long.
FULL = 0.98
#: So many tell a whole number that is tried then.
FEW_ROUNDS = 10
#: The bracket begins with a replica that is idle nearly always.
IDLE = 1e-6


class Replica(NamedTuple):
    """Replicas of the model, a row for each plan; what one of them is given to do."""

    steps: Steps
    answer: Any  # tokens
    places: Any  # requests that a replica holds at most
    first_prompt: Any  # seconds that a prompt adds to a step of one request
    budget_share: Any  # of the tokens of a step that a prompt has, above 1 where it is spread over several
    constants: ServingSpeed

    @property
    def overhead_s(self) -> float:
        """Seconds that a request spends outside the model."""
        return self.constants.request_overhead_ms.value / 1e3

    @property
    def attended_s(self) -> float:
        """Seconds for which the server attends to each other request, whose text it sends on, before a new one."""
        return self.constants.token_attended_us.value * 1e-6 * self.steps.prompt_tokens


class Times(NamedTuple):
    """Seconds of one request with so many in flight; the mean, what the median lacks of it, and the tail."""

    first: Any  # mean time to first token
    first_p50: Any
    first_p95: Any
    token: Any  # time per token
    token_p95: Any
    held: Any  # requests that hold a place

    def end_to_end(self, answer: int) -> Any:
        """Mean seconds of a whole answer."""
        return self.first + (answer - 1) * self.token


class _Work(NamedTuple):
    """What a replica is busy with while it holds so many."""

    step: Any
    own: Any  # until one's own prompt has passed
    at_once: Any  # prompts that pass together
    passes: Any  # seconds while they do
    until: Any  # until a prompt has passed that came before
    queued: Any  # that each of those takes that pass together
    token: Any
    each: Any  # of it what prompts of others add
    busy: Any
    held_up: Any  # what a prompt waits for the tokens of others
    beyond: Any  # what prompts wait where more of them come than all steps can take

    @property
    def unit(self) -> Any:
        """Seconds of the wait for others, for each of those that pass together."""
        return self.queued + self.held_up

    def token_p95(self, others: Any) -> Any:
        """The 95th percentile of time per token: prompts arrive during an answer as an independent stream."""
        return self.token + self.each * (1.6 * np.sqrt(self.busy * self.at_once / np.maximum(1.0, others)))


def replica_of(job: Job, steps: Steps, max_batch: Floats, small_card: Any) -> Replica:
    """The replicas of each plan.

    Args:
        job: what is served.
        steps: of the plans.
        max_batch: sequences of the full context whose cache fits one replica; NaN where memory is unknown.
        small_card: where engines take fewer tokens and requests at a time.
    """
    serving = speed_constants().serving
    limit = np.where(small_card, serving.max_sequences_small.value, serving.max_sequences.value)
    # Requests are half-way through their answers on average.
    answer: Any = np.maximum(1, job.output_tokens)
    held = max_batch * np.maximum(1.0, job.context_tokens / (job.input_tokens + answer / 2.0))
    # A plan that holds none is refused for its memory, and timed as if it held them.
    places = np.where(max_batch >= 1, np.clip(held, 1.0, limit), limit * 1.0)
    budget = np.where(small_card, serving.step_tokens_small.value, serving.step_tokens.value)
    alone, lengthened = steps.without_and_with(1.0)
    share = np.maximum(1.0, steps.prompt_tokens) / budget
    return named(Replica(steps, answer, places, lengthened - alone, share, serving), "replica")


def closed(replica: Replica, present: Any, *, together: bool = False) -> Times:
    """Times with ``present`` requests in flight; those without a place wait for one.

    Args:
        replica: the replicas.
        present: requests in flight for each of them, 1 or more.
        together: they come at the same moment, and their followers when all of them are answered.
    """
    held = np.minimum(present, replica.places)
    others = np.maximum(0.0, held - 1.0)
    # Of those that come together half stand before one, and half lengthen the steps of one's answer.
    work = _at_work(replica, held, others / 2.0 if together else others)
    queue = np.minimum(others / 2.0, work.busy / (2.0 * np.maximum(1.0 - FULL, 1.0 - work.busy))) * work.until
    own = replica.overhead_s + work.own + work.beyond
    if together:
        queue = p50 = others / 2.0 * (_wave_unit(replica, work, others / 2.0) + replica.attended_s)
        tail = 1.9 * queue
    else:
        own = own + _missed_s(replica, work, others) + others * replica.attended_s
        p50 = of_tail(queue, work.busy, 0.5)
        tail = np.maximum(queue, replica.constants.tail.value * others * work.busy * work.unit)
    first = own + queue
    service = first + (replica.answer - 1) * work.token
    over = (present - held) / held * service
    token_p95 = work.token_p95(others / 2.0 if together else others)
    return Times(first + over, own + p50 + over, own + tail + over, work.token, token_p95, held)


def _wave_unit(replica: Replica, work: _Work, waiting: Any) -> Any:
    """Seconds for each of the prompts that wait at the same moment: a step takes as many of them as it has room for.

    What they read of the weights they read once a step, so that their sum never falls as more of them wait.
    """
    steps, share = replica.steps, replica.budget_share
    at_once = np.clip(waiting, 1.0, np.maximum(1.0, 1.0 / share))
    alone, lengthened = steps.without_and_with(1.0, at_once)
    passes = np.where(steps.alone, steps.own_pass(0.0, lengthened), lengthened - alone)
    return passes / at_once + work.held_up


def _missed_s(replica: Replica, work: _Work, others: Any) -> Any:
    """Seconds of the step that has begun when a client, who just got an answer, asks again.

    It holds a prompt of another client. Answers of equal length that began one after the other end so too, and then it
    nearly always does; if they end at any time it does as often as prompts come to a step. Which of both is rarely
    known: ``clump`` is how much of the first.
    """
    seldom = np.minimum(1.0, others * replica.steps.sharers / replica.answer)
    often = np.maximum(seldom, others / (1.0 + others))
    mixed = seldom + replica.constants.clump.value * (often - seldom)
    return np.minimum(1.0, others) * work.step + mixed * work.passes


def opened(replica: Replica, rate: Any, burst: float) -> Times:
    """Times while ``rate`` requests a second come to each replica; near its capacity as long as a queue may grow.

    Whoever comes by chance finds as many as there are on average. Prompts wait as in an M/D/1 queue, requests for a
    place as in one of many servers (Sakasegawa 1977), times what bursts make of it (Allen and Cunneen).

    Args:
        replica: the replicas.
        rate: requests a second for each of them.
        burst: how many times the wait of independent arrivals.
    """

    def beyond(held: Any) -> Any:
        """Log of the rate at which so many are held / the rate: above 0 where too many are."""
        return np.log(rate_of(replica, held, burst) / rate)

    held, _ = held_where(replica, beyond)
    return arriving(replica, held, burst)


def arriving(replica: Replica, held: Any, burst: float) -> Times:
    """Times while requests come at the rate at which each replica holds so many."""
    return _with_wait(replica, _open_times(replica, held, burst), burst)


def rate_of(replica: Replica, held: Any, burst: float) -> Any:
    """The requests a second at which each replica holds so many."""
    work = _at_work(replica, held, held)
    first = _before_first(replica, work, held) + _queue(work, held, burst)
    return held / (first + (replica.answer - 1) * work.token)


def full_rate(replica: Replica) -> Any:
    """The requests a second that each replica answers while it is full and never idle."""
    return replica.places / (replica.answer * _at_work(replica, replica.places, replica.places).token)


def held_where(replica: Replica, beyond: Callable[[Any], Any], rounds: int = ROUNDS) -> tuple[Any, Any]:
    """The requests held by each replica at which a rising function of them is 0, and what it is of an idle replica.

    Args:
        replica: the replicas.
        beyond: of the requests held; where it is not 0 anywhere, the nearer end is found.
        rounds: how many it may take to find it.
    """
    ends = np.full(np.shape(replica.places), math.log(IDLE)), np.log(FULL * replica.places)
    root = rising_root(beyond, ends, rounds)
    return np.exp(root.at), root.at_low


def _queue(work: _Work, held: Any, burst: float) -> Any:
    """Mean seconds for which a prompt waits for those that came before."""
    return np.minimum(held / 2.0, work.busy / (2.0 * (1.0 - work.busy))) * work.until * burst


def _before_first(replica: Replica, work: _Work, held: Any) -> Any:
    """Seconds until the first token, without the queue of prompts: whoever comes at any time waits for a step's end."""
    own = replica.overhead_s + work.own + np.minimum(1.0, held) * work.step / 2.0
    return own + work.beyond + held * replica.attended_s


def _open_times(replica: Replica, held: Any, burst: float) -> Times:
    work = _at_work(replica, held, held)
    queue, own = _queue(work, held, burst), _before_first(replica, work, held)
    p50, p95 = of_tail(queue, work.busy, 0.5), of_tail(queue, work.busy, 0.05)
    return Times(own + queue, own + p50, own + np.maximum(queue, p95), work.token, work.token_p95(held), held)


def _with_wait(replica: Replica, times: Times, burst: float) -> Times:
    """These times with the wait of requests that find all places of a replica taken."""
    places = replica.places
    share = np.minimum(FULL, times.held / places)
    waiting = share ** (np.sqrt(2.0 * (places + 1.0)) - 1.0)
    mean = burst * waiting * times.end_to_end(replica.answer) / (places * (1.0 - share))
    return times._replace(
        first=times.first + mean,
        first_p50=times.first_p50 + of_tail(mean, waiting, 0.5),
        first_p95=times.first_p95 + of_tail(mean, waiting, 0.05),
    )


def of_tail(mean: Any, waiting: Any, share: float) -> Any:
    """The wait that only a share exceeds, where some wait at all and their waits fall off as an exponential."""
    known = np.maximum(waiting, 1e-9)
    return np.maximum(0.0, np.log(known / share)) * mean / known


def _at_work(replica: Replica, held: Any, others: Any) -> _Work:
    steps, answer, share = replica.steps, replica.answer, replica.budget_share
    step, lengthened = steps.without_and_with(np.maximum(1.0, held))
    added = np.maximum(0.0, lengthened - step)
    passing, at_once = steps.own_pass(step, added), np.ones(1)
    if np.asarray(steps.alone).any():
        # In steps of their own prompts pass together that came while one token was given to all.
        come = np.clip(others / answer, 1.0, np.maximum(1.0, 1.0 / share))
        at_once = np.where(steps.alone, come, 1.0)
        apart = steps.own_pass(0.0, steps.without_and_with(1.0, at_once)[1])
        passing, added = np.where(steps.alone, apart, passing), np.where(steps.alone, apart / at_once, added)
    # Stages of a pipeline take prompts of different requests at a time.
    shared = added / steps.stages
    token = step / steps.accepted
    # The more decode, the more experts a step has read anyway, so that a prompt adds less; no queue is shorter for it.
    queued = np.maximum(added, replica.first_prompt)
    passes = queued * at_once
    prompts = held * passes / steps.stages
    # A step takes no more tokens than the engine lets it.
    each = steps.lengthened_by(np.minimum(others / answer, 1.0 / share)) * shared
    held_up = step * np.minimum(1.0, share)
    return _Work(
        step=step,
        own=np.maximum(0.0, share - 1.0) * step + passing,
        at_once=at_once,
        passes=passes,
        # Of prompts that pass together none waits for another.
        until=np.where(steps.alone, np.minimum(1.0, share), 1.0) * (passes + held_up),
        queued=queued,
        held_up=held_up,
        token=token + each,
        each=each,
        busy=prompts / (prompts + answer * token),
        beyond=np.maximum(0.0, others * share - answer) * (step + shared / share),
    )
