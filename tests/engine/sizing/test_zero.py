"""What DeepSpeed's ZeRO takes beside weights, gradients and optimiser state."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts, sizing_constants


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU, MODEL = KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"], KNOWLEDGE.models["llama-3.1-8b"]
TRAINED = {"task": "full_finetuning", "training_framework": "deepspeed", "compute_precision": "bf16"}
TRAINED |= {"seq_len_tokens": 2048, "batch_size_per_gpu": 1, "gradient_checkpointing": "full"}


def estimate(stage, ranks, **facts):
    job = job_from_facts(TRAINED | {"sharding": stage} | facts, MODEL)
    return estimate_memory(job, GPU, Layout(data=ranks, sharding=stage))


def summands(stage, ranks, **facts):
    found = estimate(stage, ranks, **facts)
    return {term.formula.split(":")[0]: term.value for term in found.terms}


def flat(stage, ranks, **facts):
    """With a sequence of 16 tokens, which leaves nothing to use again."""
    found = summands(stage, ranks, **{"seq_len_tokens": 16} | facts).items()
    return sum(value for formula, value in found if "data ranks (of a group" in formula)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_a_step_casts_the_gradients_of_a_rank_into_one_flat_tensor(ranks):
    """Two bytes as they are and four cast, over the data ranks."""
    assert flat("zero2", ranks) == pytest.approx(8.03 * 6 / ranks, rel=0.02)


def test_the_third_stage_does_so_for_a_group_of_parameters():
    group = sizing_constants().training.zero.group_parameters / 1e9
    assert flat("zero3", 2) == pytest.approx(6 * group, rel=0.02)
    assert flat("zero3", 16) == pytest.approx(8.03 * 6 / 16, rel=0.02)


def test_two_buckets_of_gradients_are_on_their_way():
    buckets = [value for formula, value in summands("zero2", 4).items() if formula.startswith("two buckets")]
    assert buckets == pytest.approx([2 * sizing_constants().training.zero.bucket_elements * 2 / 1e9])


@pytest.mark.parametrize(
    ("stage", "ranks", "facts"),
    [
        ("none", 4, {}),
        ("fsdp", 4, {}),
        ("zero1", 4, {"training_framework": "megatron"}),
        ("zero2", 4, {"cpu_offload": True}),
    ],
)
def test_nothing_of_the_kind_elsewhere(stage, ranks, facts):
    assert flat(stage, ranks, **facts) == 0.0


def bucket(stage, ranks, **facts):
    return sum(value for formula, value in summands(stage, ranks, **facts).items() if formula.startswith("two buckets"))


def test_the_third_stage_has_one_bucket_as_large_as_its_configuration_says():
    """What of it is sent is copied; frameworks that fill in ``auto`` have the squared width."""
    plain = sizing_constants().training.zero.third_stage["plain"].bucket_elements
    assert bucket("zero3", 4) == pytest.approx(2 * 2 * plain / 1e9)
    assert bucket("zero3", 4, training_framework="transformers") == pytest.approx(2 * 2 * MODEL.hidden**2 / 1e9)


@pytest.mark.parametrize("ranks", [1, 4])
def test_offload_leaves_the_bucket_and_the_last_layers_on_the_gpu(ranks):
    """Weights, moments and the step itself wait in host memory; one GPU is made to offload by DeepSpeed too."""
    zero = sizing_constants().training.zero.third_stage["plain"]
    found = estimate("zero3", ranks, cpu_offload=True)
    assert bucket("zero3", ranks, cpu_offload=True) == bucket("zero3", ranks)
    assert flat("zero3", ranks, cpu_offload=True) == 0.0
    kept = 2 * (zero.reuse_elements / 2 + zero.prefetch_elements)
    gradients = 2 * MODEL.vocab * MODEL.hidden  # of the largest matrix
    assert found.breakdown["weights"] == pytest.approx((max(kept, gradients) + gradients) / 1e9, rel=0.08)
    adapted = {"task": "peft_finetuning", "peft_method": "lora"}
    assert estimate("zero3", ranks, cpu_offload=True, **adapted).breakdown["weights"] == pytest.approx(
        max(kept, gradients + 2 * zero.prefetch_elements) / 1e9, rel=0.02
    )


def test_the_flat_gradients_take_turns_with_activations_that_are_given_back_where_a_card_is_full():
    """What is held of both while there is room is in the band's high end."""
    short, long = (estimate("zero2", 4, seq_len_tokens=tokens) for tokens in (16, 4096))
    left = sum(term.value for term in long.terms if term.name in {"activations", "logits"})
    more = flat("zero2", 4, seq_len_tokens=4096)
    assert more == pytest.approx(flat("zero2", 4) - left, abs=0.1)
    assert long.allocated_gb == pytest.approx(short.allocated_gb, rel=0.01)
    assert long.high_gb - 1.07 * long.per_gpu_gb > left


