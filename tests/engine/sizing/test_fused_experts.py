"""Quantisers of linear layers leave experts that are one table in 16 bits, unless the framework sees to them."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts, sizing_constants


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-h200-sxm"]
MODEL = KNOWLEDGE.models["mixtral-8x7b"]
QLORA = {"task": "peft_finetuning", "peft_method": "qlora", "seq_len_tokens": 2048, "batch_size_per_gpu": 1}
SERVED = {"task": "inference", "weight_precision": "nf4", "serving_engine": "transformers", "context_tokens": 2048}


def estimate(model=MODEL, **facts):
    return estimate_memory(job_from_facts(facts, model), GPU, Layout())


def test_a_framework_that_quantises_linear_layers_only_keeps_experts_in_sixteen_bits():
    plain, whole = (estimate(**QLORA, training_framework=name).breakdown["weights"] for name in ("axolotl", "trl"))
    experts = 32 * 8 * 3 * 4096 * 14336 / 1e9
    width = sizing_constants().weights["nf4-dq"].body
    assert whole - plain == pytest.approx(experts * (2.0 - width), rel=0.03)


def test_stated_experts_are_believed():
    facts = QLORA | {"training_framework": "trl"}
    assert estimate(**facts, expert_precision="nf4").breakdown["weights"] < estimate(**facts).breakdown["weights"] / 2


def test_which_framework_it_is_opens_the_upper_end():
    axolotl, unknown = (estimate(**QLORA | more) for more in ({"training_framework": "axolotl"}, {}))
    assert unknown.high_gb / unknown.per_gpu_gb > 1.3 * axolotl.high_gb / axolotl.per_gpu_gb
    assert "experts" in unknown.band_reason


@pytest.mark.parametrize(("version", "quantised"), [("4.57", True), ("5.0", False), (None, False)])
def test_linear_experts_of_older_versions_were_quantised(version, quantised):
    facts = SERVED if version is None else SERVED | {"serving_engine_version": version}
    assert (estimate(**facts).per_gpu_gb < 40) is quantised


@pytest.mark.parametrize(("version", "quantised"), [("4.48.1", True), ("5.0", False), (None, False)])
def test_training_through_transformers_follows_its_release(version, quantised):
    facts = QLORA | {"training_framework": "trl"} | ({} if version is None else {"transformers_version": version})
    assert (estimate(**facts).breakdown["weights"] < 40) is quantised


def test_experts_that_were_always_one_table_are_left_by_every_release():
    scout = KNOWLEDGE.models["llama-4-scout-17b-16e"]
    facts = QLORA | {"training_framework": "trl"}
    old, new = (estimate(scout, **facts, transformers_version=version) for version in ("4.57", "5.0"))
    assert old.breakdown["weights"] == pytest.approx(new.breakdown["weights"])
    assert "experts" in estimate(scout, **QLORA, transformers_version="4.57").band_reason


def test_an_old_release_leaves_nothing_open_about_experts():
    assert "experts" not in estimate(**QLORA, transformers_version="4.48").band_reason


def test_dense_models_and_other_quantisers_are_not_concerned():
    dense = KNOWLEDGE.models["llama-3.1-8b"]
    assert job_from_facts(SERVED, dense).expert_precision is None
    assert job_from_facts(SERVED | {"weight_precision": "awq-int4"}, MODEL).expert_precision is None
    assert job_from_facts(SERVED | {"serving_engine": "vllm"}, MODEL).expert_precision is None


def test_experts_that_were_published_narrower_than_the_rest_are_served_so():
    published, facts = KNOWLEDGE.models["deepseek-v4-flash"], {"task": "inference", "context_tokens": 2048}
    found = estimate(published, **facts, serving_engine="vllm")
    assert published.published_file_gib is not None
    # Its file holds a layer for multi-token prediction besides.
    assert found.breakdown["weights"] == pytest.approx(published.published_file_gib * 2**30 / 1e9, rel=0.07)
    whole = estimate(published, **facts, serving_engine="vllm", expert_precision="fp8").breakdown["weights"]
    assert whole > 1.7 * found.breakdown["weights"]
    assert job_from_facts(facts | {"weight_precision": "bf16"}, published).expert_precision is None
