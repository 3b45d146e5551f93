"""What PyTorch keeps beside the states of a model that each GPU holds whole."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Gpu, ModelSpec
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts


CARD = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=84.6)
BERT = ModelSpec(
    id="bert-large", name="b", kind="encoder", params_b=0.335, layers=24, hidden=1024, heads=16, intermediate=4096,
    vocab=30522, gated_mlp=False, tied_embeddings=True,
)  # fmt: skip
RUN = {"task": "full_finetuning", "seq_len_tokens": 512, "batch_size_per_gpu": 1, "param_count_b": 0.335}
TWO = Layout(data=2)


def estimate(layout: Layout | None = None, model: ModelSpec = BERT, **facts: object) -> MemoryEstimate:
    found = estimate_memory(job_from_facts({**RUN, **facts}, model), CARD, layout or Layout())
    assert found is not None
    return found


def buckets(layout: Layout, **facts: object) -> float:
    return estimate(layout, **facts).breakdown.get("buckets", 0.0)


@pytest.mark.parametrize(("precision", "each"), [("fp32", 4.0), ("bf16", 4.0)])
def test_replicas_hold_a_second_copy_of_their_gradients(precision, each):
    params_b = estimate(compute_precision="fp32").breakdown["weights"] / 4.0
    assert buckets(TWO, compute_precision=precision) == pytest.approx(params_b * each)
    assert buckets(TWO, compute_precision="bf16", weight_precision="bf16") == pytest.approx(params_b * 2.0)


@pytest.mark.parametrize(
    "facts", [{"training_framework": "megatron"}, {"training_framework": "deepspeed"}, {"optimizer_in_backward": True}]
)
def test_who_sends_gradients_otherwise_has_no_such_copy(facts):
    assert buckets(TWO, **facts) == 0.0


def test_one_gpu_and_sharded_states_have_no_such_copy():
    assert buckets(Layout()) == 0.0
    assert buckets(Layout(data=2, sharding="fsdp")) == 0.0


def test_adapters_are_sent_in_buckets_too():
    facts = {"task": "peft_finetuning", "peft_method": "lora"}
    adapters = estimate(TWO, **facts).breakdown["adapters"]
    assert buckets(TWO, **facts) == pytest.approx(adapters / 4.0)  # 4 of 16 bytes


def weights(**facts: object) -> float:
    return estimate(training_framework="transformers", compute_precision="fp16", **facts).breakdown["weights"]


def test_autocast_keeps_its_casts_beside_gradients_that_wait():
    facts = {"gradient_checkpointing": "none"}
    once = weights(gradient_accumulation_steps=1, **facts)
    several = weights(gradient_accumulation_steps=4, **facts)
    embedding_b = 30522 * 1024 / 1e9
    assert several - once == pytest.approx(once - 2.0 * embedding_b, rel=0.02)
    assert weights(**facts) == pytest.approx(once)
    # A layer that is computed anew takes the place of some.
    assert once < weights(gradient_accumulation_steps=4, gradient_checkpointing="full") <= several


def test_what_trains_in_thirty_two_bits_casts_nothing():
    facts = {"training_framework": "transformers", "compute_precision": "fp32"}
    several = estimate(gradient_accumulation_steps=4, **facts).breakdown["weights"]
    assert several == pytest.approx(estimate(gradient_accumulation_steps=1, **facts).breakdown["weights"])
