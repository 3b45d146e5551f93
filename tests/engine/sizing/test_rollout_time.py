"""Reinforcement learning: between two updates answers are written and scored, and that takes most of the time."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


@pytest.fixture
def sized(advisor):
    def call(count=8, gpu="nvidia-a100-80gb-sxm", **facts):
        asked = {"task": "full_finetuning", "model_name": "qwen2.5-7b", "train_tokens_b": 0.1, "seq_len_tokens": 1024}
        asked |= {"global_batch_size": 1024, "gradient_checkpointing": "full"}
        return size_workload(advisor, advisor.read({**asked, **facts}), gpu=gpu, count=count)

    return call


def hours(answer):
    return answer["speed"]["hours"]


def test_writing_and_scoring_take_longer_than_the_update(sized):
    given, written = sized(), sized(rl_method="grpo")
    assert hours(written) > 1.3 * hours(given)
    assert hours(sized(rl_method="ppo")) > hours(written)  # A critic learns as well.


def test_pairs_that_are_given_pass_the_reference_alone(sized):
    given, pairs = sized(), sized(rl_method="dpo", resident_params_b=7.6)
    assert 1.1 < hours(pairs) / hours(given) < 1.5
    assert hours(sized(rl_method="dpo", resident_params_b=0)) < hours(pairs)


def test_longer_answers_take_longer(sized):
    short, long = (sized(rl_method="grpo", output_tokens=tokens) for tokens in (128, 896))
    assert hours(long) > hours(short)


def test_answers_that_other_gpus_write_take_none_of_the_time_here(sized):
    here, elsewhere = (sized(rl_method="grpo", rollout_placement=place) for place in ("same_gpus", "other_gpus"))
    assert hours(elsewhere) < hours(here)


def test_a_program_that_writes_with_the_trained_model_itself_is_slower(sized):
    facts = {"rl_method": "grpo", "resident_params_b": 7.6, "global_batch_size": 64}
    engine, plain = (sized(**facts, training_framework=name) for name in ("verl", "trl"))
    assert hours(plain) > hours(engine)


def test_twice_the_gpus_write_faster(sized):
    assert hours(sized(rl_method="grpo", count=16)) < hours(sized(rl_method="grpo"))


def test_its_speed_is_computed_and_not_measured(sized):
    assert sized()["support"]["hours"]["level"] == "measured"
    assert sized(rl_method="grpo")["support"]["hours"]["level"] == "computed"


def test_a_step_of_sampled_answers_is_large(decide):
    facts = {"task": "full_finetuning", "model_name": "qwen2.5-7b", "train_steps": 100, "rl_method": "grpo"}
    outcome = decide(facts).outcome
    assumed = {entry.fact: entry.value for entry in outcome.assumed}
    assert assumed["global_batch_size"] >= 512
