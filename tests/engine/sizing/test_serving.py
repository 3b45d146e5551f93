"""Memory of serving: weights, cache and reserve against figures that can be checked by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue.model import Gpu, Mla, ModelSpec, Moe
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts
from whichgpu.engine.sizing.rank_shares import fullest_stage, stage_params
from whichgpu.engine.sizing.serving_reserve import reserve_of
from whichgpu.engine.sizing.shape import shape_of


GIB = 1.073741824
CARD = Gpu(id="h", family="h", series="h", name="H100", vendor="nvidia", architecture="hopper", usable_gb=84.2)


def dense(name: str, **dims) -> ModelSpec:
    return ModelSpec(id=name, name=name, kind="llm", gated_mlp=True, **dims)


LLAMA_8B = dense(
    "llama-3.1-8b", layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=128256,
    tied_embeddings=False, params_b=8.0,
)  # fmt: skip
LLAMA_70B = dense(
    "llama-3.1-70b", layers=80, hidden=8192, heads=64, kv_heads=8, intermediate=28672, vocab=128256,
    tied_embeddings=False, params_b=70.6,
)  # fmt: skip
QWEN_1_5B = dense(
    "qwen2.5-1.5b", layers=28, hidden=1536, heads=12, kv_heads=2, intermediate=8960, vocab=151936, tied_embeddings=True
)
QWEN_7B = dense(
    "qwen2.5-7b", layers=28, hidden=3584, heads=28, kv_heads=4, intermediate=18944, vocab=152064, tied_embeddings=False
)
QWEN_32B = dense(
    "qwen2.5-32b", layers=64, hidden=5120, heads=40, kv_heads=8, intermediate=27648, vocab=152064, tied_embeddings=False
)
DEEPSEEK_V3 = dense(
    "deepseek-v3", layers=61, hidden=7168, heads=128, kv_heads=128, intermediate=18432, vocab=129280,
    tied_embeddings=False, params_b=671.0, active_params_b=37.0, native_precision="fp8",
    moe=Moe(
        experts=256, experts_per_token=8, expert_intermediate=2048, shared_intermediate=2048, first_dense_layers=3
    ),
    mla=Mla(kv_lora_rank=512, qk_rope_head_dim=64, q_lora_rank=1536, qk_nope_head_dim=128, v_head_dim=128),
)  # fmt: skip


def estimate(model: ModelSpec | None, layout: Layout | None = None, **facts) -> MemoryEstimate:
    found = estimate_memory(job_from_facts({"task": "inference", **facts}, model), CARD, layout or Layout())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        (LLAMA_8B, 8.030),
        (LLAMA_70B, 70.55),
        (QWEN_1_5B, 1.5436),
        (QWEN_7B, 7.6156),
        (QWEN_32B, 32.76),
        (DEEPSEEK_V3, 671.0),
    ],
)
def test_parameters_follow_from_the_dimensions(model, billions):
    shape = shape_of(model, model.params_b)
    assert shape is not None
    assert shape.exact
    assert shape.params / 1e9 == pytest.approx(billions, rel=1e-3)


def test_active_parameters_of_a_sparse_model_follow_from_its_experts():
    shape = shape_of(replace(DEEPSEEK_V3, active_params_b=None), 671.0)
    assert shape is not None
    assert shape.active_params / 1e9 == pytest.approx(37.5, rel=0.02)


def test_a_stated_size_that_contradicts_the_record_is_believed():
    shape = shape_of(LLAMA_8B, 10.0)
    assert shape is not None
    assert shape.params == 10e9
    assert not shape.exact


def test_weights_of_a_size_alone_are_the_guides_arithmetic():
    assert estimate(None, param_count_b=7.0, weight_precision="fp16").breakdown["weights"] == pytest.approx(14.0)
    assert estimate(None, param_count_b=70.0, weight_precision="fp16").breakdown["weights"] == pytest.approx(140.0)
    four_bit = estimate(None, param_count_b=70.0, weight_precision="int4").breakdown["weights"]
    assert 35.0 < four_bit < 40.0


def test_four_bit_weights_keep_embedding_and_head_in_sixteen():
    ends = 2 * 152064 * 5120
    body = 32.764e9 - ends
    found = estimate(QWEN_32B, weight_precision="gptq-int4").breakdown["weights"]
    assert found == pytest.approx((body * 0.5195 + ends * 2) / 1e9, rel=1e-3)


def test_tied_embeddings_are_counted_once():
    assert estimate(QWEN_1_5B, weight_precision="bf16").breakdown["weights"] == pytest.approx(3.087, rel=1e-3)


def test_cache_per_token_agrees_with_the_engine_to_the_byte():
    found = estimate(LLAMA_8B, context_tokens=1600, concurrency=10).breakdown["kv_cache"]
    assert found * 1e9 / 16000 == pytest.approx(131072)


def test_cache_is_rounded_up_to_blocks_of_sixteen():
    per_token = 131072 / 1e9
    assert estimate(LLAMA_8B, context_tokens=17, concurrency=1).breakdown["kv_cache"] == pytest.approx(32 * per_token)


def test_eight_bit_cache_halves():
    whole = estimate(LLAMA_8B, context_tokens=4096).breakdown["kv_cache"]
    assert estimate(LLAMA_8B, context_tokens=4096, kv_cache_precision="fp8").breakdown["kv_cache"] == whole / 2


def test_cache_splits_over_at_most_the_kv_heads():
    one = estimate(QWEN_7B, context_tokens=4096).breakdown["kv_cache"]
    four = estimate(QWEN_7B, Layout(tensor=4), context_tokens=4096).breakdown["kv_cache"]
    eight = estimate(QWEN_7B, Layout(tensor=8), context_tokens=4096).breakdown["kv_cache"]
    assert four == pytest.approx(one / 4)
    assert eight == four


def test_latent_attention_is_copied_on_every_tensor_rank():
    facts = {"context_tokens": 32768, "concurrency": 32}
    one = estimate(DEEPSEEK_V3, **facts).breakdown["kv_cache"]
    assert one == pytest.approx(61 * 576 * 2 * 32768 * 32 / 1e9)
    assert estimate(DEEPSEEK_V3, Layout(tensor=16), **facts).breakdown["kv_cache"] == one


def test_a_sliding_window_bounds_the_cache():
    windowed = dense(
        "w", layers=30, hidden=2048, heads=16, kv_heads=8, intermediate=8192, vocab=32000, tied_embeddings=True,
        sliding_window=1024, sliding_layers=25, full_attention_layers=5,
    )  # fmt: skip
    short = estimate(windowed, context_tokens=1024).breakdown["kv_cache"]
    long = estimate(windowed, context_tokens=10240).breakdown["kv_cache"]
    assert long / short == pytest.approx((25 + 5 * 10) / 30)


def test_layers_that_attend_everything_have_heads_of_their_own_and_some_keep_nothing():
    dims = {"layers": 48, "hidden": 3840, "heads": 16, "kv_heads": 8, "head_dim": 256, "intermediate": 15360,
            "vocab": 262144, "sliding_window": 1024, "sliding_layers": 40, "full_attention_layers": 8}  # fmt: skip
    facts = {"context_tokens": 65536, "concurrency": 1}
    cache = estimate(dense("g", **dims, full_kv_heads=1, full_head_dim=512), **facts).breakdown["kv_cache"]
    assert cache * 1e9 == pytest.approx(2 * 2 * (8 * 512 * 65536 + 40 * 8 * 256 * 1024))
    half = dense("h", **dims, full_kv_heads=1, full_head_dim=512, kv_shared_layers=24)
    assert estimate(half, **facts).breakdown["kv_cache"] == pytest.approx(cache / 2)


def test_each_beam_has_a_cache_of_its_own_where_none_is_shared():
    facts = {"context_tokens": 2048, "concurrency": 1, "beams": 5}
    plain = estimate(LLAMA_8B, **{**facts, "beams": 1}, serving_engine="transformers").breakdown["kv_cache"]
    assert estimate(LLAMA_8B, **facts, serving_engine="transformers").breakdown["kv_cache"] == pytest.approx(5 * plain)
    one = estimate(LLAMA_8B, **{**facts, "beams": 1}, serving_engine="vllm").breakdown["kv_cache"]
    assert estimate(LLAMA_8B, **facts, serving_engine="vllm").breakdown["kv_cache"] == one


def test_a_window_without_layer_counts_holds_for_all_layers():
    windowed = dense(
        "m", layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=32000, sliding_window=4096
    )
    at_window = estimate(windowed, context_tokens=4096).breakdown["kv_cache"]
    assert estimate(windowed, context_tokens=32768).breakdown["kv_cache"] == at_window


def test_linear_layers_keep_a_state_that_does_not_grow():
    hybrid = dense(
        "h", layers=48, hidden=2048, heads=16, kv_heads=2, head_dim=256, vocab=151936, params_b=80.0,
        linear_layers=36, full_attention_layers=12,
    )  # fmt: skip
    short = estimate(hybrid, context_tokens=16, concurrency=1).breakdown["kv_cache"]
    long = estimate(hybrid, context_tokens=32768, concurrency=1).breakdown["kv_cache"]
    assert short * 1e9 == pytest.approx(36 * 128 * 2 * 2048 + 12 * 2 * 2 * 256 * 2 * 16)
    assert (long - short) * 1e9 == pytest.approx(12 * 2 * 2 * 256 * 2 * (32768 - 16))


def test_data_ranks_share_the_requests():
    one = estimate(LLAMA_8B, context_tokens=4096, concurrency=16)
    four = estimate(LLAMA_8B, Layout(data=4), context_tokens=4096, concurrency=16)
    assert four.breakdown["kv_cache"] == pytest.approx(one.breakdown["kv_cache"] / 4)
    assert four.breakdown["weights"] == one.breakdown["weights"]


def test_several_models_share_a_card_until_there_are_enough_cards():
    one = estimate(LLAMA_8B).breakdown["weights"]
    assert estimate(LLAMA_8B, num_models_served=4).breakdown["weights"] == pytest.approx(4 * one)
    assert estimate(LLAMA_8B, Layout(data=2), num_models_served=4).breakdown["weights"] == pytest.approx(2 * one)


def test_the_ends_of_a_pipeline_are_uneven():
    shape = shape_of(LLAMA_70B, 70.6)
    assert shape is not None
    layers, embeddings, heads = fullest_stage(shape, 4)
    assert (layers, embeddings + heads) == (0.25, 1.0)
    inside, ends = stage_params(shape, 4)
    assert inside + ends > shape.params / 4 * 1.02
    # 80 layers over 3 stages leave two over: one goes to the middle stage, one to an end.
    assert fullest_stage(shape, 3) == (27 / 80, 1.0, 0.0)


def test_a_middle_stage_can_be_the_fullest():
    small_ends = dense("m", layers=10, hidden=4096, heads=32, kv_heads=32, intermediate=11008, vocab=1000)
    shape = shape_of(small_ends, None)
    assert shape is not None
    assert fullest_stage(shape, 4) == (0.3, 0.0, 0.0)


@pytest.mark.parametrize(
    ("version", "same"),
    [("0.5.3", "0.1"), ("0.6.4", "0.8"), ("0.11.0", "0.9"), ("v0.19", None), ("0.30", None), ("nightly", None)],
)
def test_the_reserve_goes_by_the_engines_version(version, same):
    assert reserve_of("vllm", version) == reserve_of("vllm", same)
    others = {"0.1", "0.8", "0.9", None} - {same}
    assert all(reserve_of("vllm", version) != reserve_of("vllm", other) for other in others)


@pytest.mark.parametrize("version", ["0.11", "0.19"])
def test_an_engine_keeps_its_largest_step_free(version):
    """Sampling takes the whole vocabulary on every rank; of the forward pass a layer's width is split."""
    step = reserve_of("vllm", version).step

    def kept(model, layout=None):
        return estimate(model, layout, serving_engine="vllm", serving_engine_version=version).breakdown["activations"]

    words = step.sequences * step.sampler_bytes
    more = (QWEN_32B.vocab - LLAMA_70B.vocab) * words + step.tokens * 2 * (QWEN_32B.hidden - LLAMA_70B.hidden)
    assert kept(QWEN_32B) - kept(LLAMA_70B, Layout(tensor=8)) == pytest.approx(more / 1e9)
    few_words = dense("w", layers=2, hidden=8192, heads=64, kv_heads=64, intermediate=28672, vocab=1000)
    passing = step.tokens * 2 * (3 * 28672 + 3 * 8192) / 1e9
    assert kept(few_words) == pytest.approx(passing)
    assert kept(few_words, Layout(tensor=4)) == pytest.approx(step.tokens * 2 * (3 * 28672 / 4 + 3 * 8192) / 1e9)


