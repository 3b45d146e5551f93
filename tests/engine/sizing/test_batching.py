"""Laws of a batch server under load, whatever its times: by formula, and of what ``size`` answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.sizing.batching import BatchServer, batch_values, closed_batches, opened_batches
from whichgpu.engine.sizing.demand import Demand, Targets


SERVERS = st.builds(
    lambda start, each, most, overhead: BatchServer(
        lambda batch: np.maximum(start, batch * each), np.array([float(most)]), overhead
    ),
    st.floats(1e-3, 1.0),
    st.floats(1e-4, 0.5),
    st.integers(1, 64),
    st.floats(0.0, 0.1),
)
ONE = np.array([1])


def _ordered(waits, before):
    assert waits.p50[0] <= waits.p95[0] * (1 + 1e-9)
    for name in ("mean", "p50", "p95"):
        assert getattr(waits, name)[0] >= getattr(before, name)[0] * (1 - 1e-6)


@given(server=SERVERS, present=st.floats(1, 500), more=st.floats(1, 4))
def test_more_in_flight_wait_no_less(server, present, more):
    before, after = (closed_batches(server, np.array([number])) for number in (present, present * more))
    _ordered(after, before)
    assert present / before.mean[0] <= server.capacity[0] * (1 + 1e-9)


@given(server=SERVERS, share=st.floats(0.001, 0.95), more=st.floats(1, 4), burst=st.floats(1, 3))
def test_a_higher_rate_waits_no_less(server, share, more, burst):
    rates = (share * server.capacity, min(0.97, share * more) * server.capacity)
    before, after = (opened_batches(server, rate, burst) for rate in rates)
    _ordered(after, before)
    assert before.mean[0] >= server.overhead_s + server.service(1.0) * (1 - 1e-9)


def test_one_by_one_it_is_the_queue_of_the_textbook():
    server = BatchServer(lambda batch: 0.1 * batch, np.array([1.0]))
    for share in (0.1, 0.5, 0.9):
        waits = opened_batches(server, np.array([share * 10]), 1.0)
        assert waits.mean[0] == pytest.approx(0.1 + 0.1 * share / (2 * (1 - share)))


@given(server=SERVERS, rate=st.floats(0.01, 1000), replicas=st.integers(1, 8))
def test_requests_in_flight_are_rate_times_time(server, rate, replicas):
    for demand in (Demand(rate=rate), Demand()):
        found = batch_values(server, replicas, 20 * ONE, demand)
        assert found["in_flight"][0] == pytest.approx(found["requests_per_s"][0] * found["latency_mean_ms"][0] / 1e3)
        assert 0 <= found["utilization"][0] <= 1
        assert found["overloaded"][0] == (demand.rate is not None and rate > found["capacity_samples_per_s"][0])


@given(server=SERVERS, limit=st.floats(1, 5000))
def test_what_is_promised_keeps_the_limit(server, limit):
    demand = Demand(targets=Targets(None, None, limit))
    found = batch_values(server, 1, ONE, demand)["qps"]
    if found[0] > 0:
        waits = opened_batches(server, found, 1.0)
        assert waits.p95[0] * 1e3 <= limit * (1 + 1e-2)


@pytest.mark.parametrize("model", ["bert-base", "whisper-large-v3", "resnet-50", "stable-diffusion-xl"])
def test_every_batch_server_has_a_queue(advisor, model):
    def speed(**load):
        asked = {"task": "inference", "model_name": model, "gpu": "nvidia-a100-80gb-sxm", **load}
        return size_workload(advisor, advisor.read(asked))["speed"]

    low, high = speed(peak_qps=0.1), speed(peak_qps=1e5)
    assert not low["overloaded"]
    assert high["overloaded"]
    assert low["latency_p95_ms"] <= high["latency_p95_ms"]
    assert speed(concurrency=8)["in_flight"] == pytest.approx(8, rel=0.01)


def test_a_recommender_has_a_speed_where_its_lookups_are_stated(advisor):
    def answer(**stated):
        asked = {"task": "inference", "model_family": "recommender", "param_count_b": 10, "gpu": "nvidia-l4", **stated}
        return size_workload(advisor, advisor.read(asked))

    assert not answer()["speed"]
    few, many = answer(embedding_lookups=100), answer(embedding_lookups=1000)
    assert few["speed"]["samples_per_s"] > many["speed"]["samples_per_s"]
    assert {each["level"] for name, each in few["support"].items() if name != "memory"} == {"rule_of_thumb"}
    assert answer(embedding_lookups=100, embedding_width=512)["speed"]["samples_per_s"] < few["speed"]["samples_per_s"]


@pytest.mark.parametrize(("share", "p95"), [(0.3, 1.07), (0.5, 2.05), (0.8, 6.62)])
def test_the_tail_is_near_that_of_one_server_of_equal_times(share, p95):
    """M/D/1 by its series (Erlang): waits that 5 of 100 exceed, in times of one request."""
    waits = opened_batches(BatchServer(lambda batch: batch, np.array([1.0])), np.array([share]), 1.0)
    assert waits.p95[0] - 1.0 == pytest.approx(p95, rel=0.15)


def erlang_c(replicas: int, share: float) -> float:
    """How often all replicas are at work (Erlang's formula of waiting)."""
    offered, term, below = replicas * share, 1.0, 0.0
    for number in range(replicas):
        below += term
        term *= offered / (number + 1)
    return term / (1 - share) / (below + term / (1 - share))


@pytest.mark.parametrize("replicas", [1, 2, 4, 8, 32])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_one_queue_of_replicas_is_that_of_the_textbook(replicas, share):
    """The wait of M/D/c is about half that of M/M/c (Cosmetatos)."""
    server = BatchServer(lambda batch: batch, np.array([1.0]), sharing=replicas)
    wait = opened_batches(server, np.array([share]), 1.0).mean[0] - 1.0
    assert wait == pytest.approx(erlang_c(replicas, share) / (2 * replicas * (1 - share)), rel=0.25, abs=0.02)


@given(server=SERVERS, share=st.floats(0.001, 0.95), replicas=st.integers(1, 64), burst=st.floats(1, 3))
def test_replicas_of_one_queue_wait_no_more_than_each_with_its_own(server, share, replicas, burst):
    alone = opened_batches(server, share * server.capacity, burst)
    shared = opened_batches(server._replace(sharing=replicas), share * server.capacity, burst)
    _ordered(alone, shared)


@pytest.mark.parametrize("model", ["stable-diffusion-xl", "resnet-50"])
def test_a_queue_feeds_all_replicas_that_make_pictures(advisor, model):
    """Eight cards under eight times the load of one answer sooner than the one does."""

    def speed(gpus: int, rate: float) -> dict[str, float]:
        asked = {"task": "inference", "model_name": model, "gpu": "nvidia-a100-80gb-sxm", "num_gpus": gpus}
        return size_workload(advisor, advisor.read({**asked, "peak_qps": rate}))["speed"]

    most = speed(1, 0.01)["capacity_samples_per_s"]
    one, eight = speed(1, 0.8 * most), speed(8, 6.4 * most)
    assert eight["utilization"] == pytest.approx(one["utilization"], rel=1e-3)
    assert eight["latency_p95_ms"] < 0.85 * one["latency_p95_ms"]


@given(start=st.floats(0.01, 5), share=st.floats(0.01, 0.5))
def test_nobody_waits_longer_than_the_batch_on_the_way(start, share):
    server = BatchServer(lambda batch: start + 0.0 * batch, np.array([1000.0]))
    waits = opened_batches(server, share * server.capacity / 10, 1.0)
    assert waits.p95[0] <= 2 * start * (1 + 1e-3)
