"""Speeds of training, of denoisers and of detectors follow the parts that they are made of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.composed import composed_spec
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.speed import JobSpeed
from whichgpu.engine.sizing.speed_constants import speed_constants


BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "accuracy"
KNOWLEDGE = load_knowledge()
H100 = KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]
GB200 = KNOWLEDGE.gpus["nvidia-gb200"]
PRETRAINING: Facts = {"task": "pretraining", "seq_len_tokens": 4096, "batch_size_per_gpu": 1}


def job(facts: Facts, model: str | None = None) -> Job:
    return job_from_facts(facts, KNOWLEDGE.find_model(model).spec if model else None)


def values(what: Job, gpu=H100, layout: Layout | None = None, *links: str, **options) -> dict[str, float]:
    speed = JobSpeed(what).estimate(gpu, layout or Layout(), *links, **options)
    assert speed is not None
    return speed.values


def test_eight_bits_speed_up_products_alone() -> None:
    # 1.28 x at 8B in torchtitan, about 1.7 x at 405B in Megatron-Bridge.
    def gain(model: str) -> float:
        rates = [
            values(job({**PRETRAINING, "compute_precision": precision}, model))["tokens_per_s"]
            for precision in ("fp8", "bf16")
        ]
        return rates[0] / rates[1]

    assert 1.15 < gain("llama-3.1-8b") < gain("llama-3.1-405b") < 1.95


def test_a_decoder_attends_to_half_of_a_long_text() -> None:
    def rate(seq: int) -> float:
        facts: Facts = {"task": "peft_finetuning", "peft_method": "qlora", "gradient_checkpointing": True}
        qlora = job({**facts, "seq_len_tokens": seq, "batch_size_per_gpu": 1}, "llama-2-7b")
        return values(qlora, KNOWLEDGE.gpus["nvidia-a100-40gb-sxm"])["tokens_per_s"]

    # LLaMA-Factory's table: 3,413 tokens/s at 4k, 2,456 at 32k, 1,202 at 100k.
    assert rate(4096) / rate(32_768) == pytest.approx(1.39, rel=0.3)
    assert rate(4096) / rate(100_000) == pytest.approx(2.84, rel=0.3)


def test_experts_on_other_machines_take_longer() -> None:
    facts: Facts = {**PRETRAINING, "training_framework": "megatron", "expert_parallel": 32, "compute_precision": "fp8"}
    sparse, layout = job(facts, "qwen3-235b-a22b"), Layout(data=32, sharding="zero1")
    near = values(sparse, GB200, layout, "nvlink", "none", nodes=1)
    far = values(sparse, GB200, layout, "nvlink", "infiniband", nodes=4)
    assert far["step_s"] > 1.3 * near["step_s"]


def test_who_splits_a_model_interleaves_its_stages_and_recomputes_little() -> None:
    facts: Facts = {**PRETRAINING, "global_batch_size": 8}
    layout = Layout(pipeline=8)
    plain = values(job(facts, "llama-3.1-70b"), H100, layout, "nvlink")
    megatron = values(job({**facts, "training_framework": "megatron"}, "llama-3.1-70b"), H100, layout, "nvlink")
    assert megatron["tokens_per_s"] > 1.5 * plain["tokens_per_s"]


def test_a_picture_takes_its_steps_and_passes() -> None:
    facts: Facts = {"task": "inference", "concurrency": 1, "image_px": 1024}
    twenty, forty, eighty = (
        values(job({**facts, "denoising_steps": steps}, "sdxl-base-1.0"))["latency_ms"] for steps in (20, 40, 80)
    )
    assert eighty - forty == pytest.approx(2 * (forty - twenty))
    # Guidance is distilled into FLUX.1: its 50 steps are 50 evaluations. 12 s in diffusers on an H100.
    flux = values(job({**facts, "weight_precision": "bf16"}, "flux.1-dev"))
    assert 6_000 < flux["latency_ms"] < 18_000


def test_pictures_made_together_wait_for_each_other() -> None:
    facts: Facts = {"task": "inference", "image_px": 1024}
    one, eight = (values(job({**facts, "concurrency": several}, "flux.1-dev")) for several in (1, 8))
    assert 7 * one["latency_ms"] < eight["latency_ms"] < 8 * one["latency_ms"]  # Prompts are encoded together.
    assert eight["images_per_s"] == pytest.approx(one["images_per_s"], rel=0.01)


def test_one_denoiser_may_make_pictures_or_clips() -> None:
    facts: Facts = {"task": "inference", "concurrency": 1, "image_px": 832}
    picture = job({**facts, "model_family": "diffusion_image"}, "cosmos-predict2-14b-text2image")
    clip = job({**facts, "model_family": "diffusion_video"}, "cosmos-predict2-14b-video2world")
    assert (picture.family, clip.family, clip.frames) == ("diffusion_image", "diffusion_video", 93)
    assert values(clip)["latency_ms"] > 10 * values(picture)["latency_ms"]


def test_the_long_edge_of_a_detector_is_not_the_side_of_a_square() -> None:
    facts: Facts = {"task": "full_finetuning", "compute_precision": "fp32", "image_px": 1333, "batch_size_per_gpu": 2}
    detector = job_from_facts(facts, composed_spec("faster_rcnn_R_50_FPN_1x"))
    found = values(detector, KNOWLEDGE.gpus["nvidia-v100-32gb"])
    assert 0.21 / 1.3 < found["step_s"] < 0.21 * 1.3  # detectron2's model zoo.


@pytest.mark.slow
def test_a_step_on_small_pictures_is_as_long_as_its_kernels_take_to_start() -> None:
    def rate(px: int, batch: int) -> float:
        facts: Facts = {"task": "full_finetuning", "image_px": px, "batch_size_per_gpu": batch}
        return values(job(facts, "resnet-50"))["images_per_s"]

    # OpenNN's benchmark: 3,960 images/s eager and 8,433 as a graph, at 32 pixels and 128 a step.
    assert 2_000 < rate(32, 128) < 8_433
    assert rate(32, 128) == pytest.approx(rate(64, 128), rel=0.1)
    assert rate(32, 256) == pytest.approx(2 * rate(32, 128), rel=0.05)
    assert rate(224, 512) == pytest.approx(rate(224, 1024), rel=0.05)


def test_published_rates_are_met() -> None:
    sys.path.insert(0, str(BENCHMARK))
    try:
        import throughput  # noqa: PLC0415 - A benchmark beside the packages.
        from scores import share  # noqa: PLC0415 - The same.
    finally:
        sys.path.remove(str(BENCHMARK))
    scores = [item.score for item in throughput.compared() if item.counts and item.score]
    factors = [score.factor for score in scores if score.group != "LLM inference"]
    assert len(factors) >= 115
    assert share([factor <= 1.3 for factor in factors]) >= 63
    assert share([factor <= 2.0 for factor in factors]) >= 95


@pytest.mark.parametrize(
    ("gpu", "tokens", "measured_ms"),
    [
        ("nvidia-a100-40gb-sxm", 128, 1.64),
        ("nvidia-a100-40gb-sxm", 384, 3.12),
        ("nvidia-a30", 128, 2.14),
        ("nvidia-a30", 384, 4.57),
        ("nvidia-t4", 128, 5.53),
        ("nvidia-t4", 384, 12.45),
    ],
)
def test_a_served_encoder_takes_no_longer_than_its_kernels(gpu: str, tokens: int, measured_ms: float) -> None:
    """BERT large, one text at a time: NVIDIA TensorRT demo/BERT, without the server around it."""
    facts: Facts = {"task": "inference", "weight_precision": "fp16", "context_tokens": tokens, "concurrency": 1}
    overhead_ms = speed_constants().serving.batch_overhead_ms.value
    alone_ms = values(job(facts, "bert-large"), KNOWLEDGE.gpus[gpu])["latency_mean_ms"] - overhead_ms
    assert measured_ms / 1.6 < alone_ms < measured_ms * 1.6


def test_a_step_of_a_unet_is_no_shorter_than_the_start_of_its_blocks() -> None:
    """Both passes of guidance are one batch and start once; an H100 ends what it computes sooner."""
    start = 87 * speed_constants().diffusion.launch_us_per_layer.value * 1e-6
    asked = {"task": "inference", "denoising_steps": 30, "image_px": 1024, "concurrency": 1}
    more = {"denoising_steps": 60}
    latencies = [values(job(asked | stated, "sdxl-base-1.0"))["latency_ms"] / 1e3 for stated in ({}, more)]
    assert latencies[1] - latencies[0] == pytest.approx(30 * start)


def test_a_step_of_training_a_unet_starts_its_kernels_forth_and_back() -> None:
    known = speed_constants().training.kernels
    stated = {"task": "full_finetuning", "image_px": 256, "batch_size_per_gpu": 1}
    for checkpointing, forward in (("none", 1), ("full", 2)):
        step = values(job({**stated, "gradient_checkpointing": checkpointing}, "sdxl-base-1.0"))["step_s"]
        kernels = 87 * (known.layer * forward + known.layer_back)
        assert step == pytest.approx(kernels * known.start_us.value * 1e-6, rel=0.02)  # and a little computing


def test_adapters_start_kernels_of_their_own() -> None:
    """Eight matrices for each block of a UNet, which attends twice; seven for each layer of a language model."""
    known = speed_constants().training.kernels
    adapter = (known.adapter + known.adapter_back) * known.start_us.value * 1e-6
    stated = {"gradient_checkpointing": "none", "batch_size_per_gpu": 1, "compute_precision": "bf16"}
    pictures = {**stated, "image_px": 256}
    whole = values(job({**pictures, "task": "full_finetuning"}, "sdxl-base-1.0"))["step_s"]
    tuned = values(job({**pictures, "task": "peft_finetuning", "peft_method": "lora"}, "sdxl-base-1.0"))["step_s"]
    assert tuned - whole == pytest.approx(8 * 87 * adapter, rel=0.02)
    words = {
        **stated,
        "task": "peft_finetuning",
        "peft_method": "lora",
        "seq_len_tokens": 16,
        "lora_targets": "all-linear",
    }
    eager, compiled = (values(job({**words, "compiled": on}, "qwen2.5-0.5b"))["step_s"] for on in (False, True))
    layers = KNOWLEDGE.models["qwen2.5-0.5b"].layers
    started = layers * (known.layer + known.layer_back) * known.start_us.value * 1e-6 + 7 * layers * adapter
    assert started == pytest.approx(eager, rel=0.02)  # and what the optimiser reads and writes
    assert compiled < 0.5 * eager


def test_what_passes_through_memory_is_what_is_kept() -> None:
    """Sums in 32 bits, norms of query and key, dropout of adapters and words take time as they take memory."""
    stated = {"task": "full_finetuning", "training_framework": "transformers", "batch_size_per_gpu": 8}
    stated |= {"seq_len_tokens": 1024, "gradient_checkpointing": "none"}
    pure = {**stated, "compute_precision": "bf16", "weight_precision": "bf16"}
    adapted = {**pure, "task": "peft_finetuning", "peft_method": "lora", "lora_targets": "all-linear"}

    def step(facts: Facts, model: str = "qwen3-0.6b") -> float:
        return values(job(facts, model))["step_s"]

    assert step({**stated, "compute_precision": "mixed", "weight_precision": "fp32"}) > 1.03 * step(pure)
    assert step({**adapted, "lora_dropout": 0.1}) > 1.03 * step({**adapted, "lora_dropout": 0})
    assert step({**pure, "loss_precision": "bf16"}) < 0.97 * step(pure)