def test_experts_answer_for_each_copy_of_a_token():
    step = reserve_of("vllm", None).step
    few_words = replace(DEEPSEEK_V3, vocab=1000, params_b=None)
    kept = estimate(few_words, Layout(tensor=8), serving_engine="vllm").breakdown["activations"]
    shape = shape_of(few_words, None)
    width = max(2 * shape.intermediate / 8, 8 * 7168) + shape.intermediate / 8
    assert kept == pytest.approx(step.tokens * 2 * (width + 3 * 7168) / 1e9)


def test_an_engine_without_a_record_is_taken_as_vllm():
    assert reserve_of("other", None) == reserve_of("vllm", None)


# Reserve outside weights and cache pool on an H100, GiB (llm-d-planner runs of vLLM 0.19; six runs of vLLM 0.11).
@pytest.mark.parametrize(
    ("model", "version", "tensor", "gib"),
    [
        (LLAMA_8B, "0.19", 1, 2.13),
        (QWEN_7B, "0.19", 1, 2.45),
        (LLAMA_8B, "0.11", 1, 4.90),
        (LLAMA_70B, "0.11", 2, 5.39),
        (LLAMA_8B, None, 1, 4.90),
        (LLAMA_8B, None, 1, 7.52),
    ],
)
def test_measured_reserves_lie_in_the_band(model, version, tensor, gib):
    facts = {"context_tokens": 8192, "concurrency": 16}
    if version:
        facts["serving_engine_version"] = version
    found = estimate(model, Layout(tensor=tensor), **facts)
    rest = found.breakdown["weights"] + found.breakdown["kv_cache"]
    assert found.low_gb <= rest + gib * GIB <= found.high_gb


