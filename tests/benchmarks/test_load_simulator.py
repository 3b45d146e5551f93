"""Laws of the simulated scheduler."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from load.simulator import Load, Outcome, Replica, Spread, simulate, simulate_batches


def step_s(prefill: int, decoding: int, context: float) -> float:
    """A small card: weights or products, whichever takes longer, and the host's part."""
    memory = 0.006 + decoding * context * 2e-9
    return max(memory, prefill * 4e-5 + decoding * 2e-5) + 5e-4


POLICIES = st.sampled_from(["chunked", "prefill-first"])
replicas = st.builds(
    Replica,
    step_s=st.just(step_s),
    max_batch=st.integers(1, 48),
    token_budget=st.sampled_from([256, 1024, 8192]),
    cache_tokens=st.sampled_from([3_000, 20_000, 10**9]),
    policy=POLICIES,
)
lengths = {
    "input_tokens": st.integers(1, 900),
    "output_tokens": st.integers(2, 80),
    "spread": st.sampled_from([0.0, 0.4]),
    "requests": st.just(100),
    "seed": st.integers(0, 99),
}
closed = st.builds(Load, concurrency=st.integers(1, 40), **lengths)
opened = st.builds(Load, rate=st.floats(0.2, 40.0), burst=st.sampled_from([1, 6]), **lengths)
few = settings(max_examples=15)


@few
@given(replicas, closed | opened)
def test_percentiles_are_in_order_and_shares_are_shares(replica, load):
    found = simulate(replica, load)
    for spread in (found.ttft_s, found.tpot_s, found.latency_s):
        assert 0.0 <= spread.p50 <= spread.p95 <= spread.p99
    assert found.latency_s.p50 >= found.ttft_s.p50 or found.latency_s.mean >= found.ttft_s.mean
    assert 0.0 <= found.utilization <= 1.0
    assert found.batch <= replica.max_batch + 1e-9


@few
@given(replicas, closed | opened)
def test_the_same_seed_gives_the_same(replica, load):
    assert simulate(replica, load) == simulate(replica, load)


@few
@given(replicas, closed | opened)
def test_nothing_is_faster_than_the_steps_allow(replica, load):
    found = simulate(replica, load)
    # Edges of the window: a request that began before it may end in it.
    slack = 1.0 + replica.max_batch / max(1.0, found.requests_per_s * found.latency_s.mean * 5)
    assert found.tokens_per_s <= replica.max_batch / step_s(0, 1, 1.0) * slack
    assert found.ttft_s.p50 >= step_s(1, 0, 0.0) - 1e-9
    assert found.tpot_s.p50 >= step_s(0, 1, 1.0) - 1e-9


@pytest.mark.parametrize("policy", ["chunked", "prefill-first"])
@pytest.mark.parametrize("load", [Load(concurrency=12, spread=0.3), Load(rate=8.0), Load(rate=6.0, burst=4)])
def test_little_s_law_over_a_long_run(policy, load):
    found = simulate(Replica(step_s, policy=policy), replace(load, requests=1500, output_tokens=48))
    assert found.in_flight == pytest.approx(found.requests_per_s * found.latency_s.mean, rel=0.03)


@pytest.mark.parametrize("policy", ["chunked", "prefill-first"])
def test_time_to_first_token_does_not_fall_as_the_load_rises(policy):
    replica = Replica(step_s, max_batch=32, policy=policy)
    ladder = [simulate(replica, Load(rate=rate, requests=600)).ttft_s for rate in (1, 4, 8, 12, 16, 24, 48)]
    assert all(more.mean >= less.mean * 0.98 for less, more in pairwise(ladder))
    assert ladder[-1].p95 > 5 * ladder[0].p95


def test_an_open_load_beyond_capacity_queues_and_is_not_served_faster():
    replica = Replica(step_s, max_batch=32)
    most = simulate(replica, Load(concurrency=128, requests=800, spread=0.3)).requests_per_s
    beyond = simulate(replica, Load(rate=2 * most, requests=800, spread=0.3))
    assert beyond.requests_per_s <= 1.03 * most
    assert beyond.in_flight > 5 * replica.max_batch
    assert beyond.utilization > 0.99


def test_a_small_cache_preempts_and_holds_less():
    roomy = simulate(Replica(step_s), Load(concurrency=32, spread=0.5))
    tight = simulate(Replica(step_s, cache_tokens=6_000), Load(concurrency=32, spread=0.5))
    assert roomy.preemptions == 0 < tight.preemptions
    assert tight.batch < roomy.batch
    assert tight.ttft_s.p50 > roomy.ttft_s.p50
    with pytest.raises(ValueError, match="does not fit a cache"):
        simulate(Replica(step_s, cache_tokens=600), Load(concurrency=1))


def test_prefill_first_answers_sooner_and_lets_those_who_decode_stand():
    load = Load(rate=14.0, requests=800, input_tokens=900)
    chunked = simulate(Replica(step_s, token_budget=256), load)
    first = simulate(Replica(step_s, token_budget=256, policy="prefill-first"), load)
    assert first.tpot_s.mean > chunked.tpot_s.mean


def test_prefix_hits_spare_prefill():
    load = Load(concurrency=16, input_tokens=900, spread=0.3)
    cold, warm = (simulate(Replica(step_s, prefix_hits=share), load) for share in (0.0, 0.9))
    assert warm.ttft_s.mean < 0.7 * cold.ttft_s.mean
    assert warm.tokens_per_s > cold.tokens_per_s


def test_one_request_at_a_time_is_a_plain_sum():
    found = simulate(Replica(step_s), Load(concurrency=1, input_tokens=512, output_tokens=2, requests=40))
    assert found.ttft_s == Spread(*[pytest.approx(step_s(512, 0, 0.0))] * 4)
    assert found.tpot_s.p99 == pytest.approx(step_s(0, 1, 513.0))
    assert isinstance(found, Outcome)


def test_a_load_is_closed_or_open():
    with pytest.raises(ValueError, match="either a rate or a concurrency"):
        simulate(Replica(step_s), Load(rate=1.0, concurrency=1))


def test_batches_are_queued_as_by_formula():
    """A server whose batches bring nothing is an M/D/1 queue; one that takes all at once is never longer than two."""
    alone = simulate_batches(lambda batch: 0.1 * batch, 1, 5.0, requests=20_000, seed=1)
    assert alone.mean == pytest.approx(0.15, rel=0.03)
    at_once = simulate_batches(lambda _: 0.1, 64, 100.0, requests=20_000, seed=1)
    assert at_once.mean == pytest.approx(0.15, rel=0.03)
    assert at_once.p99 <= 0.2 + 1e-9
