"""What frameworks do by default, as their own code has it: Megatron-DeepSpeed, plain adapters, clips."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Gpu, Latent, ModelSpec
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts


CARD = Gpu(
    id="h", family="h", series="h", name="H100", vendor="nvidia", architecture="hopper", usable_gb=85.0,
    mem_bw_tbs=3.35, mem_type="HBM3", tflops={"bf16": 989.0},
)  # fmt: skip
WIDE = ModelSpec(
    id="wide-100b", name="Wide 100B", kind="llm", layers=64, hidden=12288, heads=96, kv_heads=96, intermediate=49152,
    vocab=51200, gated_mlp=False, tied_embeddings=True,
)  # fmt: skip
LLAMA_8B = ModelSpec(
    id="llama-3.1-8b", name="Llama 3.1 8B", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=8,
    intermediate=14336, vocab=128256, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
BERT = ModelSpec(
    id="bert", name="BERT", kind="encoder", layers=12, hidden=768, heads=12, kv_heads=12, intermediate=3072,
    vocab=30522, gated_mlp=False, tied_embeddings=True,
)  # fmt: skip
COGVIDEOX = ModelSpec(
    id="cogvideox-5b", name="CogVideoX-5B", kind="diffusion_video", hidden=3072, layers=42,
    components_b={"transformer": 5.570283, "text_encoder": 4.762311, "vae": 0.215584},
    latent=Latent(channels=16, spatial=8, temporal=4, patch=2),
)  # fmt: skip
STAGED = {"task": "pretraining", "seq_len_tokens": 2048, "gradient_checkpointing": "full", "sharding": "zero1"}
ADAPTED = {"task": "peft_finetuning", "peft_method": "lora", "seq_len_tokens": 1024, "batch_size_per_gpu": 4}


def parts(model, layout, **facts):
    found = estimate_memory(job_from_facts(facts, model), CARD, layout)
    assert found is not None
    return {term.name: term.value for term in found.terms}


def staged(samples, **facts):
    layout = Layout(tensor=8, pipeline=8, data=2, sharding="zero1")
    facts = {**STAGED, "batch_size_per_gpu": samples, "global_batch_size": 512, **facts}
    return parts(WIDE, layout, **facts)


def test_before_sequence_parallelism_each_tensor_rank_keeps_the_checkpoints_whole():
    """The first of eight stages holds those of eight micro-batches, as many as the whole model has layers."""
    one = 2048 * 2.0 * WIDE.hidden * WIDE.layers / 1e9
    grows = {
        name: staged(4, training_framework=name)["activations"] - staged(2, training_framework=name)["activations"]
        for name in ("megatron", "megatron-deepspeed")
    }
    assert grows["megatron-deepspeed"] > 2 * one
    assert grows["megatron"] < 0.5 * one


def test_its_gradients_of_bf16_add_up_in_32_bits_beside_those_of_the_pass():
    narrow = staged(1, training_framework="megatron-deepspeed", compute_precision="fp16")
    wide = staged(1, training_framework="megatron-deepspeed", compute_precision="bf16")
    assert wide["gradients"] == pytest.approx(3 * narrow["gradients"])
    assert wide.get("buckets", 0.0) == 0.0 < narrow["buckets"]


@pytest.mark.parametrize("framework", ["transformers", "peft"])
def test_adapters_over_a_plain_base_keep_activations_unless_told(framework):
    facts = {**ADAPTED, "weight_precision": "bf16", "training_framework": framework}
    unsaid = job_from_facts(facts, LLAMA_8B)
    assert unsaid.checkpointing == "none"
    assert "gradient_checkpointing" in unsaid.unstated
    quantised = job_from_facts({**facts, "weight_precision": "int8"}, LLAMA_8B)
    assert quantised.checkpointing == "full"
    assert job_from_facts({**facts, "training_framework": "llama-factory"}, LLAMA_8B).checkpointing == "full"


def test_the_band_of_such_adapters_reaches_towards_recomputation():
    facts = {**ADAPTED, "weight_precision": "bf16", "training_framework": "transformers"}
    unsaid = estimate_memory(job_from_facts(facts, LLAMA_8B), CARD, Layout())
    stated = estimate_memory(job_from_facts({**facts, "gradient_checkpointing": "none"}, LLAMA_8B), CARD, Layout())
    assert unsaid is not None
    assert stated is not None
    assert unsaid.low_gb < stated.low_gb
    assert unsaid.per_gpu_gb == pytest.approx(stated.per_gpu_gb)


def test_a_base_that_is_computed_in_32_bits_lies_in_32_bits():
    assert job_from_facts({**ADAPTED, "compute_precision": "fp32"}, LLAMA_8B).weight_precision == "fp32"
    assert job_from_facts({**ADAPTED, "compute_precision": "bf16"}, LLAMA_8B).weight_precision == "bf16"


def test_encoders_without_a_length_read_what_the_examples_of_transformers_read():
    job = job_from_facts({"task": "full_finetuning", "batch_size_per_gpu": 32}, BERT)
    assert (job.seq_len_tokens, "seq_len_tokens" in job.unstated) == (128, True)


def clip(**facts):
    facts = {"task": "inference", "model_family": "diffusion_video", "image_px": 720, "image_short_px": 480, **facts}
    return parts(COGVIDEOX, Layout(), frames=49, **facts)["activations"]


def test_diffusers_decodes_a_clip_whole_unless_it_is_told_to_slice_it():
    whole = clip(serving_engine="diffusers")
    assert whole == pytest.approx(720 * 480 * 45786 / 1e9, rel=0.01)
    assert clip(serving_engine="diffusers", sliced_decoding=True) < 0.5 * whole
    assert clip() < 0.5 * whole


def test_a_pipeline_in_32_bits_reads_prompts_in_32_bits():
    facts = {"task": "inference", "model_family": "diffusion_video", "weight_precision": "fp32", "frames": 49}
    named = parts(COGVIDEOX, Layout(), serving_engine="diffusers", **facts)
    plain = parts(COGVIDEOX, Layout(), **facts)
    assert max(named.values()) - max(plain.values()) == pytest.approx(2 * 4.76, rel=0.02)


def test_a_trainer_over_models_of_transformers_shards_and_holds_logits():
    facts = {"task": "full_finetuning", "seq_len_tokens": 2048, "batch_size_per_gpu": 8}
    layout = Layout(data=8, sharding="fsdp")
    over, megatron = (parts(LLAMA_8B, layout, **facts, training_framework=name) for name in ("nemo-automodel", "nemo"))
    assert over["logits"] > megatron.get("logits", 0.0)
    assert over["gradients"] == 0.5 * megatron["gradients"]


def test_xtuner_takes_its_loss_in_chunks_of_a_thousand_tokens_and_computes_layers_anew():
    """A chunk holds as much whatever the length of the pack: its logits in 16 bits, in 32, and their gradients."""
    layout = Layout(data=8, sharding="fsdp")
    facts = {"task": "full_finetuning", "batch_size_per_gpu": 1, "training_framework": "xtuner"}
    short, long = (parts(LLAMA_8B, layout, **facts, seq_len_tokens=tokens) for tokens in (2048, 4096))
    assert short["logits"] == long["logits"] == pytest.approx(1024 * 128256 * 14 / 1e9, rel=1e-3)
    assert long["activations"] < 3.0
    before = parts(LLAMA_8B, layout, **facts, seq_len_tokens=4096, training_framework_version="0.2.0")
    assert before["logits"] == pytest.approx(4 * long["logits"])


def test_verl_takes_entropy_of_sampled_answers_before_a_step_with_nothing_kept():
    """Ten bytes a logit then, as far as they exceed what layers keep in the step, whose loss takes two."""
    layout = Layout(data=8, sharding="fsdp")
    facts = {
        "task": "full_finetuning",
        "batch_size_per_gpu": 1,
        "training_framework": "verl",
        "rl_method": "grpo",
        "seq_len_tokens": 8192,
    }
    anew, kept = (parts(LLAMA_8B, layout, **facts, gradient_checkpointing=kind) for kind in ("full", "none"))
    checkpoints = 8192 * 32 * 4096 * 2 / 1e9
    assert anew["logits"] == pytest.approx(8192 * 128256 * 10 / 1e9 - checkpoints, rel=1e-3)
    assert kept["logits"] == pytest.approx(8192 * 128256 * 2 / 1e9, rel=1e-3)
    given = parts(LLAMA_8B, layout, **{**facts, "rl_method": "none"}, gradient_checkpointing="none")
    assert given["logits"] == pytest.approx(8192 * 128256 * 14 / 1e9, rel=1e-3)
    fused = parts(LLAMA_8B, layout, **facts, gradient_checkpointing="full", chunked_loss=True)
    assert fused["logits"] < 1.0


def test_unsloth_takes_as_many_answers_at_once_as_are_counted_to_fit_in_four_gib():
    """Compiled with its gradient a chunk takes 4 B an answer, counted 4 and later 16: all, or a multiple of four."""

    def loss(tokens, **facts):
        facts = {"task": "peft_finetuning", "peft_method": "qlora", "batch_size_per_gpu": 1, **facts}
        return parts(LLAMA_8B, Layout(), **facts, seq_len_tokens=tokens, training_framework="unsloth")["logits"]

    before = {"training_framework_version": "2025.9.1"}
    assert loss(8192, **before) == pytest.approx(8192 * 128256 * 4 / 1e9)
    assert loss(16384, **before) == pytest.approx(16384 * 128256 * 4 / 4 / 1e9)
    assert loss(65536, **before) == pytest.approx(65536 * 128256 * 4 / 8 / 1e9, rel=0.01)
    assert loss(2048) == pytest.approx(loss(2048, **before))
    assert loss(8192) == pytest.approx(8192 * 128256 * 4 / 4 / 1e9)
    assert loss(8192, training_framework_version="2025.1.5") < 0.25 * loss(8192, **before)
