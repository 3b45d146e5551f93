"""What the loss of pairs (DPO) takes of answers, by sums that can be made by hand."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts


KNOWLEDGE = load_knowledge(locate("knowledge"))
FACTS = {
    "task": "full_finetuning", "rl_method": "dpo", "compute_precision": "bf16", "seq_len_tokens": 4096,
    "batch_size_per_gpu": 1, "gradient_checkpointing": "full", "flash_attention": True,
}  # fmt: skip
PAIR = 2 * 4096


def estimate(**facts: object) -> MemoryEstimate:
    job = job_from_facts({**FACTS, **facts}, KNOWLEDGE.models["llama-3.1-8b"])
    layout = Layout(data=8, sharding=str(facts["sharding"])) if "sharding" in facts else Layout()
    found = estimate_memory(job, KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"], layout)
    assert found is not None
    return found


@pytest.mark.parametrize("framework", ["trl", "peft", "transformers", "ms-swift"])
def test_probabilities_that_are_taken_row_by_row(framework: str) -> None:
    """In 32 bits under autocast, in 16 where DeepSpeed casts the model."""
    facts = {"training_framework": framework, "transformers_version": "4.50"}
    autocast = estimate(**facts, sharding="fsdp")
    cast = estimate(**facts, sharding="zero3")
    assert autocast.breakdown["logits"] == pytest.approx(PAIR * 128256 * 16 / 1e9)
    assert cast.breakdown["logits"] == pytest.approx(PAIR * 128256 * 8 / 1e9)


def test_who_takes_the_loss_otherwise_is_left_as_it_is() -> None:
    supervised = estimate(training_framework="llama-factory", sharding="zero3", rl_method="none", batch_size_per_gpu=2)
    pairs = estimate(training_framework="llama-factory", sharding="zero3")
    assert pairs.breakdown["logits"] == pytest.approx(supervised.breakdown["logits"])


def test_a_pack_holds_both_answers_of_a_pair() -> None:
    facts = {"training_framework": "ms-swift", "sharding": "zero3"}
    apart, packed = estimate(**facts), estimate(**facts, packing=True)
    for part in ("logits", "activations"):
        assert packed.breakdown[part] == pytest.approx(apart.breakdown[part] / 2)
