"""What a load makes of a served model: laws that hold for every plan, and figures that a reader can check by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.demand import PERCENTILE, Demand, Targets, at_percentile, demand_of
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.root_search import rising_root
from whichgpu.engine.sizing.speed import JobSpeed


KNOWLEDGE = load_knowledge()
GPUS = ("nvidia-h100-80gb-sxm", "nvidia-l4", "nvidia-a100-80gb-sxm", "amd-mi300x", "nvidia-rtx-4090")
MODELS = ("llama-3.1-8b", "qwen2.5-32b", "mixtral-8x7b", "gpt-oss-120b")
SERVED: Facts = {"task": "inference", "input_tokens": 1000, "output_tokens": 250, "weight_precision": "bf16"}

loads = st.builds(
    dict,
    model=st.sampled_from(MODELS),
    gpu=st.sampled_from(GPUS),
    tensor=st.sampled_from([1, 2, 8]),
    data=st.sampled_from([1, 2, 5]),
    asked=st.integers(1, 9000),
    answered=st.integers(1, 2000),
    max_batch=st.integers(1, 2000),
)


def speed(
    facts: Facts, model: str = "llama-3.1-8b", gpu: str = GPUS[0], layout: Layout | None = None, max_batch: int = 200
):
    stated = {**SERVED, **facts}
    job = job_from_facts(stated, KNOWLEDGE.find_model(model).spec)
    split = layout or Layout()
    found = JobSpeed(job, demand_of(job, stated)).estimate(
        KNOWLEDGE.gpus[gpu], split, "nvlink" if split.count > 1 else "none", max_batch=max_batch
    )
    assert found is not None
    return found.values


def of(load: dict, **facts):
    lengths = {"input_tokens": load["asked"], "output_tokens": load["answered"]}
    split = Layout(load["tensor"], 1, load["data"])
    return speed({**lengths, **facts}, load["model"], load["gpu"], split, load["max_batch"])


@given(loads, st.integers(1, 2000))
def test_a_closed_loop_has_as_many_in_flight_as_are_stated(load: dict, concurrency: int) -> None:
    found = of(load, concurrency=concurrency)
    assert found["in_flight"] == pytest.approx(concurrency)
    assert found["requests_per_s"] * found["latency_mean_ms"] / 1e3 == pytest.approx(concurrency)
    assert not found["overloaded"]
    assert found["tokens_per_s"] == pytest.approx(found["requests_per_s"] * load["answered"])


@given(loads, st.floats(1e-4, 1e4))
def test_an_open_load_is_answered_or_too_much(load: dict, rate: float) -> None:
    found = of(load, peak_qps=rate)
    assert found["in_flight"] == pytest.approx(found["requests_per_s"] * found["latency_mean_ms"] / 1e3)
    if found["overloaded"]:
        assert found["requests_per_s"] < rate
        assert found["utilization"] == pytest.approx(1.0)
    else:
        assert found["requests_per_s"] == pytest.approx(rate)
        assert found["requests_per_s"] * load["answered"] <= found["capacity_tokens_per_s"] * (1 + 1e-9)


@given(loads, st.floats(1.0, 500.0), st.floats(1.05, 8.0))
def test_times_do_not_fall_as_the_load_rises(load: dict, concurrency: float, times: float) -> None:
    few, many = (of(load, concurrency=round(number)) for number in (concurrency, concurrency * times))
    some, more = (of(load, peak_qps=number / 20) for number in (concurrency, concurrency * times))
    for name in ("ttft_ms", "ttft_p95_ms", "tpot_ms", "latency_p95_ms", "latency_mean_ms"):
        assert many[name] >= few[name] * (1 - 1e-9), name
        assert more[name] >= some[name] * (1 - 1e-6), name


@given(loads, st.one_of(st.integers(1, 600).map(lambda n: {"concurrency": n}), st.just({"peak_qps": 3.0})))
def test_percentiles_stand_in_their_order(load: dict, stated: Facts) -> None:
    found = of(load, **stated)
    for name in ("ttft", "tpot", "latency"):
        assert found[f"{name}_ms"] <= found[f"{name}_p95_ms"] <= found[f"{name}_p99_ms"]
        assert at_percentile(found, f"{name}_ms", 99.0) == pytest.approx(found[f"{name}_p99_ms"])
        assert at_percentile(found, f"{name}_ms", 50.0) == found[f"{name}_ms"]


@given(loads)
def test_bursts_lengthen_waits_and_nothing_else(load: dict) -> None:
    even, bursty = (of(load, peak_qps=1.0, traffic_pattern=pattern) for pattern in ("steady", "bursty"))
    assume(not even["overloaded"])
    assert bursty["latency_mean_ms"] >= even["latency_mean_ms"] * (1 - 1e-6)
    assert bursty["capacity_tokens_per_s"] == even["capacity_tokens_per_s"]


@given(loads, st.lists(st.integers(1, 2000), min_size=2, max_size=2), st.sampled_from(["bf16", "fp8"]))
@example(
    {
        "model": "gpt-oss-120b",
        "gpu": "nvidia-b200",
        "tensor": 4,
        "data": 1,
        "asked": 64,
        "answered": 1000,
        "max_batch": 900,
    },
    [64, 128],
    "fp8",
)
def test_no_time_falls_as_more_come_together(load: dict, numbers: list[int], precision: str) -> None:
    """Experts that the tokens of others have read already make one's own prompt cheaper, but no wait shorter."""
    facts = {"requests_come": "together", "serving_engine": "vllm", "weight_precision": precision}
    few, many = (of(load, concurrency=number, **facts) for number in sorted(numbers))
    for name in ("ttft_ms", "ttft_p95_ms", "latency_p95_ms"):
        assert many[name] >= few[name] * (1 - 1e-6)


