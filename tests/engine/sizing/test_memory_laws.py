"""Laws that every memory estimate obeys, whatever the job."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from whichgpu.engine.catalogue.model import Gpu, ModelSpec, Moe
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts, sizing_constants


CARD = Gpu(id="c", family="c", series="c", name="C", vendor="nvidia", architecture="hopper", usable_gb=84.0)
LLAMA = ModelSpec(
    id="l", name="l", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=128256,
    gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
SPARSE = ModelSpec(
    id="s", name="s", kind="llm", layers=48, hidden=2048, heads=32, kv_heads=4, head_dim=128, vocab=151936,
    gated_mlp=True, tied_embeddings=False, moe=Moe(experts=128, experts_per_token=8, expert_intermediate=768),
)  # fmt: skip
FLUX = ModelSpec(
    id="f", name="f", kind="diffusion_image", params_b=11.9, components_b={"transformer": 11.9, "text_encoder": 4.9}
)
RESNET = ModelSpec(id="r", name="r", kind="vision", params_b=0.0256, gmacs_per_image=4.09, resolution_px=224)
WHISPER = ModelSpec(id="w", name="w", kind="speech", params_b=1.55)

TASKS = st.sampled_from(
    [
        {"task": "inference"},
        {"task": "inference", "serving_engine": "transformers"},
        {"task": "inference", "weight_precision": "int4", "serving_engine_version": "0.11.0"},
        {"task": "inference", "weight_precision": "q4_k_m"},
        {"task": "full_finetuning"},
        {"task": "full_finetuning", "training_framework": "torchtune"},
        {"task": "full_finetuning", "optimizer": "adamw-8bit", "gradient_checkpointing": "none"},
        {"task": "pretraining", "gradient_checkpointing": "selective", "training_framework": "megatron"},
        {"task": "pretraining", "compute_precision": "fp32", "flash_attention": False},
        {"task": "peft_finetuning", "peft_method": "lora"},
        {"task": "peft_finetuning", "peft_method": "lora", "training_framework": "ms-swift"},
        {"task": "peft_finetuning", "peft_method": "qlora", "gradient_checkpointing": "none"},
        {"task": "peft_finetuning", "peft_method": "qlora", "cpu_offload": True},
    ]
)
MODELS = st.sampled_from([None, LLAMA, SPARSE, FLUX, RESNET, WHISPER])
FAMILIES = st.sampled_from(["llm", "vision", "diffusion_image", "diffusion_video", "other"])
LAYOUTS = st.builds(
    Layout,
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.sampled_from([1, 2, 3, 4]),
    data=st.sampled_from([1, 2, 4, 16]),
    sharding=st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"]),
)


@st.composite
def workloads(draw):
    facts = dict(draw(TASKS))
    facts["param_count_b"] = draw(st.floats(0.01, 2000.0))
    facts["model_family"] = draw(FAMILIES)
    facts["seq_len_tokens"] = draw(st.integers(1, 200_000))
    facts["batch_size_per_gpu"] = draw(st.integers(1, 64))
    facts["context_tokens"] = draw(st.integers(1, 200_000))
    facts["concurrency"] = draw(st.integers(1, 500))
    facts["image_px"] = draw(st.integers(64, 4096))
    return facts


def estimate(facts, model, layout=None) -> MemoryEstimate:
    if model is not None:
        facts = {name: value for name, value in facts.items() if name != "param_count_b"}
    found = estimate_memory(job_from_facts(facts, model), CARD, layout or Layout())
    assert found is not None
    return found


def not_above(less: MemoryEstimate, more: MemoryEstimate) -> None:
    slack = 1e-9 * max(1.0, more.per_gpu_gb)
    assert less.per_gpu_gb <= more.per_gpu_gb + slack
    assert less.allocated_gb <= more.allocated_gb + slack


@settings(max_examples=150, deadline=None)
@given(workloads(), MODELS, LAYOUTS)
def test_terms_are_positive_and_sum_to_the_estimate(facts, model, layout):
    found = estimate(facts, model, layout)
    terms = found.terms
    assert sum(term.value for term in terms) == pytest.approx(found.per_gpu_gb, rel=1e-12)
    assert all(term.value >= 0 for term in terms)
    assert all(term.formula and term.source and term.inputs for term in terms)
    assert sum(found.breakdown.values()) <= found.per_gpu_gb * (1 + 1e-9)
    assert 0 <= found.low_gb <= found.per_gpu_gb <= found.high_gb
    assert 0 < found.allocated_gb <= found.per_gpu_gb
    assert found.band_reason


@settings(max_examples=100, deadline=None)
@given(
    workloads(),
    MODELS,
    LAYOUTS,
    st.sampled_from(["seq_len_tokens", "batch_size_per_gpu", "context_tokens", "concurrency", "image_px"]),
    st.floats(1.0, 10.0),
)
def test_more_work_never_takes_less_memory(facts, model, layout, name, factor):
    more = {**facts, name: int(facts[name] * factor)}
    not_above(estimate(facts, model, layout), estimate(more, model, layout))


@settings(max_examples=100, deadline=None)
@given(workloads(), LAYOUTS, st.floats(1.0, 10.0))
def test_a_larger_model_never_takes_less_memory(facts, layout, factor):
    # Larger models are recomputed by default; the law holds for one setting.
    facts.setdefault("gradient_checkpointing", "full")
    more = {**facts, "param_count_b": facts["param_count_b"] * factor}
    not_above(estimate(facts, None, layout), estimate(more, None, layout))


@settings(max_examples=100, deadline=None)
@given(workloads(), MODELS, LAYOUTS, st.sampled_from(["tensor", "pipeline"]))
def test_splitting_further_never_takes_more_tensors_on_a_rank(facts, model, layout, degree):
    more = layout._replace(**{degree: getattr(layout, degree) * 2})
    less = estimate(facts, model, more).allocated_gb
    assert less <= estimate(facts, model, layout).allocated_gb * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(workloads(), MODELS, LAYOUTS)
def test_sharding_over_more_ranks_never_takes_more_tensors(facts, model, layout):
    """But for what two ranks have that one has not: weights that are gathered, and buckets of gradients to send."""
    layout = layout._replace(data=max(2, layout.data))
    less = estimate(facts, model, layout._replace(data=layout.data * 2)).allocated_gb
    assert less <= estimate(facts, model, layout).allocated_gb * (1 + 1e-9)


@settings(max_examples=50, deadline=None)
@given(workloads(), MODELS, LAYOUTS)
def test_each_stage_of_sharding_takes_no_more_than_the_one_before(facts, model, layout):
    """But for ZeRO's buckets of gradients, which are of one size however small the model is."""
    buckets = 2 * sizing_constants().training.zero.bucket_elements * 4 / 1e9
    sizes = [
        estimate(facts, model, layout._replace(data=8, sharding=stage)).allocated_gb
        for stage in ("none", "zero1", "zero2")
    ]
    assert sizes[0] + buckets >= sizes[1] >= sizes[2]


@settings(max_examples=50, deadline=None)
@given(workloads(), MODELS, LAYOUTS)
def test_an_estimate_is_the_same_when_asked_again(facts, model, layout):
    if model is not None:
        facts.pop("param_count_b")
    job = job_from_facts(facts, model)
    first = estimate_memory(job, CARD, layout)
    assert estimate_memory(job, CARD, layout) == first
    assert estimate_memory(job_from_facts(facts, model), CARD, layout) == first
