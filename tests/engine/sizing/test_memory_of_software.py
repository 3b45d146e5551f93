"""What the software does with memory: shares of the card, padded experts, sharded adapters, defaults of frameworks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue.model import Gpu, ModelSpec, Moe
from whichgpu.engine.plans.needs import MemoryNeeds
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.memory import granted_of
from whichgpu.engine.sizing.serving_reserve import GIB, reserve_of
from whichgpu.engine.sizing.speed_rates import rates_of


CARD = Gpu(
    id="h", family="h", series="h", name="H100", vendor="nvidia", architecture="hopper", usable_gb=85.0,
    mem_bw_tbs=3.35, mem_type="HBM3", tflops={"bf16": 989.0},
)  # fmt: skip
LLAMA_8B = ModelSpec(
    id="llama-3.1-8b", name="Llama 3.1 8B", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=8,
    intermediate=14336, vocab=128256, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
MPT_7B = replace(LLAMA_8B, id="mpt-7b", name="MPT 7B", gated_mlp=False, kv_heads=32)
EXPERTS = ModelSpec(
    id="sparse-120b", name="Sparse 120B", kind="llm", layers=36, hidden=2880, heads=64, kv_heads=8, head_dim=64,
    vocab=201088, gated_mlp=True, tied_embeddings=False,
    moe=Moe(experts=128, experts_per_token=4, expert_intermediate=2880),
)  # fmt: skip
WHISPER_LARGE = ModelSpec(
    id="whisper-large-v3", name="Whisper Large v3", kind="speech", params_b=1.55, layers=32, hidden=1280,
    decoder_layers=32,
)  # fmt: skip
WHISPER = ModelSpec(id="whisper-large", name="Whisper Large", kind="speech", params_b=1.55)
SDXL = ModelSpec(
    id="sdxl", name="SDXL", kind="diffusion_image", resolution_px=1024,
    components_b={"unet": 2.57, "text_encoders": 0.82, "vae": 0.08},
)  # fmt: skip
SD_1 = ModelSpec(
    id="sd-1", name="SD 1", kind="diffusion_image", resolution_px=512,
    components_b={"unet": 0.86, "text_encoder": 0.12, "vae": 0.08},
)  # fmt: skip


def estimate(model, layout=None, **facts):
    found = estimate_memory(job_from_facts(facts, model), CARD, layout or Layout())
    assert found is not None
    return found


def granted(**facts) -> float:
    job = job_from_facts({"task": "inference", **facts}, LLAMA_8B)
    share = granted_of(job, CARD)
    assert share is not None
    return share - reserve_of("vllm", facts.get("serving_engine_version")).graphs_gib * GIB


def test_a_stated_vllm_keeps_to_its_share_of_the_card():
    assert granted(serving_engine="vllm", serving_engine_version="0.8.1") == pytest.approx(0.9 * 85.0)
    assert granted(serving_engine="vllm", serving_engine_version="0.19.1") == pytest.approx(0.92 * 85.0)


@pytest.mark.parametrize("facts", [{}, {"serving_engine": "transformers"}, {"serving_engine": "llama.cpp"}])
def test_without_a_stated_engine_that_divides_the_card_all_of_it_counts(facts):
    job = job_from_facts({"task": "inference", **facts}, LLAMA_8B)
    assert granted_of(job, CARD) == 85.0
    assert granted_of(job, replace(CARD, usable_gb=None)) is None


def test_experts_in_4_bit_floats_are_padded_and_the_rest_stays_in_16_bits():
    routed = 36 * 128 * 3 * 2880 * 2880
    padded = routed * 0.53125 * (3072 / 2880) * (2944 / 2880)
    found = estimate(EXPERTS, task="inference", weight_precision="mxfp4", serving_engine="vllm").breakdown
    rest = estimate(EXPERTS, task="inference", weight_precision="bf16").breakdown["weights"] * 1e9 - 2 * routed
    assert found["weights"] * 1e9 == pytest.approx(padded + rest, rel=1e-3)


def test_a_flat_parameter_with_adapters_gets_gradients_as_a_whole():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "seq_len_tokens": 512, "sharding": "fsdp"}
    sharded = Layout(data=2, sharding="fsdp")
    own = estimate(LLAMA_8B, sharded, **facts, training_framework="litgpt").breakdown
    other = estimate(LLAMA_8B, sharded, **facts, training_framework="torchtune").breakdown
    ends = 2 * 128256 * 4096 * 2 / 1e9
    assert own["gradients"] == pytest.approx(own["weights"] + (own["gathered_layer"] - ends) / 2)
    assert "gradients" not in other
    assert "gradients" not in estimate(LLAMA_8B, **facts, training_framework="litgpt").breakdown


def test_an_unstated_batch_is_the_frameworks():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "training_framework": "torchtune"}
    assert job_from_facts(facts, LLAMA_8B).micro_batch == 2
    assert job_from_facts({**facts, "batch_size_per_gpu": 1}, LLAMA_8B).micro_batch == 1
    assert job_from_facts({**facts, "training_framework": "axolotl"}, LLAMA_8B).micro_batch == 1


@pytest.mark.parametrize(
    ("framework", "targets"),
    [("peft", "qv"), ("trl", "qv"), ("litgpt", "qv"), ("unsloth", "all"), ("llama-factory", "all"), ("other", "all")],
)
def test_unstated_adapters_are_the_frameworks(framework, targets):
    facts = {"task": "peft_finetuning", "peft_method": "lora", "training_framework": framework}
    everything = job_from_facts({**facts, "lora_targets": "all-linear"}, LLAMA_8B).lora_targets
    wanted = ("q", "v") if targets == "qv" else everything
    assert job_from_facts(facts, LLAMA_8B).lora_targets == wanted
    assert len(everything) == 7


def test_torchtitan_sends_single_sequences_through_a_pipeline():
    facts = {"task": "pretraining", "seq_len_tokens": 4096, "batch_size_per_gpu": 16, "gradient_checkpointing": "none"}
    piped = Layout(data=2, pipeline=4)
    whole = estimate(LLAMA_8B, piped, **facts, training_framework="nemo").breakdown
    cut = estimate(LLAMA_8B, piped, **facts, training_framework="torchtitan").breakdown
    assert cut["activations"] < 0.5 * whole["activations"]


def test_layer_norm_keeps_no_32_bit_copy():
    facts = {"task": "full_finetuning", "seq_len_tokens": 2048, "gradient_checkpointing": "none"}
    plain, gated = estimate(MPT_7B, **facts), estimate(LLAMA_8B, **facts)
    each = 32 * 2048 / 1e9
    # 4 h + 2 q + 2 kv + 2 i elements of 2 bytes, over all layers; the one that is computed is smaller than the logits.
    kept = (4 * 4096 + 2 * 4096 + 2 * 4096 + 2 * 14336) * 2.0
    assert plain.breakdown["activations"] == pytest.approx(kept * each, rel=1e-6)
    assert gated.breakdown["activations"] > plain.breakdown["activations"]


def test_peft_and_diffusers_stay_in_32_bits_unless_told_otherwise():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "training_framework": "peft"}
    assert job_from_facts(facts, LLAMA_8B).weight_precision == "fp32"
    assert job_from_facts({**facts, "compute_precision": "bf16"}, LLAMA_8B).weight_precision == "bf16"
    assert job_from_facts({**facts, "peft_method": "qlora"}, LLAMA_8B).weight_precision == "nf4-dq"
    full = job_from_facts({"task": "full_finetuning", "training_framework": "diffusers"}, SD_1)
    assert (full.recipe, full.checkpointing) == ("fp32", "none")


def test_full_training_of_a_large_generator_caches_what_its_encoders_say():
    facts = {"task": "full_finetuning", "batch_size_per_gpu": 1, "image_px": 512}
    cached, loaded = estimate(SDXL, **facts), estimate(SD_1, **facts)
    assert cached.breakdown["frozen_components"] == 0.0
    assert loaded.breakdown["frozen_components"] == pytest.approx(0.2 * 2, rel=0.01)
    # Whether the encoders stay loaded is not known.
    assert cached.high_gb > 1.07 * cached.per_gpu_gb + 0.9 * 2.0


def test_axolotl_fuses_the_loss_in_its_examples_but_a_run_may_not():
    facts = {"task": "peft_finetuning", "peft_method": "qlora", "seq_len_tokens": 2048, "batch_size_per_gpu": 2}
    plain = estimate(LLAMA_8B, **facts, training_framework="llama-factory")
    fused = estimate(LLAMA_8B, **facts, training_framework="axolotl")
    stated = estimate(LLAMA_8B, **facts, training_framework="axolotl", chunked_loss=True)
    assert fused.breakdown["logits"] == pytest.approx(plain.breakdown["logits"] / 8)
    assert fused.per_gpu_gb == stated.per_gpu_gb
    assert fused.high_gb > stated.high_gb
    assert "fused" in fused.band_reason


def test_whisper_is_trained_with_recomputed_activations_of_its_own_shape():
    facts = {"task": "full_finetuning", "batch_size_per_gpu": 16}
    found = estimate(WHISPER, **facts)
    plain = estimate(WHISPER, **facts, gradient_checkpointing="none")
    assert found.breakdown["activations"] < 0.4 * plain.breakdown["activations"]
    # About 42 GB were seen with batches of 16.
    assert found.low_gb < 42.0 < 1.05 * found.high_gb


def test_whisper_without_fused_attention_keeps_the_scores_of_its_window():
    facts = {"task": "full_finetuning", "batch_size_per_gpu": 4, "gradient_checkpointing": "none"}
    fused, plain = estimate(WHISPER, **facts), estimate(WHISPER, **facts, flash_attention=False)
    window = 4 * 32 * 20 * 1500**2 * 6 / 1e9
    assert 1.0 < (plain.breakdown["activations"] - fused.breakdown["activations"]) / window < 1.5
    assert plain == estimate(WHISPER, **facts, transformers_version="4.30")
    anew = [estimate(WHISPER, **facts | {"gradient_checkpointing": "full"}, flash_attention=on) for on in (True, False)]
    assert anew[1].breakdown["activations"] - anew[0].breakdown["activations"] < window / 16


def test_an_unstated_recomputation_widens_the_band():
    facts = {"task": "full_finetuning", "seq_len_tokens": 4096, "batch_size_per_gpu": 4}
    open_, stated = estimate(LLAMA_8B, **facts), estimate(LLAMA_8B, **facts, gradient_checkpointing="full")
    assert open_.per_gpu_gb == stated.per_gpu_gb
    assert open_.high_gb > stated.high_gb
    assert "recomputed" in open_.band_reason


def test_formats_of_several_quantisers_may_narrow_embedding_and_head_too():
    facts = {"task": "inference", "context_tokens": 512, "serving_engine": "transformers"}
    loose = estimate(LLAMA_8B, **facts, weight_precision="nf4")
    known = estimate(LLAMA_8B, **facts, weight_precision="awq-int4")
    assert loose.low_gb / loose.per_gpu_gb < known.low_gb / known.per_gpu_gb - 0.1


def test_a_denoiser_in_32_bits_has_activations_in_32_bits():
    facts = {"task": "inference", "image_px": 4096}
    wide, usual = (estimate(SDXL, **facts, weight_precision=form).breakdown for form in ("fp32", "bf16"))
    assert wide["activations"] >= usual["activations"]
    assert wide["weights"] > 1.5 * usual["weights"]


def test_graphs_of_an_unnamed_vllm_may_end_at_8192_tokens():
    facts = {"task": "inference", "serving_engine": "vllm", "output_tokens": 1024}
    short = rates_of(job_from_facts({**facts, "input_tokens": 4096}, LLAMA_8B), GpuTable((CARD,)))
    long = rates_of(job_from_facts({**facts, "input_tokens": 16384}, LLAMA_8B), GpuTable((CARD,)))
    named = rates_of(
        job_from_facts({**facts, "input_tokens": 16384, "serving_engine_version": "0.19"}, LLAMA_8B), GpuTable((CARD,))
    )
    assert long.launch_floor > short.launch_floor > named.launch_floor


def test_stated_gpus_keep_to_the_share_that_size_judges_by():
    """Of hardware whose kind and number are stated; whoever plans sets the share as he starts the engine."""
    card = GpuTable((CARD,))
    job = job_from_facts({"task": "inference", "serving_engine": "vllm"}, LLAMA_8B)
    assert MemoryNeeds(job, card).limits_gb(card)[0] == 85.0
    assert MemoryNeeds(job_from_facts({"task": "inference"}, LLAMA_8B), card).limits_gb(card)[0] == 85.0
    stated = MemoryNeeds(job, card, margin=False).limits_gb(card)[0]
    assert stated == pytest.approx(0.92 * 85.0 + reserve_of("vllm", None).graphs_gib * GIB)


def test_sixteen_bit_training_may_have_no_master_copy_where_no_framework_tells():
    facts = {"task": "full_finetuning", "compute_precision": "bf16", "gradient_checkpointing": "full"}
    open_ = estimate(LLAMA_8B, **facts)
    assert open_.low_gb < 0.7 * open_.per_gpu_gb
    assert "32-bit copy" in open_.band_reason
    for more in ({"training_framework": "deepspeed"}, {"weight_precision": "bf16"}, {"compute_precision": "mixed"}):
        assert "32-bit copy" not in estimate(LLAMA_8B, **(facts | more)).band_reason


def test_pictures_of_a_segmenter_may_be_half_as_tall_as_wide():
    facts = {"task": "full_finetuning", "image_px": 1024, "batch_size_per_gpu": 2}
    dense = ModelSpec(id="d", name="DeepLabV3+ R-50-D8", kind="vision", params_b=0.04)
    boxes = ModelSpec(id="b", name="faster_rcnn_R_50_FPN_3x", kind="detection", params_b=0.04)
    for model, wide in ((dense, True), (boxes, False)):
        found = estimate(model, **facts)
        assert (found.low_gb < found.allocated_gb - 0.5 * found.breakdown["activations"]) is wide


def test_gradients_that_are_set_to_zero_stay() -> None:
    """Before PyTorch 2.0; DeepSpeed lets go of its own, and over several micro-batches they stay anyhow."""
    facts = {"task": "full_finetuning", "seq_len_tokens": 4096, "batch_size_per_gpu": 4, "flash_attention": True}
    once = facts | {"gradient_accumulation_steps": 1, "training_framework": "transformers"}

    def gradients(**more) -> float:
        return estimate(LLAMA_8B, **once | more).breakdown["gradients"]

    whole = estimate(LLAMA_8B, **once | {"gradient_accumulation_steps": 2}).breakdown["gradients"]
    assert gradients(pytorch_version="1.13.1") == whole
    assert gradients(pytorch_version="2.0.1") == gradients() < whole
    sharded = {"training_framework": "deepspeed", "sharding": "zero2"}
    assert gradients(pytorch_version="1.13.1", **sharded) == gradients(pytorch_version="2.0.1", **sharded)


def heard(requests, **facts) -> float:
    facts = {"task": "inference", "concurrency": requests, "serving_engine": "faster-whisper", **facts}
    return {term.name: term.value for term in estimate(WHISPER_LARGE, **facts).terms}["activations"]


def test_ctranslate2_gives_back_what_the_encoder_worked_with_before_the_decoder_begins():
    """Of a batch the cache grows with what is spoken; a window alone may carry the text before it along."""
    layer, answer = 2 * 1500 * (6 * 1280 + 1500 * 20) / 1e9, 2 * 1500 * 1280 / 1e9
    each_word = 4 * 1280 * 32 / 1e9
    assert heard(16, beams=5) == pytest.approx(16 * ((1500 + 5 * 100) * each_word + answer), rel=1e-3)
    assert heard(1, beams=5) == pytest.approx((1500 + 5 * 448) * each_word + answer, rel=1e-3)
    server = heard(16, beams=1, serving_engine="vllm")
    assert server == pytest.approx(16 * ((1500 + 448) * each_word + layer), rel=1e-3)
