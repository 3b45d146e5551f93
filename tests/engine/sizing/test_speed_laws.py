from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.demand import Demand, Targets, capacity_asked, targets_of
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.model import SpeedEstimate
from whichgpu.engine.sizing.speed import JobSpeed
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import (
    NO_LINK,
    LinkSpeed,
    across_nodes,
    all_reduce_s,
    link_speed,
    node_link_speed,
)
from whichgpu.engine.sizing.speed_peaks import bandwidth_use, peak_of, serving_precisions
from whichgpu.engine.sizing.speed_rates import engine_steps


KNOWLEDGE = load_knowledge()
GPUS = KNOWLEDGE.gpus
H100, A100, L4, RTX4090 = (
    GPUS[name] for name in ("nvidia-h100-80gb-sxm", "nvidia-a100-80gb-sxm", "nvidia-l4", "nvidia-rtx-4090")
)
ONE = Layout()
NO_TARGETS = Targets(None, None, None)


def job(facts: Facts, model: str | None = None) -> Job:
    return job_from_facts(facts, KNOWLEDGE.find_model(model).spec if model else None)


def values(
    what: Job, gpu=H100, layout: Layout = ONE, *links: str, targets=NO_TARGETS, at_hand=False, **options
) -> dict[str, float]:
    speed = JobSpeed(what, Demand(targets, at_hand=at_hand, capacity=at_hand)).estimate(gpu, layout, *links, **options)
    assert speed is not None
    return speed.values


def serve(model: str = "llama-3.1-70b", **facts) -> Job:
    return job(
        {"task": "inference", "input_tokens": 1024, "output_tokens": 256, "weight_precision": "bf16", **facts}, model
    )


def test_figures_repeat_the_values_with_bands_units_and_sources() -> None:
    for what, layout in (
        (serve(), Layout(2)),
        (job({"task": "full_finetuning", "train_tokens_b": 1.0}, "llama-3.1-8b"), Layout(data=8, sharding="fsdp")),
        (job({"task": "inference"}, "sdxl"), ONE),
        (job({"task": "pretraining", "train_steps": 1000}, "resnet50"), Layout(data=2)),
    ):
        speed = JobSpeed(what).estimate(H100, layout, "nvlink" if layout.count > 1 else "none", max_batch=4)
        assert speed is not None
        assert speed.figures.keys() == speed.values.keys()
        for name, figure in speed.figures.items():
            assert figure.value == speed.values[name]
            assert figure.low <= figure.value <= figure.high
            assert figure.unit
            assert figure.formula
            assert figure.source
            assert figure.inputs


def test_an_empty_estimate_has_no_figures() -> None:
    assert SpeedEstimate().figures == {}


def test_splitting_layers_over_nvlink_shortens_a_token_and_pcie_gains_less() -> None:
    alone = values(serve())["tpot_ms"]
    nvlink = values(serve(), H100, Layout(4), "nvlink")["tpot_ms"]
    pcie = values(serve(), H100, Layout(4), "pcie")["tpot_ms"]
    assert nvlink < pcie < alone
    assert nvlink > alone / 4


def test_stages_do_not_shorten_a_token() -> None:
    alone, staged = values(serve()), values(serve(), H100, Layout(1, 4), "nvlink")
    assert staged["tpot_ms"] >= alone["tpot_ms"] * 0.99


def test_replicas_multiply_throughput_and_leave_latency() -> None:
    one, four = (values(serve(), H100, Layout(data=count), max_batch=16, at_hand=True) for count in (1, 4))
    assert four["tokens_per_s"] == pytest.approx(4 * one["tokens_per_s"])
    assert four["qps"] == pytest.approx(4 * one["qps"])
    assert four["max_concurrency"] == 4 * one["max_concurrency"]
    assert four["tpot_ms"] == one["tpot_ms"]


def test_more_requests_at_once_are_slower_each_and_faster_together() -> None:
    few, many = values(serve(concurrency=1)), values(serve(concurrency=32))
    assert many["tpot_ms"] > few["tpot_ms"]
    assert many["tokens_per_s"] > few["tokens_per_s"]


def test_one_request_keeps_one_replica_busy() -> None:
    assert values(serve(concurrency=1), H100, Layout(data=4))["tokens_per_s"] == pytest.approx(
        values(serve(concurrency=1))["tokens_per_s"]
    )


