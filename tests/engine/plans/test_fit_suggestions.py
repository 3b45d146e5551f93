"""What would make a job fit: changes that are sized anew, with what they cost."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


SERVING = {"task": "inference", "model_name": "llama-3.1-70b", "context_tokens": 8192, "concurrency": 16}
TRAINING = {
    "task": "full_finetuning",
    "model_name": "llama-3.1-8b",
    "batch_size_per_gpu": 4,
    "seq_len_tokens": 4096,
    "gradient_checkpointing": "none",
}
PICTURES = {"task": "inference", "model_name": "flux.1-dev", "concurrency": 4}
REPLICAS = {"sharding": "none", "data_parallel": 8}
ADAPTERS = {"task": "peft_finetuning", "peft_method": "qlora", "model_name": "llama-3.1-70b", "lora_rank": 64}
NETWORK = {"task": "full_finetuning", "model_name": "resnet50", "batch_size_per_gpu": 512}


@pytest.fixture
def size(advisor):
    def call(facts, gpu="nvidia-a100-80gb-sxm", count=1):
        return size_workload(advisor, advisor.read({**facts, "gpu": gpu, "count": count}))

    return call


@pytest.mark.parametrize("facts", [SERVING, TRAINING, PICTURES, ADAPTERS, NETWORK])
def test_each_change_comes_out_as_told_when_it_is_written_down(size, facts):
    fit_suggestions = size(facts)["fit_suggestions"]
    assert fit_suggestions["changes"]
    for change in fit_suggestions["changes"]:
        again = size({**facts, **change["facts"]}, gpu=fit_suggestions["gpu"])
        assert again["per_gpu_gb"] == pytest.approx(change["per_gpu_gb"], rel=0.02), change["change"]
        assert again["fits"] is change["fits"]
        assert change["costs"]
        assert change["source"]


@pytest.mark.parametrize("facts", [SERVING | {"concurrency": 24}, TRAINING])
def test_changes_that_fit_together_do_fit(size, facts):
    fit_suggestions = size(facts)["fit_suggestions"]
    written = {}
    for change in fit_suggestions["together"]:
        written |= change["facts"]
    assert size({**facts, **written}, gpu=fit_suggestions["gpu"])["fits"]
    assert not any(change["fits"] for change in fit_suggestions["changes"] if change["change"] != "offload")


def test_a_job_that_does_not_fit_is_made_lighter_for_its_own_card(size):
    answer = size(SERVING)
    assert not answer["fits"]
    assert answer["fit_suggestions"]["gpu"] == "nvidia-a100-80gb-sxm"


def test_a_job_that_fits_is_made_lighter_for_the_next_smaller_card(size, advisor):
    answer = size({**SERVING, "model_name": "llama-3.1-8b"})
    fit_suggestions = answer["fit_suggestions"]
    assert answer["fits"]
    assert fit_suggestions["available_per_gpu_gb"] < answer["per_gpu_gb"]
    between = [
        gpu.id
        for gpu in advisor.knowledge.plannable
        if gpu.vendor == "nvidia"
        and gpu.usable_gb
        and fit_suggestions["available_per_gpu_gb"] < gpu.usable_gb < answer["per_gpu_gb"]
    ]
    assert not between


def test_a_change_names_its_speed(size):
    changes = {change["change"]: change for change in size(SERVING)["fit_suggestions"]["changes"]}
    assert changes["weights-8bit"]["speed_ratio"] > 1.05
    assert changes["fewer-requests"]["speed_ratio"] < 1
    assert changes["offload"]["speed_ratio"] < 0.2


def test_several_cards_can_share_the_states(size):
    changes = {change["change"] for change in size(TRAINING | REPLICAS, count=8)["fit_suggestions"]["changes"]}
    assert "shard" in changes
    assert "shard" not in {change["change"] for change in size(TRAINING)["fit_suggestions"]["changes"]}


def test_nothing_helps_a_job_that_is_small_already(size):
    answer = size({"task": "inference", "model_name": "bert-base"}, gpu="nvidia-t4")
    assert answer["fits"]
    assert answer["fit_suggestions"] is None


def test_a_stated_configuration_may_be_tight(size):
    answer = size({"task": "inference", "param_count_b": 39, "weight_precision": "fp16", "context_tokens": 512})
    assert answer["fits"]
    assert answer["tight"]
    roomy = size({"task": "inference", "param_count_b": 7, "weight_precision": "fp16"})
    assert roomy["fits"]
    assert not roomy["tight"]


def test_adapters_can_be_smaller_and_their_optimizer_too(size):
    changes = {
        change["change"]: change for change in size(ADAPTERS, gpu="nvidia-rtx-6000-ada")["fit_suggestions"]["changes"]
    }
    needed = size(ADAPTERS, gpu="nvidia-rtx-6000-ada")["per_gpu_gb"]
    assert changes["lower-rank"]["facts"]["lora_rank"] < ADAPTERS["lora_rank"]
    assert changes["lower-rank"]["per_gpu_gb"] < changes["optimizer-8bit"]["per_gpu_gb"] < needed


def test_room_alone_makes_no_training_faster(size):
    """Steps are timed with the micro-batch whose memory is stated, not with the largest that a change makes fit."""
    facts = {**ADAPTERS, "seq_len_tokens": 2048}
    changes = {
        change["change"]: change for change in size(facts, gpu="nvidia-rtx-6000-ada")["fit_suggestions"]["changes"]
    }
    assert changes["offload"]["speed_ratio"] < 1
