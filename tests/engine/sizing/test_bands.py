"""Bands of memory: wider for every open fact, odds that agree with their ends; the new facts do what they say."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, fit_odds, job_from_facts
from whichgpu.engine.sizing.band_constants import memory_bands
from whichgpu.engine.sizing.bands import banded
from whichgpu.engine.sizing.model import Band, MemoryColumns


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"]
MODEL = KNOWLEDGE.models["llama-3.1-8b"]
ONE = Layout()
STATED = {
    "task": "peft_finetuning",
    "peft_method": "lora",
    "training_framework": "deepspeed",
    "gradient_checkpointing": "full",
    "seq_len_tokens": 2048,
    "batch_size_per_gpu": 1,
    "optimizer": "adamw",
    "compute_precision": "mixed",
    "weight_precision": "bf16",
    "lora_rank": 32,
    "lora_targets": "all-linear",
    "flash_attention": True,
    "packing": True,
    "sequence_parallel": False,
}


def estimate(layout=ONE, **facts):
    found = estimate_memory(job_from_facts(facts, MODEL), GPU, layout)
    assert found is not None
    return found


@pytest.mark.parametrize("left_out", sorted(STATED.keys() - {"task", "peft_method"}))
def test_leaving_out_any_fact_widens_the_band(left_out):
    closed, open_ = estimate(**STATED), estimate(**{name: value for name, value in STATED.items() if name != left_out})
    assert open_.high_gb / open_.low_gb > closed.high_gb / closed.low_gb


SERVED = {
    "task": "inference",
    "weight_precision": "bf16",
    "kv_cache_precision": "bf16",
    "context_tokens": 4096,
    "concurrency": 1,
}
VERSIONS = [("transformers", "4.44"), ("transformers", "4.57"), ("vllm", "0.6.3")]


@pytest.mark.parametrize("left_out", ["serving_engine", "serving_engine_version", *sorted(SERVED.keys() - {"task"})])
@pytest.mark.parametrize(("engine", "version"), VERSIONS)
def test_leaving_out_any_fact_of_serving_widens_the_band(engine, version, left_out):
    stated = SERVED | {"serving_engine": engine, "serving_engine_version": version}
    closed, open_ = estimate(**stated), estimate(**{name: value for name, value in stated.items() if name != left_out})
    assert open_.high_gb / open_.low_gb > closed.high_gb / closed.low_gb


def test_a_version_that_nobody_states_may_be_one_that_answers_whole_prompts():
    stated = {"task": "inference", "serving_engine": "transformers", "context_tokens": 4096, "concurrency": 4}
    old, open_ = estimate(**stated, serving_engine_version="4.44"), estimate(**stated)
    assert open_.high_gb == pytest.approx(old.per_gpu_gb, rel=0.05)
    assert open_.per_gpu_gb < 0.8 * old.per_gpu_gb


def test_odds_are_even_at_the_estimate_and_promised_at_the_ends():
    found = estimate(**STATED)
    places = np.array([found.low_gb, found.per_gpu_gb, found.high_gb])
    assert [float(fit_odds(found, place)) for place in places] == pytest.approx([0.05, 0.5, 0.95])


def test_a_margin_moves_the_upper_end_and_nothing_else():
    job = job_from_facts(STATED, MODEL)
    low, value, allocated, high = (np.array([gb]) for gb in (8.0, 10.0, 9.0, 12.0))
    plain = MemoryColumns(value, allocated, (), "architecture", lambda: Band(low, high, ""))
    bands = memory_bands()
    group = bands.groups["lora"]
    moved = replace(bands, groups={**bands.groups, "lora": replace(group, margin=group.margin + 0.2)})
    with pytest.MonkeyPatch.context() as patch:
        before = banded(job, plain).band
        patch.setattr("whichgpu.engine.sizing.bands.memory_bands", lambda: moved)
        after = banded(job, plain).band
    assert after.high_gb == pytest.approx(before.high_gb * np.exp(0.2))
    assert after.low_gb == pytest.approx(before.low_gb)


FULL = {"task": "pretraining", "seq_len_tokens": 8192, "batch_size_per_gpu": 1, "gradient_checkpointing": "full"}


def test_context_parallel_ranks_share_the_tokens_of_a_sequence():
    whole = estimate(Layout(data=4, sharding="fsdp"), **FULL).breakdown
    shared = estimate(Layout(data=4, sharding="fsdp"), **FULL, context_parallel=4).breakdown
    assert shared["activations"] == pytest.approx(whole["activations"] / 4)
    assert shared["weights"] == whole["weights"]


def test_sequence_parallel_ranks_share_checkpoints():
    layout = Layout(tensor=8)
    whole, shared = (estimate(layout, **FULL, sequence_parallel=on).breakdown["activations"] for on in (False, True))
    # The layer at work is smaller than the logits before it; of its forward pass the streams are shared too.
    streams = 8192 * (32 + 3) * 4096 * 2 / 1e9
    assert whole - shared == pytest.approx(streams * 7 / 8)


def test_a_pipeline_that_runs_forward_first_holds_every_micro_batch():
    layout, facts = Layout(pipeline=4), FULL | {"gradient_accumulation_steps": 16}
    usual, all_ = (estimate(layout, **facts, pipeline_schedule=s).breakdown["activations"] for s in ("1f1b", "gpipe"))
    assert all_ > 2 * usual


def test_embeddings_that_are_trained_take_copies_gradients_and_moments():
    more = estimate(**STATED, trains_embeddings=True).per_gpu_gb - estimate(**STATED).per_gpu_gb
    assert more == pytest.approx(2 * 128256 * 4096 * 16 / 1e9 * 1.055, rel=0.01)


def test_models_beside_the_trained_one_lie_in_sixteen_bits():
    more = estimate(**STATED, resident_params_b=7).allocated_gb - estimate(**STATED).allocated_gb
    assert more == pytest.approx(14.0)


def test_unsloth_keeps_checkpoints_in_host_memory():
    facts = {name: value for name, value in STATED.items() if name != "training_framework"} | {"seq_len_tokens": 65536}
    here, away = (
        estimate(**facts, training_framework=name).breakdown["activations"] for name in ("axolotl", "unsloth")
    )
    assert away < 0.6 * here


def test_an_eight_bit_base_is_not_taken_for_a_four_bit_one():
    facts = STATED | {"peft_method": "qlora", "weight_precision": "int8"}
    assert estimate(**facts).breakdown["weights"] == pytest.approx(9.1, rel=0.05)
