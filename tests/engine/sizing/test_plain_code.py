"""What plain transformers takes while serving: caches joined anew, and scores that are not fused away."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts, sizing_constants


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-h200-sxm"]
LLAMA, QWEN = (KNOWLEDGE.models[name] for name in ("llama-3.1-8b", "qwen-7b"))
SERVED = {"task": "inference", "serving_engine": "transformers", "weight_precision": "bf16", "concurrency": 1}


def breakdown(model, **facts):
    return estimate_memory(job_from_facts(SERVED | facts, model), GPU, Layout()).breakdown


@pytest.mark.parametrize(("version", "times"), [("4.35", 2.0), ("4.36", 1.0)])
def test_a_cache_of_tuples_is_there_twice(version, times):
    cache = breakdown(LLAMA, context_tokens=8192, input_tokens=1, serving_engine_version=version)["kv_cache"]
    assert cache == pytest.approx(times * 8192 * 32 * 2 * 1024 * 2 / 1e9)


def test_a_prompt_that_is_answered_by_one_token_has_nothing_to_join():
    facts = {"context_tokens": 513, "input_tokens": 512, "serving_engine_version": "4.35"}
    said, unsaid = (breakdown(LLAMA, **facts, **stated)["kv_cache"] for stated in ({"output_tokens": 1}, {}))
    assert unsaid == pytest.approx(2 * said)


def test_a_models_own_code_joins_caches_whatever_the_version():
    facts = {"input_tokens": 1, "serving_engine_version": "4.40"}
    each = 32 * 2 * 4096 * 2 / 1e9
    found = [breakdown(QWEN, context_tokens=tokens, **facts)["kv_cache"] for tokens in (2048, 8192)]
    assert found == pytest.approx([2 * 2048 * each, 2 * 8192 * each])


def test_other_engines_allot_the_cache_once():
    assert breakdown(QWEN, serving_engine="vllm", context_tokens=8192)["kv_cache"] == pytest.approx(
        8192 * 32 * 2 * 4096 * 2 / 1e9
    )


def test_the_newer_cache_holds_one_layers_keys_twice_at_least():
    found = breakdown(LLAMA, context_tokens=65536, input_tokens=1)
    assert found["activations"] == pytest.approx(found["kv_cache"] / 64)


@pytest.mark.parametrize("facts", [{"flash_attention": False}, {"serving_engine_version": "4.30"}])
def test_eager_attention_holds_the_scores_of_a_prompt(facts):
    """Ten bytes for each of 32 heads and 8,192 squared scores."""
    plain, eager = (breakdown(LLAMA, input_tokens=8192, output_tokens=16, **more) for more in ({}, facts))
    each = sizing_constants().plain_code.score_bytes
    assert eager["activations"] - plain["activations"] == pytest.approx(32 * 8192**2 * each / 1e9)


@pytest.mark.parametrize(("version", "whole"), [("4.44.2", True), ("4.45", False)])
def test_the_head_answered_for_every_token_of_a_prompt_before_4_45(version, whole):
    found = breakdown(LLAMA, input_tokens=8192, output_tokens=16, serving_engine_version=version)["activations"]
    logits = 8192 * 128256 * 6 / 1e9
    assert found == pytest.approx(logits) if whole else found < 0.5 * logits


def test_encoders_of_pictures_stay_in_16_bits_in_quantised_checkpoints():
    """GPTQ leaves ends and encoder in 16 bits; bitsandbytes converts the encoder too."""
    model = KNOWLEDGE.models["qwen2-vl-7b"]
    encoder, ends = model.components_b["vision_and_projector"], 2 * 152064 * 3584 / 1e9
    layers = model.params_b - encoder - ends
    gptq, nf4 = (breakdown(model, weight_precision=kind)["weights"] for kind in ("gptq-int4", "nf4-dq"))
    assert gptq == pytest.approx(layers * 0.5195 + 2.0 * (encoder + ends), rel=0.01)
    assert nf4 == pytest.approx((layers + encoder) * 0.5159 + 2.0 * ends, rel=0.01)


def test_a_prompt_whose_layers_join_their_caches_needs_room_for_the_joined_ones():
    """GLM-4's own code: the cache once, gate and up in one matrix, and a share of both that the allocator holds."""
    model = KNOWLEDGE.models["glm-4-9b"]
    found = breakdown(model, input_tokens=32000, output_tokens=1, context_tokens=32001)
    cache, passing = 32001 * 40 * 2 * 256 * 2 / 1e9, 32000 * (4 * 13696 + 3 * 4096) * 2 / 1e9
    held = sizing_constants().joined_caches.value - 1.0
    assert found["kv_cache"] == pytest.approx(cache)
    assert found["activations"] == pytest.approx(passing + held * (cache + passing))


def test_a_step_holds_a_joined_cache_twice_where_that_is_more_than_a_prompt():
    model = KNOWLEDGE.models["glm-4-9b"]
    found = breakdown(model, input_tokens=1, output_tokens=32000, context_tokens=32001)
    held = sizing_constants().joined_caches.value - 1.0
    assert found["activations"] == pytest.approx(found["kv_cache"] * (1.0 + 2.0 * held))


def test_other_engines_have_no_joined_layers():
    model = KNOWLEDGE.models["glm-4-9b"]
    short, long = (
        breakdown(model, input_tokens=tokens, context_tokens=tokens + 1, serving_engine="vllm")["activations"]
        for tokens in (1000, 32000)
    )
    assert short == long


def test_modules_that_are_fused_as_they_are_loaded_lie_beside_those_they_are_made_of():
    """AutoAWQ: query, key and value of all layers; a long prompt takes more, at another time."""

    def maps(tokens, model=LLAMA, **facts):
        stated = {"weight_precision": "awq-int4", "input_tokens": tokens, "context_tokens": tokens + 1, **facts}
        return breakdown(model, **stated)["activations"]

    matrices = 32 * 4096 * (4096 + 2 * 1024) * sizing_constants().weights["awq-int4"].body / 1e9
    assert maps(64, fuses_modules=True) == pytest.approx(matrices)
    assert maps(64) < 0.2 * matrices
    assert maps(32768, fuses_modules=True) == maps(32768) > matrices
    one = replace(LLAMA, fused_qkv=True)  # There is nothing to join.
    assert maps(64, one, fuses_modules=True) == maps(64, one)


@pytest.mark.parametrize("version", ["4.46", "4.51.3", "5.17.0", None])
def test_a_prompt_passes_whole_whatever_the_version(version):
    """Three times the width of the feed-forward part and three hidden states, 2 bytes each, of all prompts at once."""
    facts = {"serving_engine_version": version} if version else {}
    found = breakdown(LLAMA, concurrency=8, input_tokens=1024, output_tokens=16, **facts)["activations"]
    assert found == pytest.approx(8 * 1024 * (3 * 14336 + 3 * 4096) * 2 / 1e9)