def test_adapters_have_buckets_too_and_little_to_cast():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 16, "lora_targets": "all-linear"}
    assert 0.0 < flat("zero2", 2, **facts) < 0.2


def test_zero_keeps_a_clone_of_32_bit_weights_too():
    """Beside two moments of 32 bits."""
    parts = {stage: estimate(stage, 4, compute_precision="fp32").breakdown for stage in ("zero2", "fsdp")}
    states = {stage: found["optimizer"] + found.get("optimizer_copy", 0.0) for stage, found in parts.items()}
    assert states["zero2"] - states["fsdp"] == pytest.approx(8.03 * 4 / 4, rel=0.01)


ADAPTED = {"task": "peft_finetuning", "peft_method": "lora", "weight_precision": "bf16", "cpu_offload": True}


def test_below_the_third_stage_offload_leaves_a_frozen_base_where_it_is():
    assert estimate("zero2", 4, **ADAPTED).breakdown["weights"] == pytest.approx(16.06, rel=0.01)
    assert estimate("zero3", 4, **ADAPTED).breakdown["weights"] < 8


def test_and_a_reference_and_the_weights_of_a_critic():
    facts = {"rl_method": "ppo", "resident_params_b": 8.03, "critic_params_b": 8.03, "cpu_offload": True}
    below, third = (estimate(stage, 4, **facts).breakdown for stage in ("zero2", "zero3"))
    assert below["frozen_components"] == pytest.approx(16.06, rel=0.01)
    assert below["critic"] == pytest.approx(8.03 * (2 + 2 / 4), rel=0.01)
    assert third["frozen_components"] < 4
    assert third.get("critic", 0.0) == 0.0


@pytest.mark.parametrize("ranks", [1, 4])
def test_internevo_steps_over_one_flat_tensor_whatever_the_number_of_ranks(ranks):
    """Gradients as they are and cast, six bytes, and PyTorch's further copy while AdamW goes over all at once, four."""
    assert flat("zero1", ranks, training_framework="internevo") == pytest.approx(8.03 * 10 / ranks, rel=0.02)


def test_under_fsdp_internevo_casts_gradients_beside_those_of_the_pass():
    """Four bytes cast and four of the step, over the ranks; no buckets, and no other workspace."""
    assert flat("fsdp", 4, training_framework="internevo") == pytest.approx(8.03 * 8 / 4, rel=0.02)
    assert bucket("fsdp", 4, training_framework="internevo") == 0.0


@pytest.mark.parametrize(("framework", "elements"), [("axolotl", 1.0e9), ("internevo", 2 * 512 * 1024**2)])
def test_buckets_of_the_first_stages_as_a_framework_configures_them(framework, elements):
    assert bucket("zero1", 4, training_framework=framework) == pytest.approx(2 * elements / 1e9, rel=1e-3)


def test_no_bucket_is_larger_than_what_is_trained():
    adapters = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 8, "lora_targets": "qv"}
    assert 0 < bucket("zero1", 4, training_framework="axolotl", **adapters) < 0.05


@pytest.mark.parametrize(("step", "each"), [("fused", 6), ("foreach", 8), ("one-by-one", 12)])
def test_a_stated_step_of_pytorchs_own_has_temporaries_of_the_flat_tensor(step, each):
    """Four bytes are cast; the root of second moments takes four more, and what is divided by it another four."""
    assert flat("zero2", 4, optimizer_step=step) == pytest.approx(8.03 * each / 4, rel=0.02)
