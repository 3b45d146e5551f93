"""Offload of the optimiser's state alone: weights stay on the GPU, whichever way they are sharded."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"]
MODEL = KNOWLEDGE.models["llama-3.1-8b"]
FACTS = {"task": "full_finetuning", "seq_len_tokens": 512, "batch_size_per_gpu": 1, "training_framework": "deepspeed"}
STATE = {"offloaded_state": "optimizer"}
LORA = {"task": "peft_finetuning", "peft_method": "lora"}
THIRD = Layout(data=8, sharding="zero3")


def parts(layout=THIRD, **facts):
    return estimate_memory(job_from_facts(FACTS | facts, MODEL), GPU, layout).breakdown


@pytest.mark.parametrize(("sharding", "framework"), [("zero3", "deepspeed"), ("fsdp", "transformers")])
def test_what_shards_weights_keeps_its_share_and_gathers(sharding, framework):
    layout, facts = Layout(data=8, sharding=sharding), {"training_framework": framework, "sharding": sharding}
    found, here = parts(layout, **facts, **STATE), parts(layout, **facts)
    assert found["gathered_layer"] == pytest.approx(here["gathered_layer"])
    assert found["weights"] == pytest.approx(here["weights"])
    assert found.get("optimizer", 0.0) == 0.0


def test_gradients_of_the_third_stage_lie_with_the_state():
    found, here = parts(**STATE), parts()
    assert found["weights"] == pytest.approx(MODEL.params_b * 2 / 8, rel=0.01)
    assert found["gathered_layer"] == pytest.approx(here["gathered_layer"])
    assert found.get("optimizer", 0.0) == found.get("gradients", 0.0) == 0.0


def test_weights_wait_too_where_nothing_else_is_said():
    offloaded = parts(cpu_offload=True)
    assert offloaded == parts(offloaded_state="weights-and-optimizer")
    assert offloaded.get("gathered_layer", 0.0) == 0.0


def test_one_gpu_holds_all_weights():
    assert parts(Layout(sharding="zero3"), **STATE)["weights"] == pytest.approx(MODEL.params_b * 2, rel=0.01)


def test_below_the_third_stage_it_is_what_offload_means():
    second, stated = Layout(data=8, sharding="zero2"), {"sharding": "zero2"}
    assert parts(second, **stated, **STATE) == parts(second, **stated, cpu_offload=True)


def test_a_frozen_base_stays_as_sharded():
    here, offloaded = parts(**LORA), parts(**LORA, **STATE)
    for part in ("frozen_weights", "weights", "gathered_layer"):
        assert offloaded.get(part) == here.get(part), part
    assert offloaded["adapters"] < here["adapters"]


def test_a_reference_stays_and_a_critics_gradients_do_not():
    facts = {"rl_method": "ppo", "critic_params_b": 8, "resident_params_b": 8, "rollout_placement": "other_gpus"}
    found = parts(**facts, **STATE)
    assert found["frozen_components"] == pytest.approx(2.0, rel=0.02)
    assert found["critic"] == pytest.approx(2.0, rel=0.02)