# Hugging Face transformers 4.46 on an A100, batch 1, prompt + 2,048 new tokens (Qwen2.5 speed benchmark), GiB.
@pytest.mark.parametrize(
    ("model", "precision", "prompt", "gib"),
    [
        (QWEN_1_5B, "bf16", 1, 2.95),
        (QWEN_1_5B, "bf16", 14336, 4.16),
        (QWEN_1_5B, "bf16", 30720, 5.62),
        (QWEN_7B, "bf16", 14336, 16.91),
        (QWEN_7B, "gptq-int4", 30720, 11.11),
        (QWEN_32B, "bf16", 1, 61.58),
        (QWEN_32B, "bf16", 30720, 74.47),
        (QWEN_32B, "gptq-int4", 1, 18.94),
        (QWEN_32B, "gptq-int4", 14336, 24.67),
    ],
)
def test_measured_transformers_runs_are_met(model, precision, prompt, gib):
    found = estimate(
        model, weight_precision=precision, input_tokens=prompt, output_tokens=2048, serving_engine="transformers"
    )
    assert found.allocated_gb == pytest.approx(gib * GIB, rel=0.03)
    assert found.low_gb <= gib * GIB <= found.high_gb


def test_a_sparse_model_keeps_more_for_activations():
    assert estimate(DEEPSEEK_V3).breakdown["activations"] > estimate(LLAMA_8B).breakdown["activations"]


