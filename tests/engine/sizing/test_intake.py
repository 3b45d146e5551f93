"""From facts to a Job: what is read, what is assumed, and that the assumption is noted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue.model import Gpu, ModelSpec
from whichgpu.engine.sizing import Job, Layout, estimate_memory, job_from_facts


CARD = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=84.6)
GPT_OSS = ModelSpec(
    id="gpt-oss-20b",
    name="gpt-oss",
    kind="llm",
    params_b=20.9,
    native_precision="mxfp4",
    layers=24,
    hidden=2880,
    heads=64,
)


def noted(job: Job) -> dict[str, object]:
    return {entry.fact: entry.value for entry in job.assumed}


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"task": "inference"}, "inference"),
        ({"task": "pretraining"}, "pretraining"),
        ({"task": "full_finetuning"}, "full"),
        ({"task": "peft_finetuning", "peft_method": "lora"}, "lora"),
        ({"task": "peft_finetuning", "peft_method": "qlora"}, "qlora"),
        ({"task": "peft_finetuning"}, "lora"),
        ({"peft_method": "qlora"}, "qlora"),
        ({"training": True}, "full"),
        ({"training_task": "pretraining"}, "pretraining"),
        ({}, "inference"),
        ({"task": "experimentation"}, "inference"),
        ({"task": "experimentation", "peft_method": "qlora"}, "qlora"),
        ({"task": "experimentation", "peft_method": "lora"}, "lora"),
    ],
)
def test_kind_of_job(facts, kind):
    job = job_from_facts({**facts, "param_count_b": 7.0}, None)
    assert job.kind == kind
    assert job.training is (kind != "inference")
    assert job.peft is (kind in {"lora", "qlora"})


def test_what_nobody_stated_is_noted_with_its_reason():
    job = job_from_facts({"task": "inference", "param_count_b": 7.0}, None)
    assert noted(job) == {
        "model_family": "llm",
        "context_tokens": 2048,
        "concurrency": 1,
        "serving_engine": "vllm",
        "weight_precision": "bf16",
    }
    assert all(entry.because for entry in job.assumed)


def test_what_is_stated_is_not_noted():
    facts = {
        "task": "inference",
        "model_family": "llm",
        "param_count_b": 7.0,
        "weight_precision": "fp16",
        "context_tokens": 4096,
        "concurrency": 8,
        "serving_engine": "vllm",
    }
    assert job_from_facts(facts, None).assumed == ()


@pytest.mark.parametrize(
    ("facts", "model", "family"),
    [
        ({"model_family": "vision"}, None, "vision"),
        ({"model_family": "diffusion_image"}, None, "diffusion_image"),
        ({"model_family": "multimodal"}, None, "llm"),
        ({"model_family": "other"}, None, "other"),
        ({"model_architecture": "cnn"}, None, "vision"),
        ({"model_architecture": "deep_network"}, None, "other"),
        ({"vision_task": "detection"}, None, "vision"),
        ({}, None, "llm"),
        ({"model_family": "llm"}, ModelSpec(id="w", name="w", kind="speech", params_b=1.0), "speech"),
        ({}, ModelSpec(id="b", name="b", kind="encoder", params_b=0.1), "encoder"),
    ],
)
def test_family_of_the_model(facts, model, family):
    assert job_from_facts({"task": "inference", "param_count_b": 1.0, **facts}, model).family == family


def test_context_is_what_goes_in_and_comes_out():
    job = job_from_facts({"task": "inference", "param_count_b": 7.0, "input_tokens": 3000, "output_tokens": 500}, None)
    assert (job.context_tokens, job.input_tokens, job.output_tokens) == (3500, 3000, 500)
    job = job_from_facts(
        {"task": "inference", "param_count_b": 7.0, "input_tokens": 3000, "context_tokens": 4096}, None
    )
    assert (job.context_tokens, job.input_tokens, job.output_tokens) == (4096, 3000, 1096)
    job = job_from_facts({"task": "inference", "param_count_b": 7.0, "seq_len_tokens": 1024}, None)
    assert (job.context_tokens, job.input_tokens, job.output_tokens) == (1024, 768, 256)


def test_an_assumed_context_gives_way_to_stated_lengths():
    facts = {"task": "inference", "param_count_b": 7.0, "context_tokens": 2048, "input_tokens": 6000}
    assert job_from_facts(facts, None, assumed={"context_tokens"}).context_tokens == 6000
    assert job_from_facts(facts, None).context_tokens == 2048


def test_the_published_precision_is_served_unless_another_is_stated():
    assert job_from_facts({"task": "inference"}, GPT_OSS).weight_precision == "mxfp4"
    vocabulary_assumed = {"task": "inference", "weight_precision": "fp16"}
    assert job_from_facts(vocabulary_assumed, GPT_OSS, assumed={"weight_precision"}).weight_precision == "mxfp4"
    assert job_from_facts(vocabulary_assumed, GPT_OSS).weight_precision == "fp16"
    assert job_from_facts({"task": "full_finetuning"}, GPT_OSS).weight_precision == "bf16"


@pytest.mark.parametrize(
    ("stated", "held"),
    [(None, "nf4-dq"), ("int4", "nf4-dq"), ("nf4", "nf4"), ("gptq-int4", "gptq-int4"), ("fp16", "nf4-dq")],
)
def test_the_base_of_qlora_is_in_four_bits(stated, held):
    facts = {"task": "peft_finetuning", "peft_method": "qlora", "param_count_b": 7.0}
    if stated:
        facts["weight_precision"] = stated
    assert job_from_facts(facts, None).weight_precision == held


def test_what_the_vocabulary_assumes_of_a_quantised_base_is_not_believed_over_the_paper():
    facts = {"task": "peft_finetuning", "peft_method": "qlora", "param_count_b": 7.0, "weight_precision": "nf4"}
    assert job_from_facts(facts, None, assumed={"weight_precision"}).weight_precision == "nf4-dq"


def test_gguf_weights_are_served_by_llama_cpp():
    assert (
        job_from_facts({"task": "inference", "param_count_b": 7.0, "weight_precision": "q4_k_m"}, None).engine
        == "llama.cpp"
    )


def test_defaults_of_a_framework_beat_what_the_vocabulary_assumed():
    facts = {
        "task": "peft_finetuning",
        "peft_method": "lora",
        "param_count_b": 7.0,
        "training_framework": "litgpt",
        "gradient_checkpointing": "full",
        "lora_targets": "all-linear",
    }
    stated = job_from_facts(facts, None)
    assert (stated.checkpointing, stated.lora_targets) == ("full", ("q", "k", "v", "o", "gate", "up", "down"))
    defaulted = job_from_facts(facts, None, assumed={"gradient_checkpointing", "lora_targets"})
    assert (defaulted.checkpointing, defaulted.lora_targets) == ("none", ("q", "v"))
    assert noted(defaulted)["gradient_checkpointing"] == "none"


@pytest.mark.parametrize(("raw", "read"), [(True, "full"), (False, "none"), ("selective", "selective")])
def test_checkpointing_may_be_a_yes_or_no(raw, read):
    facts = {"task": "full_finetuning", "param_count_b": 7.0, "gradient_checkpointing": raw}
    assert job_from_facts(facts, None).checkpointing == read


def test_large_batches_without_a_number_are_taken_as_eight():
    facts = {"task": "full_finetuning", "param_count_b": 7.0, "large_batch": True}
    assert job_from_facts(facts, None).micro_batch == 8
    assert job_from_facts({**facts, "batch_size_per_gpu": 2}, None).micro_batch == 2


@pytest.mark.parametrize(
    ("targets", "read"),
    [
        ("attention", ("q", "k", "v", "o")),
        (("v", "q"), ("q", "v")),
        ("nonsense", ("q", "k", "v", "o", "gate", "up", "down")),
    ],
)
def test_adapter_targets(targets, read):
    facts = {"task": "peft_finetuning", "peft_method": "lora", "param_count_b": 7.0, "lora_targets": targets}
    assert job_from_facts(facts, None).lora_targets == read


def test_generators_adapt_attention_unless_told_otherwise():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "model_family": "diffusion_image", "param_count_b": 2.6}
    assert job_from_facts(facts, None).lora_targets == ("q", "k", "v", "o")


def test_a_sparse_model_of_unknown_make_uses_a_tenth():
    job = job_from_facts({"task": "inference", "param_count_b": 600.0, "is_moe": True}, None)
    assert job.active_params_b == 60.0
    assert job.shape is not None
    assert job.shape.moe


@pytest.mark.parametrize("context", [2048, 4096, 8192, 32768, 131072])
def test_prompts_that_nobody_states_are_the_same_with_two_percent_more_context(context: int) -> None:
    def asked(tokens: float, **facts: Any) -> int:
        stated = {"task": "inference", "param_count_b": 8, "context_tokens": round(tokens), **facts}
        return job_from_facts(stated, None).input_tokens

    assert asked(context) == context - min(512, context // 4)
    assert {asked(context * share) for share in (0.98, 1, 1.02)} == {asked(context)}
    assert asked(1.02 * context, input_tokens=1000) == 1000
    assert asked(1.1 * context) > asked(context)


@given(st.integers(1, 10_000_000))
def test_prompts_that_nobody_states_fill_the_context_to_three_percent(context: int) -> None:
    job = job_from_facts({"task": "inference", "param_count_b": 8, "context_tokens": context}, None)
    assert job.context_tokens == context
    assert abs(job.input_tokens + job.output_tokens - context) <= 0.03 * context + 2


def test_a_model_of_components_is_the_sum_of_them():
    video = ModelSpec(id="v", name="v", kind="diffusion_video", components_b={"transformer": 13.0, "text_encoder": 5.0})
    assert job_from_facts({"task": "inference"}, video).params_b == 18.0


def test_image_size_is_the_models_own_unless_stated():
    sd = ModelSpec(id="s", name="s", kind="diffusion_image", params_b=0.86, resolution_px=512)
    assert job_from_facts({"task": "inference"}, sd).image_px == 512
    assert job_from_facts({"task": "inference", "image_px": 1024}, sd, assumed={"image_px"}).image_px == 512
    assert job_from_facts({"task": "inference", "image_px": 768}, sd).image_px == 768


def test_without_a_size_the_stated_memory_stands():
    job = job_from_facts({"task": "inference", "required_vram_gb": 100.0}, None)
    assert job.sized
    found = estimate_memory(job, CARD, Layout(tensor=2))
    assert found is not None
    assert (found.per_gpu_gb, found.method) == (50.0, "stated")


def test_without_a_size_the_guides_band_stands():
    facts = {"task": "pretraining", "model_family": "vision", "vram_band_low_gb": 16.0, "vram_band_high_gb": 24.0}
    found = estimate_memory(job_from_facts(facts, None), CARD, Layout(data=4, sharding="fsdp"))
    assert found is not None
    assert (found.low_gb, found.per_gpu_gb, found.high_gb, found.method) == (4.0, 4.0, 6.0, "rule of thumb")


def test_with_a_size_the_stated_memory_is_left_aside():
    job = job_from_facts({"task": "inference", "required_vram_gb": 100.0, "param_count_b": 7.0}, None)
    assert job.stated_gb is None


@pytest.mark.parametrize("facts", [{"task": "inference"}, {"task": "pretraining", "param_count_b": 0.0}])
def test_without_any_size_nothing_is_said(facts):
    job = job_from_facts(facts, None)
    assert not job.sized
    assert estimate_memory(job, CARD, Layout()) is None


def test_values_of_a_wrong_kind_are_taken_as_unknown():
    facts = {"task": "inference", "param_count_b": True, "context_tokens": "long", "cpu_offload": "yes"}
    job = job_from_facts(facts, None)
    assert job.params_b is None
    assert job.context_tokens == 2048
    assert not job.cpu_offload


@pytest.mark.parametrize(("stated", "computed"), [(7, True), (7.0, True), (70, False), (None, True)])
def test_the_number_in_a_models_name_is_no_statement_of_its_size(stated, computed):
    model = ModelSpec(
        id="nominal-7b",
        name="Nominal 7B",
        kind="llm",
        layers=28,
        hidden=3584,
        heads=28,
        kv_heads=4,
        intermediate=18944,
        vocab=152064,
        gated_mlp=True,
        tied_embeddings=False,
    )
    facts = {"task": "inference"} | ({"param_count_b": stated} if stated else {})
    job = job_from_facts(facts, model)
    assert (job.params_b == pytest.approx(7.615, rel=0.01)) is computed


def test_frames_that_nobody_stated_are_those_the_model_was_made_for():
    model = ModelSpec(id="v", name="v", kind="diffusion_video", params_b=2.0, frames=93)
    facts = {"task": "inference", "model_family": "diffusion_video", "frames": 49}
    assert job_from_facts(facts, model, assumed={"frames"}).frames == 93
    assert job_from_facts(facts, model).frames == 49
    assert job_from_facts({"task": "inference"}, replace(model, frames=None)).frames == 49


def test_trl_chunks_the_loss_of_supervised_training_and_computes_in_16_bits_over_32():
    facts = {"task": "full_finetuning", "param_count_b": 7.0, "training_framework": "trl"}
    supervised = job_from_facts(facts, None)
    assert (supervised.chunked_loss, supervised.recipe) == (True, "mixed")
    assert not job_from_facts({**facts, "chunked_loss": False}, None).chunked_loss
    assert not job_from_facts({**facts, "rl_method": "grpo"}, None).chunked_loss
    named = {**facts, "weight_precision": "bf16", "compute_precision": "bf16"}
    assert job_from_facts(named, None).recipe == "pure"


def test_experts_that_were_published_narrower_are_served_as_they_were() -> None:
    model = replace(GPT_OSS, native_precision="fp8", native_expert_precision="mxfp4")
    assert job_from_facts({"task": "inference"}, model).expert_precision == "mxfp4"
    assert job_from_facts({"task": "inference", "weight_precision": "bf16"}, model).expert_precision is None
    assert job_from_facts({"task": "inference", "expert_precision": "fp8"}, model).expert_precision == "fp8"
    assert job_from_facts({"task": "full_finetuning"}, model).expert_precision is None