def test_two_replicas_of_half_the_load_are_one_of_the_whole_in_rate_and_sooner_in_time() -> None:
    one, two = (speed({"concurrency": 64}, layout=Layout(data=data)) for data in (1, 2))
    half = speed({"concurrency": 32})
    assert two["latency_mean_ms"] == pytest.approx(half["latency_mean_ms"])
    assert two["requests_per_s"] == pytest.approx(2 * half["requests_per_s"])
    assert two["latency_mean_ms"] < one["latency_mean_ms"]


def test_requests_without_a_place_wait_for_one() -> None:
    roomy, tight = (speed({"concurrency": 64}, max_batch=max_batch) for max_batch in (200, 16))
    assert tight["ttft_ms"] > 10 * roomy["ttft_ms"]
    assert tight["requests_per_s"] < roomy["requests_per_s"]


def test_a_target_at_a_late_percentile_promises_less() -> None:
    target = {"peak_qps": 1.0, "ttft_slo_ms": 130.0}
    promised = [speed({**target, "slo_percentile": share})["qps"] for share in (50, 95, 99)]
    assert promised[0] >= promised[1] >= promised[2]
    assert promised[0] > promised[2]


def test_the_promised_rate_keeps_its_target() -> None:
    limit = 700.0
    promised = speed({"peak_qps": 1.0, "ttft_slo_ms": limit})["qps"]
    assert speed({"peak_qps": promised, "ttft_slo_ms": limit})["ttft_p95_ms"] <= limit * 1.02


def test_prompts_that_are_known_pass_at_once_and_drafts_save_steps() -> None:
    plain = speed({"concurrency": 32})
    known = speed({"concurrency": 32, "prefix_cache_hit_pct": 90})
    drafted = speed({"concurrency": 1, "draft_tokens": 4, "draft_acceptance_pct": 80})
    useless = speed({"concurrency": 1, "draft_tokens": 4, "draft_acceptance_pct": 0})
    assert known["tpot_ms"] < plain["tpot_ms"]
    assert known["ttft_ms"] <= plain["ttft_ms"]
    alone = speed({"concurrency": 1})["tpot_ms"]
    assert drafted["tpot_ms"] < alone / 1.5
    assert useless["tpot_ms"] > alone