def test_smaller_weights_are_read_faster() -> None:
    assert values(serve(weight_precision="awq-int4"))["tpot_ms"] < values(serve(weight_precision="fp8"))["tpot_ms"]
    assert values(serve(weight_precision="fp8"))["tpot_ms"] < values(serve())["tpot_ms"]


def test_a_sparse_model_reads_more_experts_with_more_tokens() -> None:
    sparse = {"task": "inference", "input_tokens": 512, "output_tokens": 128, "weight_precision": "bf16"}
    one = values(job({**sparse, "concurrency": 1}, "mixtral-8x7b"))["tpot_ms"]
    many = values(job({**sparse, "concurrency": 16}, "mixtral-8x7b"))["tpot_ms"]
    assert many > 2 * one  # two experts of eight against all of them
    unknown = {**sparse, "param_count_b": 46.7, "active_param_count_b": 12.9}
    assert (
        values(job({**unknown, "concurrency": 1}))["tpot_ms"] < values(job({**unknown, "concurrency": 16}))["tpot_ms"]
    )
    dense = values(job({**sparse, "param_count_b": 46.7}))["tpot_ms"]
    assert values(job({**unknown, "concurrency": 1}))["tpot_ms"] < dense


def test_targets_bound_the_rate_that_a_plan_holds() -> None:
    loose = values(serve(), max_batch=64, targets=Targets(None, None, None))["qps"]
    tight = values(serve(), max_batch=64, targets=Targets(None, 60.0, None))["qps"]
    assert tight < loose
    assert "qps" not in values(serve(), max_batch=64, targets=Targets(None, 1.0, None))
    assert "qps" not in values(serve(), max_batch=64, targets=Targets(1.0, None, None))
    assert "qps" not in values(serve(), max_batch=0)
    whole = values(serve(), max_batch=64, targets=Targets(1e9, 1e9, 1e9))["qps"]
    assert whole == pytest.approx(loose, rel=0.02)


def test_capacity_is_asked_where_nobody_counted_requests() -> None:
    assert capacity_asked(serve(), {})
    assert not capacity_asked(serve(concurrency=4), {"concurrency": 4})
    assert not capacity_asked(serve(concurrency=1), {"concurrency": 1})
    assert capacity_asked(serve(concurrency=1), {"concurrency": 1, "serving_mode": "batch"})
    assert not capacity_asked(job({"task": "pretraining", "param_count_b": 1.0}), {})


def test_targets_are_read_from_facts() -> None:
    assert targets_of({"ttft_slo_ms": 200.0, "latency_slo_ms": 2000}) == Targets(200.0, None, 2000.0)


def test_the_engine_and_its_version_set_the_time_between_kernels() -> None:
    def token(**facts) -> float:
        return values(serve("qwen2.5-1.5b", **facts))["tpot_ms"]

    assert token(serving_engine="vllm", serving_engine_version="0.19.1") < token(serving_engine="vllm")
    assert token(serving_engine="vllm") < token(serving_engine="vllm", serving_engine_version="v0.6.3")
    assert token(serving_engine="vllm", serving_engine_version="v0.6.3") < token(serving_engine="transformers")
    assert engine_steps(serve(serving_engine="vllm", serving_engine_version="0.10")).before == "0.15"
    assert engine_steps(job({"task": "inference", "param_count_b": 1.0, "serving_engine": "other"})).per_layer_us > 0


def test_transformers_copies_its_cache() -> None:
    def slowdown(engine: str) -> float:
        long, short = (
            values(serve("qwen2.5-32b", serving_engine=engine, input_tokens=n))["tpot_ms"] for n in (30000, 100)
        )
        return long / short

    assert slowdown("transformers") > 1.4 > slowdown("vllm")


def test_gguf_is_served_slower_than_its_size_says() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 8.0, "serving_engine": "llama.cpp"}
    q8 = values(job({**facts, "weight_precision": "q8_0"}))["tpot_ms"]
    int8 = values(job({**facts, "weight_precision": "gptq-int8"}))["tpot_ms"]
    assert q8 > int8


def test_cards_that_multiply_faster_than_is_usual_train_faster() -> None:
    usual = speed_constants().matmul_share["default"].value
    facts: Facts = {"task": "full_finetuning", "batch_size_per_gpu": 8, "seq_len_tokens": 2048}
    what = job(facts, "llama-3.2-1b")
    slow, same, fast, faster = (
        values(what, replace(RTX4090, achieved={"bf16": share}))["tokens_per_s"]
        for share in (usual / 2, usual, 1.0, 1.2)
    )
    assert slow < same < fast < same / usual
    assert faster == fast  # No long run is faster than the peak.


