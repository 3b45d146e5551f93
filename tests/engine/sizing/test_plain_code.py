"""What plain transformers takes while serving: caches joined anew, and scores that are not fused away."""

from __future__ import annotations

import pytest

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