def test_gguf_types_have_their_real_bits():
    assert estimate(LLAMA_8B, weight_precision="q4_k_m").breakdown["weights"] == pytest.approx(4.58 * GIB, rel=0.01)
    assert estimate(LLAMA_8B, weight_precision="q8_0").breakdown["weights"] == pytest.approx(7.95 * GIB, rel=0.01)


def test_offload_lets_a_large_model_pass_layer_by_layer():
    found = estimate(LLAMA_70B, cpu_offload=True, weight_precision="bf16")
    assert found.breakdown["weights"] < 0.05 * 141
    assert estimate(LLAMA_70B, weight_precision="bf16").breakdown["weights"] == pytest.approx(141.1, rel=1e-3)


def test_an_unknown_architecture_says_so_and_has_a_wider_band():
    known, unknown = estimate(LLAMA_8B, context_tokens=8192), estimate(None, param_count_b=8.03, context_tokens=8192)
    assert (known.method, unknown.method) == ("architecture", "rule of thumb")
    assert unknown.high_gb - unknown.low_gb > known.high_gb - known.low_gb
    assert unknown.per_gpu_gb == pytest.approx(known.per_gpu_gb, rel=0.1)


@pytest.mark.parametrize(("tokens", "gib"), [(20_000, 2.07), (29_000, 2.99)])
def test_an_early_vllm_keeps_one_whole_prompt_free_as_its_logs_show(tokens, gib):
    found = estimate(LLAMA_8B, serving_engine="vllm", serving_engine_version="0.6.4", context_tokens=tokens)
    assert found.breakdown["activations"] / GIB == pytest.approx(gib, abs=0.02)