def test_no_card_is_slower_than_its_like_because_it_was_not_measured() -> None:
    shares = speed_constants().matmul_share
    measured, unknown, professional = (
        peak_of(GPUS[name], ("bf16",)) for name in ("nvidia-rtx-4090", "nvidia-rtx-4080", "nvidia-rtx-a6000")
    )
    assert measured is not None
    assert unknown is not None
    assert professional is not None
    assert measured.share == pytest.approx(unknown.share, abs=0.1)
    assert professional.share == shares["default"].value
    alone = peak_of(GPUS["nvidia-rtx-4080"], ("fp32",))  # Nobody measured that of all.
    assert alone is not None
    assert alone.share == shares["default"].value


def test_speech_is_served_by_the_window() -> None:
    # MLPerf Inference 5.1: 62 windows a second on each H200 NVL, 63 tokens each.
    served = {"task": "inference", "weight_precision": "fp16", "serving_engine": "tensorrt-llm"}
    whisper = job(served, "whisper-large-v3")
    found = values(whisper, GPUS["nvidia-h200-nvl"], Layout(data=2), at_hand=True)
    assert 6_000 < found["tokens_per_s"] < 10_500
    one = values(whisper, GPUS["nvidia-h200-nvl"])  # Alone, a window waits for the kernels of each token.
    assert one["samples_per_s"] < found["samples_per_s"] / 10
    words = speed_constants().speech.window_tokens.value
    assert found["tokens_per_s"] == pytest.approx(words * found["samples_per_s"])
    training = {"task": "full_finetuning", "train_steps": 10, "batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}
    full = values(job(training, "whisper-large-v3"))
    assert full["hours"] == pytest.approx(80 / full["samples_per_s"] / 3600)
    assert values(job({"task": "peft_finetuning", "peft_method": "lora"}, "whisper-large-v3"))["samples_per_s"] > 0
    assert JobSpeed(whisper).estimate(replace(H100, tflops={}), ONE) is None


def test_sliding_windows_shorten_long_prompts() -> None:
    facts: Facts = {"task": "inference", "input_tokens": 100_000, "output_tokens": 10, "weight_precision": "bf16"}
    gemma = KNOWLEDGE.find_model("gemma-3-27b").spec
    assert gemma is not None
    assert gemma.sliding_window
    full = replace(gemma, sliding_window=None, sliding_layers=None, full_attention_layers=None)
    windowed, whole = (values(job_from_facts(facts, spec))["ttft_ms"] for spec in (gemma, full))
    assert windowed < whole


# --- training ---


def learn(layout: Layout = ONE, gpu=A100, **facts) -> dict[str, float]:
    stated = {"task": "full_finetuning", "param_count_b": 7.0, "seq_len_tokens": 2048, "batch_size_per_gpu": 4, **facts}
    nodes = -(-layout.count // 8)
    links = ("nvlink" if layout.count > 1 else "none", "infiniband" if nodes > 1 else "none")
    return values(job(stated), gpu, layout, *links, nodes=nodes)


def test_adapters_train_faster_and_recomputation_costs() -> None:
    full = learn()["tokens_per_s"]
    assert learn(task="peft_finetuning", peft_method="lora")["tokens_per_s"] > full
    assert learn(gradient_checkpointing=False)["tokens_per_s"] > full
    assert learn(gradient_checkpointing="selective")["tokens_per_s"] > full
    assert learn(flash_attention=False)["tokens_per_s"] < full


def test_quantised_bases_train_slower_than_plain_ones() -> None:
    lora, qlora = (learn(task="peft_finetuning", peft_method=method)["tokens_per_s"] for method in ("lora", "qlora"))
    assert qlora < lora
    stated = learn(task="peft_finetuning", peft_method="lora", weight_precision="nf4-dq")["tokens_per_s"]
    assert stated == pytest.approx(qlora, rel=0.01)  # The same by another name, but for the usual rank.


@pytest.mark.parametrize("model", ["resnet-50", "faster-rcnn-r50-fpn", "vit-base-patch16-224"])
def test_what_networks_of_pictures_make_anew_passes_through_memory_all_the_same(model: str) -> None:
    facts: Facts = {"task": "pretraining", "batch_size_per_gpu": 16}
    kept, some, anew = (
        values(job({**facts, "gradient_checkpointing": how}, model), A100)["samples_per_s"]
        for how in ("none", "selective", "full")
    )
    assert anew < some <= kept


def test_hours_follow_tokens_steps_or_samples() -> None:
    by_tokens = learn(train_tokens_b=1.0)
    assert by_tokens["hours"] == pytest.approx(1e9 / by_tokens["tokens_per_s"] / 3600)
    by_steps = learn(train_steps=1000, global_batch_size=64)
    assert by_steps["hours"] == pytest.approx(64_000 / by_steps["samples_per_s"] / 3600)
    by_samples = learn(train_samples=64_000)
    assert by_samples["hours"] == pytest.approx(64_000 / by_samples["samples_per_s"] / 3600)
    assert "hours" not in learn()


def test_scaling_out_is_nearly_linear_on_a_fast_network_and_never_more() -> None:
    one = learn(Layout(data=8, sharding="fsdp"))["tokens_per_s"]
    eight = learn(Layout(data=64, sharding="fsdp"))["tokens_per_s"]
    assert 6 < eight / one <= 8.0
    huge = learn(Layout(data=4096, sharding="zero1"))
    assert huge["mfu"] < learn(Layout(data=64, sharding="zero1"))["mfu"]


def test_pcie_costs_training_more_than_nvlink() -> None:
    stated: Facts = {"task": "full_finetuning", "param_count_b": 7.0, "seq_len_tokens": 2048, "batch_size_per_gpu": 1}
    layout = Layout(data=8, sharding="fsdp")
    nvlink, pcie = (values(job(stated), A100, layout, link)["tokens_per_s"] for link in ("nvlink", "pcie"))
    assert pcie < nvlink


def test_pipelines_wait_in_their_bubble() -> None:
    few = learn(Layout(1, 4, 1), gradient_accumulation_steps=2)["tokens_per_s"]
    many = learn(Layout(1, 4, 1), gradient_accumulation_steps=32)["tokens_per_s"]
    assert many > few
    assert learn(Layout(1, 4, 1), global_batch_size=128)["tokens_per_s"] == pytest.approx(many)


def test_tensor_ranks_exchange_in_training() -> None:
    whole, split = learn(Layout(data=4, sharding="fsdp")), learn(Layout(4, 1, 1))
    assert split["step_s"] > 0
    assert split["tokens_per_s"] < whole["tokens_per_s"]


def test_eight_bit_arithmetic_only_helps_where_it_exists() -> None:
    assert learn(gpu=H100, compute_precision="fp8")["tokens_per_s"] > learn(gpu=H100)["tokens_per_s"]
    assert learn(gpu=A100, compute_precision="fp8")["tokens_per_s"] == pytest.approx(learn(gpu=A100)["tokens_per_s"])
    assert learn(compute_precision="fp32")["tokens_per_s"] < learn()["tokens_per_s"]
    assert learn(compute_precision="fp16")["tokens_per_s"] == pytest.approx(learn()["tokens_per_s"])


@pytest.mark.parametrize("gpu", ["amd-mi300x", "nvidia-b200", "nvidia-rtx-4090", "nvidia-v100-16gb"])
def test_every_generation_trains_at_a_plausible_share(gpu: str) -> None:
    assert 0.1 < learn(gpu=GPUS[gpu])["mfu"] < 0.7


# --- image networks and diffusion ---


def test_image_networks_by_their_multiply_adds() -> None:
    serving = values(job({"task": "inference", "weight_precision": "fp16"}, "resnet50"), A100, at_hand=True)
    assert 5_000 < serving["images_per_s"] < 40_000  # MLPerf and vendor figures lie inside.
    training = values(job({"task": "pretraining", "batch_size_per_gpu": 128}, "resnet50"), A100)
    assert 1_500 < training["images_per_s"] < 5_000  # mixed precision: about 2,900
    again = values(job({"task": "pretraining", "gradient_checkpointing": True}, "resnet50"), A100)
    assert again["images_per_s"] < training["images_per_s"]


def test_a_picture_alone_waits_for_its_server_as_well() -> None:
    alone = values(job({"task": "inference", "weight_precision": "fp16", "concurrency": 1}, "resnet50"), A100)
    assert 1.5 < alone["latency_ms"] < 3.0  # 2.1 ms by TensorRT behind Triton
    assert alone["images_per_s"] == pytest.approx(1e3 / alone["latency_mean_ms"])


def test_larger_pictures_take_longer_and_unknown_networks_are_sized_by_parameters() -> None:
    small, large = (
        values(
            job({"task": "inference", "model_family": "vision", "param_count_b": 0.09, "image_px": px}), at_hand=True
        )["images_per_s"]
        for px in (224, 448)
    )
    assert small == pytest.approx(4 * large)
    assert JobSpeed(job({"task": "inference", "model_family": "vision"})).estimate(H100, ONE) is None


def test_pictures_of_sdxl_on_an_h100() -> None:
    found = values(job({"task": "inference"}, "sdxl"))
    assert 0.4 < found["images_per_s"] < 3.0  # MLPerf: 2.4 in 8 bits with 20 steps; half precision with 30 is slower.
    assert found["latency_ms"] == pytest.approx(1e3 / found["images_per_s"])
    two = values(job({"task": "inference"}, "sdxl"), H100, Layout(data=2))
    assert two["capacity_samples_per_s"] == pytest.approx(2 * found["images_per_s"])
    assert two["images_per_s"] == pytest.approx(found["images_per_s"])  # One request is in flight.


def test_ranks_of_a_denoiser_share_its_products_and_exchange_what_they_come_to() -> None:
    flux = job({"task": "inference"}, "flux.1-dev")
    one, replicas = values(flux), values(flux, H100, Layout(data=4))
    split, over_pcie = (values(flux, H100, Layout(4), link) for link in ("nvlink", "pcie"))
    assert one["latency_ms"] / 4 < split["latency_ms"] < over_pcie["latency_ms"] < one["latency_ms"]
    # All four make one picture after the other, and lose what they wait for each other.
    assert one["capacity_samples_per_s"] < split["capacity_samples_per_s"] < replicas["capacity_samples_per_s"]


def test_clips_grow_faster_than_their_frames() -> None:
    facts: Facts = {"task": "inference", "model_family": "diffusion_video", "param_count_b": 2.0, "image_px": 832}
    short, long = (values(job({**facts, "frames": frames})) for frames in (17, 81))
    assert long["latency_ms"] > 4 * short["latency_ms"]
    assert "images_per_s" not in long


def test_training_a_picture_model_takes_three_passes() -> None:
    found = values(job({"task": "full_finetuning", "train_steps": 100, "batch_size_per_gpu": 4}, "flux.1-dev"))
    assert found["hours"] == pytest.approx(400 / found["samples_per_s"] / 3600)
    counted = values(job({"task": "full_finetuning", "train_samples": 400, "batch_size_per_gpu": 4}, "flux.1-dev"))
    assert counted["hours"] == pytest.approx(found["hours"])
    lora = values(job({"task": "peft_finetuning", "peft_method": "lora"}, "flux.1-dev"))
    assert lora["samples_per_s"] > found["samples_per_s"]


def test_ranks_of_a_generator_wait_for_divided_weights() -> None:
    lora = job({"task": "peft_finetuning", "peft_method": "lora"}, "flux.1-dev")
    one = values(lora, A100)["samples_per_s"]
    eight = {
        (sharding, link): values(lora, A100, Layout(data=8, sharding=sharding), link)["samples_per_s"]
        for sharding in ("none", "fsdp")
        for link in ("nvlink", "pcie")
    }
    assert 7.5 * one < eight["none", "pcie"] <= 8 * one  # Adapters are small.
    assert eight["fsdp", "pcie"] < 0.7 * eight["fsdp", "nvlink"] < eight["none", "nvlink"]


def test_replicas_of_a_network_exchange_gradients_once_a_step() -> None:
    facts: Facts = {"task": "full_finetuning", "batch_size_per_gpu": 8}
    two = Layout(data=2)
    often, seldom = (
        values(job({**facts, "gradient_accumulation_steps": times}, "vit_h_14"), A100, two, "pcie")["samples_per_s"]
        for times in (1, 16)
    )
    assert often < 0.95 * seldom <= 2 * values(job(facts, "vit_h_14"), A100)["samples_per_s"]


def test_nothing_is_said_where_rates_are_unknown() -> None:
    blank = replace(H100, tflops={}, mem_bw_tbs=None)
    for facts in ({"task": "inference", "param_count_b": 7.0}, {"task": "full_finetuning", "param_count_b": 7.0}):
        assert JobSpeed(job(facts)).estimate(blank, ONE) is None
    assert JobSpeed(job({"task": "inference"}, "sdxl")).estimate(blank, ONE) is None
    no_bandwidth = replace(H100, mem_bw_tbs=None)
    assert JobSpeed(job({"task": "inference"}, "sdxl")).estimate(no_bandwidth, ONE) is None
    assert JobSpeed(job({"task": "full_finetuning", "param_count_b": 7.0})).estimate(no_bandwidth, ONE) is not None


# --- links and peaks ---


def test_links_are_ordered_as_their_wires() -> None:
    nvlink, pcie = link_speed(H100, "nvlink"), link_speed(H100, "pcie")
    assert nvlink.gbs == pytest.approx(900 / 2 * 0.8)
    assert nvlink.gbs > pcie.gbs > link_speed(RTX4090, "pcie").gbs
    assert link_speed(H100, "none") == NO_LINK
    assert link_speed(GPUS["nvidia-dgx-spark"], "ethernet").gbs < 12.5
    infiniband, ethernet = node_link_speed(H100, "infiniband", 8), node_link_speed(H100, "ethernet", 8)
    assert infiniband.gbs > node_link_speed(A100, "infiniband", 8).gbs > ethernet.gbs
    assert node_link_speed(H100, "none", 8) == NO_LINK
    assert node_link_speed(H100, "roce", 8).gbs > ethernet.gbs


def test_a_collective_over_nodes_uses_every_card_of_the_node() -> None:
    inside, between = LinkSpeed(360.0, 9e-6), LinkSpeed(40.0, 15e-6)
    assert across_nodes(inside, between, 8).gbs == 320.0
    assert across_nodes(inside, between, 16).gbs == 360.0
    assert across_nodes(inside, NO_LINK, 8) == inside


@given(st.floats(1, 1e10), st.integers(2, 64), st.floats(1, 900))
def test_an_all_reduce_takes_no_less_for_more(payload: float, ranks: int, gbs: float) -> None:
    speed = LinkSpeed(gbs, 1e-5)
    time = all_reduce_s(payload, ranks, speed)
    assert time >= 1e-5
    assert all_reduce_s(2 * payload, ranks, speed) >= time
    assert all_reduce_s(payload, ranks + 1, speed) >= time
    assert all_reduce_s(payload, 1, speed) == 0.0


@pytest.mark.parametrize(
    ("weights", "gpu", "precision"),
    [
        ("fp8", H100, "fp8"),
        ("fp8", A100, "bf16"),
        ("nvfp4", GPUS["nvidia-b200"], "fp4"),
        ("nvfp4", H100, "bf16"),
        ("int8", A100, "int8"),
        ("awq-int4", H100, "bf16"),
        ("bf16", GPUS["nvidia-t4"], "fp16"),
        ("fp16", A100, "fp16"),
        ("fp32", A100, "tf32"),
        ("fp32", GPUS["nvidia-v100-16gb"], "fp32"),
    ],
)
def test_the_arithmetic_that_weights_run_in(weights: str, gpu, precision: str) -> None:
    peak = peak_of(gpu, serving_precisions(weights))
    assert peak is not None
    assert peak.precision == precision
    assert 0.3 < peak.share <= 1.0


def test_bandwidth_is_used_by_kind_of_memory() -> None:
    table = speed_constants().memory_bandwidth_use
    assert bandwidth_use(H100) == table["hbm"]
    assert bandwidth_use(L4) == table["gddr"]
    assert bandwidth_use(replace(H100, mem_type="lpddr5x")) == table["lpddr"]
    assert bandwidth_use(replace(H100, mem_type=None)) == table["hbm"]


def test_constants_outside_their_band_are_refused(tmp_path: Path) -> None:
    text = (Path(KNOWLEDGE.folder) / "speed.yaml").read_text()
    (tmp_path / "speed.yaml").write_text(text.replace("hbm: {value: 0.85", "hbm: {value: 8.5", 1))
    with pytest.raises(KnowledgeError, match=r"8\.5 lies outside its band"):
        speed_constants(tmp_path)


sizes = st.floats(0.1, 700)


@given(sizes, st.sampled_from([1, 2, 4, 8]), st.integers(1, 256), st.sampled_from(sorted(GPUS)))
def test_serving_figures_are_positive_and_ordered(size: float, tensor: int, concurrency: int, name: str) -> None:
    what = job({"task": "inference", "model_family": "llm", "param_count_b": size, "concurrency": concurrency})
    speed = JobSpeed(what).estimate(GPUS[name], Layout(tensor), "pcie" if tensor > 1 else "none", max_batch=concurrency)
    if speed is None:
        assert not GPUS[name].tflops or not GPUS[name].mem_bw_tbs
        return
    found = speed.values
    assert all(value > 0 for name, value in found.items() if name != "overloaded")
    assert found["latency_ms"] >= found["ttft_ms"] >= found["tpot_ms"]


@given(sizes, st.floats(1.1, 4))
def test_a_larger_model_is_never_faster(size: float, factor: float) -> None:
    small, large = (
        values(job({"task": "inference", "model_family": "llm", "param_count_b": n, "concurrency": 4}))
        for n in (size, size * factor)
    )
    assert large["tpot_ms"] >= small["tpot_ms"] * 0.999
    little, big = (
        values(job({"task": "full_finetuning", "model_family": "llm", "param_count_b": n}))
        for n in (size, size * factor)
    )
    assert big["tokens_per_s"] <= little["tokens_per_s"] * 1.001


@pytest.mark.parametrize(
    ("facts", "assumed", "unstated"),
    [
        ({"task": "inference"}, (), {"concurrency", "context_tokens", "batch_size_per_gpu", "image_px"}),
        (
            {"task": "inference", "concurrency": 1, "context_tokens": 2048},
            ("concurrency", "context_tokens"),
            {"concurrency", "context_tokens"},
        ),
        ({"task": "inference", "concurrency": 1}, (), {"context_tokens"}),
        ({"task": "inference", "batch_size_per_gpu": 4}, (), {"context_tokens"}),
        ({"task": "inference", "input_tokens": 100}, (), {"concurrency"}),
        ({"task": "pretraining", "batch_size_per_gpu": 4}, ("batch_size_per_gpu",), {"batch_size_per_gpu"}),
    ],
)
def test_loads_that_nobody_stated_are_known_as_such(facts: Facts, assumed: tuple[str, ...], unstated: set[str]) -> None:
    found = job_from_facts({"param_count_b": 7.0, **facts}, None, assumed=assumed).unstated
    assert unstated <= found
    stated = {"concurrency", "context_tokens", "batch_size_per_gpu"} - unstated
    assert not (stated & facts.keys() - set(assumed)) & found


def test_stating_the_assumed_context_changes_no_speed() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 8.0, "context_tokens": 2048, "concurrency": 1}
    stated = values(job(facts))
    assert values(job_from_facts(facts, None, assumed=("context_tokens",))) == stated
    assert values(job({name: value for name, value in facts.items() if name != "context_tokens"})) == stated


def test_uncaptured_graphs_slow_only_the_tokens_beyond_their_limit() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 1.0, "concurrency": 1, "output_tokens": 1000}
    within, at_limit, half, beyond = (
        values(job({**facts, "input_tokens": tokens}))["tpot_ms"] for tokens in (7000, 7192, 7692, 8192)
    )
    assert at_limit == pytest.approx(within, rel=0.01)
    assert half == pytest.approx((at_limit + beyond) / 2, rel=0.02)


