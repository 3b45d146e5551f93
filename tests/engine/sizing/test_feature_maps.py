"""Image networks whose layers' outputs are published: what they keep in training, and how often they pass memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.network_maps import feature_maps
from whichgpu.engine.sizing.speed import JobSpeed


KNOWLEDGE = load_knowledge()
A100 = KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"]
EFFICIENTNET = KNOWLEDGE.models["efficientnet_b4"]
SERVED = {"task": "inference", "weight_precision": "fp16", "concurrency": 256}
TRAINED = {"task": "full_finetuning", "batch_size_per_gpu": 64, "gradient_checkpointing": "none"}


def images_per_s(model: ModelSpec = EFFICIENTNET, **facts: object) -> float:
    speed = JobSpeed(job_from_facts({**SERVED, **facts}, model)).estimate(A100, Layout(), batch=256)
    assert speed is not None
    return speed.values["images_per_s"]


def kept_gb(model: ModelSpec = EFFICIENTNET) -> float:
    return estimate_memory(job_from_facts(TRAINED, model), A100, Layout()).breakdown["activations"]


def test_outputs_are_taken_as_published_and_else_follow_from_the_arithmetic():
    served = job_from_facts(SERVED, EFFICIENTNET)
    assert feature_maps(served).elements == pytest.approx(1e6 * (EFFICIENTNET.macts_per_image or 0.0))
    vision = sizing_constants().vision
    law = vision.activations_per_gmac.value * (EFFICIENTNET.gmacs_per_image or 0.0) ** vision.activations_exponent.value
    unpublished = job_from_facts(SERVED, replace(EFFICIENTNET, macts_per_image=None))
    assert feature_maps(unpublished).elements == pytest.approx(law)


def test_outputs_grow_with_the_pixels():
    native = EFFICIENTNET.resolution_px or 0
    larger = job_from_facts({**SERVED, "image_px": 2 * native}, EFFICIENTNET)
    assert feature_maps(larger).elements == pytest.approx(4e6 * (EFFICIENTNET.macts_per_image or 0.0))


def test_of_networks_with_equal_arithmetic_that_with_more_outputs_is_slower_and_keeps_more():
    plain = replace(EFFICIENTNET, kept_per_pixel=None)
    more = replace(plain, macts_per_image=2 * (EFFICIENTNET.macts_per_image or 0.0))
    assert images_per_s(more) < images_per_s(plain)
    assert kept_gb(more) == pytest.approx(2 * kept_gb(plain))


def test_an_engine_that_fuses_reads_and_writes_maps_less_often():
    engine, compiled, eager = (
        images_per_s(serving_engine="tensorrt-llm"),
        images_per_s(compiled=True),
        images_per_s(serving_engine="transformers"),
    )
    assert engine > compiled > eager
    assert engine > images_per_s() > eager


def test_depthwise_networks_are_bound_by_memory_and_plain_ones_by_products():
    faster = replace(A100, mem_bw_tbs=2 * (A100.mem_bw_tbs or 0.0))

    def gain(model: str) -> float:
        served = JobSpeed(job_from_facts(SERVED, KNOWLEDGE.models[model]))
        slow, fast = (served.estimate(gpu, Layout(), batch=256) for gpu in (A100, faster))
        assert slow is not None and fast is not None  # noqa: PT018
        return fast.values["images_per_s"] / slow.values["images_per_s"]

    assert gain("efficientnet_b4") > 1.6 > gain("vgg16") > 1.0


def test_attention_over_areas_keeps_scores_that_grow_with_the_square_of_the_pixels():
    facts = {**TRAINED, "batch_size_per_gpu": 1, "compute_precision": "fp16"}

    def kept(name: str, px: int, **more: object) -> float:
        job = job_from_facts({**facts, "image_px": px, "image_short_px": px, **more}, KNOWLEDGE.models[name])
        return estimate_memory(job, A100, Layout()).breakdown["activations"]

    # Four heads of four areas at a sixteenth and eight heads at a thirty-second, four layers each, at 6 bytes.
    scores = {px: 4 * (4 * (px / 16) ** 4 / 4 + 8 * (px / 32) ** 4) * 6 / 1e9 for px in (640, 2048)}
    small, large = kept("yolo12s", 640), kept("yolo12s", 2048)
    assert large - scores[2048] == pytest.approx((small - scores[640]) * (2048 / 640) ** 2)
    assert scores[2048] > 9.0


@pytest.mark.parametrize(
    ("name", "scores", "rel"),
    [
        ("vit_b_16", 12 * 12 * 197**2, 0.2),
        ("swin_tiny_patch4_window7_224", 49 * (2 * 3136 * 3 + 2 * 784 * 6 + 6 * 196 * 12 + 2 * 49 * 24), 1e-6),
        ("swin_large_patch4_window12_384", 144 * (2 * 9216 * 6 + 2 * 2304 * 12 + 18 * 576 * 24 + 2 * 144 * 48), 1e-6),
        ("resnet50", 0, 1e-6),
    ],
)
def test_attention_that_is_not_fused_keeps_its_scores(name: str, scores: float, rel: float) -> None:
    px = 384 if name.endswith("384") else 224
    facts = {**TRAINED, "compute_precision": "fp16", "image_px": px, "image_short_px": px}

    def kept(**more: object) -> float:
        job = job_from_facts({**facts, **more}, KNOWLEDGE.models[name])
        return estimate_memory(job, A100, Layout()).breakdown["activations"]

    more = kept(flash_attention=False) - kept()
    assert more == pytest.approx(64 * scores * 6 / 1e9, rel=rel)
    assert kept(pytorch_version="1.13") == kept(flash_attention=False)
    anew = {"gradient_checkpointing": "full"}
    assert kept(**anew, flash_attention=False) - kept(**anew) <= more / 4


def test_a_segformer_keeps_its_scores_unless_they_are_said_to_be_fused() -> None:
    def kept(px: int, **more: object) -> float:
        facts = {**TRAINED, "batch_size_per_gpu": 1, "compute_precision": "fp32", "image_px": px, "image_short_px": px}
        job = job_from_facts({**facts, **more}, KNOWLEDGE.models["segformer-b5"])
        return estimate_memory(job, A100, Layout()).breakdown["activations"]

    # 3, 6, 40 and 3 layers of 1, 2, 5 and 8 heads; each place attends to 32 x 32 places of the picture.
    scores = 1024 * (3 * 65536 + 6 * 2 * 16384 + 40 * 5 * 4096 + 3 * 8 * 1024) * 4 / 1e9
    assert kept(1024) - kept(1024, flash_attention=True) == pytest.approx(scores)
    assert kept(512) - kept(512, flash_attention=True) == pytest.approx(scores / 16)
    assert kept(1024, training_framework="transformers") == kept(1024, flash_attention=True)
    recomputed = {"gradient_checkpointing": "full"}
    largest = kept(1024, **recomputed) - kept(1024, **recomputed, flash_attention=True)
    assert largest == pytest.approx(1024 * 65536 * 4 / 1e9)
