"""Speed where products are large or kernels few: networks of tokens, fused modules, generators that are compiled."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.speed import JobSpeed
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_peaks import peak_of
from whichgpu.engine.sizing.speed_tokens import is_of_tokens


KNOWLEDGE = load_knowledge()
A100, RTX4090 = (KNOWLEDGE.gpus[name] for name in ("nvidia-a100-80gb-sxm", "nvidia-rtx-4090"))


def job(model: str, **facts: object) -> Job:
    stated: Facts = {"task": "inference", **facts}  # type: ignore[dict-item]
    return job_from_facts(stated, KNOWLEDGE.find_model(model).spec)


def values(what: Job, gpu=A100, batch: int | None = None) -> dict[str, float]:
    speed = JobSpeed(what).estimate(gpu, Layout(), batch=batch)
    assert speed is not None
    return speed.values


def share_of_peak(model: str) -> float:
    what = job(model, weight_precision="fp16")
    peak = peak_of(A100, ("fp16",))
    assert peak is not None
    assert what.model is not None
    return 2e9 * (what.model.gmacs_per_image or 0.0) * values(what, batch=256)["images_per_s"] / peak.flops


@pytest.mark.parametrize("model", ["vit_b_16", "vit_l_16", "deit3_base_patch16_224"])
def test_products_of_tokens_reach_more_of_the_peak_than_convolutions_do_and_not_all_of_it(model):
    assert is_of_tokens(job(model))
    convolved, matmul = share_of_peak("resnet152"), peak_of(A100, ("fp16",))
    assert matmul is not None
    assert convolved < share_of_peak(model) < matmul.share


@pytest.mark.parametrize("model", ["resnet50", "swin_b", "Convnext Base"])
def test_what_convolves_or_attends_within_windows_is_none_of_them(model):
    assert not is_of_tokens(job(model))


def test_what_passes_memory_between_the_products_takes_its_time():
    wider = A100.__class__(**{**{f: getattr(A100, f) for f in A100.__struct_fields__}, "mem_bw_tbs": 100.0})
    what = job("vit_b_16", weight_precision="fp16")
    assert values(what, wider, 256)["images_per_s"] > 1.05 * values(what, batch=256)["images_per_s"]


def awq(**facts: object) -> Job:
    said = {"serving_engine": "transformers", "weight_precision": "awq-int4", "input_tokens": 2048}
    return job("mistral-7b-v0.1", **said, output_tokens=2048, **facts)


def test_fused_modules_start_few_kernels():
    plain, fused = (values(awq(fuses_modules=fuses), RTX4090, 1)["tpot_ms"] for fuses in (False, True))
    kernels = speed_constants().training.kernels.layer
    assert plain / 3.0 < fused < plain * 1.5 * speed_constants().serving.fused_kernels.value / kernels


def test_fused_attention_does_not_copy_its_cache():
    def grows(fuses: bool) -> float:
        of = [values(awq(fuses_modules=fuses), RTX4090, batch)["tpot_ms"] for batch in (16, 64)]
        return of[1] - of[0]

    assert grows(True) < grows(False) / 5.0


@pytest.mark.parametrize(("px", "at_least", "at_most"), [(256, 1.3, 20.0), (2048, 1.0, 1.05)])
def test_a_compiled_generator_saves_the_start_of_its_kernels_alone(px, at_least, at_most):
    eager, compiled = (
        values(job("stable-diffusion-1.5", image_px=px, compiled=how), RTX4090)["steps_per_s"] for how in (False, True)
    )
    assert at_least <= compiled / eager <= at_most


def test_a_unet_that_learns_passes_what_its_maps_were_traced_to_be():
    def rate(precision: str, gpu=A100) -> float:
        facts = {"task": "full_finetuning", "image_px": 512, "batch_size_per_gpu": 64, "compute_precision": precision}
        # Beyond the kernels that start one by one.
        return values(job("stable-diffusion-2.1", **facts, weight_precision="bf16", compiled=True), gpu)[
            "samples_per_s"
        ]

    half = A100.__class__(**{**{f: getattr(A100, f) for f in A100.__struct_fields__}, "mem_bw_tbs": 1.0195})
    assert rate("mixed") < 0.95 * rate("bf16")  # What is cast to 32 bits is kept so.
    assert 1.2 < rate("bf16") / rate("bf16", half) < 2.0