def test_software_that_is_still_to_be_installed_captures_long_contexts_too() -> None:
    """Graphs of old releases end at 8,192 tokens: a stated engine without a version may be one of those."""

    def tpot_ms(context: int, **engine: str) -> float:
        facts: Facts = {
            "task": "inference",
            "param_count_b": 8.0,
            "concurrency": 1,
            "context_tokens": context,
            **engine,
        }
        return values(job(facts))["tpot_ms"]

    assert tpot_ms(9000) == pytest.approx(tpot_ms(8000), rel=0.02)
    assert tpot_ms(9000, serving_engine="vllm") > 1.2 * tpot_ms(8000, serving_engine="vllm")
    assert tpot_ms(8000) == pytest.approx(tpot_ms(8000, serving_engine="vllm"))


def test_products_of_sixteen_bits_run_at_the_rate_of_32_where_that_is_the_faster() -> None:
    peaks = [(gpu, peak_of(gpu, ("fp16", "bf16", "fp32"))) for gpu in GPUS.values() if gpu.tflops]
    assert all(peak is None or peak.flops >= gpu.tflops.get("fp32", 0.0) * 1e12 for gpu, peak in peaks)
    assert any(peak is not None and peak.precision == "fp32" and "fp16" in gpu.tflops for gpu, peak in peaks)
