"""Reinforcement learning: models beside the one that learns, and the engine that answers prompts."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts, sizing_constants


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]
MODEL = KNOWLEDGE.models["llama-3.1-8b"]
EIGHT = Layout(data=8, sharding="fsdp")
FACTS = {
    "task": "full_finetuning",
    "seq_len_tokens": 2048,
    "batch_size_per_gpu": 1,
    "gradient_checkpointing": "full",
    "resident_params_b": 0,
}
APART = {"rl_method": "grpo", "rollout_placement": "other_gpus"}
HERE = {"rl_method": "grpo", "rollout_placement": "same_gpus"}


def job(**facts):
    return job_from_facts(FACTS | facts, MODEL)


def estimate(layout=EIGHT, **facts):
    found = estimate_memory(job(**facts), GPU, layout)
    assert found is not None
    return found


def test_rollouts_on_other_gpus_cost_these_nothing():
    assert estimate(**APART).breakdown == estimate().breakdown


def test_ppo_trains_a_critic_as_it_trains_the_policy():
    beside = estimate(**APART | {"rl_method": "ppo", "critic_params_b": 8}).breakdown
    states = sum(beside[part] for part in ("weights", "gradients", "optimizer"))
    assert beside["critic"] == pytest.approx(states * 8.0 / job().params_b, rel=0.01)


def test_unstated_models_beside_the_actor_have_its_size():
    facts = {name: value for name, value in FACTS.items() if name != "resident_params_b"}
    size = job().params_b
    found = {
        method: job_from_facts(facts | {"rl_method": method}, MODEL).resident_params_b for method in ("ppo", "dpo")
    }
    assert found == {"ppo": pytest.approx(2 * size), "dpo": pytest.approx(size)}


def test_adapters_switched_off_are_the_reference():
    facts = {name: value for name, value in FACTS.items() if name != "resident_params_b"}
    adapters = facts | {"task": "peft_finetuning", "peft_method": "lora", "rl_method": "dpo"}
    assert job_from_facts(adapters, MODEL).resident_params_b == 0.0


def test_a_pair_of_answers_passes_for_each_sample_of_dpo():
    assert estimate(rl_method="dpo").breakdown["logits"] == pytest.approx(2 * estimate().breakdown["logits"])


def test_an_engine_that_is_awake_lies_beside_the_step_with_weights_and_cache():
    """One replica over eight GPUs: an eighth of the weights in 16 bits, and a key and a value for every token."""
    more = estimate(**HERE, rollout_sleeps=False, rollout_tensor_parallel=8).breakdown["rollout_engine"]
    weights = job().params_b * 2.0 / 8
    longer = estimate(**HERE, rollout_sleeps=False, rollout_tensor_parallel=8, concurrency=9).breakdown
    cache = 32 * 2 * 128 * 2 * 2048 * 8 / 1e9  # of eight sequences, one of the eight heads here
    assert more > weights
    assert longer["rollout_engine"] - more == pytest.approx(cache)


def test_a_sleeping_engine_uses_what_the_step_has_freed():
    asleep, awake = (estimate(**HERE, rollout_sleeps=sleeps).per_gpu_gb for sleeps in (True, False))
    assert estimate().per_gpu_gb < asleep < awake


def test_a_share_of_the_card_asks_for_a_card_with_room_for_the_rest():
    """Half of the card for an engine that is awake: the step has the other half."""
    alone = estimate()
    tensors = sum(size for name, size in alone.breakdown.items() if name not in {"allocator", "context"})
    never_together = tensors - alone.allocated_gb  # the loss and the layer at work
    assert estimate(**HERE, rollout_sleeps=False, rollout_memory_pct=50).allocated_gb == pytest.approx(
        2 * tensors - never_together
    )
    shares = [estimate(**HERE, rollout_memory_pct=share).per_gpu_gb for share in (40, 60, 80)]
    assert shares == sorted(shares)


def test_models_that_take_turns_leave_the_gpu_to_each_other():
    together = estimate(**HERE | {"rl_method": "ppo", "resident_params_b": 16, "critic_params_b": 8})
    turns = estimate(
        **HERE | {"rl_method": "ppo", "resident_params_b": 16, "critic_params_b": 8}, models_take_turns=True
    )
    assert {"critic", "frozen_components"} <= together.breakdown.keys()
    assert not {"critic", "frozen_components"} & turns.breakdown.keys()
    assert turns.per_gpu_gb < together.per_gpu_gb


def test_a_model_that_generates_itself_has_no_second_copy():
    whole = Layout()
    own, engine = (
        estimate(whole, **HERE, rollout_sleeps=False, training_framework=name, rollout_memory_pct=1)
        for name in ("trl", "verl")
    )
    assert own.breakdown.get("rollout_engine", 0.0) < engine.breakdown["rollout_engine"]


def test_a_giant_is_split_over_as_many_gpus_as_its_weights_ask_for():
    model = KNOWLEDGE.models["deepseek-v3"]
    facts = FACTS | HERE | {"models_take_turns": True, "optimizer": "sgd"}
    most = sizing_constants().training.rollout_weights_gb.value
    found = estimate_memory(job_from_facts(facts, model), GPU, Layout(data=256, sharding="fsdp"))
    assert 2 * model.params_b / 8 > most
    assert found.breakdown["rollout_engine"] < most


@pytest.mark.parametrize("framework", sorted(sizing_constants().training.frameworks))
def test_every_framework_names_a_known_way_to_answer_prompts(framework):
    training = sizing_constants().training
    assert (training.frameworks[framework].rollout or "other") in training.rollouts
    assert estimate(rl_method="grpo", training_framework=framework).per_gpu_gb > 0


def test_what_nobody_stated_is_written_down():
    found = {assumed.fact for assumed in job(rl_method="ppo", training_framework="verl").assumed}
    assert {"critic_params_b", "rollout_placement", "rollout_sleeps", "rollout_memory_pct"} <= found


def test_log_probabilities_are_taken_from_whole_answers_unless_the_framework_has_them_by_parts():
    facts = {**APART, "training_framework": "trl", "tensor_parallel": 4}
    logits = [estimate(Layout(tensor=tensor), **facts).breakdown["logits"] for tensor in (1, 4)]
    assert logits[1] == pytest.approx(logits[0])
    parts = {**facts, "training_framework": "megatron"}
    whole, part = (estimate(Layout(tensor=tensor), **parts).breakdown["logits"] for tensor in (1, 4))
    assert part == pytest.approx(whole / 4)
    given = {"training_framework": "trl", "tensor_parallel": 4}
    whole, part = (estimate(Layout(tensor=tensor), **given).breakdown["logits"] for tensor in (1, 4))
    assert part == pytest.approx(whole / 4)


def test_logits_are_of_what_was_written_where_the_framework_asks_for_no_others():
    facts = HERE | {"output_tokens": 511}
    every, written = (estimate(**facts, training_framework=name).breakdown["logits"] for name in ("verl", "trl"))
    assert written == pytest.approx(estimate(**HERE, training_framework="trl").breakdown["logits"] / 4)
    assert every == estimate(**HERE, training_framework="verl").breakdown["logits"]
    preferred = {"rl_method": "dpo", "output_tokens": 511, "training_framework": "trl"}
    assert estimate(**preferred).breakdown["logits"] > 2 * written