def test_an_early_vllm_cuts_only_long_prompts_into_chunks():
    facts = {"serving_engine": "vllm", "context_tokens": 131_072}
    whole = estimate(LLAMA_8B, serving_engine_version="0.5.3", **facts).breakdown["activations"]
    cut = estimate(LLAMA_8B, serving_engine_version="0.6.4", **facts).breakdown["activations"]
    assert whole > 10 > 2 > cut


def test_small_cards_and_a100s_take_smaller_steps():
    small = replace(CARD, usable_gb=23.7)
    a100 = replace(CARD, series="nvidia-a100")
    job = job_from_facts({"task": "inference", "serving_engine": "vllm"}, LLAMA_8B)
    kept = [estimate_memory(job, card, Layout()).breakdown["activations"] for card in (CARD, small, a100)]
    step = reserve_of("vllm", None).step
    beside = step.sampler_mib * 1.048576e-3
    assert kept[1] == kept[2] == pytest.approx((kept[0] - beside) / 4 + beside)  # A quarter of tokens and sequences.
    other = job_from_facts({"task": "inference", "serving_engine": "tensorrt-llm"}, LLAMA_8B)
    assert estimate_memory(other, small, Layout()) == estimate_memory(other, CARD, Layout())


def test_an_engine_that_asks_for_probabilities_of_prompts_answers_each_token():
    facts = {"task": "inference", "weight_precision": "bf16", "serving_engine": "tgi", "context_tokens": 66_000}
    layout = Layout(tensor=4)

    def kept(version: str, tokens: int) -> float:
        found = estimate(LLAMA_70B, layout, **facts, serving_engine_version=version, input_tokens=tokens)
        return found.breakdown["activations"]

    # Those of a rank's quarter of the words, and of all words once they are put together, in 16 bits.
    answers = 65_536 * (2 * 128256 * 1.25 + 2 * 8192) / 1e9
    assert kept("2.2.0", 65_536) == pytest.approx(answers)
    assert kept("3.0", 65_536) == kept("3.0", 4_096) < 0.1 * answers
