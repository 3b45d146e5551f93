"""What releases of a training framework differ in, and its own kernels, by sums that can be made by hand."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts


KNOWLEDGE = load_knowledge(locate("knowledge"))
TOKENS = 16384
FACTS = {
    "task": "peft_finetuning", "peft_method": "qlora", "weight_precision": "nf4", "lora_rank": 16,
    "lora_targets": "all-linear", "training_framework": "unsloth", "seq_len_tokens": TOKENS, "batch_size_per_gpu": 1,
    "gradient_checkpointing": "full",
}  # fmt: skip


def estimate(model: str = "llama-3.1-8b", **facts: object) -> MemoryEstimate:
    job = job_from_facts({**FACTS, **facts}, KNOWLEDGE.models[model])
    found = estimate_memory(job, KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"], Layout())
    assert found is not None
    return found


def passes(**facts: object) -> float:
    """Activations and logits, in GB."""
    shares = estimate(**facts).breakdown
    return shares["activations"] + shares.get("logits", 0.0)


def test_unsloths_kernels_write_gradients_over_the_maps_of_a_layer():
    """Seven streams, query, keys and values with what comes out, three maps: unsloth/kernels/fast_lora.py."""
    width, values, wide = 4096, 2 * 1024, 14336
    layer = 2 * (7 * width + 2 * width + values + 3 * wide)
    checkpoints = 2 * 2 * width  # two of them on the card, the others in host memory
    assert passes() == pytest.approx(TOKENS * (layer + checkpoints) / 1e9)


@pytest.mark.parametrize("fact", [{"lora_dropout": 0.05}, {"lora_targets": "attention"}])
def test_what_turns_the_kernels_off(fact):
    assert passes(**fact) > 1.4 * passes()


def test_adapters_of_unsloth_learn_by_an_optimizer_in_8_bits_unless_told():
    """Of an adapter's parameter 10 bytes: itself and its gradient in 32 bits, two moments in eight."""
    usual, told = (estimate(**fact).breakdown["adapters"] for fact in ({}, {"optimizer": "adamw"}))
    assert usual == pytest.approx(told * 10 / 16)
    assert estimate(optimizer="adamw-8bit").breakdown["adapters"] == pytest.approx(usual)


def test_full_training_has_no_such_kernels():
    full = {"task": "full_finetuning", "peft_method": "none", "weight_precision": "bf16", "compute_precision": "bf16"}
    unsloth, plain = (
        passes(**full, training_framework=name, activation_offload=True, chunked_loss=True)
        for name in ("unsloth", "axolotl")
    )
    assert unsloth == pytest.approx(plain)


def test_releases_before_the_fused_loss_hold_all_answers():
    """A gradient in the place of answers in 16 bits, and their copy in 32 for the trainer: 6 B a token and word."""
    old, new = (estimate(training_framework_version=release) for release in ("2024.4", "2024.12.1"))
    assert old.breakdown["logits"] == pytest.approx(TOKENS * 128256 * 6 / 1e9)
    assert new.breakdown.get("logits", 0.0) < 0.1 * old.breakdown["logits"]


def test_trls_supervised_loss_is_in_chunks_from_a_release_on():
    facts = {"training_framework": "trl", "seq_len_tokens": 8192}
    old, new, unstated = (
        estimate(**facts, **release).breakdown["logits"]
        for release in ({"training_framework_version": "1.6.0"}, {"training_framework_version": "1.7.0"}, {})
    )
    assert old == pytest.approx(8192 * 128256 * 12 / 1e9)
    assert new == unstated == pytest.approx(256 * 128256 * 12 / 1e9)


def test_a_release_that_is_not_stated_widens_the_band_upwards():
    open_, known = estimate(), estimate(training_framework_version="2026.8")
    assert open_.per_gpu_gb == known.per_gpu_gb
    assert open_.high_gb > known.high_gb
    assert open_.low_gb == known.low_gb


@pytest.mark.parametrize(
    ("facts", "bytes_each"),
    [
        ({"compiled": True}, 4),  # the cast is in the compiled function, which keeps answers of 16 bits
        ({"compiled": True, "training_framework_version": "0.1.0"}, 4),
        ({"compiled": True, "training_framework_version": "0.0.2"}, 12),  # compiling left the loss out
        ({}, 12),
        ({"compiled": True, "training_framework": "transformers"}, 8),  # as a fused loss, where nobody says
    ],
)
def test_what_torchtitans_compiled_loss_holds_hangs_on_the_release(facts, bytes_each):
    full = {"task": "pretraining", "peft_method": "none", "weight_precision": "bf16", "compute_precision": "mixed"}
    logits = estimate(**full | {"training_framework": "torchtitan"} | facts).breakdown["logits"]
    assert logits == pytest.approx(TOKENS * 128256 * bytes_each / 1e9)