def test_demand_is_read_from_facts() -> None:
    def demand(**facts) -> Demand:
        stated = {**SERVED, **facts}
        return demand_of(job_from_facts(stated, KNOWLEDGE.find_model("llama-3.1-8b").spec), stated)

    assert demand() == Demand(capacity=True)
    assert demand(concurrency=8) == Demand()
    assert demand(concurrency=8, peak_qps=2.0).rate == 2.0
    assert demand(concurrency=8, min_tokens_per_s=500.0).rate is None
    assert demand(peak_qps=2.0)[:3] == (Targets(None, None, None), 2.0, 500.0)
    assert demand(min_tokens_per_s=500.0)[1:3] == (2.0, 500.0)
    assert demand(serving_mode="batch").at_hand
    assert demand(serving_mode="batch", concurrency=16) == Demand()
    assert demand(peak_qps=2.0, traffic_pattern="bursty").burst > demand(peak_qps=2.0).burst
    assert (demand(slo_percentile=99).percentile, demand().percentile) == (99, PERCENTILE)
    training = {"task": "full_finetuning"}
    assert demand_of(job_from_facts(training, KNOWLEDGE.find_model("llama-3.1-8b").spec), training) == Demand()


def test_all_at_hand_fill_the_replicas() -> None:
    whole = speed({"serving_mode": "batch"}, max_batch=100, layout=Layout(data=2))
    stated = speed({"concurrency": round(whole["in_flight"])}, max_batch=100, layout=Layout(data=2))
    assert whole["in_flight"] > 200
    assert whole["tokens_per_s"] == pytest.approx(stated["tokens_per_s"], rel=0.01)
    assert 0.9 * whole["capacity_tokens_per_s"] < whole["tokens_per_s"] <= whole["capacity_tokens_per_s"]


def test_a_root_is_found_to_its_last_digits_whatever_is_searched_beside_it() -> None:
    zero = np.array([-9.0, -2.5, 0.3, 1.7, -20.0, 9.0])  # The last two lie outside the ends.

    def rising(rows: slice):
        def beyond(value):
            past = np.log(value) - zero[rows]
            return np.where(past > 0, 5 * past, past) + np.maximum(0, past) ** 3  # A bend at the root.

        return beyond

    every = rising_root(rising(slice(None)), (np.full(6, -13.0), np.full(6, 3.0)))
    assert every.at == pytest.approx(np.clip(zero, -13.0, 3.0), abs=1e-8)
    for row in range(6):
        alone = rising_root(rising(slice(row, row + 1)), (np.full(1, -13.0), np.full(1, 3.0)))
        assert alone.at[0] == every.at[row]


def test_a_client_who_asks_again_waits_for_the_step_that_it_missed() -> None:
    alone, with_another = (speed({"concurrency": number}) for number in (1, 2))
    assert with_another["ttft_ms"] - alone["ttft_ms"] > 0.9 * alone["tpot_ms"]


@pytest.mark.parametrize(("asked", "answered"), [(256, 64), (1000, 250)])
def test_prompts_in_steps_of_their_own_pass_together_and_no_time_falls(asked: int, answered: int) -> None:
    facts = {"serving_engine": "sglang", "input_tokens": asked, "output_tokens": answered}
    found = [speed({**facts, "concurrency": 2**power}, "gpt-oss-120b", max_batch=2000) for power in range(10)]
    for few, many in pairwise(found):
        assert all(many[name] >= few[name] for name in ("ttft_ms", "ttft_p95_ms", "latency_p95_ms", "tokens_per_s"))


def test_weights_that_are_unpacked_slow_a_prompt_on_tensor_memory_alone() -> None:
    for gpu, slower in (("nvidia-b200", True), ("nvidia-h100-80gb-sxm", False), ("nvidia-rtx-4090", False)):
        plain, unpacked = (
            speed({"weight_precision": precision, "input_tokens": 8000}, gpu=gpu)["ttft_ms"]
            for precision in ("bf16", "awq-int4")
        )
        assert (unpacked > 1.5 * plain) == slower
